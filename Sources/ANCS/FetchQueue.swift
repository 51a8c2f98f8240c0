// SPDX-License-Identifier: GPL-3.0-or-later

/// Decides what is asked of the phone next. The Control Point takes one command at a time, and after a
/// reconnection hundreds of notifications arrive at once.
///
/// In this order: what a user asked for (but never more than a few in a row while others wait); the name
/// of the app whose notification was just fetched; notifications that are new; those that were there
/// before the session. Within each, the phone's order.
///
///     Notification Source ──▶ received ─┬─▶ new ───────────┐
///                                       └─▶ pre-existing ──┤
///     owner ─────────────────▶ add ───────▶ requests ──────┼─▶ next ──▶ one command ──▶ finished ─┐
///                                           app's name ────┘                                      │
///                                               ▲─────────── its app has no name yet ─────────────┤
///                                                                                      report ◀───┘
///
/// Nothing is lost: a notification that changes while it waits is fetched once, one that changes while
/// it is fetched is fetched again, one that is removed is not fetched any more.
public struct FetchQueue<Request> {
  /// What is to be done next.
  public enum Step {
    /// Tell the owner; there is nothing to ask.
    case report(NotificationReport)
    /// Ask for these attributes, then call `finished(attributes:)`, `failed` or `refused`.
    case attributes(NotificationUID, [ControlPointCommand.AttributeRequest])
    /// Ask for this app's name, then call `finished(appName:)` or `refused`.
    case appName(String)
    /// Do what the owner asked for, then call `finishedRequest`.
    case request(Request)
  }

  /// The greatest number of notifications that wait; one more is reported without being fetched.
  public static var capacity: Int { 16_384 }
  /// How many requests go before a notification that waits.
  static var requestsInARow: Int { 4 }

  private enum InFlight {
    case attributes(NotificationEvent)
    case appName(NotificationReport, of: String)
    case request
  }

  /// Which attributes are fetched.
  public var selection: AttributeSelection { didSet { plans = Self.plans(of: selection) } }
  /// What is asked about a notification, by the actions it has.
  private var plans: [EventFlags: [ControlPointCommand.AttributeRequest]]
  /// While the phone lets nobody read, only what a user asks for is tried.
  public private(set) var isHeld = false
  /// The names of the apps seen in this session, of those without one too.
  public private(set) var names = AppNames()

  private var inFlight: InFlight?
  /// Whether what is being fetched was removed meanwhile.
  private var isStale = false
  /// What was told of it already, since the phone said that it has changed.
  private var told: NotificationReport?
  private var waiting: [NotificationUID: Waiting] = [:]
  private var new = FetchLine()
  private var preExisting = FetchLine()
  private var unnamed: (report: NotificationReport, app: String)?
  private var requests: [Request] = []
  private var requestsDone = 0
  private var lastTicket: UInt64 = 0

  private struct Waiting {
    var event: NotificationEvent
    var ticket: UInt64
    var isPreExisting: Bool
    /// What was told of it since it began to wait.
    var told: NotificationReport?
  }

  public init(_ selection: AttributeSelection = .all) {
    self.selection = selection
    plans = Self.plans(of: selection)
  }

  private static func plans(
    of selection: AttributeSelection
  ) -> [EventFlags: [ControlPointCommand.AttributeRequest]] {
    let actions: [EventFlags] = [
      [], .positiveAction, .negativeAction, [.positiveAction, .negativeAction],
    ]
    return Dictionary(uniqueKeysWithValues: actions.map { ($0, selection.requests(for: $0)) })
  }

  /// How many notifications wait.
  public var count: Int { waiting.count }

  /// Whether a command is under way.
  public var isBusy: Bool { inFlight != nil }

  /// Takes what the Notification Source says; a removal is reported at once. A change that the
  /// specification does not name changes nothing.
  public mutating func received(_ event: NotificationEvent) -> NotificationReport? {
    switch event.change {
    case .added, .modified:
      return enqueue(event)
    case .removed:
      waiting[event.uid] = nil
      if case .attributes(let fetched) = inFlight, fetched.uid == event.uid { isStale = true }
      if case .appName(let report, _) = inFlight, report.event.uid == event.uid { isStale = true }
      if unnamed?.report.event.uid == event.uid { unnamed = nil }
      return NotificationReport(event)
    default:
      return nil
    }
  }

  private mutating func enqueue(_ event: NotificationEvent) -> NotificationReport? {
    var entry = Waiting(event: event, ticket: 0, isPreExisting: event.flags.contains(.preExisting))
    if let earlier = waiting[event.uid] {
      if earlier.event.change == .added { entry.event.change = .added }
      // It keeps its place, unless news make it go forward.
      if entry.isPreExisting || !earlier.isPreExisting {
        entry.ticket = earlier.ticket
        entry.isPreExisting = earlier.isPreExisting
        waiting[event.uid] = entry
        return nil
      }
    } else if waiting.count >= Self.capacity {
      return NotificationReport(event, failure: .tooMany)
    }
    lastTicket += 1
    entry.ticket = lastTicket
    waiting[event.uid] = entry
    let place = FetchLine.Place(uid: event.uid, ticket: lastTicket)
    if entry.isPreExisting { preExisting.append(place) } else { new.append(place) }
    sweep()
    return nil
  }

