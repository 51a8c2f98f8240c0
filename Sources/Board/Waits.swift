// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Wire

/// What the daemon, its adapters and its links wait for. Each sets its own wait here when that may
/// have changed. `Waits` reports every change, and reports a wait a second time, for the log,
/// when it has lasted some seconds.
///
/// It examines changes once the current work is done, so a wait that begins and ends within it is
/// not reported. Without changes no timer runs, and the daemon sleeps.
@LoopActor package final class Waits {
  /// The subject of a wait: an adapter, a link, or the daemon itself.
  package enum Subject: Hashable, Comparable, Sendable {
    case daemon
    /// As in `hci0`, or as it was named on the command line.
    case adapter(String)
    /// By the link's number (`Supervisor.sessions`).
    case link(Int)
  }

  /// A wait, with the adapter and the phone that its event names.
  package struct CurrentWait: Hashable, Sendable {
    package var wait: Wait
    package var adapter: String?
    package var phone: Address?

    package init(_ wait: Wait, adapter: String? = nil, phone: Address? = nil) {
      self.wait = wait
      self.adapter = adapter
      self.phone = phone
    }
  }

  /// How long a wait has to last before it is logged.
  static let patience: Duration = .seconds(3)

  /// Called with each new wait.
  package var onNewWait: (CurrentWait) -> Void = { _ in }
  /// Called once with each wait that has lasted.
  package var onLastingWait: (CurrentWait) -> Void = { _ in }
  /// Called with all current waits whenever they have changed: the daemon's, the adapters' by name,
  /// the links' by number.
  package var onAllWaits: ([CurrentWait]) -> Void = { _ in }

  private let scheduler: any Scheduler
  private var records: [Subject: Record] = [:]
  /// The subjects whose wait was set but not examined yet, in order.
  private var changed: [Subject] = []

  private struct Record {
    /// What the subject waits for now.
    var current: CurrentWait?
    /// The wait that was reported last, and when.
    var reported: Wait?
    var since: Instant
    var timer: TimerID?
    /// The wait that was last reported as lasting.
    var lasting: Wait?
  }

  package init(scheduler: any Scheduler) { self.scheduler = scheduler }

  /// Sets what a subject waits for; nil: nothing.
  package func set(_ subject: Subject, _ current: CurrentWait?) {
    guard records[subject]?.current != current else { return }
    records[subject, default: Record(since: scheduler.now)].current = current
    if changed.isEmpty { _ = scheduler.schedule(at: scheduler.now) { [weak self] in self?.look() } }
    if !changed.contains(subject) { changed.append(subject) }
  }

  private func look() {
    let subjects = changed
    changed = []
    for subject in subjects {
      look(at: subject)
      // The number of a link that has ended is never used again.
      if case .link = subject, records[subject]?.current == nil { records[subject] = nil }
    }
    onAllWaits(all)
  }

  /// All current waits.
  var all: [CurrentWait] { records.sorted { $0.key < $1.key }.compactMap(\.value.current) }

  private func look(at subject: Subject) {
    guard var record = records[subject], record.reported != record.current?.wait else { return }
    if let timer = record.timer { scheduler.cancel(timer) }
    record.timer = nil
    // After some time without any wait, the next one is reported even if it is the same as before.
    if record.reported == nil, scheduler.now - record.since >= Self.patience {
      record.lasting = nil
    }
    record.reported = record.current?.wait
    record.since = scheduler.now
    records[subject] = record
    guard let current = record.current else { return }
    onNewWait(current)
    switch current.wait.name.weight {
    // When all is well, no timer should wake the daemon just to log that.
    case .rest, .urgent, .fault: hasLasted(subject, current.wait)
    case .progress, .action:
      records[subject]?.timer = scheduler.schedule(after: Self.patience) { [weak self] in
        self?.hasLasted(subject, current.wait)
      }
    }
  }

  private func hasLasted(_ subject: Subject, _ wait: Wait) {
    guard let record = records[subject], let current = record.current, current.wait == wait
    else { return }
    records[subject]?.timer = nil
    guard record.lasting != wait else { return }
    records[subject]?.lasting = wait
    onLastingWait(current)
  }
}
