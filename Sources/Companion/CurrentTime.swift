// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A value of the Current Time characteristic: the phone's local date and time, without a time zone
/// (Current Time Service 1.1, 3.1; GATT Specification Supplement, Current Time).
///
///     ┌──────┬───────┬─────┬───────┬─────────┬─────────┬─────────────┬──────────────┬───────────────┐
///     │ Year │ Month │ Day │ Hours │ Minutes │ Seconds │ Day of Week │ Fractions256 │ Adjust Reason │
///     └──────┴───────┴─────┴───────┴─────────┴─────────┴─────────────┴──────────────┴───────────────┘
///       0, 1   2       3     4       5         6         7             8              9
public struct CurrentTime: Hashable, Sendable, CustomStringConvertible {
  /// The phone's local time.
  public let time: CivilTime
  /// 1 (Monday) to 7, 0 if unknown.
  public let dayOfWeek: UInt8
  /// In units of 1/256 s.
  public let fractions256: UInt8
  /// Why the clock was last adjusted.
  public let adjustReason: AdjustReason

  /// Why a clock was adjusted (Adjust Reason).
  public struct AdjustReason: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let manual = AdjustReason(rawValue: 1 << 0)
    public static let reference = AdjustReason(rawValue: 1 << 1)
    public static let timeZone = AdjustReason(rawValue: 1 << 2)
    public static let daylightSaving = AdjustReason(rawValue: 1 << 3)
  }

  /// The years that can be encoded; 0 stands for an unknown one.
  private static let years = 1582...9999

  /// Decodes exactly ten bytes with a valid time. The specification allows year, month and day to be 0
  /// for unknown; such a value is an error here.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    let year = Int(try reader.u16())
    let fields = try reader.bytes(5).map(Int.init)
    guard Self.years.contains(year),
      let time = CivilTime(
        year: year, month: fields[0], day: fields[1], hour: fields[2], minute: fields[3], second: fields[4])
    else { throw DecodeError(offset: 0, .invalid("an invalid date and time")) }
    self.time = time
    dayOfWeek = try reader.u8()
    guard dayOfWeek <= 7 else {
      throw DecodeError(offset: 7, .invalid("the day of the week \(dayOfWeek)"))
    }
    fractions256 = try reader.u8()
    adjustReason = AdjustReason(rawValue: try reader.u8())
    try reader.end()
  }

  /// The time `seconds` after the beginning of 1970 in local time; nil outside the years that can be
  /// encoded.
  public init?(secondsSince1970 seconds: Int64, fractions256: UInt8 = 0, adjustReason: AdjustReason = []) {
    time = CivilTime(secondsSince1970: seconds)
    guard Self.years.contains(time.year), time.secondsSince1970 == seconds else { return nil }
    let day = (seconds - Int64(time.hour * 3600 + time.minute * 60 + time.second)) / 86_400
    // 1 January 1970 was a Thursday.
    dayOfWeek = UInt8(((day + 3) % 7 + 7) % 7 + 1)
    self.fractions256 = fractions256
    self.adjustReason = adjustReason
  }

  /// The encoded value, ten bytes.
  public var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 10)
    writer.u16(UInt16(truncatingIfNeeded: time.year))
    for field in [time.month, time.day, time.hour, time.minute, time.second] {
      writer.u8(UInt8(truncatingIfNeeded: field))
    }
    writer.bytes([dayOfWeek, fractions256, adjustReason.rawValue])
    return writer.bytes
  }

  /// Seconds since the beginning of 1970 in local time.
  public var secondsSince1970: Double { Double(time.secondsSince1970) + Double(fractions256) / 256 }

  /// `2026-11-21T07:00:00`.
  public var description: String { time.description }
}

/// A value of the Local Time Information characteristic: time zone and daylight saving time, two bytes
/// (Current Time Service 1.1, 3.2; GATT Specification Supplement, Local Time Information).
public struct LocalTimeInformation: Hashable, Sendable {
  /// Standard time minus UTC in quarters of an hour, -48 to 56; nil if unknown.
  public let timeZone: Int?
  /// The daylight saving offset in quarters of an hour: 0, 2, 4 or 8; nil if unknown.
  public let daylightSaving: Int?

  public init(timeZone: Int?, daylightSaving: Int?) {
    self.timeZone = timeZone
    self.daylightSaving = daylightSaving
  }

  /// Decodes exactly two bytes.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    let zone = try reader.i8()
    guard zone == -128 || (-48...56).contains(zone) else {
      throw DecodeError(offset: 0, .invalid("the time zone \(zone)"))
    }
    let saving = try reader.u8()
    guard [0, 2, 4, 8, 255].contains(saving) else {
      throw DecodeError(offset: 1, .invalid("the daylight saving offset \(saving)"))
    }
    try reader.end()
    timeZone = zone == -128 ? nil : Int(zone)
    daylightSaving = saving == 255 ? nil : Int(saving)
  }

  /// The encoded value, two bytes.
  public var encoded: [UInt8] {
    [
      UInt8(bitPattern: timeZone.flatMap(Int8.init(exactly:)) ?? -128),
      daylightSaving.flatMap(UInt8.init(exactly:)) ?? 255,
    ]
  }

  /// Local time minus UTC in seconds; nil if the zone is unknown. Unknown daylight saving counts as none.
  public var secondsFromUTC: Int? { timeZone.map { ($0 + (daylightSaving ?? 0)) * 900 } }
}

/// The phone's time, for comparison with the board's.
public struct PhoneTime: Hashable, Sendable {
  public let current: CurrentTime
  /// Nil if the phone does not provide its time zone.
  public let zone: LocalTimeInformation?

  public init(_ current: CurrentTime, zone: LocalTimeInformation? = nil) {
    self.current = current
    self.zone = zone
  }

  /// The phone's time minus the board's, in whole seconds.
  ///
  /// `boardTime` is the board's UTC in seconds since 1970 when the phone's value arrived, `boardZone` the
  /// board's local time minus UTC in seconds. A phone that does not provide its zone is assumed to be in the board's.
  public func offset(fromBoardTime boardTime: Double, boardZone: Int = 0) -> Int {
    let zone = zone?.secondsFromUTC ?? boardZone
    let difference = current.secondsSince1970 - Double(zone) - boardTime
    // A clock that sends whole seconds is half a second ahead of its value on average.
    let isWhole = current.fractions256 == 0
    return Int(exactly: difference.rounded(isWhole ? .up : .toNearestOrEven)) ?? 0
  }
}
