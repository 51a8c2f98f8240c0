// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// When a notification came, as ANCS writes it (NotificationAttributeID Date): by the clock on the
/// phone's screen, without a time zone.
extension CivilTime {
  /// Reads `yyyyMMdd'T'HHmmss`; nil for anything else. Phones send an empty date with incoming calls,
  /// and were seen to send parts of one.
  public init?(notificationDate value: [UInt8]) {
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

  /// As ANCS writes it: `20261121T070000`.
  public var notificationDate: String { description.filter { $0 != "-" && $0 != ":" } }
}
