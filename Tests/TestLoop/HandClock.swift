// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A clock that stands still until it is turned: hours of protocol time pass in microseconds.
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

  /// How many actions are scheduled.
  public var scheduled: Int { timers.count }

  /// Goes on to the next deadline and runs the one action that is due then; says whether there was
  /// one.
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
