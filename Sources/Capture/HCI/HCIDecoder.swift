// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Reads commands and events of HCI (Core Specification Vol 4 Part E, 5.4) into their names and those
/// of their parameters that `CommandTable` and `EventTable` lay out.
enum HCIDecoder {
  /// A command: opcode, length, parameters.
  static func command(_ bytes: [UInt8]) -> (title: String, unit: Unit) {
    let frame = FileBytes(bytes[...])
    let opcode = frame.u16(0, .littleEndian)
    let entry = CommandTable.commands[opcode]
    var unit = Unit(.hciCommand, name(ofCommand: opcode), code: opcode, length: bytes.count)
    let title = "HCI Command: \(unit.name) (\(split(opcode))) plen \(frame.u8(2))"
    guard bytes.count >= 3 else {
      unit.problem = "\(bytes.count) bytes, three needed"
      return (title, unit)
    }
    let parameters = bytes.dropFirst(3)
    unit.take(entry?.fields, from: parameters)
    if entry == nil, !parameters.isEmpty {
      unit.details = [Detail("Data", .bytes(Array(parameters)))]
    }
    check(parameters, frame.u8(2), &unit)
    return (title, unit)
  }

  /// An event: code, length, parameters.
  static func event(_ bytes: [UInt8]) -> (title: String, unit: Unit) {
    let frame = FileBytes(bytes[...])
    let code = frame.u8(0)
    let entry = EventTable.events[code]
    let name = entry?.name ?? "Event \(hexadecimal(code, 2))"
    var unit = Unit(.hciEvent, name, code: UInt16(code), length: bytes.count)
    let title = "HCI Event: \(name) (\(hexadecimal(code, 2))) plen \(frame.u8(1))"
    guard bytes.count >= 2 else {
      unit.problem = "\(bytes.count) bytes, two needed"
      return (title, unit)
    }
    let parameters = bytes.dropFirst(2)
    switch code {
    case 0x0E: commandComplete(parameters, &unit)
    case 0x0F: commandStatus(parameters, &unit)
    case 0x13: completedPackets(parameters, &unit)
    case 0x3E: meta(parameters, &unit)
    default:
      unit.take(entry?.fields, from: parameters)
      if entry == nil || code == 0xFF, !parameters.isEmpty {
        unit.details = [Detail("Data", .bytes(Array(parameters)))]
      }
    }
    check(parameters, frame.u8(1), &unit)
    return (title, unit)
  }

  /// A command's name: vendors have numbers of their own.
  static func name(ofCommand opcode: UInt16) -> String {
    CommandTable.commands[opcode]?.name
      ?? (opcode >> 10 == 0x3F ? "Vendor" : "Command \(hexadecimal(opcode, 4))")
  }

  /// Group and number in the group, as btmon writes them.
  private static func split(_ opcode: UInt16) -> String {
    "\(hexadecimal(opcode >> 10, 2))|\(hexadecimal(opcode & 0x3FF, 4))"
  }

  private static func check(_ parameters: ArraySlice<UInt8>, _ length: UInt8, _ unit: inout Unit) {
    if parameters.count < Int(length) {
      unit.problem = "\(parameters.count) of \(length) bytes of parameters"
    }
  }

  private static func commandComplete(_ bytes: ArraySlice<UInt8>, _ unit: inout Unit) {
    let frame = FileBytes(bytes)
    let opcode = frame.u16(1, .littleEndian)
    unit.details = [
      .named("Command", name(ofCommand: opcode), opcode), .number("ncmd", frame.u8(0)),
    ]
    let results = bytes.dropFirst(3)
    // Every command's results begin with a status, also where the table does not have it.
    if !results.isEmpty {
      unit.take(CommandTable.commands[opcode]?.results ?? ParameterList("status"), from: results)
    }
  }

  private static func commandStatus(_ bytes: ArraySlice<UInt8>, _ unit: inout Unit) {
    let frame = FileBytes(bytes)
    let opcode = frame.u16(2, .littleEndian)
    unit.details = [
      .named("Command", name(ofCommand: opcode), opcode), .number("ncmd", frame.u8(1)),
      .named("Status", ControllerError(rawValue: frame.u8(0)).name, frame.u8(0)),
    ]
  }

  private static func completedPackets(_ bytes: ArraySlice<UInt8>, _ unit: inout Unit) {
    let frame = FileBytes(bytes)
    for place in 0..<Int(frame.u8(0)) where 1 + place * 4 + 4 <= bytes.count {
      let handle = frame.u16(1 + place * 4, .littleEndian) & 0x0FFF
      unit.details.append(
        .several(
          "Completed", key: "completed",
          [
            .number("Handle", handle), .number("Count", frame.u16(3 + place * 4, .littleEndian)),
          ]))
    }
  }

  private static func meta(_ bytes: ArraySlice<UInt8>, _ unit: inout Unit) {
    guard let subevent = bytes.first else {
      unit.problem = "no subevent"
      return
    }
    let entry = EventTable.meta[subevent]
    let name = entry?.name ?? "Subevent \(hexadecimal(subevent, 2))"
    unit.name = name
    unit.details = [.named("Subevent", name, subevent)]
    let parameters = bytes.dropFirst()
    switch subevent {
    case 0x02: AdvertisingReport.legacy(parameters, &unit)
    case 0x0D: AdvertisingReport.extended(parameters, &unit)
    default: unit.take(entry?.fields, from: parameters)
    }
  }
}

/// The advertisements that a scanner reports (Vol 4 Part E, 7.7.65.2 and 7.7.65.13).
enum AdvertisingReport {
  private static let kinds = [
    "Connectable undirected", "Connectable directed", "Scannable undirected",
    "Non connectable undirected", "Scan response",
  ]

  static func legacy(_ bytes: ArraySlice<UInt8>, _ unit: inout Unit) {
    read(bytes, &unit) { (reader) throws(DecodeError) in
      let kind = try reader.u8()
      let report: [Detail] = [
        .named("Event Type", kind < kinds.count ? kinds[Int(kind)] : nil, kind),
        try address(&reader),
      ]
      let length = Int(try reader.u8())
      let data = AdvertisingSummary.detail("Data", try reader.bytes(length))
      return report + [data, Detail("RSSI", .measure(Double(try reader.i8()), "dBm"))]
    }
  }

  static func extended(_ bytes: ArraySlice<UInt8>, _ unit: inout Unit) {
    read(bytes, &unit) { (reader) throws(DecodeError) in
      var report: [Detail] = [.named("Event Type", nil, try reader.u16()), try address(&reader)]
      _ = try reader.bytes(4)  // PHYs, advertising set, transmit power
      report.append(Detail("RSSI", .measure(Double(try reader.i8()), "dBm")))
      _ = try reader.bytes(9)  // periodic interval, the address that it is directed to
      let length = Int(try reader.u8())
      return report + [AdvertisingSummary.detail("Data", try reader.bytes(length))]
    }
  }

  private static func address(_ reader: inout ByteReader) throws(DecodeError) -> Detail {
    let type = try reader.u8()
    return .text("Address", DeviceName.text(try reader.address(), type: type & 1))
  }

  private static func read(
    _ bytes: ArraySlice<UInt8>, _ unit: inout Unit,
    _ report: (inout ByteReader) throws(DecodeError) -> [Detail]
  ) {
    var reader = ByteReader(bytes)
    do {
      let count = try reader.u8()
      for _ in 0..<count {
        unit.details.append(.several("Report", key: "reports", try report(&reader)))
      }
    } catch {
      unit.problem = "\(error)"
    }
  }
}
