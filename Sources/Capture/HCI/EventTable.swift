// SPDX-License-Identifier: GPL-3.0-or-later

/// The events of HCI (Core Specification Vol 4 Part E, 7.7): code, name, parameters.
enum EventTable {
  static let events: PacketTable = [
    0x01: .init("Inquiry Complete", .status), 0x02: "Inquiry Result",
    0x03: .init(
      "Connection Complete", .status, .handle, .address("Address"), .hex("Link Type", 1),
      .flag("Encryption")),
    0x04: .init("Connection Request", .address("Address")),
    0x05: .init("Disconnection Complete", .status, .handle, .reason),
    0x06: .init("Authentication Complete", .status, .handle),
    0x07: .init("Remote Name Request Complete", .status, .address("Address"), .text("Name")),
    0x08: .init("Encryption Change", .status, .handle, .encryption),
    0x09: .init("Change Connection Link Key Complete", .status, .handle),
    0x0A: .init("Link Key Type Changed", .status, .handle),
    0x0B: .init("Read Remote Supported Features Complete", .status, .handle),
    0x0C: .init(
      "Read Remote Version Information Complete", .status, .handle, .hex("Version", 1), .u16("Manufacturer"),
      .hex("Subversion", 2)), 0x0D: .init("QoS Setup Complete", .status, .handle),
    0x0E: .init("Command Complete", .u8("ncmd"), .command),
    0x0F: .init("Command Status", .choice("Status", ControllerError.names), .u8("ncmd"), .command),
    0x10: .init("Hardware Error", .hex("Code", 1)), 0x11: .init("Flush Occurred", .handle),
    0x12: .init("Role Change", .status, .address("Address"), .role),
    0x13: .init(
      "Number of Completed Packets",
      .several("Completed", key: "completed", [.handle, .u16("Count")])),
    0x14: .init("Mode Change", .status, .handle),
    0x15: "Return Link Keys",
    0x16: .init("PIN Code Request", .address("Address")),
    0x17: .init("Link Key Request", .address("Address")),
    0x18: .init("Link Key Notification", .address("Address")),
    0x19: "Loopback Command", 0x1A: "Data Buffer Overflow",
    0x1B: .init("Max Slots Change", .handle),
    0x1C: .init("Read Clock Offset Complete", .status, .handle),
    0x1D: .init("Connection Packet Type Changed", .status, .handle),
    0x1E: .init("QoS Violation", .handle),
    0x20: .init("Page Scan Repetition Mode Change", .address("Address")),
    0x21: .init("Flow Specification Complete", .status, .handle), 0x22: "Inquiry Result with RSSI",
    0x23: .init("Read Remote Extended Features Complete", .status, .handle),
    0x2C: .init("Synchronous Connection Complete", .status, .handle, .address("Address")),
    0x2D: .init("Synchronous Connection Changed", .status, .handle), 0x2E: .init("Sniff Subrating", .status, .handle),
    0x2F: "Extended Inquiry Result", 0x30: .init("Encryption Key Refresh Complete", .status, .handle),
    0x31: .init("IO Capability Request", .address("Address")),
    0x32: .init("IO Capability Response", .address("Address")),
    0x33: .init("User Confirmation Request", .address("Address")),
    0x34: .init("User Passkey Request", .address("Address")),
    0x35: .init("Remote OOB Data Request", .address("Address")),
    0x36: .init("Simple Pairing Complete", .status, .address("Address")),
    0x38: .init("Link Supervision Timeout Changed", .handle, .u16("Timeout")),
    0x39: .init("Enhanced Flush Complete", .handle), 0x3B: .init("User Passkey Notification", .address("Address")),
    0x3C: .init("Keypress Notification", .address("Address")),
    0x3D: .init("Remote Host Supported Features Notification", .address("Address")), 0x3E: "LE Meta Event",
    0x40: "Physical Link Complete", 0x41: "Channel Selected", 0x42: "Disconnection Physical Link Complete",
    0x43: "Physical Link Loss Early Warning", 0x44: "Physical Link Recovery", 0x45: "Logical Link Complete",
    0x46: "Disconnection Logical Link Complete", 0x47: "Flow Spec Modify Complete",
    0x48: "Number of Completed Data Blocks", 0x49: "AMP Start Test", 0x4A: "AMP Test End", 0x4B: "AMP Receiver Report",
    0x4C: "Short Range Mode Change Complete", 0x4D: "AMP Status Change", 0x4E: "Triggered Clock Capture",
    0x4F: "Synchronization Train Complete", 0x50: "Synchronization Train Received",
    0x51: "Connectionless Peripheral Broadcast Receive", 0x52: "Connectionless Peripheral Broadcast Timeout",
    0x53: "Truncated Page Complete", 0x54: "Peripheral Page Response Timeout",
    0x55: "Connectionless Peripheral Broadcast Channel Map Change", 0x56: "Inquiry Response Notification",
    0x57: .init("Authenticated Payload Timeout Expired", .handle), 0x58: .init("SAM Status Change", .handle),
    0x59: .init("Encryption Change [v2]", .status, .handle, .encryption, .u8("Key Size")), 0xFF: .init("Vendor", .data),
  ]

