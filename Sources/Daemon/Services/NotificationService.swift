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
      uuid: .notificationCenter, characteristics: [.controlPoint, .notificationSource, .dataSource], name: .ancs,
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
      return consumer
    }
  }
}

extension NotificationConsumer: RunningService {
  func describe(in report: inout LinkReport) {
    report.authorization = authorization
    report.notifications = notifications.ledger.publishedCount
    report.backlog = backlog
  }

  /// What the subscription waits for.
  var wait: Wait {
    if authorization == .refused { return .forbidden }
    if let suspicion { return .stale(suspicion) }
    return switch authorization {
    case .unknown(until: .response): .permission
    case .unknown(until: .notification): .unprovenNews
    case .granted, .refused: .news
    }
  }
}

extension Session {
  /// Runs a rule's program for a notification, and performs the rule's action on the phone.
  func perform(_ rule: Rule, on report: NotificationReport) {
    guard let consumer = services.active(NotificationConsumer.self) else { return }
    let (event, outcome) = (report.event, rule.outcome)
    if !outcome.program.isEmpty,
      outcome.includesPreExisting || !event.flags.contains(.preExisting)
    {
      // If it was published, it was the last event.
      let numbered = NumberedEvent(
        seq: daemon.feed.recent.lastSeq, time: daemon.platform.wallTime, phone.event(.notification(report)))
      daemon.hooks.run(outcome.program, for: numbered)
    }
    guard let action = outcome.action else { return }
    let what = "\(action) on #\(event.uid)"
    guard event.flags.contains(action.flag) else {
      return log.notice("the rule “\(rule.name)”: \(what): the notification has no such action")
    }
    Loop.start { [weak self, log] in
      do throws(FetchFailure) {
        try await consumer.act(event.uid, action)
        log.info("the rule “\(rule.name)”: \(what): done")
      } catch {
        // The link's end is an event of its own.
        if error == .ended { return }
        self?.publish(
          .error(what: what, code: error.code.map { Int($0.rawValue) }, message: "\(error)", rule: rule.name))
      }
    }
  }
}
