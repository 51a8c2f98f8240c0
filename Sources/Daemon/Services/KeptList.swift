// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import EventLoop
import Wire

/// Keeps a phone's notifications over a short break, so that whoever shows them need not take them down and
/// put them up again.
///
///     session ends ──▶ kept, `stale` ──▶ session begins ──▶ told again: `repeat`
///                        │                                └▶ not told again, once the phone has told all: `removed`
///                        └▶ nobody came back in time: `removed`
@LoopActor final class KeptList {
  /// How long they are kept without the phone; zero: not at all.
  var period: Duration
  /// Called with each that is no longer kept and was not told again, as removed.
  var onRemoved: (NotificationReport) -> Void = { _ in }

  /// The notifications of earlier sessions that the phone has not told again.
  private(set) var kept = KeptNotifications()
  private let scheduler: any Scheduler
  private var timer: TimerID?
  /// When they are given up, whatever the phone does.
  private var end = Instant.zero
  private var phase = Phase.away

  private enum Phase: Hashable {
    case away
    /// There is a session, which has so many notifications to fetch.
    case telling(backlog: Int)
  }

  /// How long a phone is silent once it has told all that it has.
  private static let quiet: Duration = .seconds(5)

  init(keeping period: Duration, _ scheduler: any Scheduler) {
    self.period = period
    self.scheduler = scheduler
  }

  /// A session has ended, or begins once more, with these notifications.
  func sessionEnded(_ active: ActiveNotifications, number: Int) {
    phase = .away
    if period > .zero { kept.add(active, of: number) } else { kept = KeptNotifications() }
    end = scheduler.now + period
    wait()
  }

  /// A session has begun: the phone is about to tell what it has.
  func sessionBegan() { backlogChanged(0) }

  /// The phone has announced a notification that was there before the session.
  func announced() { if phase != .away { wait() } }

  /// So many notifications are still to be fetched.
  func backlogChanged(_ count: Int) {
    phase = .telling(backlog: count)
    wait()
  }

  /// The session tells of a notification; `publish` has everybody know.
  func tell(_ report: NotificationReport, publish: (NotificationReport) -> Void) {
    guard !kept.isEmpty else { return publish(report) }
    let confirmation = kept.confirm(report)
    if let other = confirmation.removedBefore { onRemoved(other) }
    publish(report)
    if let former = confirmation.removedAfter { onRemoved(former) }
  }

  /// Forgets all, and tells nobody.
  func discard() {
    kept = KeptNotifications()
    wait()
  }

  private func wait() {
    if let timer { scheduler.cancel(timer) }
    timer = nil
    guard !kept.isEmpty else { return }
    let deadline = phase == .telling(backlog: 0) ? min(end, scheduler.now + Self.quiet) : end
    timer = scheduler.schedule(at: deadline) { [weak self] in
      guard let self else { return }
      timer = nil
      for report in kept.removeAll() { onRemoved(report) }
    }
  }
}
