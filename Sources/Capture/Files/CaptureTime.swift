// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// When a packet was captured: seconds and nanoseconds since 1970-01-01T00:00:00Z.
public struct CaptureTime: Hashable, Comparable, Sendable {
  /// Whole seconds, rounded down.
  public let seconds: Int64
  /// 0 to 999,999,999.
  public let nanoseconds: UInt32

  /// A time; more nanoseconds than a second has are the last of it.
  public init(seconds: Int64, nanoseconds: UInt32 = 0) {
    self.seconds = seconds
    self.nanoseconds = min(nanoseconds, 999_999_999)
  }

  /// A time in microseconds since 1970, negative ones before.
  public init(microseconds: Int64) {
    let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    let below = remainder < 0
    seconds = below ? quotient - 1 : quotient
    nanoseconds = UInt32(below ? remainder + 1_000_000 : remainder) * 1000
  }

  /// Microseconds since 1970; a time so far away that they do not fit is the nearest that does.
  public var microseconds: Int64 {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let (sum, over) = product.addingReportingOverflow(Int64(nanoseconds / 1000))
    return overflow || over ? (seconds < 0 ? .min : .max) : sum
  }

  public static func < (one: CaptureTime, other: CaptureTime) -> Bool {
    (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
  }

  /// Microseconds from `start` to this, for the times that people compare with each other.
  public func microseconds(since start: CaptureTime) -> Int64 {
    let (difference, overflow) = microseconds.subtractingReportingOverflow(start.microseconds)
    return overflow ? (self < start ? .min : .max) : difference
  }

  /// What the clock of a zone shows, without the part of a second.
  ///
  /// - Parameter zone: what the zone is ahead of UTC, in seconds.
  public func civil(zone: Int = 0) -> CivilTime {
    CivilTime(secondsSince1970: seconds.addingReportingOverflow(Int64(zone)).partialValue)
  }

  /// The part of a second as six digits.
  public var fraction: String {
    String(String(1_000_000 + nanoseconds / 1000).dropFirst())
  }
}

extension CaptureTime: CustomStringConvertible {
  /// RFC 3339 in UTC with microseconds, as in `2026-11-21T06:00:00.042137Z`.
  public var description: String { "\(civil()).\(fraction)Z" }
}
