// SPDX-License-Identifier: GPL-3.0-or-later
import GATT
import Wire

/// What a device advertises, in a few lines (Vol 3 Part C, 11; Supplement to the Core Specification,
/// Part A).
public enum AdvertisingSummary {
  /// The structures of advertising data below a heading; one that is cut ends the list.
  public static func detail(_ label: String, _ data: ArraySlice<UInt8>) -> Detail {
    var structures: [Detail] = []
    var rest = data
    while let length = rest.first, length > 0 {
      rest = rest.dropFirst()
      guard rest.count >= Int(length), let kind = rest.first else {
        structures.append(
          .text("Cut", "a structure of \(length) bytes, \(rest.count) are left"))
        break
      }
      structures.append(structure(kind, rest.dropFirst().prefix(Int(length) - 1)))
      rest = rest.dropFirst(Int(length))
    }
    return Detail(label, .number(Int64(data.count)), structures)
  }

  private static func structure(_ kind: UInt8, _ value: ArraySlice<UInt8>) -> Detail {
    switch kind {
    case 0x01:
      let bits = value.first ?? 0
      return .flags("Flags", flags.indices.filter { bits >> $0 & 1 == 1 }.map { flags[$0] }, bits)
    case 0x02, 0x03: return uuids("16-bit Service UUIDs", value, 2)
    case 0x04, 0x05: return uuids("32-bit Service UUIDs", value, 4)
    case 0x06, 0x07: return uuids("128-bit Service UUIDs", value, 16)
    case 0x08: return .text("Name (short)", String(cutUTF8: value), key: "short_name")
    case 0x09: return .text("Name", String(cutUTF8: value))
    case 0x0A:
      return Detail("TX Power", .measure(Double(Int8(bitPattern: value.first ?? 0)), "dBm"))
    case 0x14: return uuids("Solicited 16-bit UUIDs", value, 2)
    case 0x15: return uuids("Solicited 128-bit UUIDs", value, 16)
    case 0x16: return data("Service Data", value)
    case 0x19: return .named("Appearance", nil, FileBytes(value).u16(0, .littleEndian))
    case 0xFF: return data("Company", value)
    default: return Detail("Type \(hexadecimal(kind, 2))", .bytes(Array(value)))
    }
  }

  private static let flags = [
    "LE Limited Discoverable", "LE General Discoverable", "BR/EDR Not Supported",
    "Simultaneous LE and BR/EDR (Controller)", "Simultaneous LE and BR/EDR (Host)",
  ]

  private static func uuids(_ label: String, _ value: ArraySlice<UInt8>, _ width: Int) -> Detail {
    var list: [String] = []
    var rest = value
    while rest.count >= width, let uuid = UUID(littleEndian: rest.prefix(width)) {
      list.append(AssignedNumbers.title(of: uuid))
      rest = rest.dropFirst(width)
    }
    return Detail(label, .list(list))
  }

  /// What begins with a 16-bit number: a company's or a service's.
  private static func data(_ label: String, _ value: ArraySlice<UInt8>) -> Detail {
    let number = FileBytes(value).u16(0, .littleEndian)
    let name = label == "Company" && number == 0x004C ? "Apple" : nil
    var detail = Detail.named(label, name, number)
    detail.children = [Detail("Data", .bytes(Array(value.dropFirst(2))))]
    return detail
  }
}