  /// Clears places away whose tickets are not valid any more, once they are the greater part.
  private mutating func sweep() {
    let limit = max(64, 2 * waiting.count)
    guard new.length > limit || preExisting.length > limit else { return }
    let waiting = waiting
    let isLive = { (place: FetchLine.Place) in waiting[place.uid]?.ticket == place.ticket }
    new.sweep(isLive)
    preExisting.sweep(isLive)
  }

  /// Adds something a user asked for; it goes before everything else.
  public mutating func add(_ request: Request) { requests.append(request) }

  /// What to do next; nil while a command is under way and where nothing waits.
  public mutating func next() -> Step? {
    guard inFlight == nil else { return nil }
    let othersWait = !isHeld && (unnamed != nil || !waiting.isEmpty)
    if !requests.isEmpty, requestsDone < Self.requestsInARow || !othersWait {
      requestsDone += 1
      inFlight = .request
      return .request(requests.removeFirst())
    }
    guard othersWait else { return nil }
    requestsDone = 0
    if let (report, app) = unnamed {
      unnamed = nil
      inFlight = .appName(report, of: app)
      return .appName(app)
    }
    guard let entry = popWaiting() else { return nil }
    let event = entry.event
    told = entry.told
    let wanted = plans[event.flags.intersection([.positiveAction, .negativeAction])] ?? []
    if wanted.isEmpty { return .report(NotificationReport(event)) }
    inFlight = .attributes(event)
    isStale = false
    return .attributes(event.uid, wanted)
  }

  private mutating func popWaiting() -> Waiting? {
    while let place = new.popFirst() ?? preExisting.popFirst() {
      guard let entry = waiting[place.uid], entry.ticket == place.ticket else { continue }
      waiting[place.uid] = nil
      return entry
    }
    return nil
  }

  /// The attributes came; a report, unless the notification is gone or its app's name is asked first.
  public mutating func finished(attributes: NotificationAttributes) -> NotificationReport? {
    guard case .attributes(let event) = inFlight else { return nil }
    inFlight = nil
    guard !isStale else { return nil }
    var report = NotificationReport(event, attributes: attributes)
    guard let app = attributes.appIdentifier else { return finish(report) }
    report.app = app
    switch app.isEmpty ? .none : names[app] {
    case .unknown:
      unnamed = (report, app)
      return nil
    case .none:
      return finish(report)
    case .name(let name):
      report.app = name
      return finish(report)
    }
  }

  /// A notification that changes in the middle of a fetch is fetched again, and often the first answer
  /// had the change already: the second is told only where it differs.
  private mutating func finish(_ report: NotificationReport) -> NotificationReport? {
    let event = report.event
    waiting[event.uid]?.told = report
    if let told, told.attributes == report.attributes, told.event.flags == event.flags,
      told.event.category == event.category
    {
      return nil
    }
    return report
  }

  /// The app's name came, or nil where the phone has none or failed; a report, unless the notification
  /// is gone.
  public mutating func finished(appName name: String?) -> NotificationReport? {
    guard case .appName(var report, let app) = inFlight else { return nil }
    inFlight = nil
    names.learn(name, of: app)
    guard !isStale else { return nil }
    if case .name(let name) = names[app] { report.app = name }
    return finish(report)
  }

  /// The attributes could not be fetched; a report that says so, unless the notification is gone.
  public mutating func failed(_ failure: FetchFailure) -> NotificationReport? {
    guard case .attributes(let event) = inFlight else { return nil }
    inFlight = nil
    return isStale ? nil : NotificationReport(event, failure: failure)
  }

  /// What the owner asked for is done.
  public mutating func finishedRequest() {
    if case .request = inFlight { inFlight = nil }
  }

  /// The phone lets nobody read: what was under way waits, first in its line, until `release`.
  public mutating func refused() {
    switch inFlight {
    case .attributes(let event) where !isStale:
      putBack(event)
    case .appName(let report, let app) where !isStale:
      unnamed = (report, app)
    case .attributes, .appName, .request, nil:
      break
    }
    inFlight = nil
    isHeld = true
  }

  /// Only what a user asks for is tried, until `release`.
  public mutating func hold() { isHeld = true }

  private mutating func putBack(_ event: NotificationEvent) {
    // One that changed meanwhile waits already, but what it was before was never told.
    var latest = waiting[event.uid]?.event ?? event
    if event.change == .added { latest.change = .added }
    let isOld = latest.flags.contains(.preExisting)
    lastTicket += 1
    waiting[event.uid] = Waiting(event: latest, ticket: lastTicket, isPreExisting: isOld)
    let place = FetchLine.Place(uid: event.uid, ticket: lastTicket)
    if isOld { preExisting.prepend(place) } else { new.prepend(place) }
  }

  /// The phone lets us read again.
  public mutating func release() { isHeld = false }

  /// The name of an app that was learned otherwise.
  public mutating func learn(_ name: String?, of app: String) { names.learn(name, of: app) }

  /// The phone is about to tell everything anew: what waits, and what is under way, is forgotten.
  public mutating func forgetNotifications() {
    waiting = [:]
    new = FetchLine()
    preExisting = FetchLine()
    unnamed = nil
    isStale = true
  }

  /// The session is over: everything is forgotten, and what users still wait for is handed back.
  public mutating func end() -> [Request] {
    defer { self = FetchQueue(selection) }
    return requests
  }
}
