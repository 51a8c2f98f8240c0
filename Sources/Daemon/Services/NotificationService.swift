// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Board
import Control
import EventLoop
import GAP
import GATT
import Wire

/// The Apple Notification Center Service.
@LoopActor final class NotificationClient: ServiceClient {
  let uuid = UUID.notificationCenter
  let characteristics = [UUID.controlPoint, .notificationSource, .dataSource]
  let name: PhoneService? = .ancs
  let title = "notifications"
  let phase = ServicePhase.first
  let instance: WantedService.Instance

  private let context: ServiceContext
  private let timing: ConsumerTiming
  /// Called when the session with the phone's ANCS is dead, with the reason and whether the
  /// previous one was dead too, so that locating the service again did not help.
  private let onDead: (_ reason: String, _ again: Bool) -> Void
  /// Whether the previous session was dead, and this one has shown no sign of life yet.
  private var wasDead = false

  init(
    _ context: ServiceContext, _ quirks: Quirks,
    onDead: @escaping (_ reason: String, _ again: Bool) -> Void
  ) {
    self.context = context
    (instance, timing) = (quirks.notificationCenter, quirks.consumer)
    self.onDead = onDead
  }

  func subscribe(
    to service: LocatedService, again: Bool
  ) async throws(ATTFailure) -> (any RunningService)? {
    var timing = timing
    timing.responsesProve = timing.responsesProve || context.phone.hasRefused
    guard
      let consumer = NotificationConsumer(
        context.client, service, timing: timing, notifications: context.phone.notifications)
    else { return nil }
    connect(consumer)
    try await consumer.subscribe(again: again)
    return NotificationService(consumer: consumer, context: context)
  }

  private func connect(_ consumer: NotificationConsumer) {
    consumer.onSuspicion = { [context] in context.changed() }
    consumer.onBacklog = { [context] in context.link.work(backlog: $0) }
    consumer.onIncoming = { [context] in context.publish(.incoming($0)) }
    consumer.onAuthorization = { [weak self, context] authorization in
      if authorization != .unknown(until: .response) { self?.wasDead = false }
      if authorization == .refused { context.phone.hasRefused = true }
      context.changed()
      context.publish(.authorization(authorization))
    }
    consumer.onDead = { [weak self] reason in
      guard let self else { return }
      let again = wasDead
      wasDead = true
      onDead(reason, again)
    }
    consumer.onStale = { [context] what in
      context.publish(.stale(what: what, remedy: "the daemon subscribes again"))
    }
    consumer.onDropped = context.logDropped
  }
}

/// The subscription to it.
@LoopActor final class NotificationService: RunningService {
  let consumer: NotificationConsumer
  private let context: ServiceContext

  init(consumer: NotificationConsumer, context: ServiceContext) {
    (self.consumer, self.context) = (consumer, context)
  }

  /// Runs the rule's program, and performs the rule's action on the phone.
  func perform(_ rule: Rule, on report: NotificationReport) {
    let (event, outcome) = (report.event, rule.outcome)
    if !outcome.program.isEmpty,
      outcome.includesPreExisting || !event.flags.contains(.preExisting)
    {
      context.run(outcome.program, .notification(report))
    }
    guard let action = outcome.action else { return }
    let what = "\(action) on #\(event.uid)"
    guard event.flags.contains(action.flag) else {
      return context.log.notice(
        "the rule “\(rule.name)”: \(what): the notification has no such action")
    }
    Loop.start { [context, consumer] in
      do throws(FetchFailure) {
        try await consumer.act(event.uid, action)
        context.log.info("the rule “\(rule.name)”: \(what): done")
      } catch {
        // The link's end is an event of its own.
        if error == .ended { return }
        context.publish(
          .error(
            what: what, code: error.code.map { Int($0.rawValue) }, message: "\(error)",
            rule: rule.name))
      }
    }
  }

  func run() async throws(ATTFailure) { try await consumer.run() }

  func end() { consumer.end() }

  func describe(in report: inout LinkReport) {
    report.authorization = consumer.authorization
    report.notifications = context.phone.notifications.ledger.publishedCount
    report.backlog = consumer.backlog
  }

  /// What the subscription waits for.
  var wait: Wait {
    if consumer.authorization == .refused { return .forbidden }
    if let suspicion = consumer.suspicion { return .stale(suspicion) }
    return switch consumer.authorization {
    case .unknown(until: .response): .permission
    case .unknown(until: .notification): .unprovenNews
    case .granted, .refused: .news
    }
  }
}
