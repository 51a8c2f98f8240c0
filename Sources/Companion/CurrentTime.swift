// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The phone's date and time on its own clock, without a time zone (Current Time Service 1.1, 3.1; GATT
/// Specification Supplement, Current Time).
///
///     ┌──────┬───────┬─────┬───────┬─────────┬─────────┬─────────────┬──────────────┬───────────────┐
///     │ Year │ Month │ Day │ Hours │ Minutes │ Seconds │ Day of Week │ Fractions256 │ Adjust Reason │
///     └──────┴───────┴─────┴───────┴─────────┴─────────┴─────────────┴──────────────┴───────────────┘
///       0, 1   2       3     4       5         6         7             8              9
public struct CurrentTime: Hashable, Sendable {
  /// What the phone's clock shows.
  public let time: CivilTime
  /// 1 (Monday) to 7, 0 where it is not known.
  public let dayOfWeek: UInt8
  /// 1/256 s each.
  public let fractions256: UInt8
  /// Why the clock was set last.
  public let adjustReason: AdjustReason

  /// Why a clock was set (Adjust Reason).
  public struct AdjustReason: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let manual = AdjustReason(rawValue: 1 << 0)
    public static let reference = AdjustReason(rawValue: 1 << 1)
    public static let timeZone = AdjustReason(rawValue: 1 << 2)
    public static let daylightSaving = AdjustReason(rawValue: 1 << 3)
  }

  /// The years that have a form; 0 would be one that is not known.
  private static let years = 1582...9999

  /// Reads a value of the Current Time characteristic: exactly ten bytes, and a time that is one. The
  /// specification lets year, month and day be 0 for unknown; such a value tells no time.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    let year = Int(try reader.u16())
    let fields = try reader.bytes(5).map(Int.init)
    guard Self.years.contains(year),
      let time = CivilTime(
        year: year, month: fields[0], day: fields[1], hour: fields[2], minute: fields[3],
        second: fields[4])
    else { throw DecodeError(offset: 0, .invalid("a date and time that is none")) }
    self.time = time
    dayOfWeek = try reader.u8()
    guard dayOfWeek <= 7 else {
      throw DecodeError(offset: 7, .invalid("the day of the week \(dayOfWeek)"))
    }
    fractions256 = try reader.u8()
    adjustReason = AdjustReason(rawValue: try reader.u8())
    try reader.end()
  }

  /// The time so many seconds after the beginning of 1970 on the phone's own clock; nil outside the
  /// years that can be sent.
  public init?(
    secondsSince1970 seconds: Int64, fractions256: UInt8 = 0, adjustReason: AdjustReason = []
  ) {
    time = CivilTime(secondsSince1970: seconds)
    guard Self.years.contains(time.year), time.secondsSince1970 == seconds else { return nil }
    let day = (seconds - Int64(time.hour * 3600 + time.minute * 60 + time.second)) / 86_400
    // 1 January 1970 was a Thursday.
    dayOfWeek = UInt8(((day + 3) % 7 + 7) % 7 + 1)
    self.fractions256 = fractions256
    self.adjustReason = adjustReason
  }

  /// The ten bytes for the air.
  public var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 10)
    writer.u16(UInt16(truncatingIfNeeded: time.year))
    for field in [time.month, time.day, time.hour, time.minute, time.second] {
      writer.u8(UInt8(truncatingIfNeeded: field))
    }
    writer.bytes([dayOfWeek, fractions256, adjustReason.rawValue])
    return writer.bytes
  }

  /// Seconds from the beginning of 1970 on the phone's own clock, as if that showed UTC.
  public var secondsSince1970: Double {
    Double(time.secondsSince1970) + Double(fractions256) / 256
  }
}

extension CurrentTime: CustomStringConvertible {
  /// `2026-11-21T07:00:00`.
  public var description: String { time.description }
}
