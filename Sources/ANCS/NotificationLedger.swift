// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What clients know about a phone's notifications, across all its sessions. Everything published, listed, replayed or
/// counted comes from here.
///
///     announced ──▶ untold ──settled──▶ told ───────▶ removed by the phone: `removed`
///                      │               ▲    │
///                   settled       `added`  `removed`
///                      │               │    ▼         what follows from the rules when it is settled
///                      └─────────────▶ hidden ─────▶ removed by the phone: nothing
///
/// A notification is settled once its wanted attributes were fetched, or can't be; and again with each change.
///
/// When a session ends, told and hidden notifications are kept across a short break, as `stale`. A UID is valid only
/// within one session (ANCS specification, Notification Source), so notifications in the next one are recognised by
/// their contents, or by UID if the contents are ambiguous. Those that the phone does not announce again in time are
/// `removed`.
///
/// So no client sees a change or removal of a notification that was never added, and every added notification is
/// eventually removed. The number and size of notifications are limited (`NotificationLimits`). Beyond the limits the
/// oldest are forgotten.
public struct NotificationLedger: Sendable {
  /// The actions that follow, in order.
  public enum Output: Hashable, Sendable {
    /// Publish this to clients.
    case tell(NotificationReport)
    /// The rule at this index acts on this notification.
    case act(Int, NotificationReport)
    /// Fetch the notification again, because it is no longer hidden.
    case fetch(NotificationUID)
    /// The notification was forgotten: don't fetch it.
    case drop(NotificationUID)
  }

  private enum State: Sendable {
    /// Clients know nothing about it, because it was not fetched yet.
    case untold
    /// Clients know this about it.
    case told(NotificationReport)
    /// Clients know nothing about it, because a rule hides it. This was fetched.
    case hidden(NotificationReport)
  }

  private struct Entry: Sendable {
    /// Counts up with each notification. It keeps its number across a break.
    var number: UInt64
    /// The phone's last event for it.
    var event: NotificationEvent
    var state = State.untold
    /// Whether the rules have acted on it, which they do once.
    var isActedOn = false
    /// Whether something was fetched for one client that the others were not told.
    var isAhead = false
    /// Its memory size, as last counted.
    var size = NotificationReport.ownSize

    var isUntold: Bool { if case .untold = state { true } else { false } }

    var told: NotificationReport? { if case .told(let report) = state { report } else { nil } }

    /// Its fetched data.
    var known: NotificationReport? {
      switch state {
      case .untold: nil
      case .told(let report), .hidden(let report): report
      }
    }

    /// The same while its phone is away, or has not confirmed yet that it still has it.
    var stale: Entry {
      guard case .told(var report) = state else { return self }
      var entry = self
      report.isStale = true
      entry.state = .told(report)
      return entry
    }
  }

  /// A place in the order of arrival. It stays with an invalid number when its notification is removed, so a flood of
  /// removals is cheap.
  private struct Place: Sendable {
    let number: UInt64
    var uid: NotificationUID
  }

  /// The phase of the phone's session.
  private enum Phase: Sendable {
    /// There is no session. Kept notifications expire at `until`.
    case away(until: Instant)
    /// The phone is announcing its notifications, or has done so; `last` is the time of its last event.
    case present(until: Instant, last: Instant)
  }

  /// The silence after which a phone has announced everything.
  private static let quiet: Duration = .seconds(5)

  /// The published notifications, as signatures that outlive the daemon.
  public var seen: SeenContents
  /// Those published in earlier sessions.
  private var earlier: SeenContents
  /// The notifications of this session.
  private var live: [NotificationUID: Entry] = [:]
  /// Those of earlier sessions that the phone has not announced again.
  private var kept = Kept()
  private var order = FIFO<Place>()
  private var lastNumber: UInt64 = 0
  private var untold = 0
  private var phase = Phase.away(until: .zero)
  private var outputs = FIFO<Output>()
  /// Their approximate memory size in bytes.
  public private(set) var size = 0
  /// Whether any was forgotten to keep the limits.
  public private(set) var isIncomplete = false

  /// - Parameter seen: what an earlier run of the daemon published.
  public init(seen: SeenContents = .init()) {
    self.seen = seen
    earlier = seen
  }

  /// The next action.
  mutating func nextOutput() -> Output? { outputs.popFirst() }

  // MARK: Queries

  /// The published notifications that arrived after the one with this number, in the order of arrival, each with its
  /// number; numbers begin with 1. Removed notifications leave gaps.
  public func told(
    after number: UInt64 = 0
  ) -> some Sequence<(number: UInt64, report: NotificationReport)> {
    order[place(after: number)...].lazy.compactMap { place in
      entry(at: place)?.told.map { (place.number, $0) }
    }
  }

