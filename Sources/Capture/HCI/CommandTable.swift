// SPDX-License-Identifier: GPL-3.0-or-later

/// The commands of HCI (Core Specification Vol 4 Part E, 7.1 to 7.8): opcode, name, what the command
/// carries, and what its Command Complete brings. `ParameterList` says how the fields are written.
///
/// The fields are those that help to see what a host does; the rest of a packet is not shown. Keys and
/// what keys can be computed from are never fields here.
enum CommandTable {
  static let commands = HCITable(linkControl + policyAndBaseband + information + lowEnergy)

  private static let linkControl = """
    0000 No Operation
    0401 Inquiry
    0402 Inquiry Cancel
    0403 Periodic Inquiry Mode
    0404 Exit Periodic Inquiry Mode
    0405 Create Connection | addr Address
    0406 Disconnect | handle, reason
    0407 Add SCO Connection
    0408 Create Connection Cancel
    0409 Accept Connection Request | addr Address
    040A Reject Connection Request | addr Address, reason
    040B Link Key Request Reply | addr Address
    040C Link Key Request Negative Reply | addr Address
    040D PIN Code Request Reply | addr Address
    040E PIN Code Request Negative Reply | addr Address
    040F Change Connection Packet Type
    0411 Authentication Requested | handle
    0413 Set Connection Encryption | handle, bool Encryption
    0415 Change Connection Link Key | handle
    0417 Link Key Selection
    0419 Remote Name Request | addr Address
    041A Remote Name Request Cancel | addr Address
    041B Read Remote Supported Features | handle
    041C Read Remote Extended Features | handle
    041D Read Remote Version Information | handle
    041F Read Clock Offset | handle
    0420 Read LMP Handle | handle
    0428 Setup Synchronous Connection
    0429 Accept Synchronous Connection Request
    042A Reject Synchronous Connection Request
    042B IO Capability Request Reply
    042C User Confirmation Request Reply
    042D User Confirmation Request Negative Reply
    042E User Passkey Request Reply
    042F User Passkey Request Negative Reply
    0430 Remote OOB Data Request Reply
    0433 Remote OOB Data Request Negative Reply
    0434 IO Capability Request Negative Reply
    0435 Create Physical Link
    0436 Accept Physical Link
    0437 Disconnect Physical Link
    0438 Create Logical Link
    0439 Accept Logical Link
    043A Disconnect Logical Link
    043B Logical Link Cancel
    043C Flow Spec Modify
    043D Enhanced Setup Synchronous Connection
    043E Enhanced Accept Synchronous Connection Request
    043F Truncated Page
    0440 Truncated Page Cancel
    0441 Set Connectionless Peripheral Broadcast
    0442 Set Connectionless Peripheral Broadcast Receive
    0443 Start Synchronization Train
    0444 Receive Synchronization Train
    0445 Remote OOB Extended Data Request Reply

    """

