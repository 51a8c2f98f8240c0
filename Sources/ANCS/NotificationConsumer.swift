// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import Wire

/// The accessory's side of one ANCS session: follows the Notification Source, fetches attributes through
/// the Control Point, and reports to the owner.
///
///     Notification Source ─▶ received ─▶ ledger, FetchQueue ─▶ advance ─▶ ControlPoint ─▶ Data Source
///                               │                ▲    ▲           │             │
///                          onIncoming       get, act  └───────────┼─ finished ◀─┘
///                                                                 └─▶ onAuthorization, onStale
///
/// It records the phone's notifications in their ledger (`notifications`), which outlives it and decides what to
/// publish.
///
/// Each outcome triggers the next command (`advance`); the task of `run` sleeps meanwhile. It wakes up to subscribe
/// again, and for the deadlines of the session (`SessionWatch`).
///
/// Set the closures, call `subscribe`, then `run`. It throws when the link has ended, and returns when
/// the session is dead, or when `end` was called because the phone removed the service. Nothing of a
/// session is valid in the next one, so a consumer serves one session.
public final class NotificationConsumer {
  /// Called with each event of the Notification Source, at once.
  public var onIncoming: (NotificationEvent) -> Void = { _ in }
  /// Called with whether the phone allows access, once it is known and when it changes.
  public var onAuthorization: (Authorization) -> Void = { _ in }
  /// Called if the phone seems to have forgotten the session, with the reason; the consumer subscribes again.
  public var onStale: (String) -> Void = { _ in }
  /// Called once if the session is dead anyway, with the reason: the service has to be located
  /// again. `run` returns then.
  public var onDead: (String) -> Void = { _ in }
  /// Called when `suspicion` has changed.
  public var onSuspicion: () -> Void = {}
  /// Called with the number of notifications still to be fetched, when it changes.
  public var onBacklog: (Int) -> Void = { _ in }
  /// Called with bytes that were dropped, and the reason, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }

  /// The phone's notifications.
  public let notifications: PhoneNotifications
  /// The number of notifications still to be fetched.
  public private(set) var backlog = 0
  /// Whether the phone allows access, as far as is known.
  public var authorization: Authorization { watch.authorization }
  /// Why the session may be dead; nil if nothing suggests it.
  public private(set) var suspicion: String? {
    didSet { if suspicion != oldValue { onSuspicion() } }
  }

  private let client: Client
  private let service: LocatedService
  private let timing: ConsumerTiming
  private let controlPoint: ControlPoint?
  private var queue = FetchQueue()
  private var watch: SessionWatch
  /// Wakes the task of `run`.
  private let alarm: Alarm
  private var phase = Phase.notBegun
  /// The check of the session in progress: when the phone was probed, and the timer after which it is suspected.
  private var check: (start: Instant, timer: TimerID)?

  /// The phase of the session.
  private enum Phase {
    case notBegun
    /// Commands are sent.
    case serving
    /// The subscriptions are to be written again, or are being written; no commands are sent.
    case subscribingAgain(endingFirst: Bool)
    case ended
  }

  /// A consumer for a located service; nil if the service cannot be subscribed to. (Some phones that are
  /// not iPhones have such a service.)
  ///
  /// - Parameter notifications: the known notifications of this phone; nil for a new phone.
  public init?(
    _ client: Client, _ service: LocatedService, timing: ConsumerTiming = .init(),
    notifications: PhoneNotifications? = nil
  ) {
    guard service[.notificationSource]?.cccd != nil else { return nil }
    self.client = client
    self.service = service
    self.timing = timing
    self.notifications = notifications ?? PhoneNotifications(keeping: .zero, client.bearer.scheduler)
    alarm = Alarm(client.bearer)
    watch = SessionWatch(timing)
    if let point = service[.controlPoint], service[.dataSource]?.cccd != nil {
      controlPoint = ControlPoint(client, handle: point.value, timing: timing)
    } else {
      controlPoint = nil
    }
  }

  private var now: Instant { client.bearer.scheduler.now }

  private var isEnded: Bool { if case .ended = phase { true } else { false } }

  // MARK: Subscribing

