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
    // The numbers are those of other texts: of a device, its user, and what it plays.
    case .deviceName, .userDescription, .modelNumber, .firmwareRevision, .softwareRevision,
      .manufacturerName, 0x2A25, 0x2A27, 0x2A3D, 0x2A87, 0x2A8A, 0x2A90, 0x2B93, 0x2B97:
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
    ], 0x2A07: [.dBm("Power")], 0x2A21: [.measure("Interval", width: 2, unit: "s")],
    0x2A6C: [.measure("Elevation", width: 3, isSigned: true, per: 100, unit: "m")],
    0x2A6D: [.measure("Pressure", width: 4, per: 10, unit: "Pa")],
    0x2A6E: [
      .measure("Temperature", width: 2, isSigned: true, per: 100, unit: "°C", absent: -32768)
    ],
    0x2A6F: [.measure("Humidity", width: 2, per: 100, unit: "%", absent: 0xFFFF)],
    0x2A70: [.measure("Wind Speed", width: 2, per: 100, unit: "m/s")],
    0x2A71: [.measure("Wind Direction", width: 2, per: 100, unit: "°")],
    0x2A76: [.measure("UV Index", width: 1, unit: "")],
    0x2A77: [.measure("Irradiance", width: 2, per: 10, unit: "W/m²")],
    0x2A79: [.measure("Wind Chill", width: 1, isSigned: true, unit: "°C")],
    0x2A7A: [.measure("Heat Index", width: 1, isSigned: true, unit: "°C")],
    0x2A7B: [.measure("Dew Point", width: 1, isSigned: true, unit: "°C")],
    0x2A80: [.measure("Age", width: 1, unit: "years")], 0x2A8D: [.measure("Maximum", width: 1, unit: "bpm")],
    0x2A8E: [.measure("Height", width: 2, per: 100, unit: "m")], 0x2A92: [.measure("At Rest", width: 1, unit: "bpm")],
    0x2A98: [.measure("Weight", width: 2, per: 200, unit: "kg")], 0x2A06: [.choice("Alert", ["none", "mild", "high"])],
    // Where a thermometer, a heart rate monitor and a sensor of speed or power are.
    0x2A1D: [
      .choice(
        "Site",
        [
          "reserved", "armpit", "body", "ear", "finger", "gastrointestinal tract", "mouth",
          "rectum", "toe", "tympanum",
        ])
    ],
    0x2A38: [
      .choice("Site", ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"])
    ],
    0x2A4E: [.choice("Protocol", ["boot", "report"])],
    0x2A5D: [
      .choice(
        "Site",
        [
          "other", "top of shoe", "in shoe", "hip", "front wheel", "left crank", "right crank",
          "left pedal", "right pedal", "front hub", "rear dropout", "chainstay", "rear wheel",
          "rear hub", "chest", "spider", "chain ring",
        ])
    ], 0x2A8C: [.choice("Gender", ["male", "female", "unspecified"])],
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
