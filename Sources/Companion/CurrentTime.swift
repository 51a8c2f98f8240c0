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
  /// 1582 to 9999.
  public let year: Int
  /// 1 to 12.
  public let month: Int
  /// 1 to the month's last.
  public let day: Int
  /// 0 to 23.
  public let hours: Int
  /// 0 to 59.
  public let minutes: Int
  /// 0 to 59.
  public let seconds: Int
  /// 1 (Monday) to 7, 0 where it is not known.
  public let dayOfWeek: UInt8
  /// 1/256 s each.
  public let fractions256: UInt8
  /// Why the time was set last, as bits: manual, reference, time zone, daylight saving.
  public let adjustReason: UInt8

  /// Reads a value of the Current Time characteristic: exactly ten bytes, and a time that is one. The
  /// specification lets year, month and day be 0 for unknown; such a value tells no time.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    year = try Self.field("year", Int(try reader.u16()), 1582...9999, at: 0)
    month = try Self.field("month", Int(try reader.u8()), 1...12, at: 2)
    day = try Self.field("day", Int(try reader.u8()), 1...Self.days(in: month, of: year), at: 3)
    hours = try Self.field("hour", Int(try reader.u8()), 0...23, at: 4)
    minutes = try Self.field("minute", Int(try reader.u8()), 0...59, at: 5)
    seconds = try Self.field("second", Int(try reader.u8()), 0...59, at: 6)
    dayOfWeek = UInt8(try Self.field("day of the week", Int(try reader.u8()), 0...7, at: 7))
    fractions256 = try reader.u8()
    adjustReason = try reader.u8()
    try reader.end()
  }

  /// The time so many seconds after the beginning of 1970 on the phone's own clock; nil outside the
  /// years that can be sent.
  public init?(secondsSince1970 total: Int, fractions256: UInt8 = 0, adjustReason: UInt8 = 0) {
    let earliest = Self.daysSince1970(year: 1582, month: 1, day: 1)
    let latest = Self.daysSince1970(year: 9999, month: 12, day: 31)
    let dayNumber = total >= 0 ? total / 86_400 : (total + 1) / 86_400 - 1
    guard (earliest...latest).contains(dayNumber) else { return nil }
    let second = total - dayNumber * 86_400
    (year, month, day) = Self.date(daysSince1970: dayNumber)
    hours = second / 3600
    minutes = second / 60 % 60
    seconds = second % 60
    // 1 January 1970 was a Thursday.
    let week = (dayNumber + 3) % 7
    dayOfWeek = UInt8((week < 0 ? week + 7 : week) + 1)
    self.fractions256 = fractions256
    self.adjustReason = adjustReason
  }

  /// The ten bytes for the air.
  public var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 10)
    writer.u16(UInt16(truncatingIfNeeded: year))
    for field in [month, day, hours, minutes, seconds] {
      writer.u8(UInt8(truncatingIfNeeded: field))
    }
    writer.bytes([dayOfWeek, fractions256, adjustReason])
    return writer.bytes
  }

  /// Seconds from the beginning of 1970 on the phone's own clock, as if that showed UTC.
  public var secondsSince1970: Double {
    let days = Self.daysSince1970(year: year, month: month, day: day)
    return Double(days * 86_400 + hours * 3600 + minutes * 60 + seconds)
      + Double(fractions256) / 256
  }

  private static func field(
    _ name: String, _ value: Int, _ range: ClosedRange<Int>, at offset: Int
  ) throws(DecodeError) -> Int {
    guard range.contains(value) else {
      throw DecodeError(offset: offset, .invalid("the \(name) \(value)"))
    }
    return value
  }
}

extension CurrentTime: CustomStringConvertible {
  /// `2026-11-21T07:00:00`.
  public var description: String {
    let date = [padded(year, 4), padded(month, 2), padded(day, 2)].joined(separator: "-")
    return date + "T" + [hours, minutes, seconds].map { padded($0, 2) }.joined(separator: ":")
  }

  private func padded(_ number: Int, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}

extension CurrentTime {
  private static func isLeap(_ year: Int) -> Bool {
    year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days from 1 January 1970 in the Gregorian calendar. Counted in years that begin in March, so that
  /// the leap day is the last of its year.
  private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let marchYear = month > 2 ? year : year - 1
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear
      - 719_468
  }

  private static func date(daysSince1970 number: Int) -> (year: Int, month: Int, day: Int) {
    let days = number + 719_468
    let era = days / 146_097
    let dayOfEra = days % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = (marchMonth + 2) % 12 + 1
    return (
      era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month,
      dayOfYear - (153 * marchMonth + 2) / 5 + 1
    )
  }
}
