// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import Wire

/// The accessory's side of one ANCS session: follows the Notification Source, fetches attributes through
/// the Control Point, and reports to the owner.
///
///     Notification Source ─▶ received ─▶ FetchQueue ─▶ goOn ─▶ ControlPoint ─▶ Data Source
///                               │            ▲           │
///                      onIncoming        get, act        └─▶ onAuthorization, onStale
///
/// It records the phone's notifications in their ledger (`notifications`), which outlives it and decides what to
/// publish.
///
/// Each response triggers the next command (`goOn`); the task of `run` sleeps meanwhile. It wakes up for steps that
/// need several requests, and for the deadlines of the session (`SessionWatch`).
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
  /// Called with the reason if the session may be dead, and with nil once the phone responds again.
  public var onSuspicion: (String?) -> Void = { _ in }
  /// Called with the number of notifications still to be fetched, when it changes.
  public var onBacklog: (Int) -> Void = { _ in }
  /// Called with bytes that were dropped, and the reason, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }

  /// The phone's notifications.
  public let notifications: PhoneNotifications
  /// The number of notifications still to be fetched.
  public private(set) var backlog = 0

  private let client: Client
  private let service: LocatedService
  /// The current default selection of attributes.
  public var selection: AttributeSelection {
    get { settings.selection }
    set {
      settings.selection = newValue
      if controlPoint != nil { queue.selection = newValue }
    }
  }

  private var settings: ConsumerSettings
  private let controlPoint: ControlPoint?
  private var queue: FetchQueue
  private var watch: SessionWatch
  private let alarm: Alarm
  /// The queued users' requests, and the one in progress, by their numbers.
  private var requests: [Int: Request] = [:]
  private var lastRequest = 0
  private var activity = Activity.notBegun
  private var isEnded = false
  private var suspicion: String? { didSet { if suspicion != oldValue { onSuspicion(suspicion) } } }

  /// The activity of the task of `run`.
  private enum Activity {
    case notBegun
    /// It is working, and continues with the queue afterwards.
    case busy
    /// It sleeps until woken, or until this time.
    case asleep(until: Instant?)
  }

  /// The step whose command was sent.
  private var underWay: FetchQueue.Step?

  /// A command on behalf of a user, who waits for the response.
  private struct Request {
    let command: ControlPointCommand
    let waiter: CheckedContinuation<ControlPoint.Outcome, Never>
  }

  /// A consumer for a located service; nil if the service cannot be subscribed to. (Some phones that are
  /// not iPhones have such a service.)
  ///
  /// - Parameter notifications: the known notifications of this phone; nil for a new phone.
  public init?(
    _ client: Client, _ service: LocatedService, settings: ConsumerSettings = .init(),
    notifications: PhoneNotifications? = nil
  ) {
    guard service[.notificationSource]?.cccd != nil else { return nil }
    self.client = client
    self.service = service
    self.settings = settings
    self.notifications =
      notifications ?? PhoneNotifications(keeping: .zero, client.bearer.scheduler)
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

  private var now: Instant { client.bearer.scheduler.now }

  // MARK: Subscribing

  /// Begins the session. The Data Source is first, because the Notification Source may notify at once (ANCS
  /// specification, Notification Source). After a refusal it retries a few times.
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
      for source in [service[.dataSource], service[.notificationSource]] {
        if let cccd = source?.cccd { try await client.enableNotifications(cccd) }
      }
    } catch {
      end()
      throw error
    }
    // Like the handlers of the sources, this closure retains the consumer until `end`.
    notifications.onFetch = { [self] in fetch($0, isWanted: $1) }
    notifications.onRulesChanged = { [self] in queue.rulesChanged() }
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
  }

  /// Writes the subscriptions again, which is harmless if they still exist. A refusal is retried the next time.
  private func subscribeAgain(endingFirst: Bool) async throws(ATTFailure) {
    let sources = [service[.dataSource]?.cccd, service[.notificationSource]?.cccd].compactMap { $0 }
    let ends = endingFirst ? sources.reversed().map { ($0, ClientConfiguration([])) } : []
    for (cccd, wanted) in ends + sources.map({ ($0, .notifications) }) {
      do { try await client.configure(cccd, wanted) } catch { if error.isEnd { throw error } }
    }
  }

  // MARK: Events from the phone

  private func received(_ value: ArraySlice<UInt8>) {
    let event: NotificationEvent
    do {
      event = try NotificationEvent(decoding: value)
    } catch {
      return onDropped(Array(value), "an invalid Notification Source value: \(error)")
    }
    if suspicion != nil { suspicion = nil }
    onIncoming(event)
    guard event.change.isKnown else {
      return onDropped(Array(value), "an event with the reserved EventID \(event.change)")
    }
    guard watch.received(event, at: now) else { return }
    apply(event)
    updateBacklog()
    goOn()
  }

  private func apply(_ event: NotificationEvent) {
    let (uid, now) = (event.uid, now)
    if event.change == .removed {
      queue.remove(uid, at: now)
      notifications.update { $0.removed(event) }
    } else {
      let wasFetched = notifications.update { $0.announced(event, at: now) }
      let isPreExisting = event.flags.contains(.preExisting)
      queue.add(uid, isPreExisting: isPreExisting, wasFetched: wasFetched, at: now)
    }
  }

  /// A notification has to be fetched again, or no longer has to be fetched.
  private func fetch(_ uid: NotificationUID, isWanted: Bool) {
    guard isWanted else { return queue.remove(uid, at: now) }
    queue.addAgain(uid, at: now)
    updateBacklog()
    goOn()
  }

  private func updateBacklog() {
    guard backlog != queue.count else { return }
    backlog = queue.count
    onBacklog(backlog)
  }

  /// Forgets the phone's notifications, because it is about to announce them again.
  private func forget() {
    queue.forgetNotifications()
    notifications.sessionBegan()
    controlPoint?.expectLateBytes()
  }

  // MARK: The session

  /// Fetches notifications and watches the session until it ends.
  ///
  /// - Throws: why the link has ended. Returns if `end` was called, and at once if it is already running.
  public func run() async throws(ATTFailure) {
    guard case .notBegun = activity else { return }
    activity = .busy
    defer { end() }
    while !isEnded {
      updateBacklog()
      if controlPoint?.isBusy != true {
        try await watchSession()
        advance()
        if isEnded { continue }
      }
      // Due tasks wait for the response to the command in progress.
      let isBusy = controlPoint?.isBusy == true
      let deadline = nextDeadline.flatMap { isBusy && $0 <= now ? nil : $0 }
      activity = .asleep(until: deadline)
      try await alarm.wait(until: deadline)
      activity = .busy
    }
  }

  /// Continues with the queue if nothing is in progress, and wakes the task of `run` if it has work.
  private func goOn() {
    guard case .asleep(let end) = activity, controlPoint?.isBusy != true else { return }
    advance()
    guard controlPoint?.isBusy != true else { return }
    let isEarlier = nextDeadline.map { next in end.map { next < $0 } ?? true } ?? false
    if isEarlier { alarm.ring() }
  }

  /// When the task of `run` next has work.
  private var nextDeadline: Instant? {
    guard let due = queue.nextDeadline else { return watch.nextDeadline }
    return watch.nextDeadline.map { min($0, due) } ?? due
  }

  /// Performs steps of the queue until one waits for the phone. The session's due tasks come first.
  private func advance() {
    while !isEnded, client.bearer.end == nil,
      watch.nextDeadline.map({ now < $0 }) ?? true
    {
      updateBacklog()
      let step = queue.next(at: now, judge: notifications.judge) {
        notifications.ledger.event(of: $0)
      }
      guard let step else { return }
      guard let command = command(of: step) else {
        if case .nothing(let fetch) = step { notifications.settle(fetch) }
        continue
      }
      guard let controlPoint else {
        finish(step, .failure(.unsupported))
        continue
      }
      underWay = step
      return controlPoint.send(command, onOutcome)
    }
  }

  /// One closure for all commands. Like the handlers of the sources, it retains the consumer until `end`.
  private lazy var onOutcome: (ControlPoint.Outcome) -> Void = { [self] in finished($0) }

  private func command(of step: FetchQueue.Step) -> ControlPointCommand? {
    switch step {
    case .nothing: nil
    case .ask(let command): command
    case .request(let number): requests[number]?.command
    }
  }

  private func finished(_ outcome: ControlPoint.Outcome) {
    guard let step = underWay.take(), let command = command(of: step) else { return }
    learn(from: outcome, on: command)
    finish(step, outcome)
    goOn()
  }

  /// Handles the outcome of a step.
  private func finish(_ step: FetchQueue.Step, _ outcome: ControlPoint.Outcome) {
    if case .request(let number) = step {
      queue.finishedRequest()
      return resume(number, outcome)
    }
    guard !isEnded, client.bearer.end == nil else { return }
    if case .failure(.refused(.writeNotPermitted)) = outcome { return queue.refused() }
    if let fetch = fetched(by: step, outcome) { notifications.settle(fetch) }
  }

  /// The notification that is complete after a step.
  private func fetched(
    by step: FetchQueue.Step, _ outcome: ControlPoint.Outcome
  ) -> Fetch? {
    let judge = notifications.judge
    switch step {
    case .ask(.getNotificationAttributes(_, let wanted)):
      switch outcome {
      case .failure(let failure): return queue.failed(failure, at: now, judge: judge)
      case .success(let response):
        let attributes = response.map { NotificationAttributes($0, requested: wanted) }
        return queue.finished(attributes: attributes ?? .init(), at: now, judge: judge)
      }
    case .ask(.getAppAttributes):
      return queue.finished(
        appName: outcome.displayName, outcome.nameFailure, at: now, judge: judge)
    case .ask(.performNotificationAction), .nothing, .request: return nil
    }
  }

  /// Sends a probe, and updates the session's state from the response.
  private func sendProbe(
    _ command: ControlPointCommand
  ) async throws(ATTFailure) -> ControlPoint.Outcome {
    guard let controlPoint else { return .failure(.unsupported) }
    let outcome = await withCheckedContinuation { waiter in
      controlPoint.send(command) { waiter.resume(returning: $0) }
    }
    if let end = client.bearer.end { throw end }
    learn(from: outcome, on: command, asProbe: true)
    return outcome
  }

  /// Updates the session's state from the outcome of a command.
  private func learn(
    from outcome: ControlPoint.Outcome, on command: ControlPointCommand,
    asProbe isProbe: Bool = false
  ) {
    guard !isEnded, let verdict = outcome.verdict(on: command, asProbe: isProbe) else { return }
    switch verdict {
    case .granted:
      queue.release()
      if suspicion != nil { suspicion = nil }
    case .refused: queue.hold()
    case .gone, .unclear: break
    }
    switch watch.judge(verdict, ofProbe: isProbe, at: now) {
    case .authorization(let authorization): onAuthorization(authorization)
    case .dead:
      onDead(
        verdict == .gone
          ? "the phone's Control Point is gone (\(outcome.failure.map { "\($0)" } ?? ""))"
          : "the phone does not respond on the Control Point")
      end()
    case nil: break
    }
  }

  /// Ends the session: removes the handlers, and fails pending requests. Harmless if it has already ended.
  public func end() {
    guard !isEnded else { return }
    isEnded = true
    (notifications.onFetch, notifications.onRulesChanged) = ({ _, _ in }, {})
    notifications.sessionEnded()
    for source in [service[.dataSource], service[.notificationSource]] {
      if let source { client.removeHandler(for: source.value) }
    }
    for number in queue.end() { resume(number, .failure(.ended)) }
    controlPoint?.end()
    onOutcome = { _ in }
    alarm.ring()
  }
}

