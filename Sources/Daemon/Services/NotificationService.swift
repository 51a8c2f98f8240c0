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
    var settings = ConsumerSettings(context.shared.fetch)
    settings.timing = context.shared.quirks.consumer
    guard
      let consumer = NotificationConsumer(
        context.client, service, settings: settings, seen: context.phone.seen)
    else { throw .incomplete("ANCS") }
    connect(consumer)
    do {
      try await consumer.subscribe(anew: anew)
      self.consumer = consumer
    } catch {
      consumer.end()
      throw .failed(error)
    }
  }

  private func connect(_ consumer: NotificationConsumer) {
    consumer.onSuspicion = { [weak self] in self?.staleReason = $0 }
    consumer.onBacklog = { [context] in context.link.work(backlog: $0) }
    consumer.onIncoming = { [context] in context.publish(.incoming($0)) }
    consumer.onNotification = { [context] in context.publish(.notification($0)) }
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

  func run() async throws(ATTFailure) { try await consumer?.run() }

  func end() {
    guard let consumer else { return }
    context.phone.seen.formUnion(consumer.seen)
    consumer.end()
    self.consumer = nil
    staleReason = nil
    authorization = .pending
  }

  func replay() -> [Event.Content] {
    (consumer?.active.all ?? []).map { report in
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
