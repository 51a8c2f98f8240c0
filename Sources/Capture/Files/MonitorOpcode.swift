// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What a packet of the kernel's HCI monitor channel is (`HCI_MON_*` in the kernel's
/// net/bluetooth/hci_mon.h; the same numbers in btsnoop's monitor format). Open: others are kept.
public struct MonitorOpcode: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }
  private init(_ rawValue: UInt16) { self.rawValue = rawValue }

  /// An adapter was plugged in: type, bus, address, name.
  public static let newIndex = MonitorOpcode(0)
  /// An adapter went away.
  public static let deleteIndex = MonitorOpcode(1)
  public static let command = MonitorOpcode(2)
  public static let event = MonitorOpcode(3)
  public static let aclTransmitted = MonitorOpcode(4)
  public static let aclReceived = MonitorOpcode(5)
  public static let scoTransmitted = MonitorOpcode(6)
  public static let scoReceived = MonitorOpcode(7)
  public static let openIndex = MonitorOpcode(8)
  public static let closeIndex = MonitorOpcode(9)
  /// Address and manufacturer of an adapter.
  public static let indexInformation = MonitorOpcode(10)
  public static let vendorDiagnostic = MonitorOpcode(11)
  /// A sentence of the kernel's.
  public static let systemNote = MonitorOpcode(12)
  /// A sentence of some program's.
  public static let userLogging = MonitorOpcode(13)
  public static let controlOpen = MonitorOpcode(14)
  public static let controlClose = MonitorOpcode(15)
  public static let controlCommand = MonitorOpcode(16)
  public static let controlEvent = MonitorOpcode(17)
  public static let isoTransmitted = MonitorOpcode(18)
  public static let isoReceived = MonitorOpcode(19)

  /// No number of the kernel's: a packet as a sniffer heard it, behind two bytes of remarks.
  public static let air = MonitorOpcode(0xFFFF)

  /// The index of packets that belong to no adapter (`HCI_DEV_NONE`).
  public static let noAdapter: UInt16 = 0xFFFF

  private static let names = [
    "New Index", "Delete Index", "HCI Command", "HCI Event", "ACL Data TX", "ACL Data RX",
    "SCO Data TX", "SCO Data RX", "Open Index", "Close Index", "Index Info", "Vendor Diagnostic",
    "Note", "User Logging", "MGMT Open", "MGMT Close", "MGMT Command", "MGMT Event",
    "ISO Data TX", "ISO Data RX",
  ]
}

extension MonitorOpcode: CustomStringConvertible {
  /// As btmon names it, or its number.
  public var description: String {
    if self == .air { return "LE Packet" }
    return rawValue < Self.names.count ? Self.names[Int(rawValue)] : "Monitor packet \(rawValue)"
  }
}
