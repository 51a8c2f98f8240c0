// SPDX-License-Identifier: GPL-3.0-or-later

/// A date and a time of day in the Gregorian calendar, without a time zone.
public struct CivilTime: Hashable, Sendable {
  // Seven bytes, since each notification contains one and is copied often.
  private let shortYear: Int16
  private let (shortMonth, shortDay): (Int8, Int8)
  private let (shortHour, shortMinute, shortSecond): (Int8, Int8, Int8)

  /// 0 to 9999.
  public var year: Int { Int(shortYear) }
  /// 1 to 12.
  public var month: Int { Int(shortMonth) }
  /// 1 to 31.
  public var day: Int { Int(shortDay) }
  public var hour: Int { Int(shortHour) }
  public var minute: Int { Int(shortMinute) }
  public var second: Int { Int(shortSecond) }

  /// Nil if there is no such day or time. Leap seconds are not supported: time counted from 1970 has no
  /// number for them.
  public init?(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
    guard (0...9999).contains(year), (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day),
      (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second)
    else { return nil }
    shortYear = Int16(year)
    (shortMonth, shortDay) = (Int8(month), Int8(day))
    (shortHour, shortMinute, shortSecond) = (Int8(hour), Int8(minute), Int8(second))
  }

  /// The time `seconds` after 1970-01-01T00:00:00, clamped to the years 0 to 9999.
  ///
  /// Days are counted from the first of March of the year 0, in eras of 400 years, each of 146,097 days; a
  /// year that begins in March has its leap day at the end.
  public init(secondsSince1970 seconds: Int64) {
    let inRange = min(max(seconds, -62_167_219_200), 253_402_300_799)
    // An Int of 32 bits holds the days of these years, but not their seconds.
    let (days, rest) = Self.divide(inRange, by: 86_400)
    let time = Int(rest)
    let (era, dayOfEra) = Self.divide(Int(days) + 719_468, by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    shortYear = Int16(truncatingIfNeeded: era * 400 + yearOfEra + (month <= 2 ? 1 : 0))
    shortMonth = Int8(truncatingIfNeeded: month)
    shortDay = Int8(truncatingIfNeeded: dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    shortHour = Int8(truncatingIfNeeded: time / 3_600)
    shortMinute = Int8(truncatingIfNeeded: time / 60 % 60)
    shortSecond = Int8(truncatingIfNeeded: time % 60)
  }

  /// Seconds since 1970-01-01T00:00:00.
  public var secondsSince1970: Int64 {
    let yearFromMarch = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = Self.divide(yearFromMarch, by: 400)
    let monthFromMarch = month > 2 ? month - 3 : month + 9
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * 146_097 + dayOfEra - 719_468
    return Int64(days) * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
  }

  /// Quotient and remainder, rounded towards negative infinity.
  private static func divide<Number: SignedInteger>(
    _ value: Number, by divisor: Number
  ) -> (quotient: Number, remainder: Number) {
    let quotient = (value >= 0 ? value : value - divisor + 1) / divisor
    return (quotient, value - quotient * divisor)
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension CivilTime: LosslessStringConvertible {
  /// Reads `2026-11-21T07:00:00`, and nothing else.
  public init?(_ description: String) {
    let bytes = Array(description.utf8)
    guard bytes.count == 19, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[10] == 0x54, bytes[13] == 0x3A, bytes[16] == 0x3A
    else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      bytes[range].reduce(0) { value, byte in
        value.flatMap { (0x30...0x39).contains(byte) ? $0 * 10 + Int(byte) - 0x30 : nil }
      }
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19)
    else { return nil }
    self.init(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
  }

  /// `2026-11-21T07:00:00`.
  public var description: String {
    var text: [UInt8] = []
    add(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends `2026-11-21T07:00:00`.
  public func add(to text: inout [UInt8]) {
    text.append(upTo: 19) { text in
      Self.add(year / 100, to: &text)
      Self.add(year, to: &text)
      text.append(UInt8(ascii: "-"))
      Self.add(month, to: &text)
      text.append(UInt8(ascii: "-"))
      Self.add(day, to: &text)
      text.append(UInt8(ascii: "T"))
      Self.add(hour, to: &text)
      text.append(UInt8(ascii: ":"))
      Self.add(minute, to: &text)
      text.append(UInt8(ascii: ":"))
      Self.add(second, to: &text)
    }
  }

  /// `2026-11-21`.
  public var dateText: String { String(description.prefix(10)) }

  /// `07:00:00`.
  public var timeText: String { String(description.suffix(8)) }

  /// Appends the last two digits of a number.
  private static func add(_ number: Int, to text: inout OutputSpan<UInt8>) {
    let digits = UInt8(truncatingIfNeeded: number.magnitude % 100)
    text.append(UInt8(ascii: "0") + digits / 10)
    text.append(UInt8(ascii: "0") + digits % 10)
  }
}

/// A point in civil time, UTC: seconds and nanoseconds since 1970-01-01T00:00:00Z.
///
/// The system's clock is outside the pure modules: `WallTime.now` and `zoneOffset` are in System.
public struct WallTime: Hashable, Sendable, Comparable {
  /// Whole seconds since 1970, leap seconds not counted.
  public let seconds: Int64
  /// Nanoseconds above that, 0 to 999,999,999.
  public let nanoseconds: Int32

  public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  public static func < (one: WallTime, other: WallTime) -> Bool {
    (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
  }
}
