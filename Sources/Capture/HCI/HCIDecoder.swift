// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Decodes HCI commands and events (Core Specification Vol 4 Part E, 5.4): their names, and the
/// parameters that `CommandTable` and `EventTable` list.
enum HCIDecoder {
  /// A command: opcode, length, parameters.
  static func command(_ bytes: [UInt8]) -> (title: String, unit: DecodedUnit) {
    var reader = ByteReader(bytes)
    let opcode = reader.u16OrZero()
    let length = reader.u8OrZero()
    var unit = DecodedUnit(layer: .hciCommand, name: CommandTable.name(of: opcode), code: opcode, length: bytes.count)
    // Opcode group and opcode command field, as btmon writes them.
    let split = "\(hexadecimal(opcode >> 10, 2))|\(hexadecimal(opcode & 0x3FF, 4))"
    if bytes.count < 3 {
      unit.problem = "\(bytes.count) bytes, three needed"
    } else {
      let parameters = reader.rest()
      // What has no name may have keys.
      unit.read(CommandTable.commands[opcode]?.fields ?? (opcode >> 10 == 0x3F ? [.data] : []), from: parameters)
      unit.check(parameters, length)
    }
    return ("HCI Command: \(unit.name) (\(split)) plen \(length)", unit)
  }

  /// An event: code, length, parameters.
  static func event(_ bytes: [UInt8]) -> (title: String, unit: DecodedUnit) {
    var reader = ByteReader(bytes)
    let code = reader.u8OrZero()
    let length = reader.u8OrZero()
    let layout = EventTable.events[UInt16(code)]
    let name = layout?.name ?? "Event \(hexadecimal(code, 2))"
    var unit = DecodedUnit(layer: .hciEvent, name: name, code: UInt16(code), length: bytes.count)
    if bytes.count < 2 {
      unit.problem = "\(bytes.count) bytes, two needed"
    } else {
      let parameters = reader.rest()
      switch code {
      case 0x3E: meta(parameters, &unit)
      case 0x0E, 0x0F: response(layout?.fields ?? [], parameters, &unit)
      default: unit.read(layout?.fields ?? [], from: parameters)
      }
      unit.check(parameters, length)
    }
    return ("HCI Event: \(name) (\(hexadecimal(code, 2))) plen \(length)", unit)
  }

  /// Command Complete or Command Status: the command first, then what the event has before it, then the return
  /// parameters, which begin with a status for every command.
  private static func response(_ fields: [PacketField], _ bytes: ArraySlice<UInt8>, _ unit: inout DecodedUnit) {
    let results = unit.read(fields, from: bytes)
    unit.details.reverse()
    guard case .named(_, let opcode, _)? = unit.details.first?.value, !results.isEmpty else {
      return
    }
    unit.read(CommandTable.commands[UInt16(opcode)]?.results ?? [.status], from: results)
  }

  private static func meta(_ bytes: ArraySlice<UInt8>, _ unit: inout DecodedUnit) {
    guard let subevent = bytes.first else {
      unit.problem = "no subevent"
      return
    }
    let layout = EventTable.meta[UInt16(subevent)]
    unit.name = layout?.name ?? "Subevent \(hexadecimal(subevent, 2))"
    unit.details = [.named("Subevent", unit.name, subevent).at(2..<3)]
    unit.read(layout?.fields ?? [], from: bytes.dropFirst())
  }
}

extension DecodedUnit {
  fileprivate mutating func check(_ parameters: ArraySlice<UInt8>, _ length: UInt8) {
    guard parameters.count < length else { return }
    problem = "\(parameters.count) of \(length) bytes of parameters"
  }
}
