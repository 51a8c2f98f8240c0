// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc
import Wire

/// The clock that never jumps (CLOCK_MONOTONIC; it stands still while the system sleeps).
public enum MonotonicClock {
  public static var now: Instant {
    let time = Syscall.clock(CLOCK_MONOTONIC)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  /// The processor time that this process used so far, in user and kernel mode together.
  public static var processorTime: Duration {
    let time = Syscall.clock(CLOCK_PROCESS_CPUTIME_ID)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

/// A point in the time that people use: seconds and nanoseconds since 1970-01-01T00:00:00Z.
public struct WallTime: Hashable, Comparable, Sendable {
  /// Whole seconds since 1970, UTC, leap seconds not counted.
  public let seconds: Int64
  /// Nanoseconds above that, 0 to 999,999,999.
  public let nanoseconds: Int32

  public init(seconds: Int64, nanoseconds: Int32 = 0) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// The time now, by the system's clock, which may jump.
  public static var now: WallTime {
    let time = Syscall.clock(CLOCK_REALTIME)
    return WallTime(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
  }

  /// Seconds that the board's own zone (TZ, /etc/localtime) is ahead of UTC at this time.
  public var zoneOffset: Int { Syscall.utcOffset(at: Int(seconds)) }

  public static func < (one: WallTime, other: WallTime) -> Bool {
    (one.seconds, one.nanoseconds) < (other.seconds, other.nanoseconds)
  }
}
