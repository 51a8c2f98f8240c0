// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Decides what to request from the phone next. The Control Point accepts one command at a time, and after a
/// reconnection hundreds of notifications arrive at once.
///
/// The order is: users' requests (but only a few in a row while others wait); the name of the app whose
/// notification was just fetched; new notifications (but only a few in a row of a continuing stream while others
/// wait); notifications that existed before the session; those fetched again. Within each group, the phone's order
/// applies.
///
///     announced ──▶ add ─┬─▶ new ───────────┐
///                        ├─▶ pre-existing ──┤
///                        └─▶ again ─────────┤
///     owner ───────▶ add ──▶ requests ──────┼─▶ next ──▶ one command ──▶ finished ─┐
///                            app's name ────┘                                      │
///                                ▲─────────── its app has no name yet ─────────────┤
///                                                                      fetched ◀───┘
///
/// Nothing is lost: a notification that changes while it waits is fetched once, one that changes while
/// it is fetched is fetched again, and one that is removed is no longer fetched. A notification that is fetched again
/// waits until every other has had its turn; if the phone announces it again immediately, it also waits for an
/// increasing pause.
public struct FetchQueue {
  /// The next step.
  public enum Step {
    /// There is nothing to fetch of this notification.
    indirect case nothing(Fetch)
    /// Request a notification's attributes from the phone, then call `finished(attributes:)`, `failed` or `refused`;
    /// or for an app's name, then call `finished(appName:)` or `refused`.
    case ask(ControlPointCommand)
    /// Carry out the user's request of this number, then call `finishedRequest`.
    case request(Int)
  }

  /// How many user requests may precede a waiting notification.
  static var requestsInARow: Int { 4 }
  /// How many later new notifications may precede one that is already waiting.
  private static let newInARow = 16
  /// The minimum wait of each lane: new, pre-existing, those fetched again, by how many times in a row they were
  /// announced immediately, and last those for which the phone sent no response.
  private static let pauses: [Duration] =
    [.zero, .zero, .zero, .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(15)]
  /// The first lane of notifications that are fetched again.
  private static let again = 2
  /// The lane of those for which the phone sent no response. Another timeout would delay all others by ten seconds, so
  /// they come late.
  private static let silent = 7
  private enum UnderWay {
    case nothing
    /// Of the current notification.
    case attributes
    /// Also of the current notification.
    indirect case appName(String)
    case request
  }

  /// The waiting state of a notification.
  fileprivate struct Waiting: Hashable, Sendable {
    var ticket: UInt64 = 0
    var lane = 0
    /// Whether an attempt has failed.
    var hasFailed = false
    /// Whether it may say nothing new: it was announced while it was fetched, or not announced again at all.
    var isEcho = false
  }

  /// A place in a lane. If a notification is removed from the middle, its place stays with an invalid ticket, so a
  /// flood of removals is cheap.
  private struct Place {
    let uid: NotificationUID
    let ticket: UInt64
    /// When its turn may come.
    var due = Instant.zero
  }

  /// The notifications whose fetch has just ended, each with its lane. There are at most as many as the phone can be
  /// asked for within `calm`.
  private struct Rests {
    /// How soon after a fetch an announcement counts as immediate.
    static let calm: Duration = .seconds(1)

    private var rests: [NotificationUID: (lane: Int, end: Instant)] = [:]
    private var ends = FIFO<(uid: NotificationUID, end: Instant)>()

    mutating func add(_ uid: NotificationUID, _ lane: Int, at now: Instant) {
      expire(at: now)
      rests[uid] = (lane, now)
      ends.append((uid, now))
    }

    mutating func lane(of uid: NotificationUID, at now: Instant) -> Int? {
      // As good as always nothing rests.
      if ends.isEmpty { return nil }
      expire(at: now)
      return rests[uid]?.lane
    }

    private mutating func expire(at now: Instant) {
      while let first = ends.first, first.end + Self.calm <= now {
        _ = ends.popFirst()
        if rests[first.uid]?.end == first.end { rests[first.uid] = nil }
      }
    }
  }

  /// Which attributes to fetch, unless a rule says otherwise.
  public var selection: AttributeSelection { didSet { plans = Self.plans(of: selection) } }
  /// The attributes to fetch, indexed by a notification's actions (`actions`).
  private var plans: [[ControlPointCommand.AttributeRequest]]
  /// Whether to try only users' requests, because the phone does not allow access.
  public private(set) var isHeld = false
  /// The names of the apps seen in this session.
  public private(set) var names = AppNames()

