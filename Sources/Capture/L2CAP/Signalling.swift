// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The commands of L2CAP's signalling channels (Vol 3 Part A, 4).
enum Signalling {
  private static let table: [UInt8: (name: String, fields: String)] = [
    0x01: ("Command Reject", "u16 Reason"),
    0x02: ("Connection Request", "hex16 PSM, hex16 Source CID"),
    0x03: (
      "Connection Response", "hex16 Destination CID, hex16 Source CID, u16 Result, u16 Status"
    ),
    0x04: ("Configuration Request", "hex16 Destination CID"),
    0x05: ("Configuration Response", "hex16 Source CID"),
    0x06: ("Disconnection Request", "hex16 Destination CID, hex16 Source CID"),
    0x07: ("Disconnection Response", "hex16 Destination CID, hex16 Source CID"),
    0x08: ("Echo Request", ""),
    0x09: ("Echo Response", ""),
    0x0A: ("Information Request", "u16 Type"),
    0x0B: ("Information Response", "u16 Type, u16 Result"),
    0x12: (
      "Connection Parameter Update Request",
      "ms125 Minimum Interval, ms125 Maximum Interval, u16 Latency, ms10 Supervision Timeout"
    ),
    0x13: ("Connection Parameter Update Response", "u16 Result"),
    0x14: (
      "LE Credit Based Connection Request",
      "hex16 SPSM, hex16 Source CID, u16 MTU, u16 MPS, u16 Initial Credits"
    ),
    0x15: (
      "LE Credit Based Connection Response",
      "hex16 Destination CID, u16 MTU, u16 MPS, u16 Initial Credits, u16 Result"
    ),
    0x16: ("Flow Control Credit", "hex16 CID, u16 Credits"),
    0x17: ("Credit Based Connection Request", "hex16 SPSM, u16 MTU, u16 MPS, u16 Initial Credits"),
    0x18: ("Credit Based Connection Response", "u16 MTU, u16 MPS, u16 Initial Credits, u16 Result"),
    0x19: ("Credit Based Reconfigure Request", "u16 MTU, u16 MPS"),
    0x1A: ("Credit Based Reconfigure Response", "u16 Result"),
  ]

  /// What the identifiers behind the fields are, where there are some.
  private static let lists: [UInt8: String] = [
    0x17: "Source CIDs", 0x18: "Destination CIDs", 0x19: "Destination CIDs",
  ]

  /// What a result of 0 and 1 means, where it says whether something was granted.
  private static let results = ["Accepted", "Rejected"]

  /// The commands of a frame: on LE it has one, on BR/EDR there may be several (Vol 3 Part A, 4).
  static func commands(in frame: [UInt8]) -> [[UInt8]] {
    var commands: [[UInt8]] = []
    var rest = frame[...]
    repeat {
      let length = 4 + Int(FileBytes(rest).u16(2, .littleEndian))
      commands.append(Array(rest.prefix(length)))
      rest = rest.dropFirst(length)
    } while rest.count >= 4
    return commands
  }

  /// Reads a command: code, identifier, length, data.
  static func decode(_ bytes: [UInt8]) -> Unit {
    let frame = FileBytes(bytes[...])
    let code = frame.u8(0)
    var unit = Unit(
      .signalling, table[code]?.name ?? "Command \(hexadecimal(code, 2))",
      code: UInt16(code), length: bytes.count)
    guard bytes.count >= 4 else {
      unit.problem = "\(bytes.count) bytes, four needed"
      return unit
    }
    let length = Int(frame.u16(2, .littleEndian))
    unit.details = [.number("Identifier", frame.u8(1))]
    let data = bytes.dropFirst(4).prefix(length)
    let (fields, error) = ParameterList(table[code]?.fields ?? "").read(data)
    unit.details += fields
    if let list = lists[code], error == nil {
      let start = 4 + (code == 0x19 ? 4 : 8)
      let identifiers = stride(from: start, to: 4 + data.count - 1, by: 2).map {
        hexadecimal(frame.u16($0, .littleEndian), 4)
      }
      unit.details.append(Detail(list, .list(identifiers)))
    }
    if code == 0x13, let result = data.first, result < results.count {
      unit.details[unit.details.count - 1] = .named("Result", results[Int(result)], result)
    }
    if let error { unit.problem = "\(error)" }
    if data.count < length { unit.problem = "\(data.count) of \(length) bytes" }
    return unit
  }
}
