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
    switch type {
    case .primaryService, .secondaryService:
      return UUID(littleEndian: value).map { [service($0)] } ?? []
    case .include: return include(value)
    case .characteristic: return characteristic(value)
    case .extendedProperties:
      return [bits("Extended", value, ["reliable writes", "writable description"])]
    case .clientConfiguration: return configuration(value)
    case .serviceChanged:
      guard let changed = try? ServiceChanged(decoding: value) else { return [] }
      return [.text("Changed", Self.text(changed.range))]
    case .deviceName, .userDescription, .modelNumber, .serialNumber, .firmwareRevision,
      .hardwareRevision, .softwareRevision, .manufacturerName, .string, .emailAddress, .firstName,
      .lastName, .mediaPlayerName, .trackTitle:
      return [.text("Text", String(cutUTF8: value))]
    case .appearance where value.count == 2: return [.named("Appearance", nil, number(value))]
    case .preferredConnectionParameters: return connectionParameters(value)
    case .batteryLevel:
      guard let level = try? BatteryLevel(decoding: value) else { return [] }
      return [Detail("Battery", .measure(Double(level.percent), "%"))]
    case .currentTime:
      guard let time = try? CurrentTime(decoding: value) else { return [] }
      return [.text("Time", "\(time)")]
    case .localTimeInformation:
      guard let zone = try? LocalTimeInformation(decoding: value) else { return [] }
      return [.text("Zone", zone.secondsFromUTC.map { "\($0) s ahead of UTC" } ?? "unknown")]
    case .pnpID where value.count == 7: return plugAndPlay(value)
    case .centralAddressResolution where value.count == 1:
      return [Detail("Supported", .flag(value[0] == 1))]
    case .clientSupportedFeatures:
      return [bits("Features", value, ["robust caching", "EATT", "multiple notifications"])]
    case .serverSupportedFeatures: return [bits("Features", value, ["EATT"])]
    default: return measures(of: value, type)
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
    // The handles are shown even if what follows them is invalid.
    var reader = ByteReader(value)
    guard let range = try? reader.handleRange() else { return [] }
    return [.text("Included", text(range))]
      + (UUID(littleEndian: reader.rest()).map { [service($0)] } ?? [])
  }

  /// A characteristic declaration (Vol 3 Part G, 3.3.1).
  private static func characteristic(_ value: [UInt8]) -> [Detail] {
    guard let declaration = CharacteristicDeclaration(captured: value) else { return [] }
    return [
      .text("Characteristic", AssignedNumbers.title(of: declaration.uuid)),
      .named("Value Handle", nil, declaration.value),
      .flags("Properties", declaration.properties.names, declaration.properties.rawValue),
    ]
  }

  private static func configuration(_ value: [UInt8]) -> [Detail] {
    guard let configuration = try? ClientConfiguration(decoding: value) else { return [] }
    let names = configuration.names
    return [.flags("Subscription", names.isEmpty ? ["none"] : names, configuration.rawValue)]
  }

  private static func connectionParameters(_ value: [UInt8]) -> [Detail] {
    guard let parameters = try? ConnectionParameters(decoding: value) else { return [] }
    return [
      Detail("Minimum Interval", .measure(parameters.minimumMilliseconds, "ms")),
      Detail("Maximum Interval", .measure(parameters.maximumMilliseconds, "ms")),
      .number("Latency", Int(parameters.latency)),
      Detail("Supervision Timeout", .measure(Double(parameters.timeoutMilliseconds), "ms")),
    ]
  }

  private static func plugAndPlay(_ value: [UInt8]) -> [Detail] {
    let sources = ["", "Bluetooth SIG", "USB Forum"]
    return [
      .choice("Vendor Source", sources, value[0]),
      .named("Vendor", nil, number(value[1...2])), .named("Product", nil, number(value[3...4])),
      .named("Version", nil, number(value[5...6])),
    ]
  }

  /// The bits of the first byte.
  private static func bits(_ label: String, _ value: [UInt8], _ names: [String]) -> Detail {
    .bits(label, names, value.first ?? 0)
  }

  private static func number(_ value: some Sequence<UInt8>) -> UInt16 {
    UInt16(truncatingIfNeeded: number(Array(value), signed: false))
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

  /// The meaning of a value that is one number, or begins with one; empty for other types, and if the
  /// length is wrong.
  static func measures(of value: [UInt8], _ type: UUID) -> [Detail] {
    if type == .heartRateMeasurement { return heartRate(value) }
    if let names = choices[type], value.count == 1 {
      return [.choice(names.label, names.values, value[0])]
    }
    guard let measure = table[type], value.count == measure.width else { return [] }
    let raw = number(value, signed: measure.signed)
    if raw == measure.absent { return [.text(measure.label, "not known")] }
    // Division by a power of ten is exact where multiplication is not: 2150 / 100 is 21.5.
    let scaled =
      measure.scale < 1 ? Double(raw) / (1 / measure.scale).rounded() : Double(raw) * measure.scale
    return [Detail(measure.label, .measure(scaled, measure.unit))]
  }

  private static func number(_ value: [UInt8], signed: Bool) -> Int64 {
    var number: UInt64 = 0
    for (position, byte) in value.enumerated() { number |= UInt64(byte) << (8 * position) }
    guard signed else { return Int64(clamping: number) }
    let shift = 64 - 8 * value.count
    return Int64(bitPattern: number << shift) >> shift
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

  private static let choices: [UUID: (label: String, values: [String])] = [
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

  /// Heart Rate Measurement: flags, then the rate in one byte or two.
  private static func heartRate(_ value: [UInt8]) -> [Detail] {
    guard let flags = value.first else { return [] }
    let width = flags & 1 == 0 ? 1 : 2
    guard value.count > width else { return [] }
    let rate = number(Array(value[1...width]), signed: false)
    var details = [Detail("Heart Rate", .measure(Double(rate), "bpm"))]
    if flags & 4 != 0 { details.append(Detail("Contact", .flag(flags & 2 != 0))) }
    return details
  }
}
