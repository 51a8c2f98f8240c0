// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// The accessory's side of one ANCS session: takes what the Notification Source says, fetches what is
/// wanted through the Control Point, and tells the owner.
///
///     Notification Source ─▶ received ─▶ FetchQueue ─▶ run ─▶ ControlPoint ─▶ Data Source
///                               │            ▲          │
///                      onIncoming        get, act       └─▶ onNotification, onAuthorization, onStale
///
/// Set the closures, `subscribe`, then let `run` go on until it throws because the link is gone, or
/// returns because `end` was called: the phone took the service away. Nothing of a session is good in the
/// next one, so a consumer serves one and is dropped; only `seen` is handed on.
public final class NotificationConsumer {
  /// Takes what the Notification Source says, at once.
  public var onIncoming: (NotificationEvent) -> Void = { _ in }
  /// Takes a notification once what is wanted of it was fetched; one that was removed at once.
  public var onNotification: (NotificationReport) -> Void = { _ in }
  /// Is told whether the phone lets us read, when that is known and whenever it changes.
  public var onAuthorization: (Bool) -> Void = { _ in }
  /// Is told that the session only looked alive, and what was found; it is being subscribed to again.
  public var onStale: (String) -> Void = { _ in }
  /// Is told what makes the session doubtful, and nil once the phone has spoken again.
  public var onDoubt: (String?) -> Void = { _ in }
  /// Is told how many notifications are still to be fetched, whenever that changes.
  public var onBacklog: (Int) -> Void = { _ in }
  /// Takes bytes that make no sense, and why, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }

  /// The notifications that are on the phone now.
  public private(set) var active = ActiveNotifications()
  /// What this session and the earlier ones have brought, to be handed to the next one.
  public private(set) var seen: SeenContents

  let client: Client
  let service: LocatedService
  let settings: ConsumerSettings
  let controlPoint: ControlPoint?
  var queue: FetchQueue<Request>
  var watch: SessionWatch
  let alarm: Alarm
  var isEnded = false
  private var isRunning = false
  /// How many notifications are still to be fetched.
  public private(set) var backlog = 0
  var doubt: String? { didSet { if doubt != oldValue { onDoubt(doubt) } } }
  private var earlier: SeenContents

  /// Something a user waits for.
  struct Request {
    let command: ControlPointCommand
    let waiter: CheckedContinuation<Result<DataSourceResponse?, FetchFailure>, Never>
  }

  /// A consumer for the service that was located; nil where it can't be subscribed to. (Some phones
  /// that are no iPhones show such a service.)
  ///
  /// - Parameter seen: what earlier sessions of this phone have brought.
  public init?(
    _ client: Client, _ service: LocatedService, settings: ConsumerSettings = .init(),
    seen: SeenContents = .init()
  ) {
    guard service[.notificationSource]?.cccd != nil else { return nil }
    self.client = client
    self.service = service
    self.settings = settings
    self.seen = seen
    earlier = seen
    alarm = Alarm(client.bearer)
    queue = FetchQueue(settings.selection)
    watch = SessionWatch(settings.timing)
    if let point = service[.controlPoint], service[.dataSource]?.cccd != nil {
      controlPoint = ControlPoint(client, handle: point.value, timing: settings.timing)
    } else {
      controlPoint = nil
      queue.selection = .none
    }
  }

  var now: Instant { client.bearer.scheduler.now }

  // MARK: Subscribing

  /// Begins the session: the Data Source first, since the Notification Source may speak at once (ANCS
  /// specification, Notification Source). Phones that refuse for now are asked again a few times.
  ///
  /// - Parameter anew: ends a session that may be there first. A phone tells what is there when a session
  ///   begins, and writing a subscription that stands begins none.
  public func subscribe(anew: Bool = false) async throws(ATTFailure) {
    if anew, let cccd = service[.notificationSource]?.cccd {
      controlPoint?.expectLateBytes()
      do {
        try await client.configure(cccd, .none)
      } catch {
        guard error.code != nil else { throw error }
      }
    }
    take()
    for source in [service[.dataSource], service[.notificationSource]] {
      if let cccd = source?.cccd { try await client.insistOnNotifications(cccd) }
    }
    watch.sessionBegan(at: now)
  }

  private func take() {
    if let source = service[.dataSource] {
      client.take(source.value) { [weak self] in self?.controlPoint?.receive($0) }
    }
    if let source = service[.notificationSource] {
      client.take(source.value) { [weak self] in self?.received($0) }
    }
    controlPoint?.onDropped = { [weak self] in self?.onDropped($0, $1) }
  }

  /// Writes the configurations again, which does no harm where they still stand. What the phone refuses
  /// now is left for the next time.
  func subscribeAgain(endingFirst: Bool) async throws(ATTFailure) {
    let sources = [service[.dataSource]?.cccd, service[.notificationSource]?.cccd].compactMap { $0 }
    let writes =
      (endingFirst ? sources.reversed().map { ($0, Subscription.none) } : [])
      + sources.map { ($0, Subscription.notifications) }
    for (cccd, subscription) in writes {
      do {
        try await client.configure(cccd, subscription)
      } catch {
        if error.isEnd { throw error }
      }
    }
  }