  /// The number of published notifications in this session.
  public var toldCount: Int { live.values.count { $0.told != nil } }

  /// The total number.
  public var count: Int { live.count + kept.count }

  /// The phone's last event for a notification of this session.
  // This and the deadline are read for every notification, and a call would copy the whole ledger.
  @inline(__always) public func event(of uid: NotificationUID) -> NotificationEvent? {
    live.index(forKey: uid).map { live.values[$0].event }
  }

  /// The fetched data of a notification of this session, whether published or not.
  public subscript(uid: NotificationUID) -> NotificationReport? { live[uid]?.known }

  private func entry(at place: Place) -> Entry? {
    if let entry = live[place.uid], entry.number == place.number { return entry }
    return kept[place]
  }

  /// The index of the first place after a number.
  private func place(after number: UInt64) -> Int {
    var (first, end) = (0, order.count)
    while first < end {
      let middle = (first + end) / 2
      if order[middle].number <= number { first = middle + 1 } else { end = middle }
    }
    return first
  }

  /// When kept notifications expire, so that `pass` has to be called.
  @inline(__always) public var deadline: Instant? {
    guard kept.count > 0 else { return nil }
    switch phase {
    case .away(let end): return end
    case .present(let end, let last): return untold > 0 ? end : min(end, last + Self.quiet)
    }
  }

  // MARK: Events from the phone

  /// The phone has announced a notification: added, or modified.
  ///
  /// - Returns: whether it was fetched before.
  mutating func announced(_ event: NotificationEvent, at now: Instant) -> Bool {
    if event.flags.contains(.preExisting) { spoke(at: now) }
    let number = lastNumber + 1
    let count = live.count
    live[event.uid, default: Entry(number: number, event: event)].event = event
    guard live.count > count else { return live[event.uid]?.isUntold == false }
    lastNumber = number
    untold += 1
    order.append(Place(number: number, uid: event.uid))
    size += NotificationReport.ownSize
    makeSpace()
    return false
  }

  /// The phone has removed a notification.
  mutating func removed(_ event: NotificationEvent) {
    guard let entry = live.removeValue(forKey: event.uid) else { return }
    forget(entry)
    if let told = entry.told { outputs.append(.tell(told.removal(event))) }
    tidy()
  }

  /// Removes invalid places once they are the majority.
  private mutating func tidy() {
    guard order.count > max(64, 2 * count) else { return }
    let ledger = self
    order.removeAll { ledger.entry(at: $0) == nil }
  }

  /// The wanted attributes of a notification were fetched, or could not be.
  mutating func settle(_ fetch: consuming Fetch, at now: Instant) {
    guard let index = live.index(forKey: fetch.uid) else { return }
    var entry = live.values[index]
    var successor: NotificationReport?
    // (Written only if different, because a write might copy the report.)
    if fetch.report.event.change != .added { fetch.report.event.change = .added }
    switch entry.state {
    case .untold:
      untold -= 1
      spoke(at: now)
      if kept.count > 0 { successor = succeed(with: &entry, &fetch.report) }
    case .told(let told):
      if fetch.failed { fetch.report.complete(told) }
      if fetch.report.standing == .hidden {
        outputs.append(.tell(told.removal()))
      } else if fetch.isEcho, !entry.isAhead, fetch.report.says(told) {
        return
      }
      fetch.report.event.change = .modified
    case .hidden(let known): if fetch.failed { fetch.report.complete(known) }
    }
    let isShown = fetch.report.standing != .hidden
    if isShown, let signature = ContentSignature(fetch.report.attributes) {
      if fetch.report.event.change == .added, earlier.contains(signature) {
        fetch.report.isRepeat = true
      }
      seen.insert(signature)
    }
    if isShown { outputs.append(.tell(fetch.report)) }
    if !entry.isActedOn {
      if let rule = fetch.rule { outputs.append(.act(rule, fetch.report)) }
      entry.isActedOn = fetch.rule != nil || isShown && !fetch.failed
    }
    if let successor { outputs.append(.tell(successor)) }
    let before = entry.size
    entry.size = fetch.report.size
    size += entry.size - before
    entry.isAhead = false
    entry.state = isShown ? .told(fetch.report) : .hidden(fetch.report)
    live.values[index] = entry
    makeSpace()
  }

  /// Adds data of a notification that was fetched for a client.
  mutating func complete(_ uid: NotificationUID, with attributes: NotificationAttributes) {
    guard let index = live.index(forKey: uid), case .told(var report) = live.values[index].state
    else { return }
    report.attributes.merge(attributes)
    report.failure = nil
    size += report.size - live.values[index].size
    live.values[index].size = report.size
    live.values[index].state = .told(report)
    live.values[index].isAhead = true
    makeSpace()
  }

