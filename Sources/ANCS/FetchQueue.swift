// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Decides what to ask the phone next. The Control Point accepts one command at a time, and after a
/// reconnection hundreds of notifications arrive at once.
///
/// The order is: users' requests (but only a few in a row while others wait); the name of the app whose
/// notification was just fetched; new notifications; notifications that existed before the session.
/// Within each, the phone's order.
///
///     Notification Source ──▶ received ─┬─▶ new ───────────┐
///                                       └─▶ pre-existing ──┤
///     owner ─────────────────▶ add ───────▶ requests ──────┼─▶ next ──▶ one command ──▶ finished ─┐
///                                           app's name ────┘                                      │
///                                               ▲─────────── its app has no name yet ─────────────┤
///                                                                                      report ◀───┘
///
/// Nothing is lost: a notification that changes while it waits is fetched once, one that changes while
/// it is fetched is fetched again, and one that is removed is not fetched any more.
public struct FetchQueue {
  /// What to do next.
  public enum Step {
    /// Report this to the owner; there is nothing to fetch.
    indirect case report(NotificationReport)
    /// Fetch these attributes, then call `finished(attributes:)`, `failed` or `refused`.
    case attributes(NotificationUID, [ControlPointCommand.AttributeRequest])
    /// Fetch this app's name, then call `finished(appName:)` or `refused`.
    case appName(String)
    /// Carry out the user's request of this number, then call `finishedRequest`.
    case request(Int)
  }

  /// The most notifications that wait; any more are reported without being fetched.
  public static var capacity: Int { NotificationLimits.notifications }
  /// How many requests are served before a notification that waits.
  static var requestsInARow: Int { 4 }

  // Nearly all commands are of the first kind. What is larger, or rare, is indirect.
  private enum InFlight {
    case attributes(Partial)
    indirect case appName(NotificationReport, of: String)
    case request
  }

  /// A notification of which not everything is fetched yet.
  private struct Partial {
    let event: NotificationEvent
    var known = NotificationAttributes()
    /// What was asked for, whether the phone had it or not.
    var asked: Set<NotificationAttributeID> = []
  }

  /// A notification that goes on before all others.
  private indirect enum Unfinished {
    case attributes(Partial, [ControlPointCommand.AttributeRequest])
    case appName(NotificationReport, of: String)

    var uid: NotificationUID {
      switch self {
      case .attributes(let partial, _): partial.event.uid
      case .appName(let report, _): report.event.uid
      }
    }
  }

  private struct Waiting {
    var event: NotificationEvent
    var ticket: UInt64
    var isPreExisting: Bool
    /// Whether an attempt has failed, which was reported.
    var hasFailed = false
    /// What was reported since it began to wait, as `digest(of:)`.
    var reported: Int?
  }

  /// A place in the order of fetching. When a notification leaves the order from the middle, its place
  /// stays behind with an invalid ticket, so that a flood of removals costs nothing.
  private struct Place {
    let uid: NotificationUID
    let ticket: UInt64
  }

  /// Decides what is fetched of a notification of which this is known; nil: the selection.
  public var decide: ((NotificationEvent, NotificationAttributes) -> FetchDecision)?
  /// Which attributes are fetched, where nobody decides otherwise.
  public var selection: AttributeSelection { didSet { plans = Self.plans(of: selection) } }
  /// The attributes to fetch, by the actions that a notification has (`actions`).
  private var plans: [[ControlPointCommand.AttributeRequest]]
  /// Whether only users' requests are tried, because the phone does not allow access.
  public private(set) var isHeld = false
  /// The names of the apps seen in this session.
  public private(set) var names = AppNames()

  private var inFlight: InFlight?
  /// Whether the notification that is being fetched was removed meanwhile.
  private var isStale = false
  /// Whether an earlier attempt to fetch it has failed.
  private var isSecondAttempt = false
  /// What was reported about it already since the phone said that it has changed.
  private var reported: Int?
  private var waiting: [NotificationUID: Waiting] = [:]
  private var new = FIFO<Place>()
  private var preExisting = FIFO<Place>()
  private var unfinished: Unfinished?
  private var requests = FIFO<Int>()
  private var requestsDone = 0
  private var lastTicket: UInt64 = 0

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

