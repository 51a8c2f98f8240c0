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
  public var nanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

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

/// The moment at which its owner is to act, which may move; one timer, which ends with it.
public final class Deadline {
  private let scheduler: any Scheduler
  private let action: () -> Void
  private var timer: (id: TimerID, due: Instant)?

  /// - Parameter action: what to do when the moment has come. It should hold the owner weakly.
  public init(_ scheduler: any Scheduler, _ action: @escaping () -> Void) {
    self.scheduler = scheduler
    self.action = action
  }

  deinit { if let timer { scheduler.cancel(timer.id) } }

  /// The moment; nil if there is none.
  public var due: Instant? {
    get { timer?.due }
    set {
      if timer?.due == newValue { return }
      if let timer { scheduler.cancel(timer.id) }
      timer = newValue.map { due in
        let id = scheduler.schedule(at: due) { [weak self] in self?.pass() }
        return (id, due)
      }
    }
  }

  /// Moves it forward, if it would come later; nil: there is none. An owner whose deadline may also move back calls only
  /// this, and looks again when the moment has come.
  public func limit(to due: Instant?) {
    if let due, let timer, timer.due <= due { return }
    self.due = due
  }

  private func pass() {
    timer = nil
    action()
  }
}

/// The pauses between attempts at something that fails: 1, 2, 4 … seconds, each with up to half of it more or less.
public struct RetryPauses: Sendable {
  private let longest: Duration
  /// Random jitter from 0 to 1, so the boards of a site do not all connect at once.
  private let jitter: @Sendable () -> Double

  public init(longest: Duration, jitter: @escaping @Sendable () -> Double) {
    self.longest = longest
    self.jitter = jitter
  }

  /// - Parameter failures: the number of consecutive failed attempts, at least 1.
  public func pause(after failures: Int) -> Duration {
    let usual = min(.seconds(1 << min(max(failures - 1, 0), 16)), longest)
    return min(usual * (0.5 + jitter()), longest)
  }
}
