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
    case .characteristic: return characteristic(value)
    case .extendedProperties:
      return [.bits("Extended", ["reliable writes", "writable description"], first)]
    case .clientConfiguration:
      let configuration = try ClientConfiguration(decoding: value)
      let names = configuration.names
      return [.flags("Subscription", names.isEmpty ? ["none"] : names, configuration.rawValue)]
    case .serviceChanged: return [.text("Changed", text(try ServiceChanged(decoding: value).range))]
    case .deviceName, .userDescription, .modelNumber, .serialNumber, .firmwareRevision,
      .hardwareRevision, .softwareRevision, .manufacturerName, .string, .emailAddress, .firstName,
      .lastName, .mediaPlayerName, .trackTitle:
      return [.text("Text", String(cutUTF8: value))]
    case .appearance where value.count == 2: return [.named("Appearance", nil, try reader.u16())]
    case .preferredConnectionParameters: return try connectionParameters(value)
    case .batteryLevel:
      return [.measure("Battery", Double(try BatteryLevel(decoding: value).percent), "%")]
    case .currentTime: return [.text("Time", "\(try CurrentTime(decoding: value))")]
    case .localTimeInformation:
      let offset = try LocalTimeInformation(decoding: value).secondsFromUTC
      return [.text("Zone", offset.map { "\($0) s ahead of UTC" } ?? "unknown")]
    case .pnpID where value.count == 7:
      return [
        .choice("Vendor Source", ["", "Bluetooth SIG", "USB Forum"], try reader.u8()),
        .named("Vendor", nil, try reader.u16()), .named("Product", nil, try reader.u16()),
        .named("Version", nil, try reader.u16()),
      ]
    case .centralAddressResolution where value.count == 1: return [.flag("Supported", first == 1)]
    case .clientSupportedFeatures:
      return [.bits("Features", ["robust caching", "EATT", "multiple notifications"], first)]
    case .serverSupportedFeatures: return [.bits("Features", ["EATT"], first)]
    case .heartRateMeasurement: return try heartRate(value)
    default: return measures(of: value, type)
    }
  }

  static func text(_ range: HandleRange) -> String {
    "\(hexadecimal(range.start, 4))-\(hexadecimal(range.end, 4))"
  }

  static func service(_ uuid: UUID) -> Detail { .text("Service", AssignedNumbers.title(of: uuid)) }

  /// A characteristic declaration (Vol 3 Part G, 3.3.1).
  private static func characteristic(_ value: [UInt8]) -> [Detail] {
    guard let declaration = CharacteristicDeclaration(captured: value) else { return [] }
    return [
      .text("Characteristic", AssignedNumbers.title(of: declaration.uuid)),
      .named("Value Handle", nil, declaration.value),
      .flags("Properties", declaration.properties.names, declaration.properties.rawValue),
    ]
  }

  private static func connectionParameters(_ value: [UInt8]) throws(DecodeError) -> [Detail] {
    let parameters = try ConnectionParameters(decoding: value)
    return [
      .measure("Minimum Interval", parameters.minimumMilliseconds, "ms"),
      .measure("Maximum Interval", parameters.maximumMilliseconds, "ms"),
      .number("Latency", parameters.latency),
      .measure("Supervision Timeout", Double(parameters.timeoutMilliseconds), "ms"),
    ]
  }

  /// Heart Rate Measurement: flags, then the rate in one byte or two.
  private static func heartRate(_ value: [UInt8]) throws(DecodeError) -> [Detail] {
    var reader = ByteReader(value)
    let flags = try reader.u8()
    let rate = flags & 1 == 0 ? UInt16(try reader.u8()) : try reader.u16()
    let contact = flags & 4 == 0 ? [] : [Detail.flag("Contact", flags & 2 != 0)]
    return [.measure("Heart Rate", Double(rate), "bpm")] + contact
  }
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

// MARK: - Numbers with a unit

