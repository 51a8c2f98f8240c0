// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Control
import EventLoop
import GAP
import GATT
import Wire

/// The Apple Notification Center Service.
@LoopActor final class NotificationService: ServiceClient {
  let uuid = UUID.notificationCenter
  let characteristics = [UUID.controlPoint, .notificationSource, .dataSource]
  let name: PhoneService? = .ancs
  let title = "notifications"
  let phase = ServicePhase.first
  var instance: WantedService.Instance { context.shared.quirks.notificationCenter }

  /// The running subscription.
  private(set) var consumer: NotificationConsumer?
  /// Whether the phone allows its notifications to be read.
  private(set) var authorization = Authorization.pending { didSet { context.changed() } }
  /// Why the subscription is suspected to be stale.
  private var staleReason: String? { didSet { context.changed() } }

  private let context: ServiceContext
  /// Called when the session with the phone's ANCS is dead, with the reason and whether the one before was
  /// dead too: locating the service anew did not help.
  private let onDead: (_ reason: String, _ again: Bool) -> Void
  /// Whether the session before this one was dead, and this one has shown no sign of life.
  private var wasDead = false

  init(
    _ context: ServiceContext, onDead: @escaping (_ reason: String, _ again: Bool) -> Void
  ) {
    self.context = context
    self.onDead = onDead
  }

  var isActive: Bool { consumer != nil }

  func subscribe(to service: LocatedService, anew: Bool) async throws(SubscriptionFailure) {
    var settings = ConsumerSettings()
    settings.timing = context.shared.quirks.consumer
    guard
      let consumer = NotificationConsumer(
        context.client, service, settings: settings, seen: context.phone.seen)
    else { throw .incomplete("ANCS") }
    connect(consumer)
    follow(context.shared.rules, consumer)
    do {
      try await consumer.subscribe(anew: anew)
      self.consumer = consumer
      kept.sessionBegan()
    } catch {
      throw .failed(error)
    }
  }

  private func connect(_ consumer: NotificationConsumer) {
    consumer.onSuspicion = { [weak self] in self?.staleReason = $0 }
    consumer.onBacklog = { [context, kept] in
      context.link.work(backlog: $0)
      kept.backlogChanged($0)
    }
    consumer.onIncoming = { [context, kept] in
      if $0.flags.contains(.preExisting) { kept.announced() }
      context.publish(.incoming($0))
    }
    consumer.onNotification = { [weak self] in self?.publish($0) }
    consumer.onRestart = { [context, kept] in
      kept.sessionEnded($0, number: context.shared.number)
      kept.sessionBegan()
    }
    consumer.onAuthorization = { [weak self, context] authorization in
      if authorization != .pending { self?.wasDead = false }
      self?.authorization = authorization
      context.publish(.authorization(authorization))
    }
    consumer.onDead = { [weak self] reason in
      guard let self else { return }
      let again = wasDead
      wasDead = true
      onDead(reason, again)
    }
    consumer.onStale = { [context] what in
      context.publish(.stale(what: what, remedy: "the subscriptions are written again"))
    }
    consumer.onForgotten = { [context] in
      context.publish(
        .error(
          what: "keeping the phone's notifications", code: nil,
          message: "there are too many of them: the oldest are not listed any more"))
    }
    consumer.onDropped = context.logDropped
  }

  private var kept: KeptList { context.phone.kept }

  /// The rules, or what is fetched, have changed: what is fetched from now on follows them.
  func rulesChanged() { if let consumer { follow(context.shared.rules, consumer) } }

  private func follow(_ rules: RuleBook, _ consumer: NotificationConsumer) {
    let phone = context.phone
    consumer.selection = rules.selection
    // Without rules nothing is asked on the way of a notification.
    guard !rules.isEmpty else {
      (consumer.decide, consumer.judge) = (nil, { $0.standing = .usual })
      return
    }
    consumer.decide = { rules.decide($0, $1, from: phone) }
    consumer.judge = { $0.standing = rules.rule(for: $0, from: phone)?.outcome.standing ?? .usual }
  }

  private func publish(_ report: NotificationReport) {
    kept.tell(report) { report in
      if report.standing != .hidden { context.publish(.notification(report)) }
    }
    let rules = context.shared.rules
    if !rules.isEmpty, report.event.change == .added,
      let rule = rules.rule(for: report, from: context.phone)
    {
      perform(rule, on: report)
    }
  }

  /// Runs the rule's program, and has the phone do what the rule says.
  private func perform(_ rule: Rule, on report: NotificationReport) {
    let (event, outcome) = (report.event, rule.outcome)
    if !outcome.program.isEmpty,
      outcome.includesPreExisting || !event.flags.contains(.preExisting)
    {
      context.run(outcome.program, .notification(report))
    }
    guard let action = outcome.action, let consumer else { return }
    let what = "the rule “\(rule.name)”: \(action) on #\(event.uid)"
    guard event.flags.contains(action.flag) else {
      return context.shared.log.notice("\(what): the notification has no such action")
    }
    Loop.start { [context] in
      do throws(FetchFailure) {
        try await consumer.act(event.uid, action)
        context.shared.log.info("\(what): done")
      } catch {
        context.publish(
          .error(what: what, code: error.code.map { Int($0.rawValue) }, message: "\(error)"))
      }
    }
  }

  func run() async throws(ATTFailure) { try await consumer?.run() }

  func end() {
    guard let consumer else { return }
    context.phone.seen.formUnion(consumer.seen)
    kept.sessionEnded(consumer.active, number: context.shared.number)
    consumer.end()
    self.consumer = nil
    staleReason = nil
    authorization = .pending
  }

  func replay() -> [Event.Content] {
    (consumer?.active.all ?? []).filter { $0.standing != .hidden }.map { report in
      var report = report
      report.event.change = .added
      return .notification(report)
    }
  }

  func describe(in report: inout LinkReport) {
    report.authorization = isActive ? authorization : nil
    report.notifications = consumer?.active.count ?? 0
    report.backlog = consumer?.backlog ?? 0
  }

  /// What the subscription waits for.
  var wait: ServiceWait {
    if authorization == .refused { return .forbidden }
    if let staleReason { return .stale(staleReason) }
    return authorization == .pending ? .permission : .news
  }
}
