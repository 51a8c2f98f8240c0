// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What the kernel says on its monitor channel besides HCI: its adapters, who talks to it, notes
/// (net/bluetooth/hci_mon.h and hci_sock.c in the kernel).
enum KernelPacket {
  private static let buses = [
    "Virtual", "USB", "PCCARD", "UART", "RS232", "PCI", "SDIO", "SPI", "I2C", "SMD", "VIRTIO",
    "IPC",
  ]

  /// Reads a packet of one of these kinds; nil for the others.
  static func decode(_ record: CaptureRecord) -> (title: String, unit: Unit)? {
    var reader = ByteReader(record.data)
    do {
      switch record.opcode {
      case .newIndex:
        let type = try reader.u8()
        let bus = try reader.u8()
        let address = try reader.address().description
        let name = String(cutUTF8: reader.rest().prefix { $0 != 0 })
        let place = bus < buses.count ? buses[Int(bus)] : nil
        return unit(
          .adapter, record,
          "\(address) (\(type == 0 ? "Primary" : "Type \(type)"),\(place ?? "bus \(bus)"),\(name))",
          [
            .text("Address", address), .named("Bus", place, bus), .text("Name", name),
          ])
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
        return note(record, record.data.prefix { $0 != 0 })
      case .userLogging:
        _ = try reader.u8()  // priority
        let length = Int(try reader.u8())
        let program = try reader.bytes(length).prefix { $0 != 0 }
        let text = reader.rest().prefix { $0 != 0 }
        return note(record, program + Array(": ".utf8) + text)
      case .controlOpen: return try controlOpen(record, &reader)
      case .controlClose:
        return unit(.mgmt, record, "{\(hexadecimal(try reader.u32(), 4))}", [])
      case .controlCommand:
        let cookie = try reader.u32()
        let opcode = try reader.u16()
        let name = ManagementNames.commands[opcode] ?? "Command \(hexadecimal(opcode, 4))"
        return management(record, name, opcode, cookie, reader.remaining)
      case .controlEvent:
        let cookie = try reader.u32()
        let code = try reader.u16()
        let name = ManagementNames.events[code] ?? "Event \(hexadecimal(code, 4))"
        var made = management(record, name, code, cookie, reader.remaining)
        // Command Complete and Command Status name the command and say how it went.
        if code == 1 || code == 2, let opcode = try? reader.u16(), let status = try? reader.u8() {
          made.unit.details = [
            .named("Command", ManagementNames.commands[opcode], opcode),
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
  ) throws(DecodeError) -> (title: String, unit: Unit) {
    let cookie = try reader.u32()
    let format = try reader.u16()
    let version = try reader.u8()
    let revision = try reader.u16()
    _ = try reader.u32()
    let length = Int(try reader.u8())
    // The kernel fills the name up with zeros.
    let name = try reader.bytes(min(length, reader.remaining)).prefix { $0 != 0 }
    let program = String(cutUTF8: name)
    let formats = ["RAW", "USER", "MGMT"]
    let kind = format < formats.count ? formats[Int(format)] : "format \(format)"
    var made = unit(
      .mgmt, record, "\(program) (\(kind)) {\(hexadecimal(cookie, 4))}",
      [.text("Program", program), .text("Version", "\(version).\(revision)")])
    made.unit.name = "MGMT Open"
    return made
  }

  private static func management(
    _ record: CaptureRecord, _ name: String, _ code: UInt16, _ cookie: UInt32, _ length: Int
  ) -> (title: String, unit: Unit) {
    var made = unit(
      .mgmt, record,
      "\(name) (\(hexadecimal(code, 4))) plen \(length) {\(hexadecimal(cookie, 4))}", [])
    made.unit.name = name
    made.unit.code = code
    return made
  }

  private static func note(
    _ record: CaptureRecord, _ text: some BidirectionalCollection<UInt8>
  ) -> (title: String, unit: Unit) {
    let text = String(cutUTF8: text)
    return unit(.note, record, text, [.text("Text", text)])
  }

  private static func unit(
    _ layer: Unit.Layer, _ record: CaptureRecord, _ rest: String, _ details: [Detail]
  ) -> (title: String, unit: Unit) {
    var unit = Unit(
      layer, "\(record.opcode)", code: record.opcode.rawValue, length: record.data.count)
    unit.details = details
    return ("\(record.opcode): \(rest)", unit)
  }
}
