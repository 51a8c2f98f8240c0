// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// A captured packet. Records of all file formats are converted to the form of the kernel's HCI monitor.
public struct CaptureRecord: Hashable, Sendable {
  public var time: WallTime
  /// The adapter's number; `MonitorOpcode.noAdapter` if the packet belongs to none.
  public var adapter: UInt16
  public var opcode: MonitorOpcode
  /// The packet, without an H4 packet indicator.
  public var data: [UInt8]
  /// The number of bytes at the packet's end that were not captured.
  public var missing: Int
  /// Whether the capture says in which direction the packet went. If it does not (link type 187),
  /// `opcode` has the direction that the packet's flags suggest.
  public var isDirectionKnown: Bool

  public init(
    _ opcode: MonitorOpcode, _ data: [UInt8], time: WallTime, adapter: UInt16 = 0, missing: Int = 0,
    isDirectionKnown: Bool = true
  ) {
    self.time = time
    self.adapter = adapter
    self.opcode = opcode
    self.data = data
    self.missing = missing
    self.isDirectionKnown = isDirectionKnown
  }

  /// A packet from the kernel's monitor channel: opcode, adapter and length, two bytes each and little
  /// endian, then the data (net/bluetooth/hci_mon.h). Nil if the header is incomplete.
  public init?(monitorPacket packet: [UInt8], time: WallTime) {
    var reader = ByteReader(packet)
    guard let opcode = try? reader.u16(), let adapter = try? reader.u16(),
      let length = try? reader.u16()
    else { return nil }
    let data = Array(reader.rest().prefix(Int(length)))
    self.init(MonitorOpcode(rawValue: opcode), data, time: time, adapter: adapter, missing: Int(length) - data.count)
  }
}

/// The direction of a packet, seen from the host that was captured: the board, or the phone in a
/// capture of its own.
public enum CaptureDirection: Hashable, Sendable {
  /// From the host to its controller, and on to the peer.
  case sent
  /// From the controller.
  case received

  var opposite: CaptureDirection { self == .sent ? .received : .sent }
}

/// The kind of a packet on the kernel's HCI monitor channel (`HCI_MON_*` in net/bluetooth/hci_mon.h),
/// which is also the kind of a record in btsnoop's monitor format. Unknown numbers are kept.
public struct MonitorOpcode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }
  private init(_ rawValue: UInt16) { self.rawValue = rawValue }

  /// An adapter was plugged in: type, bus, address, name.
  public static let newIndex = MonitorOpcode(0)
  /// An adapter was removed.
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
  /// A message of the kernel.
  public static let systemNote = MonitorOpcode(12)
  /// A message of a program.
  public static let userLogging = MonitorOpcode(13)
  public static let controlOpen = MonitorOpcode(14)
  public static let controlClose = MonitorOpcode(15)
  public static let controlCommand = MonitorOpcode(16)
  public static let controlEvent = MonitorOpcode(17)
  public static let isoTransmitted = MonitorOpcode(18)
  public static let isoReceived = MonitorOpcode(19)

  /// Not a number of the kernel: a packet that a sniffer heard on the air, after two bytes of flags
  /// (`AirPacket`).
  public static let air = MonitorOpcode(0xFFFF)
  /// Not numbers of the kernel: a control PDU of the link layer (`LoggedControlPDU`), and one that the captured controller
  /// sent or received, as the decoder finds out.
  public static let linkControl = MonitorOpcode(0xFFFC)
  public static let linkControlTransmitted = MonitorOpcode(0xFFFE)
  public static let linkControlReceived = MonitorOpcode(0xFFFD)

  /// The adapter number of packets that belong to no adapter (`HCI_DEV_NONE`).
  public static let noAdapter: UInt16 = 0xFFFF

  /// The direction of packets of this kind; nil for those that are not sent anywhere.
  public var direction: CaptureDirection? {
    switch self {
    case .command, .aclTransmitted, .scoTransmitted, .isoTransmitted, .linkControlTransmitted: .sent
    case .event, .aclReceived, .scoReceived, .isoReceived, .linkControlReceived: .received
    default: nil
    }
  }

  private static let names = [
    "New Index", "Delete Index", "HCI Command", "HCI Event", "ACL Data TX", "ACL Data RX", "SCO Data TX", "SCO Data RX",
    "Open Index", "Close Index", "Index Info", "Vendor Diagnostic", "Note", "User Logging", "MGMT Open", "MGMT Close",
    "MGMT Command", "MGMT Event", "ISO Data TX", "ISO Data RX",
  ]

  /// The name that btmon uses, or the number.
  public var description: String {
    switch self {
    case .air: "LE Packet"
    case .linkControlTransmitted: "LE Control TX"
    case .linkControlReceived: "LE Control RX"
    case .linkControl: "Link Control"
    default: Self.names.name(of: rawValue) ?? "Monitor packet \(rawValue)"
    }
  }
}

extension WallTime {
  /// A time as files have it. A fraction of a second or more is not valid; it is read as the end of
  /// that second.
  init(seconds: UInt32, nanoseconds: UInt32) {
    self.init(seconds: Int64(seconds), nanoseconds: Int32(min(nanoseconds, 999_999_999)))
  }

  /// The same with microseconds.
  init(seconds: UInt32, microseconds: UInt32) {
    let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1000)
    self.init(seconds: seconds, nanoseconds: overflow ? .max : nanoseconds)
  }

  /// A time in microseconds since 1970, negative before.
  public init(microseconds: Int64) {
    let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    let borrowed: Int64 = remainder < 0 ? 1 : 0
    self.init(seconds: quotient - borrowed, nanoseconds: Int32(remainder + borrowed * 1_000_000) * 1000)
  }

  /// Microseconds since 1970, clamped.
  public var microseconds: Int64 {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let (sum, over) = product.addingReportingOverflow(Int64(nanoseconds / 1000))
    return overflow || over ? (seconds < 0 ? .min : .max) : sum
  }

  /// Microseconds from `start` to this time, clamped.
  public func microseconds(since start: WallTime) -> Int64 {
    let (difference, overflow) = microseconds.subtractingReportingOverflow(start.microseconds)
    return overflow ? (self < start ? .min : .max) : difference
  }

  /// Date and time in a time zone, without the fraction of a second.
  ///
  /// - Parameter zone: the zone's offset from UTC in seconds.
  public func civil(zone: Int = 0) -> CivilTime {
    CivilTime(secondsSince1970: seconds.addingReportingOverflow(Int64(zone)).partialValue)
  }

  /// The fraction of a second in microseconds, as six digits.
  public var fraction: String { String(nanoseconds / 1000, digits: 6) }
}
