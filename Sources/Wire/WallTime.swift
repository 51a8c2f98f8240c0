// SPDX-License-Identifier: GPL-3.0-or-later

/// A point in civil time, UTC: seconds and nanoseconds since 1970-01-01T00:00:00Z.
///
/// The system's clock is outside the pure modules: `WallTime.now` and `zoneOffset` are in System.
public struct WallTime: Hashable, Sendable {
  /// Whole seconds since 1970, leap seconds not counted.
  public let seconds: Int64
  /// Nanoseconds above that, 0 to 999,999,999.
  public let nanoseconds: Int32

  public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }
}

extension WallTime: Comparable {
  public static func < (one: WallTime, other: WallTime) -> Bool {
    (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
  }
}
