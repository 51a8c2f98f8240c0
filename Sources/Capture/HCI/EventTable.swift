// SPDX-License-Identifier: GPL-3.0-or-later

/// The events of HCI (Core Specification Vol 4 Part E, 7.7): code, name, what it carries. Those whose
/// layout is a list of its own kind are read by `HCIDecoder`.
enum EventTable {
  static let events = HCITable(
    """
    01 Inquiry Complete | status
    02 Inquiry Result
    03 Connection Complete | status, handle, addr Address, hex8 Link Type, bool Encryption
    04 Connection Request | addr Address
    05 Disconnection Complete | status, handle, reason
    06 Authentication Complete | status, handle
    07 Remote Name Request Complete | status, addr Address, text Name
    08 Encryption Change | status, handle, encryption Encryption
    09 Change Connection Link Key Complete | status, handle
    0A Link Key Type Changed | status, handle
    0B Read Remote Supported Features Complete | status, handle
    0C Read Remote Version Information Complete | status, handle, hex8 Version, \
    u16 Manufacturer, hex16 Subversion
    0D QoS Setup Complete | status, handle
    0E Command Complete
    0F Command Status
    10 Hardware Error | hex8 Code
    11 Flush Occurred | handle
    12 Role Change | status, addr Address, role Role
    13 Number of Completed Packets
    14 Mode Change | status, handle
    15 Return Link Keys
    16 PIN Code Request | addr Address
    17 Link Key Request | addr Address
    18 Link Key Notification | addr Address
    19 Loopback Command
    1A Data Buffer Overflow
    1B Max Slots Change | handle
    1C Read Clock Offset Complete | status, handle
    1D Connection Packet Type Changed | status, handle
    1E QoS Violation | handle
    20 Page Scan Repetition Mode Change | addr Address
    21 Flow Specification Complete | status, handle
    22 Inquiry Result with RSSI
    23 Read Remote Extended Features Complete | status, handle
    2C Synchronous Connection Complete | status, handle, addr Address
    2D Synchronous Connection Changed | status, handle
    2E Sniff Subrating | status, handle
    2F Extended Inquiry Result
    30 Encryption Key Refresh Complete | status, handle
    31 IO Capability Request | addr Address
    32 IO Capability Response | addr Address
    33 User Confirmation Request | addr Address
    34 User Passkey Request | addr Address
    35 Remote OOB Data Request | addr Address
    36 Simple Pairing Complete | status, addr Address
    38 Link Supervision Timeout Changed | handle, u16 Timeout
    39 Enhanced Flush Complete | handle
    3B User Passkey Notification | addr Address
    3C Keypress Notification | addr Address
    3D Remote Host Supported Features Notification | addr Address
    3E LE Meta Event
    40 Physical Link Complete
    41 Channel Selected
    42 Disconnection Physical Link Complete
    43 Physical Link Loss Early Warning
    44 Physical Link Recovery
    45 Logical Link Complete
    46 Disconnection Logical Link Complete
    47 Flow Spec Modify Complete
    48 Number of Completed Data Blocks
    49 AMP Start Test
    4A AMP Test End
    4B AMP Receiver Report
    4C Short Range Mode Change Complete
    4D AMP Status Change
    4E Triggered Clock Capture
    4F Synchronization Train Complete
    50 Synchronization Train Received
    51 Connectionless Peripheral Broadcast Receive
    52 Connectionless Peripheral Broadcast Timeout
    53 Truncated Page Complete
    54 Peripheral Page Response Timeout
    55 Connectionless Peripheral Broadcast Channel Map Change
    56 Inquiry Response Notification
    57 Authenticated Payload Timeout Expired | handle
    58 SAM Status Change | handle
    59 Encryption Change [v2] | status, handle, encryption Encryption, u8 Key Size
    FF Vendor

    """)

  /// The subevents of the LE Meta Event (7.7.65).
  static let meta = HCITable(
    """
    01 LE Connection Complete | status, handle, role Role, addrtype Peer Address Type, \
    addr Peer Address, ms125 Interval, u16 Latency, ms10 Supervision Timeout, hex8 Clock Accuracy
    02 LE Advertising Report
    03 LE Connection Update Complete | status, handle, ms125 Interval, u16 Latency, \
    ms10 Supervision Timeout
    04 LE Read Remote Features Complete | status, handle, hex64 Features
    05 LE Long Term Key Request | handle
    06 LE Remote Connection Parameter Request | handle, ms125 Minimum Interval, \
    ms125 Maximum Interval, u16 Latency, ms10 Supervision Timeout
    07 LE Data Length Change | handle, u16 TX Octets, u16 TX Time, u16 RX Octets, u16 RX Time
    08 LE Read Local P-256 Public Key Complete | status
    09 LE Generate DHKey Complete | status
    0A LE Enhanced Connection Complete [v1] | status, handle, role Role, \
    addrtype Peer Address Type, addr Peer Address, addr Local RPA, addr Peer RPA, \
    ms125 Interval, u16 Latency, ms10 Supervision Timeout, hex8 Clock Accuracy
    0B LE Directed Advertising Report
    0C LE PHY Update Complete | status, handle, phy TX PHY, phy RX PHY
    0D LE Extended Advertising Report
    0E LE Periodic Advertising Sync Established [v1] | status
    0F LE Periodic Advertising Report [v1]
    10 LE Periodic Advertising Sync Lost
    11 LE Scan Timeout
    12 LE Advertising Set Terminated | status, u8 Advertising Handle, handle, u8 Completed Events
    13 LE Scan Request Received | u8 Advertising Handle, addrtype Scanner Address Type, \
    addr Scanner Address
    14 LE Channel Selection Algorithm | handle, u8 Algorithm
    15 LE Connectionless IQ Report
    16 LE Connection IQ Report
    17 LE CTE Request Failed
    18 LE Periodic Advertising Sync Transfer Received [v1]
    19 LE CIS Established [v1] | status, handle
    1A LE CIS Request | handle
    1B LE Create BIG Complete | status
    1C LE Terminate BIG Complete
    1D LE BIG Sync Established | status
    1E LE BIG Sync Lost
    1F LE Request Peer SCA Complete | status, handle, hex8 Clock Accuracy
    20 LE Path Loss Threshold | handle
    21 LE Transmit Power Reporting | status, handle
    22 LE BIGInfo Advertising Report
    23 LE Subrate Change | status, handle, u16 Subrate Factor, u16 Latency, \
    u16 Continuation Number, ms10 Supervision Timeout
    24 LE Periodic Advertising Sync Established [v2] | status
    25 LE Periodic Advertising Report [v2]
    26 LE Periodic Advertising Sync Transfer Received [v2]
    27 LE Periodic Advertising Subevent Data Request
    28 LE Periodic Advertising Response Report
    29 LE Enhanced Connection Complete [v2] | status, handle, role Role, \
    addrtype Peer Address Type, addr Peer Address, addr Local RPA, addr Peer RPA, \
    ms125 Interval, u16 Latency, ms10 Supervision Timeout, hex8 Clock Accuracy
    2A LE CIS Established [v2] | status, handle

    """)
}