  /// The place in `plans` of the actions among the flags.
  private static func actions(_ flags: EventFlags) -> Int {
    (flags.contains(.positiveAction) ? 1 : 0) + (flags.contains(.negativeAction) ? 2 : 0)
  }

  /// The number of notifications that wait.
  public var count: Int { waiting.count }

  /// Whether a command is under way.
  public var isBusy: Bool { inFlight != nil }

  // MARK: What is to be fetched

  /// Queues a notification that was added or modified. Returns a report if there is nothing to fetch:
  /// for a removal, or if too many notifications wait. Unknown changes are ignored.
  public mutating func received(_ event: NotificationEvent) -> NotificationReport? {
    switch event.change {
    case .added, .modified: return enqueue(event)
    case .removed:
      waiting[event.uid] = nil
      if case .attributes(let partial) = inFlight, partial.event.uid == event.uid { isStale = true }
      if case .appName(let report, _) = inFlight, report.event.uid == event.uid { isStale = true }
      if unfinished?.uid == event.uid { unfinished = nil }
      return NotificationReport(event)
    default: return nil
    }
  }

  // It is called for each notification, and once more where that failed.
  @inline(__always)
  private mutating func enqueue(_ event: NotificationEvent) -> NotificationReport? {
    if waiting.count >= Self.capacity, waiting[event.uid] == nil {
      return NotificationReport(event, failure: .tooMany)
    }
    let isPreExisting = event.flags.contains(.preExisting)
    lastTicket += 1
    let entry = Waiting(event: event, ticket: lastTicket, isPreExisting: isPreExisting)
    if let earlier = waiting.updateValue(entry, forKey: event.uid) {
      if earlier.event.change == .added { waiting[event.uid]?.event.change = .added }
      // It keeps its place, unless it moves from the pre-existing to the new ones.
      if isPreExisting || !earlier.isPreExisting {
        waiting[event.uid]?.ticket = earlier.ticket
        waiting[event.uid]?.isPreExisting = earlier.isPreExisting
        return nil
      }
    }
    let place = Place(uid: event.uid, ticket: lastTicket)
    if isPreExisting { preExisting.append(place) } else { new.append(place) }
    sweep()
    return nil
  }

  /// Removes invalid places once they are the greater part.
  private mutating func sweep() {
    let limit = max(64, 2 * waiting.count)
    guard new.count > limit || preExisting.count > limit else { return }
    let waiting = waiting
    let isInvalid = { (place: Place) in waiting[place.uid]?.ticket != place.ticket }
    new.removeAll(where: isInvalid)
    preExisting.removeAll(where: isInvalid)
  }

  /// Adds a user's request, which goes before everything else; its owner knows it by this number.
  public mutating func add(_ request: Int) { requests.append(request) }

  /// Removes a user's request, unless it is under way already; returns whether it was there.
  public mutating func remove(_ request: Int) -> Bool {
    guard requests.contains(request) else { return false }
    requests.removeAll { $0 == request }
    return true
  }

  // MARK: What is done next

  /// What to do next; nil while a command is under way or if nothing waits.
  public mutating func next() -> Step? {
    guard inFlight == nil else { return nil }
    let othersWait = !isHeld && (unfinished != nil || !waiting.isEmpty)
    if requestsDone < Self.requestsInARow || !othersWait, let request = requests.popFirst() {
      requestsDone += 1
      inFlight = .request
      return .request(request)
    }
    guard othersWait else { return nil }
    requestsDone = 0
    switch unfinished {
    case .attributes(let partial, let wanted)?:
      unfinished = nil
      return fetch(wanted, of: partial)
    case .appName(let report, let app)?:
      unfinished = nil
      inFlight = .appName(report, of: app)
      return .appName(app)
    case nil: break
    }
    guard let entry = popWaiting() else { return nil }
    reported = entry.reported
    isStale = false
    isSecondAttempt = entry.hasFailed
    let partial = Partial(event: entry.event)
    let wanted = wanted(of: partial)
    return wanted.isEmpty ? .report(NotificationReport(entry.event)) : fetch(wanted, of: partial)
  }

  private mutating func fetch(
    _ wanted: [ControlPointCommand.AttributeRequest], of partial: Partial
  ) -> Step {
    var partial = partial
    if decide != nil { partial.asked.formUnion(wanted.map(\.id)) }
    inFlight = .attributes(partial)
    return .attributes(partial.event.uid, wanted)
  }