  private mutating func spoke(at now: Instant) {
    if case .present(let end, _) = phase { phase = .present(until: end, last: now) }
  }

  // MARK: Sessions

  /// A session has begun, or starts over: the phone is about to announce its notifications.
  ///
  /// - Parameter period: how long to keep the previous notifications if this session starts over.
  mutating func sessionBegan(at now: Instant, keeping period: Duration) {
    switch phase {
    case .away(let end): phase = .present(until: end, last: now)
    case .present:
      keep()
      phase = .present(until: now + period, last: now)
    }
    earlier = seen
    tidy()
  }

  /// The session has ended.
  ///
  /// - Parameter period: how long to keep its notifications; zero: they are removed at once.
  mutating func sessionEnded(at now: Instant, keeping period: Duration) {
    keep()
    if case .present = phase { phase = .away(until: now + period) }
    pass(to: now)
  }

  /// Time has passed: removes what the phone has not announced again in time.
  mutating func pass(to now: Instant) {
    if let deadline, deadline <= now { removeKept() }
  }

  /// Removes all of them: the phone is forgotten.
  mutating func clear() {
    keep()
    removeKept()
  }

  private mutating func removeKept() {
    kept.sort()
    for (_, entry) in kept.entries.sorted(by: { $0.key < $1.key }) {
      size -= entry.size
      if let told = entry.told { outputs.append(.tell(told.removal())) }
    }
    kept = Kept()
    tidy()
  }

  /// Keeps the notifications without iterating over them, because this happens when a link is lost.
  private mutating func keep() {
    if untold > 0 { live = live.filter { !$0.value.isUntold } }
    size -= untold * NotificationReport.ownSize
    kept.add(live)
    (live, untold) = ([:], 0)
  }

  /// A settled notification may be one of the kept ones: then it replaces that one, and is published as a repeat. Kept
  /// ones that it supersedes are published as removed.
  ///
  /// - Returns: what to publish after it.
  private mutating func succeed(
    with entry: inout Entry, _ report: inout NotificationReport
  ) -> NotificationReport? {
    let uid = report.event.uid
    let isShown = report.standing != .hidden
    var former = take { $0.take(like: report) }
    var successor: NotificationReport?
    if let told = former?.told {
      report.isRepeat = true
      if !isShown {
        outputs.append(.tell(told.removal()))
      } else if told.event.uid != uid {
        successor = told.removal()
      }
    }
    if let other = take({ $0.take(uid) }) {
      // With the same app and category, it has only changed meanwhile.
      let hasChanged = other.known?.resembles(report) == true
      if hasChanged, former == nil { former = other }
      if let told = other.told, !hasChanged || !isShown { outputs.append(.tell(told.removal())) }
    }
    if let former {
      let place = place(after: former.number - 1)
      if place < order.count, order[place].number == former.number { order[place].uid = uid }
      (entry.number, entry.isActedOn) = (former.number, former.isActedOn)
    }
    return successor
  }

  private mutating func take(_ take: (inout Kept) -> Entry?) -> Entry? {
    let entry = take(&kept)
    size -= entry?.size ?? 0
    return entry
  }

  // MARK: Rules

  /// The rules have changed: removes notifications that they hide now, and fetches those that they no longer hide, or
  /// can't judge without more attributes.
  mutating func rulesChanged(_ judge: NotificationJudge) {
    kept.sort()
    for place in order {
      guard let entry = entry(at: place), var report = entry.known else { continue }
      let judgement = judge(entry.event, report.attributes)
      let isLive = kept.entries[place.number] == nil
      let hasChanged = judgement.standing != report.standing
      switch entry.state {
      case .told where isLive && !judgement.isFinal,
        .hidden where isLive && (hasChanged || !judgement.isFinal):
        outputs.append(.fetch(place.uid))
      case .told(let told) where hasChanged:
        report.standing = judgement.standing
        if judgement.standing == .hidden {
          outputs.append(.tell(told.removal()))
        } else if isLive {
          report.event.change = .modified
          outputs.append(.tell(report))
        }
        let state: State = judgement.standing == .hidden ? .hidden(report) : .told(report)
        if isLive { live[place.uid]?.state = state } else { kept.change(place.number, to: state) }
      // Without its phone it is judged again when the phone tells it again.
      case .untold, .told, .hidden: break
      }
    }
  }

  // MARK: Limits