  /// Begins the session. The Notification Source is first: a phone gives up an accessory whose links end before it has
  /// subscribed to that (docs/guesses.md). It may notify at once, but nothing is fetched before `run`. After a refusal
  /// it retries a few times.
  ///
  /// - Parameter again: first ends a session that may exist. A phone announces its notifications when a session
  ///   begins, and rewriting an existing subscription does not begin one.
  /// - Throws: why it has failed; the session has ended then.
  public func subscribe(again: Bool = false) async throws(ATTFailure) {
    do throws(ATTFailure) {
      if again {
        controlPoint?.expectLateBytes()
        try await client.endSubscriptions(of: service)
      }
      setHandlers()
      for source in [service[.notificationSource], service[.dataSource]] {
        if let cccd = source?.cccd { try await client.enable(cccd) }
      }
    } catch {
      end()
      throw error
    }
    // Like the handlers of the sources, this closure retains the consumer until `end`.
    notifications.onWaiting = { [self] in advance() }
    notifications.sessionBegan()
    watch.sessionBegan(at: now)
  }

  private func setHandlers() {
    if let source = service[.dataSource] {
      client.setArrivalHandler(for: source.value) { [controlPoint] in
        controlPoint?.receive($0.value)
      }
    }
    if let source = service[.notificationSource] {
      client.setArrivalHandler(for: source.value) { [self] in received($0.value) }
    }
    controlPoint?.onDropped = { [self] in onDropped(Array($0), $1) }
    controlPoint?.onOutcome = { [self] in finished($0) }
  }

  /// Writes the subscriptions again, which is harmless if they still exist. A refusal is retried the next time.
  private func subscribeAgain(endingFirst: Bool) async throws(ATTFailure) {
    watch.subscribing()
    let sources = [service[.notificationSource]?.cccd, service[.dataSource]?.cccd].compactMap { $0 }
    let ends = endingFirst ? sources.map { ($0, ClientConfiguration([])) } : []
    // Where the service was, there may be another one once it has ended.
    for (cccd, wanted) in ends + sources.map({ ($0, .notifications) }) where !isEnded {
      do { try await client.configure(cccd, wanted) } catch { if error.isEnd { throw error } }
    }
    watch.subscribed(at: now)
  }

  // MARK: Events from the phone

  private func received(_ value: ArraySlice<UInt8>) {
    var event: NotificationEvent
    do {
      event = try NotificationEvent(decoding: value)
    } catch { return onDropped(Array(value), "an invalid Notification Source value: \(error)") }
    if suspicion != nil { suspicion = nil }
    if watch.correct(&event, at: now) { forget() }
    onIncoming(event)
    guard event.change.isKnown else {
      return onDropped(Array(value), "an event with the reserved EventID \(event.change)")
    }
    guard watch.received(event, at: now) else { return }
    apply(event)
    advance()
  }

  private func apply(_ event: NotificationEvent) {
    let now = now
    notifications.update { ledger in
      if event.change == .removed {
        queue.removed(event, &ledger, at: now)
      } else {
        queue.announced(event, &ledger, at: now)
      }
    }
  }

  private func updateBacklog() {
    let count = notifications.ledger.lanes.count + (queue.isFetching ? 1 : 0)
    guard backlog != count else { return }
    backlog = count
    onBacklog(count)
  }

  /// Forgets the phone's notifications, because it is about to announce them again.
  private func forget() {
    queue.startOver()
    notifications.sessionBegan()
    controlPoint?.expectLateBytes()
  }

  // MARK: The session

  /// Fetches notifications and watches the session until it ends.
  ///
  /// - Throws: why the link has ended. Returns if `end` was called, and at once if it is already running.
  public func run() async throws(ATTFailure) {
    guard case .notBegun = phase else { return }
    phase = .serving
    defer { end() }
    while !isEnded {
      if case .subscribingAgain(let endingFirst) = phase {
        try await subscribeAgain(endingFirst: endingFirst)
        if !isEnded { phase = .serving }
      }
      advance()
      if case .serving = phase { try await alarm.wait(until: deadline) }
    }
  }

  /// When there is work although the phone has sent nothing. Due work waits for the outcome of the command in progress.
  private var deadline: Instant? {
    if controlPoint?.isBusy == true { return nil }
    guard mayFetch, let due = notifications.ledger.lanes.deadline else { return watch.nextDeadline }
    return watch.nextDeadline.map { min($0, due) } ?? due
  }

