// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Board
import Control
import EventLoop
import GAP
import GATT
import Wire

extension ServiceClient {
  /// The Apple Notification Center Service.
  ///
  /// - Parameters:
  ///   - onLife: called when the phone's ANCS shows that it works.
  ///   - onDead: called when the session with it is dead, with the reason.
  static func notifications(
    _ context: ServiceContext, _ quirks: Quirks, onLife: @escaping () -> Void,
    onDead: @escaping (_ reason: String) -> Void
  ) -> ServiceClient {
    ServiceClient(
      uuid: .notificationCenter,
      characteristics: [.controlPoint, .notificationSource, .dataSource], name: .ancs,
      title: "notifications", phase: .first, instance: quirks.notificationCenter
    ) { service, again throws(ATTFailure) in
      var timing = quirks.consumer
      timing.responsesProve = timing.responsesProve || context.phone.hasRefused
      guard
        let consumer = NotificationConsumer(
          context.client, service, timing: timing, notifications: context.phone.notifications)
      else { return nil }
      consumer.onSuspicion = { context.changed() }
      consumer.onBacklog = { context.link.work(backlog: $0) }
      consumer.onIncoming = { context.publish(.incoming($0)) }
      consumer.onAuthorization = { authorization in
        if authorization != .unknown(until: .response) { onLife() }
        if authorization == .refused { context.phone.hasRefused = true }
        context.changed()
        context.publish(.authorization(authorization))
      }
      consumer.onDead = onDead
      consumer.onStale = {
        context.publish(.stale(what: $0, remedy: "the daemon subscribes again"))
      }
      consumer.onDropped = context.logDropped
      try await consumer.subscribe(again: again)
      return NotificationService(consumer: consumer, context: context)
    }
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
