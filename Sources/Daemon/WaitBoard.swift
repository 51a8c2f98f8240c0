// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Wire

/// What the daemon, its adapters and its links wait for. Each tells the board when its own wait may have
/// changed; the board reports a change, and again when it has lasted for some seconds, which is what a
/// log is interested in.
///
/// The board looks once the work at hand is done, so that a wait that lasts no longer is not reported.
/// Without changes it does nothing, and the daemon stays asleep.
@LoopActor final class WaitBoard {
  /// Who waits: an adapter, a link, or the daemon itself.
  enum Subject: Hashable, Sendable {
    case daemon
    /// As in `hci0`, or as it was named on the command line.
    case adapter(String)
    /// By the number that the daemon gave to the link.
    case link(Int)
  }

  /// A wait, and where it belongs in events.
  struct Standing: Hashable, Sendable {
    var wait: Wait
    var adapter: String?
    var phone: Address?
  }

  /// How long a wait has to last before it is worth a line in the log.
  static let patience: Duration = .seconds(3)

  /// Called with what somebody waits for from now on.
  var onChange: (Standing) -> Void = { _ in }
  /// Called, once, with what has lasted.
  var onLasting: (Standing) -> Void = { _ in }

  private let scheduler: any Scheduler
  private var records: [Subject: Record] = [:]
  /// What was set and not looked at yet, in this order.
  private var changed: [Subject] = []

  private struct Record {
    /// What the subject waits for.
    var current: Standing?
    /// What was reported last, and since when that holds.
    var reported: Wait?
    var since: Instant
    var timer: TimerID?
    /// What was reported as lasting.
    var lasting: Wait?
  }

  init(scheduler: any Scheduler) { self.scheduler = scheduler }

  /// Says what a subject waits for now; nil: for nothing.
  func set(_ subject: Subject, _ standing: Standing?) {
    guard records[subject]?.current != standing else { return }
    records[subject, default: Record(since: scheduler.now)].current = standing
    if changed.isEmpty { _ = scheduler.schedule(at: scheduler.now) { [weak self] in self?.look() } }
    if !changed.contains(subject) { changed.append(subject) }
  }

  private func look() {
    let subjects = changed
    changed = []
    for subject in subjects { look(at: subject) }
  }

  private func look(at subject: Subject) {
    guard var record = records[subject], record.reported != record.current?.wait else { return }
    if let timer = record.timer { scheduler.cancel(timer) }
    record.timer = nil
    // After a while without any wait the next one is news, whatever it is.
    if record.reported == nil, scheduler.now - record.since >= Self.patience {
      record.lasting = nil
    }
    record.reported = record.current?.wait
    record.since = scheduler.now
    records[subject] = record
    guard let standing = record.current else {
      // A link that has ended never comes back.
      if case .link = subject { records[subject] = nil }
      return
    }
    onChange(standing)
    // Once all is well, nothing is to wake the daemon up just to say so.
    if standing.wait.isUrgent || standing.wait.isRest { return hasLasted(subject, standing.wait) }
    records[subject]?.timer = scheduler.schedule(after: Self.patience) { [weak self] in
      self?.hasLasted(subject, standing.wait)
    }
  }

  private func hasLasted(_ subject: Subject, _ wait: Wait) {
    guard let record = records[subject], let standing = record.current, standing.wait == wait
    else { return }
    records[subject]?.timer = nil
    guard record.lasting != wait else { return }
    records[subject]?.lasting = wait
    onLasting(standing)
  }
}