  private mutating func makeSpace() {
    while count > NotificationLimits.notifications || size > NotificationLimits.bytes,
      let oldest = order.popFirst()
    {
      guard let entry = entry(at: oldest) else { continue }
      if live[oldest.uid]?.number == oldest.number {
        live[oldest.uid] = nil
        outputs.append(.drop(oldest.uid))
      } else {
        kept.remove(oldest)
      }
      forget(entry)
      if let told = entry.told { outputs.append(.tell(told.removal())) }
      isIncomplete = true
    }
  }

  private mutating func forget(_ entry: Entry) {
    size -= entry.size
    if case .untold = entry.state { untold -= 1 }
  }

  // MARK: Kept notifications

  /// How a notification is recognised in another session.
  private enum Identity: Hashable {
    case contents(ContentSignature)
    case uid(NotificationUID, Category, title: String?)

    init(_ report: NotificationReport) {
      self =
        ContentSignature(report.attributes).map(Self.contents)
        ?? .uid(report.event.uid, report.event.category, title: report.attributes.title)
    }
  }

  /// The stale notifications of ended sessions, indexed by identity.
  private struct Kept: Sendable {
    /// Those of the last session, unsorted. They are indexed when the next session first looks one up.
    private var last: [NotificationUID: Entry] = [:]
    /// The others, by their numbers.
    private(set) var entries: [UInt64: Entry] = [:]
    /// Their numbers, oldest first, by identity, which may occur twice.
    private var groups: [Identity: [UInt64]] = [:]
    /// The latest one with each UID.
    private var latest: [NotificationUID: UInt64] = [:]

    @inline(__always) var count: Int { last.count + entries.count }

    subscript(place: Place) -> Entry? {
      if let entry = last[place.uid], entry.number == place.number { return entry.stale }
      return entries[place.number]
    }

    /// Adds the notifications of a session that has ended.
    mutating func add(_ session: [NotificationUID: Entry]) {
      sort()
      last = session
    }

    /// Indexes those of the last session.
    mutating func sort() {
      for entry in last.values.sorted(by: { $0.number < $1.number }) {
        guard let report = entry.known else { continue }
        entries[entry.number] = entry.stale
        groups[Identity(report), default: []].append(entry.number)
        latest[report.event.uid] = entry.number
      }
      last = [:]
    }

    mutating func change(_ number: UInt64, to state: State) { entries[number]?.state = state }

    /// Removes and returns the matching one; of several, the one with the same UID.
    mutating func take(like report: NotificationReport) -> Entry? {
      sort()
      guard let group = groups[Identity(report)] else { return nil }
      let same = group.first { entries[$0]?.event.uid == report.event.uid }
      return (same ?? group.first).flatMap { remove($0) }
    }

    mutating func take(_ uid: NotificationUID) -> Entry? {
      sort()
      return latest[uid].flatMap { remove($0) }
    }

    mutating func remove(_ place: Place) {
      if last[place.uid]?.number == place.number {
        last[place.uid] = nil
      } else {
        remove(place.number)
      }
    }

    @discardableResult private mutating func remove(_ number: UInt64) -> Entry? {
      guard let entry = entries.removeValue(forKey: number), let report = entry.known else {
        return nil
      }
      let identity = Identity(report)
      groups[identity]?.removeAll { $0 == number }
      if groups[identity]?.isEmpty == true { groups[identity] = nil }
      if latest[report.event.uid] == number { latest[report.event.uid] = nil }
      return entry
    }
  }
}

extension NotificationReport {
  /// Its removal, with what clients know about it: the app, the title, and its standing.
  ///
  /// - Parameter event: the phone's event; nil if there was none.
  fileprivate func removal(_ event: NotificationEvent? = nil) -> NotificationReport {
    var removal = NotificationReport(event ?? self.event)
    removal.event.change = .removed
    removal.attributes[.appIdentifier] = attributes.appIdentifier
    removal.attributes[.title] = attributes.title
    (removal.app, removal.standing, removal.isStale) = (app, standing, isStale)
    return removal
  }

  /// Fills in earlier data for what could not be fetched now.
  fileprivate mutating func complete(_ known: NotificationReport) {
    var attributes = known.attributes
    attributes.merge(self.attributes)
    (self.attributes, app, standing) = (attributes, app ?? known.app, known.standing)
  }

  /// Whether it says only what clients already know.
  fileprivate func says(_ told: NotificationReport) -> Bool {
    attributes == told.attributes && event.flags == told.event.flags
      && event.category == told.event.category && standing == told.standing
      && failure == told.failure
  }

  /// Whether it is from the same app and of the same kind.
  fileprivate func resembles(_ other: NotificationReport) -> Bool {
    attributes.appIdentifier == other.attributes.appIdentifier
      && event.category == other.event.category
  }
}