  private var underWay = UnderWay.nothing
  private var waiting: [NotificationUID: Waiting] = [:]
  private var lanes = pauses.map { _ in FIFO<Place>() }
  /// The notifications that were fetched again within `calm`.
  private var rests = Rests()
  /// The current notification, which precedes all others.
  private var current: Fetch?
  private var requests = FIFO<Int>()
  private var requestsDone = 0
  private var lastTicket: UInt64 = 0
  /// While new notifications wait: the last ticket when the first of them was fetched, and how many with later tickets
  /// were fetched since one of the others was.
  private var row: (end: UInt64, later: Int)?

  public init(_ selection: AttributeSelection = .all) {
    self.selection = selection
    plans = Self.plans(of: selection)
  }

  private static func plans(
    of selection: AttributeSelection
  ) -> [[ControlPointCommand.AttributeRequest]] {
    [[], .positiveAction, .negativeAction, [.positiveAction, .negativeAction]]
      .map { selection.requests(for: $0) }
  }

  /// The index in `plans` for the actions among the flags.
  fileprivate static func actions(_ flags: EventFlags) -> Int {
    (flags.contains(.positiveAction) ? 1 : 0) + (flags.contains(.negativeAction) ? 2 : 0)
  }

  /// The number of waiting notifications.
  public var count: Int { waiting.count }

  /// Whether a command is under way.
  public var isBusy: Bool { if case .nothing = underWay { false } else { true } }

  // MARK: What is to be fetched

  /// Adds an announced notification; it keeps its place if it is already waiting.
  ///
  /// - Parameter wasFetched: whether it was fetched before.
  public mutating func add(
    _ uid: NotificationUID, isPreExisting: Bool, wasFetched: Bool, at now: Instant
  ) {
    var isEcho = false
    var lane = isPreExisting ? 1 : 0
    if wasFetched { lane = Self.again }
    if let rested = rests.lane(of: uid, at: now) { lane = max(Self.again, rested + 1) }
    if case .attributes = underWay, let current, current.uid == uid {
      lane = max(Self.again, current.waiting.lane + 1)
      isEcho = true
    }
    enqueue(uid, in: min(lane, Self.silent - 1), isEcho: isEcho, at: now)
  }

  /// Adds a notification that the phone has said nothing new of: what is known already is not told again.
  mutating func addAgain(_ uid: NotificationUID, at now: Instant) {
    enqueue(uid, in: Self.again, isEcho: waiting[uid]?.isEcho ?? true, at: now)
  }

  private mutating func enqueue(
    _ uid: NotificationUID, in lane: Int, hasFailed: Bool = false, isEcho: Bool = false,
    at now: Instant
  ) {
    lastTicket += 1
    var entry = Waiting(ticket: lastTicket, lane: lane, hasFailed: hasFailed, isEcho: isEcho)
    if let earlier = waiting.updateValue(entry, forKey: uid) {
      entry.hasFailed = hasFailed || earlier.hasFailed
      // It keeps its place unless it moves from the pre-existing lane to the new one.
      let keepsPlace = earlier.lane != 1 || lane != 0
      if keepsPlace { (entry.ticket, entry.lane) = (earlier.ticket, earlier.lane) }
      waiting[uid] = entry
      if keepsPlace { return }
    }
    let pause = Self.pauses[lane]
    lanes[lane].append(
      Place(uid: uid, ticket: entry.ticket, due: pause > .zero ? now + pause : .zero))
    sweep(lane)
  }

  /// Removes invalid places once they are the majority.
  private mutating func sweep(_ lane: Int) {
    guard lanes[lane].count > max(64, 2 * waiting.count) else { return }
    let waiting = waiting
    lanes[lane].removeAll { waiting[$0.uid]?.ticket != $0.ticket }
  }

  /// A notification was removed: it is no longer fetched.
  public mutating func remove(_ uid: NotificationUID, at now: Instant) {
    waiting[uid] = nil
    guard let fetch = current, fetch.uid == uid else { return }
    if case .attributes = underWay { rests.add(uid, fetch.waiting.lane, at: now) }
    current = nil
  }

  /// Adds a user's request, which precedes everything else; its owner identifies it by this number.
  public mutating func add(_ request: Int) { requests.append(request) }

  /// Removes a user's request, unless it is already in progress; returns whether it was queued.
  public mutating func remove(_ request: Int) -> Bool {
    guard requests.contains(request) else { return false }
    requests.removeAll { $0 == request }
    return true
  }

  // MARK: What is done next

