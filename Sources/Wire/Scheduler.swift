// SPDX-License-Identifier: GPL-3.0-or-later

/// A point on a clock that never jumps: nanoseconds since some start that means nothing outside.
public struct Instant: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's own start.
  public let nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The start of the clock.
  public static let zero = Instant(nanoseconds: 0)

  public static func < (one: Instant, other: Instant) -> Bool {
    one.nanoseconds < other.nanoseconds
  }

  /// The instant `duration` after this one; a sum past the clock's end is its end.
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
  /// The duration in nanoseconds; one of more than 292 years is the longest there is.
  public var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, over) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || over ? (seconds < 0 ? .min : .max) : sum
  }

  /// The duration in seconds, for text and JSON.
  public var inSeconds: Double { Double(nanoseconds) / 1e9 }
}

/// Who calls back later. The pure rooms have no clock: they are handed one of these; in the daemon
/// it is the event loop, in tests a clock turned by hand.
public protocol Scheduler: AnyObject {
  /// The time now.
  var now: Instant { get }

  /// Calls `action` once at `deadline` (at once on the next turn where that has passed), on the
  /// loop that everything here runs on.
  func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> TimerID

  /// Calls a scheduled action off; a timer that has run, or was called off, is ignored.
  func cancel(_ timer: TimerID)
}

/// Names one scheduled action.
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