  // MARK: What the phone says

  private func received(_ value: [UInt8]) {
    let event: NotificationEvent
    do {
      event = try NotificationEvent(decoding: value)
    } catch {
      return onDropped(value, "no value of the Notification Source: \(error)")
    }
    doubt = nil
    onIncoming(event)
    guard watch.received(event, at: now) else { return }
    take(event)
    tellBacklog()
    alarm.ring()
  }

  /// Brings an event into the list and the queue.
  func take(_ event: NotificationEvent) {
    active.update(event)
    if let report = queue.received(event) { tell(report) }
  }

  func tell(_ report: NotificationReport) {
    var report = report
    if let signature = ContentSignature(report.attributes) {
      report.isRepeat = earlier.contains(signature) && report.event.change == .added
      seen.insert(signature)
    }
    active.update(report)
    onNotification(report)
  }

  func merge(_ attributes: NotificationAttributes, of uid: NotificationUID) {
    active.merge(attributes, of: uid)
  }

  /// The phone is about to tell everything anew.
  func forget() {
    queue.forgetNotifications()
    active = ActiveNotifications()
    earlier = seen
    controlPoint?.expectLateBytes()
  }

  // MARK: The session

  /// Fetches and watches until the session ends.
  ///
  /// - Throws: why the link has ended; returns where `end` was called, and at once where it runs.
  public func run() async throws(ATTFailure) {
    guard !isRunning else { return }
    isRunning = true
    defer { end() }
    while !isEnded {
      tellBacklog()
      try await watchSession()
      if let step = queue.next() {
        try await perform(step)
      } else if !isEnded {
        try await alarm.wait(until: watch.nextDeadline)
      }
    }
  }

  private func perform(_ step: FetchQueue<Request>.Step) async throws(ATTFailure) {
    switch step {
    case .report(let report):
      tell(report)
    case .attributes(let uid, let wanted):
      try await fetch(uid, wanted)
    case .appName(let app):
      try await fetchName(of: app)
    case .request(let request):
      try await answer(request)
    }
  }

  private func fetch(
    _ uid: NotificationUID, _ wanted: [ControlPointCommand.AttributeRequest]
  ) async throws(ATTFailure) {
    let result = try await send(.getNotificationAttributes(uid, wanted))
    let report: NotificationReport?
    switch result {
    case .failure(.refused(.writeNotPermitted)):
      queue.refused()
      return
    case .failure(let failure):
      report = queue.failed(failure)
    case .success(let response):
      report = queue.finished(
        attributes: response.map { NotificationAttributes($0, requested: wanted) } ?? .init())
    }
    if let report { tell(report) }
  }

  private func fetchName(of app: String) async throws(ATTFailure) {
    let result = try await send(.getAppAttributes(appIdentifier: app, [.displayName]))
    if case .failure(.refused(.writeNotPermitted)) = result { return queue.refused() }
    if let report = queue.finished(appName: result.displayName) { tell(report) }
  }

  private func answer(_ request: Request) async throws(ATTFailure) {
    do {
      let result = try await send(request.command)
      queue.finishedRequest()
      request.waiter.resume(returning: result)
    } catch {
      request.waiter.resume(returning: .failure(.ended))
      throw error
    }
  }

  /// Sends a command, and notices whether the phone lets us read.
  func send(
    _ command: ControlPointCommand
  ) async throws(ATTFailure) -> Result<DataSourceResponse?, FetchFailure> {
    guard let controlPoint else { return .failure(.unsupported) }
    let result = try await controlPoint.send(command)
    switch result {
    case .failure(.refused(.writeNotPermitted)):
      queue.hold()
      if watch.refused(at: now) { onAuthorization(false) }
    case .failure(.undelivered), .failure(.ended), .failure(.unsupported):
      break
    case .failure, .success:
      queue.release()
      doubt = nil
      if watch.granted(at: now) { onAuthorization(true) }
    }
    return result
  }

  private func tellBacklog() {
    guard backlog != queue.count else { return }
    backlog = queue.count
    onBacklog(backlog)
  }

  /// Ends the session: nothing more is taken, and whoever waits for something gets an error. Harmless
  /// where it has ended.
  public func end() {
    guard !isEnded else { return }
    isEnded = true
    for source in [service[.dataSource], service[.notificationSource]] {
      if let source { client.take(source.value, nil) }
    }
    for request in queue.end() { request.waiter.resume(returning: .failure(.ended)) }
    controlPoint?.end()
    alarm.ring()
  }
}

extension Result<DataSourceResponse?, FetchFailure> {
  /// The app's name in an answer about an app.
  var displayName: String? {
    guard case .success(let response?) = self else { return nil }
    let attribute = response.attributes.first { $0.id == AppAttributeID.displayName.rawValue }
    return attribute.map { String(cutUTF8: $0.value) }
  }
}
