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
  let name: PhoneService? = .ancs
  let title = "notifications"
  let phase = ServicePhase.first
  var instance: Client.Instance { context.shared.quirks.notificationCenter }

  /// The running subscription.
  private(set) var consumer: NotificationConsumer?
  /// Whether the phone allows its notifications to be read; nil until that is known.
  private(set) var isAuthorized: Bool? { didSet { context.changed() } }
  /// Why the subscription is suspected to be stale.
  private var staleReason: String? { didSet { context.changed() } }

  private let context: ServiceContext

  init(_ context: ServiceContext) { self.context = context }

  var isActive: Bool { consumer != nil }

  func subscribe(to service: LocatedService?, anew: Bool) async throws(SubscriptionFailure) {
    guard let service else { return }
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
    consumer.onAuthorization = { [weak self, context] granted in
      self?.isAuthorized = granted
      context.publish(.authorization(granted: granted))
    }
    consumer.onStale = { [context] what in
      context.publish(.stale(what: what, remedy: "the subscriptions are written again"))
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
  }

  func replay() -> [Event.Content] {
    (consumer?.active.all ?? []).map { report in
      var report = report
      report.event.change = .added
      return .notification(report)
    }
  }

  func describe(in report: inout LinkReport) {
    report.isAuthorized = isAuthorized
    report.notifications = consumer?.active.count ?? 0
    report.backlog = consumer?.backlog ?? 0
  }

  /// What the subscription waits for.
  var wait: ServiceWait {
    if isAuthorized == false { return .forbidden }
    if let staleReason { return .stale(staleReason) }
    return isAuthorized == nil ? .permission : .news
  }
}
