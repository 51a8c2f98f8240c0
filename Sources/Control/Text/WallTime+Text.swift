// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

extension WallTime {
  /// RFC 3339 in UTC with milliseconds, as in `2026-11-21T06:00:00.042Z`.
  public var rfc3339: String {
    "\(CivilTime(secondsSince1970: seconds)).\(padded(max(0, nanoseconds) / 1_000_000, 3))Z"
  }

  /// Reads what `rfc3339` writes, and nothing else.
  public init?(rfc3339 text: String) {
    guard text.utf8.count == 24, text.utf8.last == UInt8(ascii: "Z"),
      let civil = CivilTime(String(text.prefix(19))), text.dropFirst(19).first == ".",
      let milliseconds = UInt16(text.dropFirst(20).prefix(3))
    else { return nil }
    self.init(seconds: civil.secondsSince1970, nanoseconds: Int32(milliseconds) * 1_000_000)
  }
}

/// A number with zeros in front, so that it has at least so many digits.
func padded(_ number: some BinaryInteger, _ digits: Int) -> String {
  let text = String(number)
  return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}
