// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Decides which command the phone gets next. The Control Point accepts one at a time, and after a reconnection hundreds
/// of notifications arrive at once.
///
/// The order is: probes; users' requests (but only a few in a row while others wait); the name of the app whose
/// notification was just fetched; the notifications that wait (`FetchLanes`).
///
///     probe ───────────────┐
///     user's request ──────┤
///                          ├─▶ next ──▶ one command ──▶ finished ─┐
///     waiting (ledger) ────┤                                      │
///                 ▲        └── its app has no name yet ◀──────────┤
///                 └── to be fetched again ◀───────────────────────┴─▶ settled (ledger)
///
/// Nothing is lost: a notification that changes while it waits is fetched once, one that changes while it is fetched is
/// fetched again, and one that is removed is no longer fetched.
struct FetchQueue {
  /// A command on behalf of a user, who waits for its outcome.
  final class Request {
    let command: ControlPointCommand
    /// Called once.
    let completion: (ControlPoint.Outcome) -> Void

    init(_ command: ControlPointCommand, _ completion: @escaping (ControlPoint.Outcome) -> Void) {
      self.command = command
      self.completion = completion
    }
  }

  /// What the command in progress is for.
  private enum Progress {
    case idle
    /// Attributes of the current notification.
    case attributes
    /// The name of this app, which the current notification is from.
    case appName(String)
    case request(Request)
    case probe(ControlPointCommand)
  }

  /// How many user requests may precede a waiting notification.
  static var requestsInARow: Int { 4 }

  /// A command that shows whether the session is alive, to be sent before all others.
  var probe: ControlPointCommand?
  /// The names of the apps seen in this session.
  var names = AppNames()

  private var progress = Progress.idle
  /// The notification whose turn it is, which precedes all others.
  private var current: Fetch?
  private var requests = FIFO<Request>()
  private var requestsInARow = 0

  // These are read for each notification; a call would copy the whole queue.

  /// The probe in progress.
  @inline(__always) var sentProbe: ControlPointCommand? {
    if case .probe(let command) = progress { command } else { nil }
  }

  /// What the command in progress is for.
  @inline(__always) var purpose: SessionWatch.Command {
    switch progress {
    case .probe: .probe
    case .request: .request
    case .idle, .attributes, .appName: .fetch
    }
  }

  /// Whether a notification's turn has come that is not settled yet.
  @inline(__always) var isFetching: Bool { current != nil }

  // MARK: Input

  /// The phone has announced a notification: added, or modified.
  mutating func announced(_ event: NotificationEvent, _ ledger: inout NotificationLedger, at now: Instant) {
    var lane: FetchLanes.Lane?
    if case .attributes = progress, current?.uid == event.uid { lane = current?.wait.lane }
    ledger.announced(event, fetching: lane, at: now)
  }

  /// The phone has removed a notification.
  mutating func removed(_ event: NotificationEvent, _ ledger: inout NotificationLedger, at now: Instant) {
    if let wait = current?.wait, current?.uid == event.uid {
      if case .attributes = progress { ledger.lanes.ended(event.uid, wait.lane, at: now) }
      current = nil
    }
    ledger.removed(event)
  }

  /// Adds a user's request.
  mutating func add(_ request: Request) { requests.append(request) }

  /// Cancels a user's request, unless it is already in progress.
  mutating func cancel(_ request: Request) {
    guard requests.contains(where: { $0 === request }) else { return }
    requests.removeAll { $0 === request }
    request.completion(.failure(.cancelled))
  }

  /// The phone is about to announce its notifications again: the queued requests fail, as theirs may have other UIDs then.
  mutating func startOver() {
    current = nil
    failRequests(.outdated)
  }

  /// The session is over: the queued requests fail.
  mutating func end() {
    (current, probe) = (nil, nil)
    failRequests(.ended)
  }

  private mutating func failRequests(_ why: FetchFailure) {
    while let request = requests.popFirst() { request.completion(.failure(why)) }
  }

  // MARK: The next command

  /// The next command; nil while one is in progress or if nothing is due. Notifications without anything to fetch are
  /// settled.
  ///
  /// - Parameter mayFetch: false: only probes and users' requests, because the phone does not allow access.
  mutating func next(_ ledger: inout NotificationLedger, mayFetch: Bool, at now: Instant) -> ControlPointCommand? {
    guard case .idle = progress else { return nil }
    if let probe = probe.take() {
      progress = .probe(probe)
      return probe
    }
    if requestsInARow < Self.requestsInARow, let command = nextRequest() { return command }
    requestsInARow = 0
    return (mayFetch ? nextFetch(&ledger, at: now) : nil) ?? nextRequest()
  }

  private mutating func nextRequest() -> ControlPointCommand? {
    guard let request = requests.popFirst() else { return nil }
    requestsInARow += 1
    progress = .request(request)
    return request.command
  }

  private mutating func nextFetch(_ ledger: inout NotificationLedger, at now: Instant) -> ControlPointCommand? {
    while current == nil {
      current = ledger.nextFetch(at: now)
      guard current != nil else { return nil }
      current?.plan(by: ledger.rules)
      if current?.wanted.isEmpty == true { settle(&ledger, at: now) }
    }
    guard let uid = current?.uid, let wanted = current?.wanted else { return nil }
    guard wanted.isEmpty else {
      progress = .attributes
      return .getNotificationAttributes(uid, wanted)
    }
    let app = current?.report.attributes.appIdentifier ?? ""
    progress = .appName(app)
    return .getAppAttributes(appIdentifier: app, [.displayName])
  }