  /// The next step; nil while a command is in progress or if nothing is due.
  ///
  /// - Parameters:
  ///   - event: the phone's last event for a notification.
  ///   - judge: the owner's rules, if there are any.
  public mutating func next(
    at now: Instant, judge: NotificationJudge? = nil,
    event: (NotificationUID) -> NotificationEvent?
  ) -> Step? {
    guard case .nothing = underWay else { return nil }
    if requestsDone < Self.requestsInARow, let request = popRequest() { return request }
    requestsDone = 0
    return (isHeld ? nil : nextFetch(at: now, judge: judge, event: event)) ?? popRequest()
  }

  private mutating func popRequest() -> Step? {
    guard let request = requests.popFirst() else { return nil }
    requestsDone += 1
    underWay = .request
    return .request(request)
  }

  private mutating func nextFetch(
    at now: Instant, judge: NotificationJudge?, event: (NotificationUID) -> NotificationEvent?
  ) -> Step? {
    if current != nil { return goOn(judge) }
    guard let (uid, waiting) = popWaiting(at: now), let event = event(uid) else { return nil }
    current = Fetch(NotificationReport(event), waiting)
    current?.plan(judge, plans)
    if current?.wanted.isEmpty == true, let fetch = current.take() { return .nothing(fetch) }
    return goOn(judge)
  }

  /// The rules have changed: the judgement of the current notification is void.
  public mutating func rulesChanged() { current?.isJudged = false }

  /// When a paused notification becomes due; nil if there is none.
  public var nextDeadline: Instant? {
    guard !isHeld, !waiting.isEmpty else { return nil }
    return lanes[Self.again...].compactMap { $0.first?.due }.min()
  }

  /// Fetches the wanted attributes of the current notification or, once they are complete, its app's name.
  private mutating func goOn(_ judge: NotificationJudge?) -> Step? {
    guard let uid = current?.uid, let wanted = current?.wanted else { return nil }
    guard wanted.isEmpty else {
      if judge != nil { current?.asked.formUnion(wanted.map(\.id)) }
      underWay = .attributes
      return .ask(.getNotificationAttributes(uid, wanted))
    }
    let app = current?.report.attributes.appIdentifier ?? ""
    underWay = .appName(app)
    return .ask(.getAppAttributes(appIdentifier: app, [.displayName]))
  }

  private mutating func popWaiting(at now: Instant) -> (NotificationUID, Waiting)? {
    let (end, later) = row ?? (lastTicket, 0)
    if later < Self.newInARow {
      if let new = pop(lane: 0, at: now) {
        row = (end, new.1.ticket > end ? later + 1 : later)
        return new
      }
      row = nil
    } else {
      row = (end, 0)
    }
    for lane in 1..<lanes.count {
      if let other = pop(lane: lane, at: now) { return other }
    }
    return row == nil ? nil : pop(lane: 0, at: now)
  }

  private mutating func pop(lane: Int, at now: Instant) -> (NotificationUID, Waiting)? {
    while let place = lanes[lane].first, place.due <= now {
      _ = lanes[lane].popFirst()
      guard let index = waiting.index(forKey: place.uid),
        waiting.values[index].ticket == place.ticket
      else { continue }
      return (place.uid, waiting.remove(at: index).value)
    }
    return nil
  }

  // MARK: Results

  /// The attributes were fetched. Returns the notification, unless it was removed or something else is fetched first:
  /// more attributes, or its app's name.
  public mutating func finished(
    attributes: consuming NotificationAttributes, at now: Instant, judge: NotificationJudge? = nil
  ) -> Fetch? {
    guard endAttributes(at: now) != nil else { return nil }
    current?.add(attributes)
    current?.plan(judge, plans)
    guard current?.wanted.isEmpty == true else { return nil }
    if current?.wantsName == true { return named(at: now) }
    current?.report.apply(.none)
    return current.take()
  }

  /// Ends the command in progress. Returns how the current notification waited; nil if it is gone, or if something
  /// else is in progress.
  private mutating func endAttributes(at now: Instant) -> Waiting? {
    guard case .attributes = underWay else { return nil }
    underWay = .nothing
    guard let uid = current?.uid, let waiting = current?.waiting else { return nil }
    if waiting.lane >= Self.again { rests.add(uid, waiting.lane, at: now) }
    return waiting
  }

  /// Whether no other notification is waiting.
  private func isAlone(_ uid: NotificationUID) -> Bool {
    requests.isEmpty && waiting.count == (waiting[uid] == nil ? 0 : 1)
  }

