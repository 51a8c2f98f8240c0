// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A moment in universal time, as the kernel's real-time clock counts it.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Whole seconds since 1970-01-01T00:00:00Z.
  public var seconds: Int64
  /// What is behind the whole seconds, 0 to 999,999,999 ns.
  public var nanoseconds: Int32

  public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = min(max(nanoseconds, 0), 999_999_999)
  }

  public static func < (one: Timestamp, other: Timestamp) -> Bool {
    (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
  }
}

extension Timestamp: LosslessStringConvertible {
  /// RFC 3339 in UTC with milliseconds, as in `2026-11-21T06:00:00.042Z`.
  public var description: String {
    "\(CivilTime(secondsSince1970: seconds)).\(padded(nanoseconds / 1_000_000, 3))Z"
  }

  /// Reads what `description` writes, and nothing else.
  public init?(_ description: String) {
    guard description.utf8.count == 24, description.utf8.last == UInt8(ascii: "Z"),
      let civil = CivilTime(String(description.prefix(19))),
      description.dropFirst(19).first == ".",
      let milliseconds = UInt16(description.dropFirst(20).prefix(3))
    else { return nil }
    self.init(seconds: civil.secondsSince1970, nanoseconds: Int32(milliseconds) * 1_000_000)
  }
}

/// A number with zeros in front, so that it has at least so many digits.
func padded(_ number: some BinaryInteger, _ digits: Int) -> String {
  let text = String(number)
  return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}
