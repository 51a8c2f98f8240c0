// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// Numbers with a unit, as the GATT Specification Supplement lays them out: little endian, scaled by a
// power of ten or a simple factor.

extension ValueDecoder {
  /// How a number is written.
  private struct Measure {
    var label: String
    var width: Int
    var signed = false
    var scale: Double
    var unit: String
    /// What stands for "not known".
    var absent: Int64?
  }

  /// What a value says that is one number, or begins with one; nothing for other types, and for
  /// values of another length.
  static func measures(of value: [UInt8], _ type: UInt16) -> [Detail] {
    if type == 0x2A37 { return heartRate(value) }
    if let names = choices[type], value.count == 1 {
      let name = Int(value[0]) < names.values.count ? names.values[Int(value[0])] : nil
      return [.named(names.label, name, value[0])]
    }
    guard let measure = table[type], value.count == measure.width else { return [] }
    let raw = number(value, signed: measure.signed)
    if raw == measure.absent { return [.text(measure.label, "not known")] }
    // Divided, not multiplied, by powers of ten: 2150 / 100 is 21.5 and nothing besides.
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

  private static let table: [UInt16: Measure] = [
    0x2A07: Measure(label: "Power", width: 1, signed: true, scale: 1, unit: "dBm"),
    0x2A21: Measure(label: "Interval", width: 2, scale: 1, unit: "s"),
    0x2A6C: Measure(label: "Elevation", width: 3, signed: true, scale: 0.01, unit: "m"),
    0x2A6D: Measure(label: "Pressure", width: 4, scale: 0.1, unit: "Pa"),
    0x2A6E: Measure(
      label: "Temperature", width: 2, signed: true, scale: 0.01, unit: "°C", absent: -32768),
    0x2A6F: Measure(label: "Humidity", width: 2, scale: 0.01, unit: "%", absent: 0xFFFF),
    0x2A70: Measure(label: "Wind Speed", width: 2, scale: 0.01, unit: "m/s"),
    0x2A71: Measure(label: "Wind Direction", width: 2, scale: 0.01, unit: "°"),
    0x2A76: Measure(label: "UV Index", width: 1, scale: 1, unit: ""),
    0x2A77: Measure(label: "Irradiance", width: 2, scale: 0.1, unit: "W/m²"),
    0x2A79: Measure(label: "Wind Chill", width: 1, signed: true, scale: 1, unit: "°C"),
    0x2A7A: Measure(label: "Heat Index", width: 1, signed: true, scale: 1, unit: "°C"),
    0x2A7B: Measure(label: "Dew Point", width: 1, signed: true, scale: 1, unit: "°C"),
    0x2A80: Measure(label: "Age", width: 1, scale: 1, unit: "years"),
    0x2A8D: Measure(label: "Maximum", width: 1, scale: 1, unit: "bpm"),
    0x2A8E: Measure(label: "Height", width: 2, scale: 0.01, unit: "m"),
    0x2A92: Measure(label: "At Rest", width: 1, scale: 1, unit: "bpm"),
    0x2A98: Measure(label: "Weight", width: 2, scale: 0.005, unit: "kg"),
  ]

  private static let choices: [UInt16: (label: String, values: [String])] = [
    0x2A06: ("Alert", ["none", "mild", "high"]),
    0x2A1D: (
      "Site",
      [
        "reserved", "armpit", "body", "ear", "finger", "gastrointestinal tract", "mouth",
        "rectum", "toe", "tympanum",
      ]
    ),
    0x2A38: ("Site", ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"]),
    0x2A4E: ("Protocol", ["boot", "report"]),
    0x2A5D: (
      "Site",
      [
        "other", "top of shoe", "in shoe", "hip", "front wheel", "left crank", "right crank",
        "left pedal", "right pedal", "front hub", "rear dropout", "chainstay", "rear wheel",
        "rear hub", "chest", "spider", "chain ring",
      ]
    ),
    0x2A8C: ("Gender", ["male", "female", "unspecified"]),
  ]

  /// Heart Rate Measurement: flags, and the rate in one byte or two.
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
