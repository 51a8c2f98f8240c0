// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Wire

/// Decodes the packets of the kernel's monitor channel that are not HCI: adapters, mgmt sockets, log
/// messages (net/bluetooth/hci_mon.h and hci_sock.c in the kernel). Of mgmt commands and events only
/// the names are shown: the parameters may be keys.
enum KernelPacket {
  private static let buses = [
    "Virtual", "USB", "PCCARD", "UART", "RS232", "PCI", "SDIO", "SPI", "I2C", "SMD", "VIRTIO",
    "IPC",
  ]

  /// Nil for other kinds of packets.
  static func decode(_ record: CaptureRecord) -> (title: String, unit: DecodedUnit)? {
    var reader = ByteReader(record.data)
    do {
      switch record.opcode {
      case .newIndex:
        let type = try reader.u8()
        let bus = try reader.u8()
        let address = try reader.address().description
        let name = String(cutUTF8: reader.rest().prefix { $0 != 0 })
        let busName = buses.name(of: bus)
        return unit(
          .adapter, record,
          "\(address) (\(type == 0 ? "Primary" : "Type \(type)"),\(busName ?? "bus \(bus)"),\(name))",
          [.text("Address", address), .named("Bus", busName, bus), .text("Name", name)])
      case .deleteIndex, .openIndex, .closeIndex:
        return unit(.adapter, record, "hci\(record.adapter)", [])
      case .indexInformation:
        let address = try reader.address().description
        let manufacturer = try reader.u16()
        return unit(
          .adapter, record, "\(address) (manufacturer \(manufacturer))",
          [.text("Address", address), .number("Manufacturer", manufacturer)])
      case .vendorDiagnostic:
        return unit(.data, record, "len \(record.data.count)", [])
      case .systemNote:
        return message(record, record.data.prefix { $0 != 0 })
      case .userLogging:
        _ = try reader.u8()  // priority
        let length = Int(try reader.u8())
        let program = try reader.bytes(length).prefix { $0 != 0 }
        let text = reader.rest().prefix { $0 != 0 }
        return message(record, program + Array(": ".utf8) + text)
      case .controlOpen: return try controlOpen(record, &reader)
      case .controlClose:
        return unit(.mgmt, record, "{\(hexadecimal(try reader.u32(), 4))}", [])
      case .controlCommand:
        let cookie = try reader.u32()
        let opcode = try reader.u16()
        let name = MgmtNames.command(opcode) ?? "Command \(hexadecimal(opcode, 4))"
        return management(record, name, opcode, cookie, reader.remaining)
      case .controlEvent:
        let cookie = try reader.u32()
        let code = try reader.u16()
        let name = MgmtNames.event(code) ?? "Event \(hexadecimal(code, 4))"
        var made = management(record, name, code, cookie, reader.remaining)
        // Command Complete and Command Status begin with the command and its status.
        if code == 1 || code == 2, let opcode = try? reader.u16(), let status = try? reader.u8() {
          made.unit.details = [
            .named("Command", MgmtNames.command(opcode), opcode),
            .named("Status", status == 0 ? "Success" : nil, status),
          ]
        }
        return made
      default: return nil
      }
    } catch {
      var made = unit(.adapter, record, "len \(record.data.count)", [])
      made.unit.problem = "\(error)"
      return made
    }
  }

  private static func controlOpen(
    _ record: CaptureRecord, _ reader: inout ByteReader
  ) throws(DecodeError) -> (title: String, unit: DecodedUnit) {
    let cookie = try reader.u32()
    let format = try reader.u16()
    let version = try reader.u8()
    let revision = try reader.u16()
    try reader.skip(4)  // flags
    let length = Int(try reader.u8())
    // The kernel pads the name with zeros.
    let name = try reader.bytes(min(length, reader.remaining)).prefix { $0 != 0 }
    let program = String(cutUTF8: name)
    let kind = ["RAW", "USER", "MGMT"].name(of: format) ?? "format \(format)"
    var made = unit(
      .mgmt, record, "\(program) (\(kind)) {\(hexadecimal(cookie, 4))}",
      [.text("Program", program), .text("Version", "\(version).\(revision)")])
    made.unit.name = "MGMT Open"
    return made
  }

  private static func management(
    _ record: CaptureRecord, _ name: String, _ code: UInt16, _ cookie: UInt32, _ length: Int
  ) -> (title: String, unit: DecodedUnit) {
    var made = unit(
      .mgmt, record,
      "\(name) (\(hexadecimal(code, 4))) plen \(length) {\(hexadecimal(cookie, 4))}", [])
    made.unit.name = name
    made.unit.code = code
    return made
  }

  private static func message(
    _ record: CaptureRecord, _ text: some BidirectionalCollection<UInt8>
  ) -> (title: String, unit: DecodedUnit) {
    let text = String(cutUTF8: text)
    return unit(.note, record, text, [.text("Text", text)])
  }

  private static func unit(
    _ layer: DecodedUnit.Layer, _ record: CaptureRecord, _ rest: String, _ details: [Detail]
  ) -> (title: String, unit: DecodedUnit) {
    var unit = DecodedUnit(
      layer, "\(record.opcode)", code: record.opcode.rawValue, length: record.data.count)
    unit.details = details
    return ("\(record.opcode): \(rest)", unit)
  }
}
