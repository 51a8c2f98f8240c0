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
    var unit = DecodedUnit(
      layer: .hciCommand, name: name(ofCommand: opcode), code: opcode, length: bytes.count)
    // Opcode group and opcode command field, as btmon writes them.
    let split = "\(hexadecimal(opcode >> 10, 2))|\(hexadecimal(opcode & 0x3FF, 4))"
    if bytes.count < 3 {
      unit.problem = "\(bytes.count) bytes, three needed"
    } else {
      let parameters = reader.rest()
      unit.read(CommandTable[opcode], from: parameters)
      unit.check(parameters, length)
    }
    return ("HCI Command: \(unit.name) (\(split)) plen \(length)", unit)
  }

  /// An event: code, length, parameters.
  static func event(_ bytes: [UInt8]) -> (title: String, unit: DecodedUnit) {
    var reader = ByteReader(bytes)
    let code = reader.u8OrZero()
    let length = reader.u8OrZero()
    let layout = EventTable.events[code]
    let name = layout?.name ?? "Event \(hexadecimal(code, 2))"
    var unit = DecodedUnit(layer: .hciEvent, name: name, code: UInt16(code), length: bytes.count)
    if bytes.count < 2 {
      unit.problem = "\(bytes.count) bytes, two needed"
    } else {
      let parameters = reader.rest()
      switch code {
      case 0x0E: commandComplete(parameters, &unit)
      case 0x0F: commandStatus(parameters, &unit)
      case 0x13: completedPackets(parameters, &unit)
      case 0x3E: meta(parameters, &unit)
      case 0xFF: unit.read(nil, from: parameters)
      default: unit.read(layout, from: parameters)
      }
      unit.check(parameters, length)
    }
    return ("HCI Event: \(name) (\(hexadecimal(code, 2))) plen \(length)", unit)
  }

  /// A command's name; the opcodes of vendors have none.
  private static func name(ofCommand opcode: UInt16) -> String {
    CommandTable[opcode]?.name
      ?? (opcode >> 10 == 0x3F ? "Vendor" : "Command \(hexadecimal(opcode, 4))")
  }

  // MARK: Events with a layout of their own

  private static func commandComplete(_ bytes: ArraySlice<UInt8>, _ unit: inout DecodedUnit) {
    var reader = ByteReader(bytes)
    let count = reader.u8OrZero()
    let opcode = reader.u16OrZero()
    unit.details = [
      .named("Command", name(ofCommand: opcode), opcode).at(3..<5),
      .number("ncmd", count).at(2..<3),
    ]
    let results = reader.rest()
    // The return parameters of every command begin with a status.
    if !results.isEmpty { unit.read(CommandTable[opcode]?.results ?? [.status], from: results) }
  }

  private static func commandStatus(_ bytes: ArraySlice<UInt8>, _ unit: inout DecodedUnit) {
    var reader = ByteReader(bytes)
    let status = reader.u8OrZero()
    let count = reader.u8OrZero()
    let opcode = reader.u16OrZero()
    unit.details = [
      .named("Command", name(ofCommand: opcode), opcode).at(4..<6),
      .number("ncmd", count).at(3..<4),
      .choice("Status", ControllerError.names, status).at(2..<3),
    ]
  }

  private static func completedPackets(_ bytes: ArraySlice<UInt8>, _ unit: inout DecodedUnit) {
    var reader = ByteReader(bytes)
    for _ in 0..<reader.u8OrZero() {
      let start = bytes.startIndex + reader.offset
      guard let handle = try? reader.u16(), let count = try? reader.u16() else { return }
      let numbers: [Detail] = [.number("Handle", handle & 0x0FFF), .number("Count", count)]
      unit.details.append(.several("Completed", key: "completed", numbers).at(start..<start + 4))
    }
  }

  private static func meta(_ bytes: ArraySlice<UInt8>, _ unit: inout DecodedUnit) {
    guard let subevent = bytes.first else {
      unit.problem = "no subevent"
      return
    }
    let layout = EventTable.meta[subevent]
    unit.name = layout?.name ?? "Subevent \(hexadecimal(subevent, 2))"
    unit.details = [.named("Subevent", unit.name, subevent).at(2..<3)]
    let parameters = bytes.dropFirst()
    switch subevent {
    case 0x02: reports(parameters, legacyReport, &unit)
    case 0x0D: reports(parameters, extendedReport, &unit)
    default: unit.read(layout?.fields ?? [], from: parameters)
    }
  }

  // MARK: Advertising reports (7.7.65.2 and 7.7.65.13)

  private static func reports(
    _ bytes: ArraySlice<UInt8>,
    _ report: (inout ByteReader) throws(DecodeError) -> [Detail], _ unit: inout DecodedUnit
  ) {
    var reader = ByteReader(bytes)
    do {
      for _ in 0..<(try reader.u8()) {
        let start = bytes.startIndex + reader.offset
        let detail = Detail.several("Report", key: "reports", try report(&reader))
        unit.details.append(detail.at(start..<bytes.startIndex + reader.offset))
      }
    } catch {
      unit.problem = "\(error)"
    }
  }

  private static func legacyReport(_ reader: inout ByteReader) throws(DecodeError) -> [Detail] {
    let kinds = [
      "Connectable undirected", "Connectable directed", "Scannable undirected",
      "Non connectable undirected", "Scan response",
    ]
    return [
      .choice("Event Type", kinds, try reader.u8()), try advertiser(&reader), try data(&reader),
      try rssi(&reader),
    ]
  }

  private static func extendedReport(_ reader: inout ByteReader) throws(DecodeError) -> [Detail] {
    let type = Detail.named("Event Type", nil, try reader.u16())
    let advertiser = try advertiser(&reader)
    try reader.skip(4)  // PHYs, advertising set, transmit power
    let rssi = try rssi(&reader)
    try reader.skip(9)  // periodic advertising interval, direct address
    return [type, advertiser, rssi, try data(&reader)]
  }

  private static func advertiser(_ reader: inout ByteReader) throws(DecodeError) -> Detail {
    let type = try reader.u8()
    return .text("Address", try reader.address().text(type: type & 1))
  }

  private static func rssi(_ reader: inout ByteReader) throws(DecodeError) -> Detail {
    .measure("RSSI", Double(try reader.i8()), "dBm")
  }

  private static func data(_ reader: inout ByteReader) throws(DecodeError) -> Detail {
    AdvertisingSummary.detail("Data", try reader.bytes(Int(try reader.u8())))
  }
}

extension DecodedUnit {
  fileprivate mutating func check(_ parameters: ArraySlice<UInt8>, _ length: UInt8) {
    guard parameters.count < length else { return }
    problem = "\(parameters.count) of \(length) bytes of parameters"
  }
}