extension ValueDecoder {
  /// How a number is encoded.
  private struct Measure {
    var label: String
    var width: Int
    var signed = false
    var scale: Double
    var unit: String
    /// The number that means “not known”.
    var absent: Int64?
  }

  /// The meaning of a value that is one number; empty for other types, and if the length is wrong.
  private static func measures(of value: [UInt8], _ type: UUID) -> [Detail] {
    if let (label, names) = choices[type], value.count == 1 {
      return [.choice(label, names, value[0])]
    }
    guard let measure = table[type], value.count == measure.width else { return [] }
    let number = value.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let unused = 32 - 8 * measure.width
    let raw = measure.signed ? Int64(Int32(bitPattern: number << unused) >> unused) : Int64(number)
    if raw == measure.absent { return [.text(measure.label, "not known")] }
    // Division by a power of ten is exact where multiplication is not: 2150 / 100 is 21.5.
    let scaled =
      measure.scale < 1 ? Double(raw) / (1 / measure.scale).rounded() : Double(raw) * measure.scale
    return [.measure(measure.label, scaled, measure.unit)]
  }

  private static let table: [UUID: Measure] = [
    .txPowerLevel: Measure(label: "Power", width: 1, signed: true, scale: 1, unit: "dBm"),
    .measurementInterval: Measure(label: "Interval", width: 2, scale: 1, unit: "s"),
    .elevation: Measure(label: "Elevation", width: 3, signed: true, scale: 0.01, unit: "m"),
    .pressure: Measure(label: "Pressure", width: 4, scale: 0.1, unit: "Pa"),
    .temperature: Measure(
      label: "Temperature", width: 2, signed: true, scale: 0.01, unit: "°C", absent: -32768),
    .humidity: Measure(label: "Humidity", width: 2, scale: 0.01, unit: "%", absent: 0xFFFF),
    .trueWindSpeed: Measure(label: "Wind Speed", width: 2, scale: 0.01, unit: "m/s"),
    .trueWindDirection: Measure(label: "Wind Direction", width: 2, scale: 0.01, unit: "°"),
    .uvIndex: Measure(label: "UV Index", width: 1, scale: 1, unit: ""),
    .irradiance: Measure(label: "Irradiance", width: 2, scale: 0.1, unit: "W/m²"),
    .windChill: Measure(label: "Wind Chill", width: 1, signed: true, scale: 1, unit: "°C"),
    .heatIndex: Measure(label: "Heat Index", width: 1, signed: true, scale: 1, unit: "°C"),
    .dewPoint: Measure(label: "Dew Point", width: 1, signed: true, scale: 1, unit: "°C"),
    .age: Measure(label: "Age", width: 1, scale: 1, unit: "years"),
    .heartRateMax: Measure(label: "Maximum", width: 1, scale: 1, unit: "bpm"),
    .height: Measure(label: "Height", width: 2, scale: 0.01, unit: "m"),
    .restingHeartRate: Measure(label: "At Rest", width: 1, scale: 1, unit: "bpm"),
    .weight: Measure(label: "Weight", width: 2, scale: 0.005, unit: "kg"),
  ]

  private static let choices: [UUID: (label: String, names: [String])] = [
    .alertLevel: ("Alert", ["none", "mild", "high"]),
    .temperatureType: (
      "Site",
      [
        "reserved", "armpit", "body", "ear", "finger", "gastrointestinal tract", "mouth",
        "rectum", "toe", "tympanum",
      ]
    ),
    .bodySensorLocation: (
      "Site", ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"]
    ),
    .protocolMode: ("Protocol", ["boot", "report"]),
    .sensorLocation: (
      "Site",
      [
        "other", "top of shoe", "in shoe", "hip", "front wheel", "left crank", "right crank",
        "left pedal", "right pedal", "front hub", "rear dropout", "chainstay", "rear wheel",
        "rear hub", "chest", "spider", "chain ring",
      ]
    ),
    .gender: ("Gender", ["male", "female", "unspecified"]),
  ]
}
