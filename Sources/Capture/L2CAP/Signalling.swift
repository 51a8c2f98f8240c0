// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Decodes the commands of L2CAP's signalling channels (Core Specification Vol 3 Part A, 4).
enum Signalling {
  private static let table: PacketTable = [
    0x01: .init("Command Reject", .u16("Reason")),
    0x02: .init("Connection Request", .hex("PSM", 2), .hex("Source CID", 2)),
    0x03: .init(
      "Connection Response", .hex("Destination CID", 2), .hex("Source CID", 2), .u16("Result"),
      .u16("Status")),
    0x04: .init("Configuration Request", .hex("Destination CID", 2)),
    0x05: .init("Configuration Response", .hex("Source CID", 2)),
    0x06: .init("Disconnection Request", .hex("Destination CID", 2), .hex("Source CID", 2)),
    0x07: .init("Disconnection Response", .hex("Destination CID", 2), .hex("Source CID", 2)),
    0x08: "Echo Request", 0x09: "Echo Response", 0x0A: .init("Information Request", .u16("Type")),
    0x0B: .init("Information Response", .u16("Type"), .u16("Result")),
    0x12: .init("Connection Parameter Update Request", .connectionRequest),
    0x13: .init("Connection Parameter Update Response", .acceptance("Result")),
    0x14: .init("LE Credit Based Connection Request", .hex("SPSM", 2), .hex("Source CID", 2), credits),
    0x15: .init("LE Credit Based Connection Response", .hex("Destination CID", 2), credits, .u16("Result")),
    0x16: .init("Flow Control Credit", .hex("CID", 2), .u16("Credits")),
    0x17: .init("Credit Based Connection Request", .hex("SPSM", 2), credits, .channels("Source CIDs")),
    0x18: .init("Credit Based Connection Response", credits, .u16("Result"), .channels("Destination CIDs")),
    0x19: .init("Credit Based Reconfigure Request", .u16("MTU"), .u16("MPS"), .channels("Destination CIDs")),
    0x1A: .init("Credit Based Reconfigure Response", .u16("Result")),
  ]

  /// Whether a command of this code is responded to, under the same identifier, or responds; nil: neither.
  static func role(of code: UInt8) -> Opcode.Role? {
    switch code {
    case 0x02, 0x04, 0x06, 0x08, 0x0A, 0x12, 0x14, 0x17, 0x19: .request
    case 0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x13, 0x15, 0x18, 0x1A: .response
    default: nil
    }
  }

  private static let credits = PacketField.group([
    .u16("MTU"), .u16("MPS"), .u16("Initial Credits"),
  ])

  /// The commands in a frame: one on LE; there may be several on BR/EDR (Vol 3 Part A, 4).
  static func commands(in frame: [UInt8]) -> [[UInt8]] {
    var commands: [[UInt8]] = []
    var rest = frame[...]
    repeat {
      var reader = ByteReader(rest.dropFirst(2))
      let length = 4 + Int(reader.u16OrZero())
      commands.append(Array(rest.prefix(length)))
      rest = rest.dropFirst(length)
    } while rest.count >= 4
    return commands
  }

  /// Decodes a command: code, identifier, length, data.
  static func decode(_ bytes: [UInt8]) -> DecodedUnit {
    var reader = ByteReader(bytes)
    let code = reader.u8OrZero()
    let layout = table[UInt16(code)]
    let name = layout?.name ?? "Command \(hexadecimal(code, 2))"
    var unit = DecodedUnit(layer: .signalling, name: name, code: UInt16(code), length: bytes.count)
    unit.bytes = bytes
    guard let identifier = try? reader.u8(), let length = try? reader.u16() else {
      unit.problem = "\(bytes.count) bytes, four needed"
      return unit
    }
    unit.details = [.number("Identifier", identifier).at(1..<2)]
    let data = reader.rest().prefix(Int(length))
    unit.read(layout?.fields ?? [], from: data)
    if data.count < length { unit.problem = "\(data.count) of \(length) bytes" }
    return unit
  }
}