  private var mayFetch: Bool { watch.authorization != .refused }

  /// Sends the next command, unless one is in progress. The session's due tasks come first.
  private func advance() {
    while case .serving = phase, controlPoint?.isBusy != true, client.bearer.end == nil {
      if let due = watch.nextDeadline, due <= now {
        performDueTasks()
        guard case .serving = phase else { break }
      }
      let command = notifications.update { queue.next(&$0, mayFetch: mayFetch, at: now) }
      guard let command else { break }
      if queue.sentProbe != nil, command.isProbe, watch.isResponding { beginCheck() }
      guard let controlPoint else {
        process(.failure(.unsupported))
        continue
      }
      controlPoint.send(command)
    }
    if isEnded { return }
    updateBacklog()
    if case .serving = phase, let deadline { alarm.limit(to: deadline) }
  }

  private func finished(_ outcome: ControlPoint.Outcome) {
    process(outcome)
    advance()
  }

  /// Updates the session and the notifications from the outcome of the command in progress.
  private func process(_ outcome: ControlPoint.Outcome) {
    let evidence = isEnded ? nil : outcome.evidence(onProbe: queue.sentProbe)
    if let evidence { note(evidence, outcome) }
    notifications.update { queue.finished(outcome, &$0, at: now) }
    if let check = check.take() { end(check, evidence) }
  }

  private func note(_ evidence: SessionWatch.Evidence, _ outcome: ControlPoint.Outcome) {
    if evidence == .responded, suspicion != nil { suspicion = nil }
    switch watch.note(evidence, of: queue.purpose, at: now) {
    case .authorization(let authorization): onAuthorization(authorization)
    case .dead:
      if evidence == .gone, case .failure(let failure) = outcome {
        onDead("the phone's Control Point is gone (\(failure))")
      } else {
        onDead(Self.unresponsive)
      }
      end()
    case nil: break
    }
  }

  /// Ends the session: removes the handlers, and fails pending requests. Harmless if it has already ended.
  public func end() {
    guard !isEnded else { return }
    phase = .ended
    notifications.onWaiting = {}
    notifications.sessionEnded()
    for source in [service[.dataSource], service[.notificationSource]] {
      if let source { client.removeHandler(for: source.value) }
    }
    queue.end()
    controlPoint?.end()
    if let check = check.take() { client.bearer.scheduler.cancel(check.timer) }
    alarm.ring()
  }

  // MARK: Users' requests

  /// A notification with these attributes and full texts; missing or partial ones are fetched before everything else.
  ///
  /// - Parameter cancellation: of the requester; requests not sent by then are dropped.
  /// - Throws: why they could not be fetched; Invalid Parameter if there is no such notification.
  public func get(
    _ uid: NotificationUID,
    _ attributes: Set<NotificationAttributeID> = Set(NotificationAttributeID.all),
    _ cancellation: Cancellation? = nil
  ) async throws(FetchFailure) -> NotificationReport {
    let ledger = notifications.ledger
    let event = ledger.event(of: uid)
    var report = ledger[uid] ?? NotificationReport(event ?? NotificationEvent(.added, uid, categoryCount: 0))
    let flags = event?.flags ?? [.positiveAction, .negativeAction]
    let wanted = AttributeSelection(attributes, maximumLengths: [:])
    let missing = wanted.requests(for: flags).filter { request in
      !report.attributes.has(request.id) || report.attributes.truncated.contains(request.id)
    }
    if !missing.isEmpty {
      let command = ControlPointCommand.getNotificationAttributes(uid, missing)
      if let response = try await request(command, cancellation) {
        let fetched = NotificationAttributes(response, requested: missing)
        report.attributes.merge(fetched)
        notifications.update { $0.complete(uid, with: fetched) }
        report.failure = notifications.ledger[uid]?.failure
      }
    }
    if attributes.contains(.appIdentifier), let app = report.attributes.appIdentifier {
      report.app = (try? await name(of: app, cancellation)) ?? app
    }
    return report
  }

  /// Performs an action on a notification.
  ///
  /// - Throws: why it failed; Action Failed if the phone failed to perform it. One of an earlier session is not acted on
  ///   before the phone has announced it in this one.
  public func act(
    _ uid: NotificationUID, _ action: NotificationAction, _ cancellation: Cancellation? = nil
  ) async throws(FetchFailure) {
    if notifications.ledger.known(uid)?.isStale == true { throw .outdated }
    _ = try await request(.performNotificationAction(uid, action), cancellation)
  }