  /// What is to be asked for next.
  private func wanted(of partial: Partial) -> [ControlPointCommand.AttributeRequest] {
    guard let decide else { return plans[Self.actions(partial.event.flags)] }
    guard case .attributes(let selection) = decide(partial.event, partial.known) else { return [] }
    return selection.requests(for: partial.event.flags).filter { !partial.asked.contains($0.id) }
  }

  private mutating func popWaiting() -> Waiting? {
    while let place = new.popFirst() ?? preExisting.popFirst() {
      guard let index = waiting.index(forKey: place.uid),
        waiting.values[index].ticket == place.ticket
      else { continue }
      return waiting.remove(at: index).value
    }
    return nil
  }

  // MARK: What came of it

  /// The attributes were fetched. Returns a report, unless the notification is gone or something else is
  /// fetched first: more of it, or its app's name.
  public mutating func finished(
    attributes: consuming NotificationAttributes
  ) -> NotificationReport? {
    guard case .attributes? = inFlight, case .attributes(var partial)? = inFlight.take() else {
      return nil
    }
    guard !isStale else { return nil }
    guard decide != nil else {
      return named(NotificationReport(partial.event, attributes: attributes))
    }
    partial.known.merge(attributes)
    let more = wanted(of: partial)
    if !more.isEmpty {
      unfinished = .attributes(partial, more)
      return nil
    }
    var report = NotificationReport(partial.event, attributes: partial.known)
    if case .enough? = decide?(partial.event, partial.known) {
      report.app = report.attributes.appIdentifier
      return finish(report)
    }
    return named(report)
  }

  /// Adds the app's name. Returns nil if it has to be fetched first.
  private mutating func named(_ report: consuming NotificationReport) -> NotificationReport? {
    guard let app = report.attributes.utf8(.appIdentifier) else { return finish(report) }
    let known = app.isEmpty ? .none : names[app]
    if case .unknown = known {
      unfinished = .appName(report, of: String(decoding: app, as: UTF8.self))
      return nil
    }
    report.apply(known)
    return finish(report)
  }

  /// A notification that changes while it is fetched is fetched again, and often the first answer had
  /// the change already: the second is reported only if it differs.
  private mutating func finish(_ report: consuming NotificationReport) -> NotificationReport? {
    let uid = report.event.uid
    guard reported != nil || waiting[uid] != nil else { return report }
    let digest = Self.digest(of: report)
    waiting[uid]?.reported = digest
    return reported == digest ? nil : report
  }

  /// A number for what a report says, to see whether the next one says the same. The texts themselves are
  /// not kept, since those of all that wait would have no limit.
  private static func digest(of report: NotificationReport) -> Int {
    var hasher = Hasher()
    hasher.combine(report.attributes)
    hasher.combine(report.event.flags)
    hasher.combine(report.event.category)
    return hasher.finalize()
  }

  /// The app's name was fetched; nil if the phone has none, or failed to tell it for a reason. Returns a
  /// report, unless the notification is gone.
  public mutating func finished(
    appName name: String?, _ failure: FetchFailure? = nil
  ) -> NotificationReport? {
    guard case .appName(var report, let app) = inFlight else { return nil }
    inFlight = nil
    names.learn(name, of: app, failure)
    guard !isStale else { return nil }
    report.apply(names[app])
    return finish(report)
  }

  /// The attributes could not be fetched. Returns a report that says so, unless the notification is gone. They may
  /// be tried once more, behind what waits: if that brings them, the notification is reported as modified, and if
  /// not, nothing is.
  public mutating func failed(_ failure: FetchFailure) -> NotificationReport? {
    guard case .attributes(let partial) = inFlight else { return nil }
    inFlight = nil
    if isStale || isSecondAttempt { return nil }
    if failure.mayPass, waiting[partial.event.uid] == nil {
      var event = partial.event
      event.change = .modified
      _ = enqueue(event)
      waiting[event.uid]?.hasFailed = true
    }
    return NotificationReport(partial.event, attributes: partial.known, failure: failure)
  }

  /// The request was carried out.
  public mutating func finishedRequest() { if case .request = inFlight { inFlight = nil } }

