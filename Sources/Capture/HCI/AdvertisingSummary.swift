// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Wire

/// What a device advertises, in a few lines (Vol 3 Part C, 11; Supplement to the Core Specification,
/// Part A).
public enum AdvertisingSummary {
  /// The structures of advertising data below a heading; one that is cut ends the list.
  public static func detail(_ label: String, _ data: ArraySlice<UInt8>) -> Detail {
    let read = AdvertisingData(decoding: data)
    let cut = read.cut.map {
      Detail.text("Cut", "a structure of \($0.length) bytes, \($0.available) are left")
    }
    return Detail(
      label, .number(Int64(data.count)), read.structures.map(detail) + [cut].compactMap(\.self))
  }

  private static func detail(_ structure: AdvertisingStructure) -> Detail {
    let value = structure.value[...]
    return switch structure.kind {
    case .flags: .bits("Flags", flagNames, value.first ?? 0)
    case .incompleteUUIDs16, .completeUUIDs16: uuids("16-bit Service UUIDs", value, 2)
    case .incompleteUUIDs32, .completeUUIDs32: uuids("32-bit Service UUIDs", value, 4)
    case .incompleteUUIDs128, .completeUUIDs128: uuids("128-bit Service UUIDs", value, 16)
    case .shortenedName: .text("Name (short)", String(cutUTF8: value), key: "short_name")
    case .completeName: .text("Name", String(cutUTF8: value))
    case .txPower: .measure("TX Power", Double(Int8(bitPattern: value.first ?? 0)), "dBm")
    case .solicitedUUIDs16: uuids("Solicited 16-bit UUIDs", value, 2)
    case .solicitedUUIDs128: uuids("Solicited 128-bit UUIDs", value, 16)
    case .serviceData16: data("Service Data", value)
    case .appearance: .named("Appearance", nil, number(value))
    case .manufacturerData: data("Company", value)
    default: Detail("Type \(hexadecimal(structure.kind.rawValue, 2))", .bytes(structure.value))
    }
  }

  private static let flagNames = [
    "LE Limited Discoverable", "LE General Discoverable", "BR/EDR Not Supported",
    "Simultaneous LE and BR/EDR (Controller)", "Simultaneous LE and BR/EDR (Host)",
  ]

  private static func uuids(_ label: String, _ value: ArraySlice<UInt8>, _ width: Int) -> Detail {
    let places = stride(from: value.startIndex, through: value.endIndex - width, by: width)
    let uuids = places.compactMap { UUID(littleEndian: value[$0..<$0 + width]) }
    return Detail(label, .list(uuids.map(AssignedNumbers.title)))
  }

  private static func number(_ value: ArraySlice<UInt8>) -> UInt16 {
    var reader = ByteReader(value)
    return reader.u16OrZero()
  }

  /// Data after the 16-bit number of a company or a service.
  private static func data(_ label: String, _ value: ArraySlice<UInt8>) -> Detail {
    let number = number(value)
    let name = label == "Company" && number == 0x004C ? "Apple" : nil
    return Detail(label, .named(name, UInt64(number), digits: 4), [.data(value.dropFirst(2))])
  }
}