// MARK: - Users' requests

extension NotificationConsumer {
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
    var report =
      ledger[uid] ?? NotificationReport(event ?? NotificationEvent(.added, uid, categoryCount: 0))
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
        report.failure = nil
        notifications.update { $0.complete(uid, with: fetched) }
      }
    }
    if attributes.contains(.appIdentifier), let app = report.attributes.appIdentifier {
      report.app = (try? await name(of: app, cancellation)) ?? app
    }
    return report
  }

  /// Performs an action on a notification.
  ///
  /// - Throws: why it failed; Action Failed if the phone failed to perform it.
  public func act(
    _ uid: NotificationUID, _ action: NotificationAction, _ cancellation: Cancellation? = nil
  ) async throws(FetchFailure) {
    _ = try await request(.performNotificationAction(uid, action), cancellation)
  }

  /// The name of an app; nil if the phone has none. It is fetched once per session, unless that fails.
  public func name(
    of app: String, _ cancellation: Cancellation? = nil
  ) async throws(FetchFailure) -> String? {
    if app.isEmpty { return nil }
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
    queue.learn(response.displayName, of: app, response.nameFailure, at: now)
    return response.displayName.flatMap { $0.isEmpty ? nil : $0 }
  }

  private func request(
    _ command: ControlPointCommand, _ cancellation: Cancellation?
  ) async throws(FetchFailure) -> DataSourceResponse? {
    let response: ControlPoint.Outcome
    lastRequest += 1
    let number = lastRequest
    var onCancel: Int?
    response = await withCheckedContinuation { waiter in
      if isEnded { return waiter.resume(returning: .failure(.ended)) }
      if cancellation?.isCancelled == true { return waiter.resume(returning: .failure(.cancelled)) }
      requests[number] = Request(command: command, waiter: waiter)
      queue.add(number)
      onCancel = cancellation?.onCancel { [self] in giveUp(number) }
      goOn()
    }
    if let onCancel { cancellation?.forget(onCancel) }
    return try response.get()
  }

  private func giveUp(_ number: Int) {
    if queue.remove(number) { resume(number, .failure(.cancelled)) }
  }

  private func resume(_ number: Int, _ outcome: ControlPoint.Outcome) {
    requests.removeValue(forKey: number)?.waiter.resume(returning: outcome)
  }
}

