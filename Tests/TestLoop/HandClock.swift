// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A clock that advances only by `turn`: hours of protocol time pass in microseconds.
public final class HandClock: Scheduler {
  public private(set) var now = Instant.zero
  private var timers: [TimerID: (deadline: Instant, action: () -> Void)] = [:]
  private var lastNumber: UInt64 = 0

  public init() {}

  public func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> TimerID {
    lastNumber += 1
    let timer = TimerID(lastNumber)
    timers[timer] = (deadline, action)
    return timer
  }

  public func cancel(_ timer: TimerID) { timers[timer] = nil }

  /// Time passes in which nothing is done, as on a machine that was suspended.
  public func skip(_ duration: Duration) { now = now + duration }

  /// The number of scheduled actions.
  public var scheduled: Int { timers.count }

  /// Advances to the next deadline that is not after `end` and runs its action. If there is none,
  /// advances to `end`, and returns false.
  public func turn(until end: Instant) -> Bool {
    if let next = timers.values.map(\.deadline).min(), next <= end { return turn() }
    now = max(now, end)
    return false
  }

  /// Advances to the next deadline and runs its action; returns whether there was one.
  public func turn() -> Bool {
    let next = timers.min {
      ($0.value.deadline, $0.key.number) < ($1.value.deadline, $1.key.number)
    }
    guard let next else { return false }
    timers[next.key] = nil
    now = max(now, next.value.deadline)
    next.value.action()
    return true
  }
}
