// SPDX-License-Identifier: GPL-3.0-or-later

/// The events of HCI (Core Specification Vol 4 Part E, 7.7): code, name, parameters. Those of BR/EDR that are no part
/// of a set-up have no name: only their number and length are shown.
enum EventTable {
  static let events: PacketTable = [
    0x03: .init(
      "Connection Complete", .status, .handle, .address("Address"), .hex("Link Type", 1), .flag("Encryption")),
    0x04: .init("Connection Request", .address("Address")),
    0x05: .init("Disconnection Complete", .status, .handle, .reason),
    0x08: .init("Encryption Change", .status, .handle, .encryption),
    0x0C: .init(
      "Read Remote Version Information Complete", .status, .handle, .hex("Version", 1), .u16("Manufacturer"),
      .hex("Subversion", 2)), 0x0E: .init("Command Complete", .u8("ncmd"), .command),
    0x0F: .init("Command Status", .choice("Status", ControllerError.names), .u8("ncmd"), .command),
    0x10: .init("Hardware Error", .hex("Code", 1)),
    0x13: .init("Number of Completed Packets", .several("Completed", key: "completed", [.handle, .u16("Count")])),
    0x1A: "Data Buffer Overflow", 0x30: .init("Encryption Key Refresh Complete", .status, .handle),
    0x3E: "LE Meta Event", 0x57: .init("Authenticated Payload Timeout Expired", .handle),
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