// MARK: - A session that may be dead

extension NotificationConsumer {
  /// Performs the due tasks that check whether the session is still alive.
  private func watchSession() async throws(ATTFailure) {
    for task in watch.due(at: now) where !isEnded {
      switch task {
      case .endCall(let uid): endCall(uid)
      case .probe: try await probe()
      case .subscribeAgain: try await subscribeAgain(endingFirst: false)
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

  /// Sends the phone a request that it must respond to.
  ///
  /// While it is unknown whether the phone allows access, this requests the name of an app that every iPhone has.
  /// After that, it requests a notification that cannot exist: a phone that knows the session refuses this within
  /// seconds; otherwise the consumer ends the session and subscribes again.
  private func probe() async throws(ATTFailure) {
    guard controlPoint != nil else { return }
    guard watch.isGranted else { return try await probeAuthorization() }
    let asked = now
    var found = "the phone does not respond on the Control Point"
    let timer = client.bearer.scheduler.schedule(after: settings.timing.probeResponse) {
      [self] in suspect(found)
    }
    defer { client.bearer.scheduler.cancel(timer) }
    let result = try await sendProbe(.probe)
    guard !isEnded else { return }
    if now - asked < settings.timing.probeResponse {
      if result.verdict(on: .probe, asProbe: true) != .unclear { return }
      found = "the phone returns a notification on the Control Point that can't exist"
      suspect(found)
    }
    suspicion = found
    forget()
    try await subscribeAgain(endingFirst: true)
  }

  /// Requests the name of Messages or, if the MTU is too small for that, a notification that cannot exist.
  private func probeAuthorization() async throws(ATTFailure) {
    let command = ControlPointCommand.getAppAttributes(
      appIdentifier: Self.probedApp, [.displayName])
    guard command.encoded.count <= client.bearer.mtu - 3 else {
      _ = try await sendProbe(.probe)
      return
    }
    let result = try await sendProbe(command)
    if let name = result.displayName { queue.learn(name, of: Self.probedApp, at: now) }
  }

  private static let probedApp = "com.apple.MobileSMS"

  private func suspect(_ reason: String) {
    suspicion = reason
    onStale(reason)
  }
}

extension Result {
  fileprivate var failure: Failure? {
    if case .failure(let failure) = self { failure } else { nil }
  }
}

extension Result<DataSourceResponse?, FetchFailure> {
  /// What the response to a command shows about the session; nil if nothing. An accepted action is no proof of access,
  /// and a phone refuses a probe only for its parameter.
  fileprivate func verdict(
    on command: ControlPointCommand, asProbe isProbe: Bool
  ) -> SessionWatch.Verdict? {
    switch self {
    case .success(_?): return .granted
    case .success(nil): return command == .probe ? .unclear : nil
    case .failure(.ended), .failure(.unsupported), .failure(.cancelled): return nil
    case .failure(let failure):
      switch failure.code {
      case .writeNotPermitted?: return .refused
      case .invalidHandle?, .databaseOutOfSync?: return .gone
      case let code? where ControlPointError(rawValue: code.rawValue).name != nil:
        let isExpected = code.rawValue == ControlPointError.invalidParameter.rawValue
        return command == .probe && !isExpected ? .unclear : .granted
      default: return isProbe || failure == .timedOut ? .unclear : nil
      }
    }
  }

  /// Why a response about an app has no name; nil also if the phone does not have the app.
  fileprivate var nameFailure: FetchFailure? {
    guard let failure, failure.code?.rawValue != ControlPointError.invalidParameter.rawValue else {
      return nil
    }
    return failure
  }

  /// The app's name in a response about an app.
  fileprivate var displayName: String? {
    guard case .success(let response?) = self else { return nil }
    let attribute = response.attributes.first { $0.id == AppAttributeID.displayName.rawValue }
    return attribute.map { String(cutUTF8: $0.value.prefix(NotificationLimits.appName)) }
  }
}

// MARK: - Settings

/// The settings of a notification consumer: what it fetches, and its timing.
public struct ConsumerSettings: Hashable, Sendable {
  /// The default selection of attributes, and the maximum length of each text.
  public var selection: AttributeSelection
  public var timing = Timing()

  public init(_ selection: AttributeSelection = .all) { self.selection = selection }

  /// The consumer's timeouts and intervals. The defaults are those of proven firmware (PebbleOS).
  public struct Timing: Hashable, Sendable {
    /// For the next part of a response.
    public var response: Duration = .seconds(10)
    /// For a complete response, however slowly it arrives.
    public var wholeResponse: Duration = .seconds(120)
    /// Before the first probe, which only determines whether the phone allows access.
    public var firstProbe: Duration = .seconds(1)
    /// Between two probes, which check whether the phone still knows the session.
    public var probe: Duration = .seconds(15 * 60)
    /// For the response to a probe.
    public var probeResponse: Duration = .seconds(5)
    /// Of silence on the Notification Source, before the subscriptions are written again.
    public var silence: Duration = .seconds(6 * 3600)
    /// Before retrying with a phone that refused access; doubled each time, up to `longestRetry`.
    public var retry: Duration = .seconds(5)
    public var longestRetry: Duration = .seconds(60)
    /// The longest time that a call rings, in case its removal is lost.
    public var call: Duration = .seconds(120)

    public init() {}
  }
}