  /// Adds the app's name. Returns nil if it has to be fetched first. A name that the phone failed to return is
  /// requested again after a pause, and only if nothing else is waiting.
  private mutating func named(at now: Instant) -> Fetch? {
    guard let uid = current?.uid, let app = current?.report.attributes.utf8(.appIdentifier) else {
      return current.take()
    }
    let known = app.isEmpty ? .none : names[app]
    switch known {
    case .unknown: return nil
    case .failed(_, let due): if due <= now, isAlone(uid) { return nil }
    case .none, .name: break
    }
    current?.report.apply(known)
    return current.take()
  }

  /// The app's name was fetched; nil if the phone has none, or failed to return it. Returns the notification, unless
  /// it was removed or more of it is fetched first.
  public mutating func finished(
    appName name: String?, _ failure: FetchFailure? = nil, at now: Instant,
    judge: NotificationJudge? = nil
  ) -> Fetch? {
    guard case .appName(let app) = underWay else { return nil }
    underWay = .nothing
    learn(name, of: app, failure, at: now)
    current?.plan(judge, plans)
    // Changed rules may need more attributes.
    guard current?.wanted.isEmpty == true else { return nil }
    current?.report.apply(names[app])
    return current.take()
  }

  /// The attributes could not be fetched. A failure that may pass is retried once, after those that wait. Returns the
  /// notification if it is published without them: now, because the phone timed out, or finally.
  public mutating func failed(
    _ failure: FetchFailure, at now: Instant, judge: NotificationJudge? = nil
  ) -> Fetch? {
    guard let before = endAttributes(at: now), let uid = current?.uid else { return nil }
    if failure.mayPass, !before.hasFailed {
      // If it is published now, the same is not published again.
      let isTold = failure == .timedOut
      let isEcho = isTold || waiting[uid]?.isEcho ?? before.isEcho
      enqueue(
        uid, in: isTold ? Self.silent : Self.again, hasFailed: true, isEcho: isEcho, at: now)
      if !isTold { current = nil }
    }
    current?.judge(judge)
    current?.report.failure = failure.description
    current?.failed = true
    return current.take()
  }

  /// The request was carried out.
  public mutating func finishedRequest() { if case .request = underWay { underWay = .nothing } }

  /// The phone does not allow access: the interrupted fetch waits, before all others, until `release`.
  public mutating func refused() {
    if case .attributes = underWay, let fetch = current.take() { putBack(fetch) }
    underWay = .nothing
    isHeld = true
  }

  /// If it changed meanwhile it is already waiting, but not in its old place.
  private mutating func putBack(_ fetch: Fetch) {
    lastTicket += 1
    var entry = fetch.waiting
    entry.ticket = lastTicket
    waiting[fetch.uid] = entry
    lanes[entry.lane].prepend(Place(uid: fetch.uid, ticket: lastTicket))
  }

  /// Tries only users' requests until `release`.
  public mutating func hold() { isHeld = true }

  /// The phone allows access again.
  public mutating func release() { isHeld = false }

  /// Remembers a fetched app name; nil if the phone has none, or failed to return it.
  public mutating func learn(
    _ name: String?, of app: String, _ failure: FetchFailure? = nil, at now: Instant
  ) {
    names.learn(name, of: app, failure, at: now)
  }

  /// Forgets all notifications, because the phone is about to announce them again.
  public mutating func forgetNotifications() {
    waiting = [:]
    for lane in lanes.indices { lanes[lane].removeAll() }
    current = nil
  }

  /// Forgets everything at the end of a session; returns the users' requests that are still queued.
  public mutating func end() -> [Int] {
    defer { self = FetchQueue(selection) }
    return Array(requests)
  }
}

/// A notification between its announcement and its publication.
public struct Fetch: Hashable, Sendable {
  /// The report for clients, as far as known.
  public var report: NotificationReport
  /// The index of the rule that acts on it.
  public private(set) var rule: Int?
  /// Whether a wanted attribute could not be fetched.
  public var failed = false
  fileprivate var waiting = FetchQueue.Waiting()
  /// Whether the rules are done with it, if there are any.
  fileprivate var isJudged = false
  /// Whether its app's name is wanted too.
  fileprivate var wantsName = true
  /// The attributes to fetch next.
  fileprivate var wanted: [ControlPointCommand.AttributeRequest] = []
  /// The requested attributes, whether the phone had them or not; only rules use this.
  fileprivate var asked: Set<NotificationAttributeID> = []