  private static let reportTypes = [
    "Connectable undirected", "Connectable directed", "Scannable undirected",
    "Non connectable undirected", "Scan response",
  ]

  /// The subevents of the LE Meta Event (7.7.65).
  static let meta: PacketTable = [
    0x01: .init(
      "LE Connection Complete", .status, .handle, .role, .peer, .connection,
      .hex("Clock Accuracy", 1)),
    0x02: .init(
      "LE Advertising Report",
      .reports(
        .choice("Event Type", reportTypes), .advertiser("Address"), .advertisingData("Data"),
        .dBm("RSSI"))),
    0x03: .init("LE Connection Update Complete", .status, .handle, .connection),
    0x04: .init("LE Read Remote Features Complete", .status, .handle, .hex("Features", 8)),
    0x05: .init("LE Long Term Key Request", .handle),
    0x06: .init("LE Remote Connection Parameter Request", .handle, .connectionRequest),
    0x07: .init("LE Data Length Change", .handle, .sentLength, .receivedLength),
    0x08: .init("LE Read Local P-256 Public Key Complete", .status), 0x09: .init("LE Generate DHKey Complete", .status),
    0x0A: .init("LE Enhanced Connection Complete [v1]", .enhancedConnection), 0x0B: "LE Directed Advertising Report",
    0x0C: .init("LE PHY Update Complete", .status, .handle, .phy("TX PHY"), .phy("RX PHY")),
    // Without PHYs, advertising set and transmit power; periodic advertising interval and direct address.
    0x0D: .init(
      "LE Extended Advertising Report",
      .reports(
        .hex("Event Type", 2), .advertiser("Address"), .skipped(4), .dBm("RSSI"), .skipped(9),
        .advertisingData("Data"))),
    0x0E: .init("LE Periodic Advertising Sync Established [v1]", .status),
    0x0F: "LE Periodic Advertising Report [v1]", 0x10: "LE Periodic Advertising Sync Lost",
    0x11: "LE Scan Timeout",
    0x12: .init(
      "LE Advertising Set Terminated", .status, .advertisingHandle, .handle,
      .u8("Completed Events")),
    0x13: .init(
      "LE Scan Request Received", .advertisingHandle, .addressType("Scanner Address Type"),
      .address("Scanner Address")),
    0x14: .init("LE Channel Selection Algorithm", .handle, .u8("Algorithm")),
    0x15: "LE Connectionless IQ Report", 0x16: "LE Connection IQ Report",
    0x17: "LE CTE Request Failed", 0x18: "LE Periodic Advertising Sync Transfer Received [v1]",
    0x19: .init("LE CIS Established [v1]", .status, .handle),
    0x1A: .init("LE CIS Request", .handle),
    0x1B: .init("LE Create BIG Complete", .status),
    0x1C: "LE Terminate BIG Complete",
    0x1D: .init("LE BIG Sync Established", .status),
    0x1E: "LE BIG Sync Lost",
    0x1F: .init("LE Request Peer SCA Complete", .status, .handle, .hex("Clock Accuracy", 1)),
    0x20: .init("LE Path Loss Threshold", .handle), 0x21: .init("LE Transmit Power Reporting", .status, .handle),
    0x22: "LE BIGInfo Advertising Report",
    0x23: .init(
      "LE Subrate Change", .status, .handle, .u16("Subrate Factor"), .u16("Latency"), .u16("Continuation Number"),
      .milliseconds("Supervision Timeout", 10)), 0x24: .init("LE Periodic Advertising Sync Established [v2]", .status),
    0x25: "LE Periodic Advertising Report [v2]", 0x26: "LE Periodic Advertising Sync Transfer Received [v2]",
    0x27: "LE Periodic Advertising Subevent Data Request", 0x28: "LE Periodic Advertising Response Report",
    0x29: .init("LE Enhanced Connection Complete [v2]", .enhancedConnection),
    0x2A: .init("LE CIS Established [v2]", .status, .handle),
  ]
}
