// SPDX-License-Identifier: GPL-3.0-or-later

/// A point in time of a monotonic clock, in nanoseconds since an arbitrary start.
public struct Instant: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's own start.
  public let nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The start of the clock.
  public static let zero = Instant(nanoseconds: 0)

  public static func < (one: Instant, other: Instant) -> Bool {
    one.nanoseconds < other.nanoseconds
  }

  /// The instant `duration` after this one, saturating.
  public static func + (instant: Instant, duration: Duration) -> Instant {
    let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
    return Instant(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
  }

  /// The time from `earlier` to `later`.
  public static func - (later: Instant, earlier: Instant) -> Duration {
    .nanoseconds(later.nanoseconds &- earlier.nanoseconds)
  }
}

extension Duration {
  /// The duration in nanoseconds, saturating at 292 years.
  public var nanoseconds: Int64 {
    Int64(clamping: attoseconds / 1_000_000_000)
  }

  /// The duration in seconds.
  public var inSeconds: Double { Double(nanoseconds) / 1e9 }
}

/// A clock with timers. The pure modules have no clock of their own: in the daemon the event loop is the
/// scheduler, in tests a virtual clock.
public protocol Scheduler: AnyObject {
  /// The time now.
  var now: Instant { get }

  /// Calls `action` once at `deadline`, on the loop; on its next turn if the deadline has passed.
  func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> TimerID

  /// Cancels a scheduled action; a timer that has fired or was cancelled is ignored.
  func cancel(_ timer: TimerID)
}

/// Identifies a scheduled action.
public struct TimerID: Hashable, Sendable {
  public let number: UInt64
  public init(_ number: UInt64) { self.number = number }
}

extension Scheduler {
  /// Calls `action` once, after `delay`.
  public func schedule(after delay: Duration, _ action: @escaping () -> Void) -> TimerID {
    schedule(at: now + delay, action)
  }
}
