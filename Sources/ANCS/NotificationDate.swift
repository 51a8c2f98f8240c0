// SPDX-License-Identifier: GPL-3.0-or-later

/// When a notification came, by the clock on the phone's screen: ANCS says no time zone.
public struct NotificationDate: Hashable, Sendable {
  public let year, month, day: Int
  public let hour, minute, second: Int

  /// Reads `yyyyMMdd'T'HHmmss`; nil for anything else. Phones send an empty date with incoming calls,
  /// and were seen to send parts of one.
  public init?(decoding value: [UInt8]) {
    guard value.count == 15, value[8] == UInt8(ascii: "T") else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      value[range].reduce(0) { sum, byte in
        guard let sum, (0x30...0x39).contains(byte) else { return nil }
        return sum * 10 + Int(byte - 0x30)
      }
    }
    guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8),
      let hour = number(9..<11), let minute = number(11..<13), let second = number(13..<15)
    else { return nil }
    self.init(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second)
  }

  /// A date of these fields; nil where the calendar or the clock has no such.
  public init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
    guard (0...9999).contains(year), (1...12).contains(month), (0..<24).contains(hour),
      (0..<60).contains(minute), (0..<60).contains(second)
    else { return nil }
    let leap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    let days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...days[month - 1]).contains(day) else { return nil }
    self.year = year
    self.month = month
    self.day = day
    self.hour = hour
    self.minute = minute
    self.second = second
  }

  /// The bytes for the air.
  public var encoded: [UInt8] {
    Array((date(separator: "") + "T" + time(separator: "")).utf8)
  }

  private func date(separator: String) -> String {
    [padded(year, 4), padded(month, 2), padded(day, 2)].joined(separator: separator)
  }

  private func time(separator: String) -> String {
    [padded(hour, 2), padded(minute, 2), padded(second, 2)].joined(separator: separator)
  }

  private func padded(_ number: Int, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}

extension NotificationDate: CustomStringConvertible {
  /// `2026-11-21T07:00:00`.
  public var description: String { date(separator: "-") + "T" + time(separator: ":") }
}