  public init(_ report: NotificationReport, _ judgement: Judgement? = nil, isEcho: Bool = false) {
    self.report = report
    waiting.isEcho = isEcho
    if let judgement { (self.report.standing, rule) = (judgement.standing, judgement.rule) }
  }

  fileprivate init(_ report: NotificationReport, _ waiting: FetchQueue.Waiting) {
    self.report = report
    self.waiting = waiting
  }

  var uid: NotificationUID { report.event.uid }
  /// Whether all may have been said already.
  public var isEcho: Bool { waiting.isEcho }

  /// Evaluates the rules, if any, on what is known, unless they are done with it.
  @discardableResult fileprivate mutating func judge(_ judge: NotificationJudge?) -> Judgement? {
    if isJudged { return nil }
    let judgement = judge?(report.event, report.attributes)
    let standing = judgement?.standing ?? .usual
    if report.standing != standing { report.standing = standing }
    (rule, isJudged) = (judgement?.rule, judgement?.isFinal ?? true)
    return judgement
  }

  /// Adds fetched attributes.
  fileprivate mutating func add(_ attributes: consuming NotificationAttributes) {
    if asked.isEmpty { report.attributes = attributes } else { report.attributes.merge(attributes) }
  }

  /// Decides what to request next, from the rules' judgement of what is known. Once they are done with it, everything
  /// wanted has been requested.
  ///
  /// - Parameter usual: what to request without rules, indexed by the notification's actions.
  fileprivate mutating func plan(
    _ judge: NotificationJudge?, _ usual: [[ControlPointCommand.AttributeRequest]]
  ) {
    if isJudged { return wanted = [] }
    let flags = report.event.flags
    if let judgement = self.judge(judge) {
      wantsName = judgement.wanted != nil
      wanted = judgement.wanted?.requests(for: flags) ?? []
    } else {
      wantsName = true
      wanted = usual[FetchQueue.actions(flags)]
    }
    let asked = asked
    if !asked.isEmpty { wanted.removeAll { asked.contains($0.id) } }
  }
}

/// The names of the apps of one session, so that each is fetched once (ANCS specification, Attribute
/// Fetching and Caching). That an app has no name is remembered too.
public struct AppNames: Sendable {
  /// The state of an app's name.
  public enum Entry: Hashable, Sendable {
    /// Not fetched yet.
    case unknown
    /// The phone has none.
    case none
    /// The phone failed to return it, for this reason. It is requested again at `due`.
    case failed(String, due: Instant)
    case name(String)
  }

  /// The maximum number of remembered apps; beyond it, the oldest is forgotten.
  public static let capacity = 512

  /// An app's identifier in UTF-8, so that a slice of a response can be looked up without conversion.
  private struct Key: Hashable {
    let bytes: ArraySlice<UInt8>

    func hash(into hasher: inout Hasher) {
      hasher.combine(_rawHashValue(seed: 0))
    }

    /// In one step, as for `ContentSignature`: every notification looks up its app's name.
    func _rawHashValue(seed: Int) -> Int {
      var hash = StableHash()
      hash.combine(bytes)
      return Int(truncatingIfNeeded: hash.value)
    }
  }

  /// The initial pause before the next request; it doubles each time, up to the maximum.
  private static let pause: Duration = .seconds(5)
  private static let longestPause: Duration = .seconds(3600)

  private var entries: [Key: Entry] = [:]
  private var order = FIFO<Key>(limit: capacity)
  /// The current pause for each failed name.
  private var pauses: [Key: Duration] = [:]

  public init() {}

  public subscript(app: String) -> Entry { self[Array(app.utf8)[...]] }

  subscript(app: ArraySlice<UInt8>) -> Entry { entries[Key(bytes: app)] ?? .unknown }

  /// Remembers the name of an app; nil or empty if it has none, or if the phone failed to return it.
  public mutating func learn(
    _ name: String?, of app: String, _ failure: FetchFailure? = nil, at now: Instant = .zero
  ) {
    let key = Key(bytes: Array(app.utf8)[...])
    let entry: Entry
    if let name, !name.isEmpty {
      entry = .name(name)
    } else if let failure {
      let pause = pauses[key].map { min($0 + $0, Self.longestPause) } ?? Self.pause
      pauses[key] = pause
      entry = .failed("the app's name was not fetched: \(failure)", due: now + pause)
    } else {
      entry = .none
    }
    if entries.updateValue(entry, forKey: key) == nil, let oldest = order.append(key) {
      (entries[oldest], pauses[oldest]) = (nil, nil)
    }
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