  /// The phone does not allow access: what was under way waits, before all others, until
  /// `release`.
  public mutating func refused() {
    switch inFlight {
    case .attributes(let partial) where !isStale: putBack(partial.event)
    case .appName(let report, let app) where !isStale: unfinished = .appName(report, of: app)
    case .attributes, .appName, .request, nil: break
    }
    inFlight = nil
    isHeld = true
  }

  private mutating func putBack(_ event: NotificationEvent) {
    // If it changed meanwhile it waits already, but the earlier event was never reported.
    var latest = waiting[event.uid]?.event ?? event
    if event.change == .added { latest.change = .added }
    let isPreExisting = latest.flags.contains(.preExisting)
    lastTicket += 1
    waiting[event.uid] = Waiting(event: latest, ticket: lastTicket, isPreExisting: isPreExisting)
    let place = Place(uid: event.uid, ticket: lastTicket)
    if isPreExisting { preExisting.prepend(place) } else { new.prepend(place) }
  }

  /// Tries only users' requests until `release`.
  public mutating func hold() { isHeld = true }

  /// The phone allows access again.
  public mutating func release() { isHeld = false }

  /// Remembers an app's name that was fetched by a request; nil if the phone has none.
  public mutating func learn(_ name: String?, of app: String) { names.learn(name, of: app) }

  /// Forgets all notifications, because the phone is about to announce them again.
  public mutating func forgetNotifications() {
    waiting = [:]
    new.removeAll()
    preExisting.removeAll()
    unfinished = nil
    isStale = true
  }

  /// Forgets everything at the end of a session; returns the users' requests that still wait.
  public mutating func end() -> [Int] {
    defer { self = FetchQueue(selection) }
    return Array(requests)
  }
}

/// What is fetched of a notification, decided again with each answer.
public enum FetchDecision: Hashable, Sendable {
  /// These attributes, as far as they were not asked for yet; and the app's name.
  case attributes(AttributeSelection)
  /// Nothing more, and no name.
  case enough
}

/// The names of the apps of one session, so that each is fetched once (ANCS specification, Attribute
/// Fetching and Caching). That an app has no name is remembered too.
public struct AppNames: Sendable {
  /// What is known of an app's name.
  public enum Entry: Hashable, Sendable {
    /// It was not fetched yet.
    case unknown
    /// The phone has none.
    case none
    /// The phone did not tell it; `sentence` says so.
    case failed(FetchFailure, sentence: String)
    case name(String)
  }

  /// The most apps that are remembered; beyond it, the oldest is forgotten.
  public static let capacity = 512

  /// An app's identifier in UTF-8, so that a part of an answer is looked up as it is.
  private struct Key: Hashable {
    let bytes: ArraySlice<UInt8>

    func hash(into hasher: inout Hasher) {
      hasher.combine(bytes.count)
      var word: UInt64 = 0
      for (number, byte) in bytes.enumerated() {
        word = word << 8 | UInt64(byte)
        if number % 8 == 7 { hasher.combine(word) }
      }
      hasher.combine(word)
    }
  }

  private var entries: [Key: Entry] = [:]
  private var order = FIFO<Key>(limit: capacity)

  public init() {}

  public subscript(app: String) -> Entry { self[Array(app.utf8)[...]] }

  subscript(app: ArraySlice<UInt8>) -> Entry { entries[Key(bytes: app)] ?? .unknown }

  /// Remembers the name of an app; nil or an empty text if it has none, or if the phone failed to tell it.
  public mutating func learn(_ name: String?, of app: String, _ failure: FetchFailure? = nil) {
    let entry: Entry =
      if let name, !name.isEmpty {
        .name(name)
      } else if let failure {
        .failed(failure, sentence: "the app's name was not fetched: \(failure)")
      } else {
        .none
      }
    let key = Key(bytes: Array(app.utf8)[...])
    if entries.updateValue(entry, forKey: key) == nil, let oldest = order.append(key) {
      entries[oldest] = nil
    }
  }
}

extension NotificationReport {
  /// Applies what is known of the app's name; without one, its identifier stands for it.
  fileprivate mutating func apply(_ entry: AppNames.Entry) {
    if case .name(let name) = entry { return app = name }
    app = attributes.appIdentifier
    if case .failed(_, let sentence) = entry { failure = sentence }
  }
}
