// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Capture
import Wire

@testable import FuzzTargets

/// A link whose packets are decoded.
struct DecodedLink {
  var decoder = CaptureDecoder()
  let handle: UInt16 = 0x0040

  /// A connection from the phone.
  mutating func connect(_ peer: DeviceAddress = Sample.phone) {
    let event: [UInt8] =
      [0x3E, 19, 0x01, 0x00] + Sample.little(handle)
      + [0x01, peer.type == .random ? 1 : 0] + peer.address.littleEndian
      + [24, 0, 0, 0, 0xF4, 0x01, 0]
    _ = frame(.event, event)
  }

  mutating func disconnect(reason: UInt8 = 0x13) -> DecodedFrame {
    frame(.event, [0x05, 4, 0x00] + Sample.little(handle) + [reason])
  }

  mutating func frame(_ opcode: MonitorOpcode, _ data: [UInt8]) -> DecodedFrame {
    decoder.decode(CaptureRecord(opcode, data, time: Sample.time))
  }

  /// An L2CAP frame from the board.
  mutating func send(_ payload: [UInt8], channel: UInt16 = 4) -> DecodedUnit? {
    frame(.aclTransmitted, Sample.acl(handle, 0b00, Sample.frame(channel, payload))).units.first
  }

  /// An L2CAP frame from the phone.
  mutating func receive(_ payload: [UInt8], channel: UInt16 = 4) -> DecodedUnit? {
    frame(.aclReceived, Sample.acl(handle, 0b10, Sample.frame(channel, payload))).units.first
  }

  /// A PDU from the board.
  mutating func send(_ pdu: PDU) -> DecodedUnit? { send(pdu.encoded) }

  /// A PDU from the phone.
  mutating func receive(_ pdu: PDU) -> DecodedUnit? { receive(pdu.encoded) }
}

extension DecodedUnit {
  /// All details as `key: value`, with semicolons between.
  var said: String { parts.joined(separator: "; ") }

  private var parts: [String] { (details + attributes.flatMap(\.meaning)).flatMap(\.parts) }

  /// The value of the detail with this key, at any depth.
  func value(_ key: String) -> String? {
    parts.first { $0.hasPrefix(key + ": ") }.map { String($0.dropFirst(key.utf8.count + 2)) }
  }
}

extension Detail {
  fileprivate var parts: [String] { ["\(key): \(value)"] + children.flatMap(\.parts) }
}