  /// The name of an app; nil if the phone has none, or can't have an app with so long an identifier. It is fetched once
  /// per session, unless that fails.
  public func name(of app: String, _ cancellation: Cancellation? = nil) async throws(FetchFailure) -> String? {
    if app.isEmpty || app.utf8.count > NotificationLimits.appIdentifier { return nil }
    switch queue.names[app] {
    case .name(let name): return name
    case .none: return nil
    case .unknown, .failed: break
    }
    let response: ControlPoint.Outcome
    do {
      let command = ControlPointCommand.getAppAttributes(appIdentifier: app, [.displayName])
      response = .success(try await request(command, cancellation))
    } catch {
      guard error.code != nil, error.code != .writeNotPermitted else { throw error }
      response = .failure(error)
    }
    queue.names.learn(response.displayName, of: app, response.nameFailure, at: now)
    return response.displayName.flatMap { $0.isEmpty ? nil : $0 }
  }

  private func request(
    _ command: ControlPointCommand, _ cancellation: Cancellation?
  ) async throws(FetchFailure) -> DataSourceResponse? {
    var action: Int?
    let outcome = await withCheckedContinuation { waiter in
      if isEnded { return waiter.resume(returning: ControlPoint.Outcome.failure(.ended)) }
      if case .subscribingAgain(endingFirst: true) = phase { return waiter.resume(returning: .failure(.outdated)) }
      if cancellation?.isCancelled == true { return waiter.resume(returning: .failure(.cancelled)) }
      let request = FetchQueue.Request(command) { waiter.resume(returning: $0) }
      queue.add(request)
      action = cancellation?.onCancel { [self] in queue.cancel(request) }
      advance()
    }
    if let action { cancellation?.forget(action) }
    return try outcome.get()
  }

  // MARK: A session that may be dead

  /// Performs the due tasks that check whether the session is still alive.
  private func performDueTasks() {
    for task in watch.due(at: now) {
      switch task {
      case .endCall(let uid): endCall(uid)
      case .probe: queue.probe = probe
      case .subscribeAgain: subscribeLater(endingFirst: false)
      }
    }
  }

  /// Ends a call whose removal must have been lost.
  private func endCall(_ uid: NotificationUID) {
    guard var event = notifications.ledger.event(of: uid) else { return }
    event.change = .removed
    event.categoryCount = event.categoryCount == 0 ? 0 : event.categoryCount - 1
    apply(event)
  }

  private func subscribeLater(endingFirst: Bool) {
    phase = .subscribingAgain(endingFirst: endingFirst)
    alarm.ring()
  }

  /// A request that the phone must respond to.
  ///
  /// While it is unknown whether the phone allows access, this requests the name of an app that every iPhone has, if
  /// the MTU has room for that. After that, it requests a notification that cannot exist: a phone that knows the
  /// session refuses this within seconds; otherwise the consumer ends the session and subscribes again.
  private var probe: ControlPointCommand {
    let name = ControlPointCommand.getAppAttributes(appIdentifier: "com.apple.MobileSMS", [.displayName])
    let hasRoom = name.encoded.count <= client.bearer.mtu - 3
    return watch.isResponding || !hasRoom ? .probe : name
  }

  private static let unresponsive = "the phone does not respond on the Control Point"

  /// The phone is probed for whether it knows the session.
  private func beginCheck() {
    let timer = client.bearer.scheduler.schedule(after: timing.probeResponse) { [self] in
      suspect(Self.unresponsive)
    }
    check = (now, timer)
  }

  private func end(_ check: (start: Instant, timer: TimerID), _ evidence: SessionWatch.Evidence?) {
    client.bearer.scheduler.cancel(check.timer)
    if isEnded { return }
    var reason = Self.unresponsive
    if now - check.start < timing.probeResponse {
      guard evidence == .unclear else { return }
      reason = "the phone returns a notification on the Control Point that can't exist"
      suspect(reason)
    }
    suspicion = reason
    forget()
    subscribeLater(endingFirst: true)
  }

  private func suspect(_ reason: String) {
    suspicion = reason
    onStale(reason)
  }
}