  private static let policyAndBaseband = """
    0801 Hold Mode
    0803 Sniff Mode
    0804 Exit Sniff Mode
    0805 Park State
    0806 Exit Park State
    0807 QoS Setup
    0809 Role Discovery
    080B Switch Role
    080C Read Link Policy Settings
    080D Write Link Policy Settings
    080E Read Default Link Policy Settings
    080F Write Default Link Policy Settings
    0810 Flow Specification
    0811 Sniff Subrating
    0C01 Set Event Mask | hex64 Mask
    0C03 Reset
    0C05 Set Event Filter
    0C08 Flush
    0C09 Read PIN Type
    0C0A Write PIN Type
    0C0D Read Stored Link Key
    0C11 Write Stored Link Key
    0C12 Delete Stored Link Key
    0C13 Write Local Name | text Name
    0C14 Read Local Name | | status, text Name
    0C15 Read Connection Accept Timeout
    0C16 Write Connection Accept Timeout
    0C17 Read Page Timeout
    0C18 Write Page Timeout
    0C19 Read Scan Enable
    0C1A Write Scan Enable
    0C1B Read Page Scan Activity
    0C1C Write Page Scan Activity
    0C1D Read Inquiry Scan Activity
    0C1E Write Inquiry Scan Activity
    0C1F Read Authentication Enable
    0C20 Write Authentication Enable
    0C21 Read Encryption Mode
    0C22 Write Encryption Mode
    0C23 Read Class of Device
    0C24 Write Class of Device
    0C25 Read Voice Setting
    0C26 Write Voice Setting
    0C27 Read Automatic Flush Timeout
    0C28 Write Automatic Flush Timeout
    0C29 Read Num Broadcast Retransmissions
    0C2A Write Num Broadcast Retransmissions
    0C2B Read Hold Mode Activity
    0C2C Write Hold Mode Activity
    0C2D Read Transmit Power Level
    0C2E Read Synchronous Flow Control Enable
    0C2F Write Synchronous Flow Control Enable
    0C31 Set Controller To Host Flow Control
    0C33 Host Buffer Size
    0C35 Host Number of Completed Packets
    0C36 Read Link Supervision Timeout
    0C37 Write Link Supervision Timeout
    0C38 Read Number of Supported IAC
    0C39 Read Current IAC LAP
    0C3A Write Current IAC LAP
    0C3F Set AFH Host Channel Classification
    0C42 Read Inquiry Scan Type
    0C43 Write Inquiry Scan Type
    0C44 Read Inquiry Mode
    0C45 Write Inquiry Mode
    0C46 Read Page Scan Type
    0C47 Write Page Scan Type
    0C48 Read AFH Channel Assessment Mode
    0C49 Write AFH Channel Assessment Mode
    0C51 Read Extended Inquiry Response
    0C52 Write Extended Inquiry Response
    0C53 Refresh Encryption Key
    0C55 Read Simple Pairing Mode
    0C56 Write Simple Pairing Mode | bool Mode
    0C57 Read Local OOB Data
    0C58 Read Inquiry Response Transmit Power Level
    0C59 Write Inquiry Transmit Power Level
    0C5A Read Default Erroneous Data Reporting
    0C5B Write Default Erroneous Data Reporting
    0C5F Enhanced Flush
    0C60 Send Keypress Notification
    0C61 Read Logical Link Accept Timeout
    0C62 Write Logical Link Accept Timeout
    0C63 Set Event Mask Page 2 | hex64 Mask
    0C64 Read Location Data
    0C65 Write Location Data
    0C66 Read Flow Control Mode
    0C67 Write Flow Control Mode
    0C68 Read Enhanced Transmit Power Level
    0C69 Read Best Effort Flush Timeout
    0C6A Write Best Effort Flush Timeout
    0C6B Short Range Mode
    0C6C Read LE Host Support | | status, bool Supported
    0C6D Write LE Host Support | bool Supported
    0C6E Set MWS Channel Parameters
    0C6F Set External Frame Configuration
    0C70 Set MWS Signaling
    0C71 Set MWS Transport Layer
    0C72 Set MWS Scan Frequency Table
    0C73 Set MWS Pattern Configuration
    0C74 Set Reserved LT_ADDR
    0C75 Delete Reserved LT_ADDR
    0C76 Set Connectionless Peripheral Broadcast Data
    0C77 Read Synchronization Train Parameters
    0C78 Write Synchronization Train Parameters
    0C79 Read Secure Connections Host Support | | status, bool Support
    0C7A Write Secure Connections Host Support | bool Support
    0C7B Read Authenticated Payload Timeout | handle
    0C7C Write Authenticated Payload Timeout | handle, ms10 Timeout
    0C7D Read Local OOB Extended Data
    0C7E Read Extended Page Timeout
    0C7F Write Extended Page Timeout
    0C80 Read Extended Inquiry Length
    0C81 Write Extended Inquiry Length

    """

  private static let information = """
    1001 Read Local Version Information | | status, hex8 HCI Version, hex16 HCI Subversion, \
    hex8 LMP Version, u16 Manufacturer, hex16 LMP Subversion
    1002 Read Local Supported Commands
    1003 Read Local Supported Features | | status, hex64 Features
    1004 Read Local Extended Features | u8 Page
    1005 Read Buffer Size | | status, u16 ACL Length, u8 SCO Length, u16 ACL Packets, \
    u16 SCO Packets
    1009 Read BD ADDR | | status, addr Address
    100A Read Data Block Size
    100B Read Local Supported Codecs
    100C Read Local Simple Pairing Options
    100D Read Local Supported Codecs [v2]
    100E Read Local Supported Codec Capabilities
    100F Read Local Supported Controller Delay
    1401 Read Failed Contact Counter
    1402 Reset Failed Contact Counter
    1403 Read Link Quality
    1405 Read RSSI | handle | status, handle, dbm RSSI
    1406 Read AFH Channel Map
    1407 Read Clock
    1408 Read Encryption Key Size | handle | status, handle, u8 Key Size
    1409 Read Local AMP Info
    140A Read Local AMP Assoc
    140B Write Remote AMP Assoc
    140C Get MWS Transport Layer Configuration
    140D Set Triggered Clock Capture
    1801 Read Loopback Mode
    1802 Write Loopback Mode
    1803 Enable Device Under Test Mode
    1804 Write Simple Pairing Debug Mode
    1807 Enable AMP Receiver Reports
    1808 AMP Test End
    1809 AMP Test
    180A Write Secure Connections Test Mode

    """
}
