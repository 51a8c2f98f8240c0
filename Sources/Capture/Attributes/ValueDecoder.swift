// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Companion
import GAP
import GATT
public import Wire

/// The meaning of attribute values by their type. For ANCS and AMS, whose values depend on each other,
/// see `NotificationExchange` and `MediaExchange`.
public enum ValueDecoder {
  /// The meaning of a value; empty if the type is not known here, or if the value is invalid.
  public static func details(of value: [UInt8], _ type: UUID) -> [Detail] {
    (try? read(value, type)) ?? []
  }

  private static func read(_ value: [UInt8], _ type: UUID) throws(DecodeError) -> [Detail] {
    let first = value.first ?? 0
    var reader = ByteReader(value)
    switch type {
    case .primaryService, .secondaryService:
      return UUID(littleEndian: value).map { [service($0)] } ?? []
    case .include:
      // Handles, then a 16-bit type (Vol 3 Part G, 3.2). The handles are shown even if that is invalid.
      let range = Detail.text("Included", text(try reader.handleRange()))
      return [range] + (UUID(littleEndian: reader.rest()).map { [service($0)] } ?? [])
    case .characteristic:
      guard let declaration = CharacteristicDeclaration(captured: value) else { return [] }
      return [
        .text("Characteristic", AssignedNumbers.title(of: declaration.uuid)),
        .named("Value Handle", nil, declaration.value),
        .flags("Properties", declaration.properties.names, declaration.properties.rawValue),
      ]
    case .extendedProperties:
      return [.bits("Extended", ["reliable writes", "writable description"], first)]
    case .clientConfiguration:
      let configuration = try ClientConfiguration(decoding: value)
      let names = configuration.names
      return [.flags("Subscription", names.isEmpty ? ["none"] : names, configuration.rawValue)]
    case .serviceChanged: return [.text("Changed", text(try ServiceChanged(decoding: value).range))]
    // Also the serial number and the hardware revision.
    case .deviceName, .userDescription, .modelNumber, .firmwareRevision, .softwareRevision, .manufacturerName, 0x2A25,
      0x2A27:
      return [.text("Text", String(cutUTF8: value))]
    case .batteryLevel:
      return [.measure("Battery", Double(try BatteryLevel(decoding: value).percent), "%")]
    case .currentTime: return [.text("Time", "\(try CurrentTime(decoding: value))")]
    case .localTimeInformation:
      let offset = try LocalTimeInformation(decoding: value).secondsFromUTC
      return [.text("Zone", offset.map { "\($0) s ahead of UTC" } ?? "unknown")]
    case .centralAddressResolution where value.count == 1: return [.flag("Supported", first == 1)]
    case .clientSupportedFeatures:
      return [.bits("Features", ["robust caching", "EATT", "multiple notifications"], first)]
    case .serverSupportedFeatures: return [.bits("Features", ["EATT"], first)]
    case 0x2A37:
      // Heart Rate Measurement: flags, then the rate in one byte or two.
      let flags = try reader.u8()
      let rate = flags & 1 == 0 ? UInt16(try reader.u8()) : try reader.u16()
      let contact = flags & 4 == 0 ? [] : [Detail.flag("Contact", flags & 2 != 0)]
      return [.measure("Heart Rate", Double(rate), "bpm")] + contact
    default:
      var details: [Detail] = []
      try table[type]?.read(&reader, into: &details)
      return reader.isAtEnd ? details : []
    }
  }

  static func text(_ range: HandleRange) -> String {
    "\(hexadecimal(range.start, 4))-\(hexadecimal(range.end, 4))"
  }

  static func service(_ uuid: UUID) -> Detail { .text("Service", AssignedNumbers.title(of: uuid)) }

  /// Values whose fields have fixed lengths; one of another length has no meaning.
  private static let table: [UUID: [PacketField]] = [
    .appearance: [.hex("Appearance", 2)],
    .preferredConnectionParameters: PacketField.connectionRequest.single,
    // PnP ID.
    0x2A50: [
      .choice("Vendor Source", ["", "Bluetooth SIG", "USB Forum"]), .hex("Vendor", 2), .hex("Product", 2),
      .hex("Version", 2),
    ], 0x2A07: [.dBm("Power")], 0x2A06: [.choice("Alert", ["none", "mild", "high"])],
    0x2A6C: [.measure("Elevation", width: 3, isSigned: true, per: 100, unit: "m")],
    0x2A6D: [.measure("Pressure", width: 4, per: 10, unit: "Pa")],
    0x2A6E: [
      .measure("Temperature", width: 2, isSigned: true, per: 100, unit: "°C", absent: -32768)
    ],
    0x2A6F: [.measure("Humidity", width: 2, per: 100, unit: "%", absent: 0xFFFF)],
    0x2A98: [.measure("Weight", width: 2, per: 200, unit: "kg")],
  ]
}

extension CharacteristicDeclaration {
  /// Nil for an invalid value, also for one with a 32-bit UUID, which ATT does not have (Vol 3 Part F,
  /// 3.2.1).
  init?(captured value: [UInt8]) {
    guard value.count == 5 || value.count == 19, let declaration = try? Self(decoding: value) else {
      return nil
    }
    self = declaration
  }
}
