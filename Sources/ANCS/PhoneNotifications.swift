// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// A phone's notifications: its ledger, which outlives its sessions, with its audience, and its timer.
///
///     ┌ kept, `stale` ─▶ announced again: `repeat`
///     │              └─▶ not announced again, once the phone has announced all, or when the period is over: `removed`
///     session ends
public final class PhoneNotifications {
  /// The ledger.
  public private(set) var ledger: NotificationLedger
  /// How long to keep them without the phone; zero: they are removed when its session ends.
  public var period: Duration
  /// Called with each report to publish.
  public var onPublish: (NotificationReport) -> Void = { _ in }
  /// Called with a rule, by its place in the list, and the notification that it acts on.
  public var onAct: (Int, NotificationReport) -> Void = { _, _ in }
  /// Called once if the limit was exceeded and the oldest were forgotten.
  public var onForgotten: () -> Void = {}
  /// Called when new rules may have notifications fetched.
  var onWaiting: () -> Void = {}

  private let scheduler: any Scheduler
  private lazy var timer = Deadline(scheduler) { [weak self] in
    guard let self else { return }
    update { $0.pass(to: now) }
  }
  private var hasReportedForgotten = false
  private var isPublishing = false

  /// - Parameter seen: what an earlier run of the daemon published.
  public init(keeping period: Duration, _ scheduler: any Scheduler, seen: SeenContents = .init()) {
    self.period = period
    self.scheduler = scheduler
    ledger = NotificationLedger(seen: seen)
  }

  private var now: Instant { scheduler.now }

  /// The rules have changed: they judge again.
  public func rulesChanged(_ judge: @escaping NotificationJudge) {
    update { $0.rulesChanged(judge, at: now) }
    onWaiting()
  }

  /// Removes all of them: the phone is forgotten.
  public func clear() { update { $0.clear() } }

  func sessionBegan() { update { $0.sessionBegan(at: now, keeping: period) } }

  func sessionEnded() { update { $0.sessionEnded(at: now, keeping: period) } }

  /// Changes the ledger, and publishes what follows.
  func update<Result>(_ change: (inout NotificationLedger) -> Result) -> Result {
    defer { publish() }
    return change(&ledger)
  }

  /// Carries out the ledger's actions in one loop: whoever gets one may change the ledger, and so add others.
  private func publish() {
    guard !isPublishing else { return }
    isPublishing = true
    while let output = ledger.nextOutput() {
      switch output {
      case .publish(let report): onPublish(report)
      case .act(let rule, let report): onAct(rule, report)
      }
    }
    isPublishing = false
    if ledger.isIncomplete, !hasReportedForgotten {
      hasReportedForgotten = true
      onForgotten()
    }
    timer.limit(to: ledger.deadline)
  }
}
