// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// Judges a notification by the owner's rules, from what is known so far.
public typealias NotificationJudge = (NotificationEvent, NotificationAttributes) -> Judgement

/// The rules' judgement of a notification.
public struct Judgement: Hashable, Sendable {
  /// Its standing if nothing more becomes known.
  public var standing: NotificationReport.Standing
  /// The rule that acts on it, by its place in the list.
  public var rule: Int?
  /// What to fetch, along with the app's name; nil: nothing more, and no name.
  public var wanted: AttributeSelection?
  /// Whether the judgement is final, so the rules need not be evaluated again.
  public var isFinal: Bool

  public init(
    _ standing: NotificationReport.Standing = .usual, rule: Int? = nil,
    wanted: AttributeSelection? = nil, isFinal: Bool = false
  ) {
    self.standing = standing
    self.rule = rule
    self.wanted = wanted
    self.isFinal = isFinal
  }
}

/// A phone's notifications: holds its ledger, which outlives its sessions, and carries out the ledger's actions and
/// deadlines.
///
///     ┌ kept, `stale` ─▶ told again: `repeat`
///     │              └─▶ not told again, once the phone has told all, or when the period is over: `removed`
///     session ends
public final class PhoneNotifications {
  /// The ledger.
  public private(set) var ledger: NotificationLedger
  /// How long to keep them without the phone; zero: they are removed when its session ends.
  public var period: Duration
  /// Judges a notification by the rules; nil if there are none.
  public var judge: NotificationJudge? {
    didSet {
      let judge = judge ?? { _, _ in Judgement(isFinal: true) }
      onRulesChanged()
      update { $0.rulesChanged(judge) }
    }
  }
  /// Called with each report to publish.
  public var onTold: (NotificationReport) -> Void = { _ in }
  /// Called with a rule, by its place in the list, and the notification that it acts on.
  public var onAct: (Int, NotificationReport) -> Void = { _, _ in }
  /// Called once if the limit was exceeded and the oldest were forgotten.
  public var onForgotten: () -> Void = {}
  /// Called with a notification to fetch, or to no longer fetch.
  var onFetch: (NotificationUID, _ isWanted: Bool) -> Void = { _, _ in }
  /// Called when the rules have changed, which voids the judgement of a notification that is being fetched.
  var onRulesChanged: () -> Void = {}

  private let scheduler: any Scheduler
  private var timer: (id: TimerID, due: Instant)?
  private var hasToldForgotten = false
  private var isFollowingUp = false

  /// - Parameter seen: what clients were told in an earlier life of the daemon.
  public init(keeping period: Duration, _ scheduler: any Scheduler, seen: SeenContents = .init()) {
    self.period = period
    self.scheduler = scheduler
    ledger = NotificationLedger(seen: seen)
  }

  private var now: Instant { scheduler.now }

  /// Removes all of them: the phone is forgotten.
  public func clear() { update { $0.clear() } }

  func sessionBegan() { update { $0.sessionBegan(at: now, keeping: period) } }

  func sessionEnded() { update { $0.sessionEnded(at: now, keeping: period) } }

  /// The wanted attributes of a notification were fetched, or could not be.
  func settle(_ fetch: consuming Fetch) {
    ledger.settle(fetch, at: now)
    followUp()
  }

  /// Changes the ledger, and carries out its actions.
  func update<Value>(_ change: (inout NotificationLedger) -> Value) -> Value {
    let value = change(&ledger)
    followUp()
    return value
  }

  /// Carries out the ledger's actions in one loop: an action may change the ledger, and so add others.
  private func followUp() {
    guard !isFollowingUp else { return }
    isFollowingUp = true
    while let output = ledger.nextOutput() { perform(output) }
    isFollowingUp = false
    if ledger.isIncomplete, !hasToldForgotten {
      hasToldForgotten = true
      onForgotten()
    }
    wait()
  }

  private func perform(_ output: NotificationLedger.Output) {
    switch output {
    case .tell(let report): onTold(report)
    case .act(let rule, let report): onAct(rule, report)
    case .fetch(let uid): onFetch(uid, true)
    case .drop(let uid): onFetch(uid, false)
    }
  }

  /// Waits for the deadline. When the timer fires, it checks whether the deadline has moved.
  private func wait() {
    guard let deadline = ledger.deadline else {
      if let timer { scheduler.cancel(timer.id) }
      return timer = nil
    }
    if let timer, timer.due <= deadline { return }
    if let timer { scheduler.cancel(timer.id) }
    let id = scheduler.schedule(at: deadline) { [weak self] in
      guard let self else { return }
      timer = nil
      update { $0.pass(to: now) }
    }
    timer = (id, deadline)
  }
}
