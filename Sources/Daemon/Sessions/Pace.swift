// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import Wire

/// How often something may be done that the phone can ask for without end: a few times at once, and then
/// once an interval.
struct Pace {
  /// How often it may be done at once.
  let burst: Int
  let interval: Duration
  /// When the next one would be due if there had been one an interval.
  private var due: Instant?

  init(burst: Int, interval: Duration) {
    self.burst = burst
    self.interval = interval
  }

  /// Counts that it is asked for, and returns how long it has to wait.
  mutating func pause(at now: Instant) -> Duration {
    let due = max(due ?? now, now)
    self.due = due + interval
    return max(.zero, due - now - interval * (burst - 1))
  }
}
