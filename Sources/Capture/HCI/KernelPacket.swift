// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Wire

/// Decodes the packets of the kernel's monitor channel that are not HCI: adapters, mgmt sockets, log
/// messages (net/bluetooth/hci_mon.h and hci_sock.c in the kernel). Of mgmt commands and events only
/// the names are shown: the parameters may be keys.
enum KernelPacket {
  private static let buses = [
    "Virtual", "USB", "PCCARD", "UART", "RS232", "PCI", "SDIO", "SPI", "I2C", "SMD", "VIRTIO", "IPC",
  ]

  /// Nil for other kinds of packets.
  static func decode(_ record: CaptureRecord) -> (title: String, unit: DecodedUnit)? {
    let kind = "\(record.opcode)"
    var unit = DecodedUnit(layer: .adapter, name: kind, code: record.opcode.rawValue, length: record.data.count)
    do { return try read(record, &unit).map { ("\(kind): \($0)", unit) } } catch {
      unit.problem = "\(error)"
      return ("\(kind): len \(record.data.count)", unit)
    }
  }

  /// Reads a packet into a unit, which stays as it is if the packet ends early.
  ///
  /// - Returns: the title without the kind; nil for other kinds of packets.
  private static func read(_ record: CaptureRecord, _ unit: inout DecodedUnit) throws(DecodeError) -> String? {
    var reader = ByteReader(record.data)
    switch record.opcode {
    case .newIndex:
      let type = try reader.u8()
      let bus = try reader.u8()
      let address = try reader.address().description
      let name = reader.text()
      let busName = buses.name(of: bus)
      unit.details = [.text("Address", address), .named("Bus", busName, bus), .text("Name", name)]
      let kind = type == 0 ? "Primary" : "Type \(type)"
      return "\(address) (\(kind),\(busName ?? "bus \(bus)"),\(name))"
    case .deleteIndex, .openIndex, .closeIndex: return "hci\(record.adapter)"
    case .indexInformation:
      let address = try reader.address().description
      let manufacturer = try reader.u16()
      unit.details = [.text("Address", address), .number("Manufacturer", manufacturer)]
      return "\(address) (manufacturer \(manufacturer))"
    case .vendorDiagnostic:
      unit.layer = .data
      return "len \(record.data.count)"
    case .systemNote: return describe(reader.text(), &unit)
    case .userLogging:
      try reader.skip(1)  // priority
      var line = Array(try reader.bytes(Int(try reader.u8())).prefix { $0 != 0 })
      line += ": ".utf8
      line += reader.rest().prefix { $0 != 0 }
      return describe(String(cutUTF8: line), &unit)
    case .controlOpen: return try controlOpen(&reader, &unit)
    case .controlClose:
      let cookie = try reader.u32()
      unit.layer = .mgmt
      return "{\(hexadecimal(cookie, 4))}"
    case .controlCommand, .controlEvent:
      return try management(&reader, isCommand: record.opcode == .controlCommand, &unit)
    default: return nil
    }
  }

  private static func describe(_ text: String, _ unit: inout DecodedUnit) -> String {
    unit.layer = .note
    unit.details = [.text("Text", text)]
    return text
  }

  private static func controlOpen(_ reader: inout ByteReader, _ unit: inout DecodedUnit) throws(DecodeError) -> String {
    let cookie = try reader.u32()
    let format = try reader.u16()
    let version = try reader.u8()
    let revision = try reader.u16()
    try reader.skip(4)  // flags
    let length = Int(try reader.u8())
    // The kernel pads the name with zeros.
    let name = try reader.bytes(min(length, reader.remaining)).prefix { $0 != 0 }
    let program = String(cutUTF8: name)
    unit.layer = .mgmt
    unit.details = [.text("Program", program), .text("Version", "\(version).\(revision)")]
    let kind = ["RAW", "USER", "MGMT"].name(of: format) ?? "format \(format)"
    return "\(program) (\(kind)) {\(hexadecimal(cookie, 4))}"
  }

  private static func management(
    _ reader: inout ByteReader, isCommand: Bool, _ unit: inout DecodedUnit
  ) throws(DecodeError) -> String {
    let cookie = try reader.u32()
    let code = try reader.u16()
    let length = reader.remaining
    let number = hexadecimal(code, 4)
    unit.layer = .mgmt
    unit.code = code
    unit.name = isCommand ? MgmtNames.command(code) ?? "Command \(number)" : MgmtNames.event(code) ?? "Event \(number)"
    // The events Command Complete and Command Status begin with the command and its status.
    if !isCommand, code == 1 || code == 2, let opcode = try? reader.u16(), let status = try? reader.u8() {
      unit.details = [
        .named("Command", MgmtNames.command(opcode), opcode),
        .named("Status", status == 0 ? "Success" : nil, status),
      ]
    }
    return "\(unit.name) (\(number)) plen \(length) {\(hexadecimal(cookie, 4))}"
  }
}
