// SPDX-License-Identifier: GPL-3.0-or-later

/// One captured packet, whatever file it came from: all formats are read into the shape of the
/// kernel's monitor channel.
public struct CaptureRecord: Hashable, Sendable {
  public var time: CaptureTime
  /// The adapter's number; `MonitorOpcode.noAdapter` where the packet belongs to none.
  public var adapter: UInt16
  public var opcode: MonitorOpcode
  /// The packet without the byte that says its kind.
  public var data: [UInt8]
  /// How many bytes of the packet the capture left out at its end.
  public var missing: Int
  /// Whether the capture says which way the packet went. Where it does not (link type 187), `opcode`
  /// is the way that its flags point to.
  public var isDirectionKnown: Bool

  public init(
    _ opcode: MonitorOpcode, _ data: [UInt8], time: CaptureTime, adapter: UInt16 = 0,
    missing: Int = 0, isDirectionKnown: Bool = true
  ) {
    self.time = time
    self.adapter = adapter
    self.opcode = opcode
    self.data = data
    self.missing = missing
    self.isDirectionKnown = isDirectionKnown
  }
}

/// Which way a packet went, seen from the board.
public enum CaptureDirection: Hashable, Sendable {
  /// From the board to its controller, and on to the phone.
  case sent
  /// From the controller.
  case received
}

extension MonitorOpcode {
  /// Which way packets of this kind go; nil where they go nowhere.
  public var direction: CaptureDirection? {
    switch self {
    case .command, .aclTransmitted, .scoTransmitted, .isoTransmitted: .sent
    case .event, .aclReceived, .scoReceived, .isoReceived: .received
    default: nil
    }
  }
}

extension CaptureRecord {
  /// A packet of the kernel's monitor channel: opcode, adapter and length, two bytes each and little
  /// endian, then the data (net/bluetooth/hci_mon.h). Nil for what has not even these.
  public init?(monitorPacket packet: [UInt8], time: CaptureTime) {
    guard packet.count >= 6 else { return nil }
    let head = FileBytes(packet[...])
    let length = Int(head.u16(4, .littleEndian))
    let data = Array(packet.dropFirst(6).prefix(length))
    self.init(
      MonitorOpcode(rawValue: head.u16(0, .littleEndian)), data, time: time,
      adapter: head.u16(2, .littleEndian), missing: length - data.count)
  }
}