  private mutating func settle(_ ledger: inout NotificationLedger, at now: Instant) {
    if let fetch = current.take() { ledger.settle(fetch, at: now) }
  }

  // MARK: Its outcome

  /// The command in progress has this outcome. Settles the current notification, unless more of it is fetched first.
  mutating func finished(_ outcome: ControlPoint.Outcome, _ ledger: inout NotificationLedger, at now: Instant) {
    let finished = progress
    progress = .idle
    switch finished {
    case .idle: break
    case .attributes: fetched(outcome, &ledger, at: now)
    case .appName(let app): named(outcome, app, &ledger, at: now)
    case .request(let request): request.completion(outcome)
    case .probe(.getAppAttributes(let app, _)):
      if let name = outcome.displayName { names.learn(name, of: app, at: now) }
    case .probe: break
    }
  }

  private mutating func fetched(
    _ outcome: ControlPoint.Outcome, _ ledger: inout NotificationLedger, at now: Instant
  ) {
    guard let uid = current?.uid, let wait = current?.wait, let wanted = current?.wanted else {
      return
    }
    switch outcome {
    case .failure(.ended): current = nil
    case .failure(.unsupported): settle(&ledger, at: now)
    case .failure(.refused(.writeNotPermitted)):
      // It waits before all others until the phone allows access.
      ledger.putBack(uid, wait)
      current = nil
    case .failure(let failure):
      ended(uid, wait, &ledger, at: now)
      failed(failure, uid, wait, &ledger, at: now)
    case .success(let response):
      ended(uid, wait, &ledger, at: now)
      let attributes = response.map { NotificationAttributes($0, requested: wanted) }
      current?.add(attributes ?? .init())
      current?.plan(by: ledger.rules)
      guard current?.wanted.isEmpty == true else { return }
      var name = AppNames.Entry.none
      if current?.wantsName == true, let app = current?.report.attributes.utf8(.appIdentifier), !app.isEmpty {
        name = names[app]
      }
      switch name {
      case .unknown: return
      case .failed(_, let due) where due <= now && requests.isEmpty && ledger.hasOnly(uid): return
      case .none, .failed, .name: break
      }
      current?.report.apply(name)
      settle(&ledger, at: now)
    }
  }

  private mutating func named(
    _ outcome: ControlPoint.Outcome, _ app: String, _ ledger: inout NotificationLedger, at now: Instant
  ) {
    switch outcome {
    case .failure(.ended), .failure(.refused(.writeNotPermitted)): return
    case .success, .failure:
      names.learn(outcome.displayName, of: app, outcome.nameFailure, at: now)
    }
    current?.plan(by: ledger.rules)
    // Changed rules may need more attributes.
    guard current?.wanted.isEmpty == true else { return }
    current?.report.apply(names[app])
    settle(&ledger, at: now)
  }

  /// The attributes could not be fetched. A failure that may pass is retried once, after those that wait. The
  /// notification is settled without them: now, because the phone timed out, or finally.
  private mutating func failed(
    _ failure: FetchFailure, _ uid: NotificationUID, _ wait: FetchLanes.Wait,
    _ ledger: inout NotificationLedger, at now: Instant
  ) {
    if failure.mayPass, !wait.hasFailed {
      let isUnanswered = failure == .timedOut
      ledger.retry(uid, after: wait, isUnanswered: isUnanswered, at: now)
      if !isUnanswered { return current = nil }
    }
    current?.judge(by: ledger.rules)
    current?.report.failure = failure.description
    current?.hasFailed = true
    settle(&ledger, at: now)
  }

  private func ended(
    _ uid: NotificationUID, _ wait: FetchLanes.Wait, _ ledger: inout NotificationLedger,
    at now: Instant
  ) {
    if wait.lane >= .again { ledger.lanes.ended(uid, wait.lane, at: now) }
  }
}

extension ControlPoint.Outcome {
  /// What it shows about the session; nil if nothing. An accepted action is no proof of access, and a phone refuses
  /// `ControlPointCommand.probe` only for its parameter.
  ///
  /// - Parameter probe: the probe whose outcome it is, if it is one's.
  func evidence(onProbe probe: ControlPointCommand?) -> SessionWatch.Evidence? {
    switch self {
    case .success(_?): return .responded
    case .success(nil): return probe == .probe ? .unclear : nil
    case .failure(.ended), .failure(.outdated), .failure(.unsupported), .failure(.cancelled): return nil
    case .failure(let failure):
      switch failure.code {
      case .writeNotPermitted?: return .refused
      case .invalidHandle?, .databaseOutOfSync?: return .gone
      case let code? where code.nameInANCS != nil:
        return probe == .probe && code != .invalidParameter ? .unclear : .responded
      default: return probe != nil || failure == .timedOut ? .unclear : nil
      }
    }
  }

  /// Why a response about an app has no name; nil also if the phone does not have the app.
  var nameFailure: FetchFailure? {
    guard case .failure(let failure) = self,
      failure.code != .invalidParameter
    else { return nil }
    return failure
  }

  /// The app's name in a response about an app.
  var displayName: String? {
    guard case .success(let response?) = self else { return nil }
    let attribute = response.attributes.first { $0.id == AppAttributeID.displayName.rawValue }
    return attribute.map { String(cutUTF8: $0.value.prefix(NotificationLimits.appName)) }
  }
}

extension NotificationReport {
  /// Applies the app's name; without one, its identifier is used instead.
  fileprivate mutating func apply(_ entry: AppNames.Entry) {
    if case .name(let name) = entry { return app = name }
    app = attributes.appIdentifier
    if case .failed(let sentence, _) = entry { failure = sentence }
  }
}
