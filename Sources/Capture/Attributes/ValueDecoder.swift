// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Companion
import GATT
public import Wire

/// The values of attributes that every server has, and of the phone's small services, by their type.
/// ANCS and AMS, whose values follow on each other, are `NotificationExchange` and `MediaExchange`.
public enum ValueDecoder {
  /// What a value says; nothing where its type is not known here or the value is none of it.
  public static func details(of value: [UInt8], _ type: UUID) -> [Detail] {
    guard let short = type.short else { return [] }
    switch short {
    case 0x2800, 0x2801: return UUID(littleEndian: value).map { [service($0)] } ?? []
    case 0x2802: return include(value)
    case 0x2803: return characteristic(value)
    case 0x2900: return [bits("Extended", value, ["reliable writes", "writable description"])]
    case 0x2902: return configuration(value)
    case 0x2A05:
      guard let changed = try? ServiceChanged(decoding: value) else { return [] }
      return [.text("Changed", Self.text(changed.range))]
    case 0x2A00, 0x2901, 0x2A24...0x2A29, 0x2A3D, 0x2A87, 0x2A8A, 0x2A90, 0x2B93, 0x2B97:
      return [.text("Text", String(cutUTF8: value))]
    case 0x2A01 where value.count == 2: return [.named("Appearance", nil, number(value))]
    case 0x2A04 where value.count == 8: return connectionParameters(value)
    case 0x2A19:
      guard let level = try? BatteryLevel(decoding: value) else { return [] }
      return [Detail("Battery", .measure(Double(level.percent), "%"))]
    case 0x2A2B:
      guard let time = try? CurrentTime(decoding: value) else { return [] }
      return [.text("Time", "\(time)")]
    case 0x2A0F:
      guard let zone = try? LocalTimeInformation(decoding: value) else { return [] }
      return [.text("Zone", zone.secondsFromUTC.map { "\($0) s ahead of UTC" } ?? "unknown")]
    case 0x2A50 where value.count == 7: return plugAndPlay(value)
    case 0x2AA6 where value.count == 1: return [Detail("Supported", .flag(value[0] == 1))]
    case 0x2B29:
      return [bits("Features", value, ["robust caching", "EATT", "multiple notifications"])]
    case 0x2B3A: return [bits("Features", value, ["EATT"])]
    default: return measures(of: value, short)
    }
  }

  static func text(_ range: HandleRange) -> String {
    "\(hexadecimal(range.start, 4))-\(hexadecimal(range.end, 4))"
  }

  static func service(_ uuid: UUID) -> Detail {
    .text("Service", AssignedNumbers.title(of: uuid))
  }

  /// An include declaration: handles, and a 16-bit type (Vol 3 Part G, 3.2).
  private static func include(_ value: [UInt8]) -> [Detail] {
    guard value.count >= 4 else { return [] }
    let bytes = FileBytes(value[...])
    let range = HandleRange(bytes.u16(0, .littleEndian), bytes.u16(2, .littleEndian))
    return [.text("Included", text(range))]
      + (UUID(littleEndian: value.dropFirst(4)).map { [service($0)] } ?? [])
  }

  /// A characteristic declaration (Vol 3 Part G, 3.3.1).
  private static func characteristic(_ value: [UInt8]) -> [Detail] {
    guard let declaration = CharacteristicDeclaration(value) else { return [] }
    return [
      .text("Characteristic", AssignedNumbers.title(of: declaration.uuid)),
      .named("Value Handle", nil, declaration.value),
      .flags("Properties", declaration.properties.names, declaration.properties.rawValue),
    ]
  }

  private static func configuration(_ value: [UInt8]) -> [Detail] {
    guard value.count == 2 else { return [] }
    let bits = number(value)
    var names: [String] = []
    if bits & 1 != 0 { names.append("notifications") }
    if bits & 2 != 0 { names.append("indications") }
    return [.flags("Subscription", names.isEmpty ? ["none"] : names, bits)]
  }

  private static func connectionParameters(_ value: [UInt8]) -> [Detail] {
    let bytes = FileBytes(value[...])
    func field(_ offset: Int) -> Double { Double(bytes.u16(offset, .littleEndian)) }
    return [
      Detail("Minimum Interval", .measure(field(0) * 1.25, "ms")),
      Detail("Maximum Interval", .measure(field(2) * 1.25, "ms")),
      .number("Latency", Int(field(4))),
      Detail("Supervision Timeout", .measure(field(6) * 10, "ms")),
    ]
  }

  private static func plugAndPlay(_ value: [UInt8]) -> [Detail] {
    let bytes = FileBytes(value[...])
    let source: [UInt8: String] = [1: "Bluetooth SIG", 2: "USB Forum"]
    return [
      .named("Vendor Source", source[value[0]], value[0]),
      .named("Vendor", nil, bytes.u16(1, .littleEndian)),
      .named("Product", nil, bytes.u16(3, .littleEndian)),
      .named("Version", nil, bytes.u16(5, .littleEndian)),
    ]
  }

  private static func bits(_ label: String, _ value: [UInt8], _ names: [String]) -> Detail {
    let first = value.first ?? 0
    return .flags(
      label, names.indices.filter { first >> $0 & 1 == 1 }.map { names[$0] }, first)
  }

  private static func number(_ value: [UInt8]) -> UInt16 {
    FileBytes(value[...]).u16(0, .littleEndian)
  }
}

/// The value of a characteristic's declaration: properties, the value's handle, type.
struct CharacteristicDeclaration {
  var properties: Characteristic.Properties
  var value: Handle
  var uuid: UUID

  init?(_ bytes: [UInt8]) {
    guard bytes.count == 5 || bytes.count == 19,
      let uuid = UUID(littleEndian: bytes.dropFirst(3))
    else { return nil }
    properties = Characteristic.Properties(rawValue: bytes[0])
    value = FileBytes(bytes[...]).u16(1, .littleEndian)
    self.uuid = uuid
  }
}
