// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc
public import Wire

/// The clock that never jumps (CLOCK_MONOTONIC). It stops while the system sleeps.
public enum MonotonicClock {
  public static var now: Instant {
    let time = Syscall.clock(CLOCK_MONOTONIC)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}

extension WallTime {
  /// The time now, by the system's clock, which may jump.
  public static var now: WallTime {
    let time = Syscall.clock(CLOCK_REALTIME)
    return WallTime(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
  }

  /// Seconds that the board's own zone (TZ, /etc/localtime) is ahead of UTC at this time.
  public var zoneOffset: Int { Syscall.utcOffset(at: Int(seconds)) }
}
