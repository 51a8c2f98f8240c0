// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What is known of a phone's notifications, across all its sessions: what clients know, and what is still to be
/// fetched. Everything published, listed, replayed or counted comes from here.
///
///     announced ──▶ pending ──settled──▶ published ──▶ removed by the phone: `removed`
///                      │                  ▲    │
///                   settled          `added`  `removed`
///                      │                  │    ▼      what follows from the rules when it is settled
///                      └────────────────▶ hidden ───▶ removed by the phone: nothing
///
/// A notification waits to be fetched (`FetchLanes`) when it is announced, and again with each change. It is settled once
/// its wanted attributes were fetched, or can't be.
///
/// When a session ends, published and hidden notifications are kept across a short break, as `stale`. A UID is valid
/// only within one session (ANCS specification, Notification Source), so notifications in the next one are recognised
/// by their contents, or by UID if the contents are ambiguous. Those that the phone does not announce again in time are
/// `removed`.
///
/// So no client sees a change or removal of a notification that was never added, and every added notification is
/// eventually removed. The number and size of notifications are limited (`NotificationLimits`). Beyond the limits the
/// oldest are forgotten.
public struct NotificationLedger {
  /// The actions that follow, in order.
  enum Output: Hashable {
    /// Publish this to clients.
    case publish(NotificationReport)
    /// The rule at this index acts on this notification.
    case act(Int, NotificationReport)
  }

  /// What clients know about a notification.
  enum State {
    /// Nothing, because it was not fetched yet.
    case pending
    /// This.
    case published(NotificationReport)
    /// Nothing, because a rule hides it. This was fetched.
    case hidden(NotificationReport)
  }

  struct Entry {
    /// Counts up with each notification. It keeps its number across a break, unless its contents change meanwhile.
    var number: UInt64
    /// The phone's last event for it.
    var event: NotificationEvent
    /// How it waits to be fetched.
    var wait: FetchLanes.Wait?
    var state = State.pending
    /// Whether the rules have acted on it, which they do once.
    var isActedOn = false
    /// Whether something was fetched for one client that was not published to the others.
    var isAhead = false
    /// Its memory size, as last counted.
    var size = NotificationReport.overhead

    var isPending: Bool { if case .pending = state { true } else { false } }

    var published: NotificationReport? {
      if case .published(let report) = state { report } else { nil }
    }

    /// Its fetched data.
    var known: NotificationReport? {
      switch state {
      case .pending: nil
      case .published(let report), .hidden(let report): report
      }
    }

    /// The same while its phone is away, or has not confirmed yet that it still has it.
    var stale: Entry {
      guard case .published(var report) = state else { return self }
      var entry = self
      report.isStale = true
      entry.state = .published(report)
      return entry
    }

    /// The phone has announced it: it waits.
    ///
    /// - Parameter fetching: its lane if it is being fetched now.
    mutating func announced(
      _ event: NotificationEvent, fetching: FetchLanes.Lane?, _ lanes: inout FetchLanes, at now: Instant
    ) {
      self.event = event
      let usual: FetchLanes.Lane = !isPending ? .again : event.flags.contains(.preExisting) ? .preExisting : .new
      let lane = lanes.lane(of: event.uid, usually: usual, fetching: fetching, at: now)
      lanes.add(event.uid, to: &wait, in: lane, onlyIfChanged: fetching != nil, at: now)
    }
  }

  /// A place in the order of arrival. It stays with an invalid number when its notification is removed, so a flood of
  /// removals is cheap.
  struct Place {
    let number: UInt64
    var uid: NotificationUID
  }

  /// The phase of the phone's session.
  private enum Phase {
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
  /// Those that wait to be fetched.
  var lanes = FetchLanes()
  /// The owner's rules.
  private(set) var rules = NotificationRules()
  /// Those of earlier sessions that the phone has not announced again.
  private var kept = KeptNotifications()
  private var order = FIFO<Place>()
  private var lastNumber: UInt64 = 0
  private var pending = 0
  private var phase = Phase.away(until: .zero)
  private var outputs = FIFO<Output>()
  /// Their approximate memory size in bytes.
  public private(set) var size = 0
  /// Whether any was forgotten to keep the limits.
  public private(set) var isIncomplete = false

  /// - Parameter seen: what an earlier run of the daemon published.
  init(seen: SeenContents = .init()) {
    self.seen = seen
    earlier = seen
  }

  /// The next action.
  mutating func nextOutput() -> Output? { outputs.popFirst() }

  // MARK: Queries

  /// The published notifications that arrived after the one with this number, in the order of arrival, each with its
  /// number; numbers begin with 1. Removed notifications leave gaps.
  public func published(
    after number: UInt64 = 0
  ) -> some Sequence<(number: UInt64, report: NotificationReport)> {
    order[place(after: number)...].lazy.compactMap { place in
      entry(at: place)?.published.map { (place.number, $0) }
    }
  }

  /// The number of published notifications in this session.
  public var publishedCount: Int { live.values.count { $0.published != nil } }

  /// The total number.
  public var count: Int { live.count + kept.count }

  /// The phone's last event for a notification of this session.
  func event(of uid: NotificationUID) -> NotificationEvent? { live[uid]?.event }

  /// The fetched data of a notification of this session, whether published or not.
  public subscript(uid: NotificationUID) -> NotificationReport? { live[uid]?.known }

  /// The same; if there is none, that of a stale notification which is listed with this number.
  public func known(_ uid: NotificationUID) -> NotificationReport? {
    self[uid] ?? published().first { $0.report.event.uid == uid }?.report
  }

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
  // Read for every notification; a call would copy the whole ledger.
  @inline(__always) public var deadline: Instant? {
    guard kept.count > 0 else { return nil }
    switch phase {
    case .away(let end): return end
    case .present(let end, let last): return pending > 0 ? end : min(end, last + Self.quiet)
    }
  }

  // MARK: Events from the phone

  /// The phone has announced a notification: added, or modified.
  ///
  /// - Parameter fetching: its lane if it is being fetched now.
  mutating func announced(_ event: NotificationEvent, fetching: FetchLanes.Lane? = nil, at now: Instant) {
    if event.flags.contains(.preExisting) { spoke(at: now) }
    let number = lastNumber + 1
    let count = live.count
    live[event.uid, default: Entry(number: number, event: event)]
      .announced(event, fetching: fetching, &lanes, at: now)
    guard live.count > count else { return }
    lastNumber = number
    pending += 1
    order.append(Place(number: number, uid: event.uid))
    size += NotificationReport.overhead
    makeSpace()
  }

  /// The phone has removed a notification.
  mutating func removed(_ event: NotificationEvent) {
    guard let entry = live.removeValue(forKey: event.uid) else { return }
    forget(entry)
    if let published = entry.published { outputs.append(.publish(published.removal(event))) }
    tidy()
  }

  /// Removes invalid places once they are the majority.
  private mutating func tidy() {
    lanes.sweep(live)
    guard order.count > max(64, 2 * count) else { return }
    let ledger = self
    order.removeAll { ledger.entry(at: $0) == nil }
  }

  // MARK: Fetching

  /// The next notification to fetch, which then no longer waits.
  mutating func nextFetch(at now: Instant) -> Fetch? { lanes.next(from: &live, at: now) }

  /// Whether no other notification waits.
  func hasOnly(_ uid: NotificationUID) -> Bool { lanes.count == (live[uid]?.wait == nil ? 0 : 1) }

  /// A notification whose fetch failed waits again.
  ///
  /// - Parameter before: how it waited for that fetch.
  mutating func retry(_ uid: NotificationUID, after before: FetchLanes.Wait, isUnanswered: Bool, at now: Instant) {
    guard let index = live.index(forKey: uid) else { return }
    // If it is published now, without what the phone did not send, the same is not published again.
    let onlyIfChanged = isUnanswered || live.values[index].wait?.onlyIfChanged ?? before.onlyIfChanged
    lanes.add(
      uid, to: &live.values[index].wait, in: isUnanswered ? .unanswered : .again, hasFailed: true,
      onlyIfChanged: onlyIfChanged, at: now)
  }

  /// A notification whose fetch was interrupted waits before all others.
  mutating func putBack(_ uid: NotificationUID, _ before: FetchLanes.Wait) {
    guard let index = live.index(forKey: uid) else { return }
    lanes.putBack(uid, before, to: &live.values[index].wait)
  }

  /// The wanted attributes of a notification were fetched, or could not be.
  mutating func settle(_ fetch: consuming Fetch, at now: Instant) {
    guard let index = live.index(forKey: fetch.uid) else { return }
    var entry = live.values[index]
    var successor: NotificationReport?
    // (Written only if different, because a write might copy the report.)
    if fetch.report.event.change != .added { fetch.report.event.change = .added }
    switch entry.state {
    case .pending:
      pending -= 1
      spoke(at: now)
      if kept.count > 0 { successor = supersede(by: &entry, &fetch.report) }
    case .published(let published):
      if fetch.hasFailed { fetch.report.complete(published) }
      if fetch.report.display == .hidden {
        outputs.append(.publish(published.removal()))
      } else if fetch.wait.onlyIfChanged, !entry.isAhead, fetch.report.says(published) {
        return
      }
      fetch.report.event.change = .modified
    case .hidden(let known): if fetch.hasFailed { fetch.report.complete(known) }
    }
    let isShown = fetch.report.display != .hidden
    if isShown, let signature = ContentSignature(fetch.report.attributes) {
      if fetch.report.event.change == .added, earlier.contains(signature) {
        (fetch.report.isRepeat, entry.isActedOn) = (true, true)
      }
      seen.insert(signature)
    }
    if isShown { outputs.append(.publish(fetch.report)) }
    if !entry.isActedOn {
      if let rule = fetch.rule { outputs.append(.act(rule, fetch.report)) }
      entry.isActedOn = fetch.rule != nil || isShown && !fetch.hasFailed
    }
    if let successor { outputs.append(.publish(successor)) }
    let before = entry.size
    entry.size = fetch.report.size
    size += entry.size - before
    entry.isAhead = false
    entry.state = isShown ? .published(fetch.report) : .hidden(fetch.report)
    live.values[index] = entry
    makeSpace()
  }

  /// Adds data of a notification that was fetched for a client.
  mutating func complete(_ uid: NotificationUID, with attributes: NotificationAttributes) {
    guard let index = live.index(forKey: uid),
      case .published(var report) = live.values[index].state
    else { return }
    let lacked = !isWhole(report)
    report.attributes.merge(attributes)
    if lacked, isWhole(report) { report.failure = nil }
    size += report.size - live.values[index].size
    live.values[index].size = report.size
    live.values[index].state = .published(report)
    live.values[index].isAhead = true
    makeSpace()
  }

  /// Whether everything wanted of it was fetched.
  private func isWhole(_ report: NotificationReport) -> Bool {
    let wanted = rules.judge(report.event, report.attributes).wanted ?? []
    return wanted.allSatisfy { report.attributes.has($0.id) }
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
  mutating func pass(to now: Instant) { if let deadline, deadline <= now { removeKept() } }

  /// Removes all of them: the phone is forgotten.
  mutating func clear() {
    keep()
    removeKept()
  }

  private mutating func removeKept() {
    kept.sort()
    for (_, entry) in kept.entries.sorted(by: { $0.key < $1.key }) {
      size -= entry.size
      if let published = entry.published { outputs.append(.publish(published.removal())) }
    }
    kept = KeptNotifications()
    tidy()
  }

  /// Keeps the notifications without iterating over them, because this happens when a link is lost.
  private mutating func keep() {
    if pending > 0 { live = live.filter { !$0.value.isPending } }
    size -= pending * NotificationReport.overhead
    kept.add(live)
    (live, pending) = ([:], 0)
    lanes.removeAll()
  }

  /// A settled notification may be one of the kept ones: then it replaces that one, and is published as a repeat. Kept
  /// ones that it supersedes are published as removed.
  ///
  /// - Returns: what to publish after it.
  private mutating func supersede(by entry: inout Entry, _ report: inout NotificationReport) -> NotificationReport? {
    let uid = report.event.uid
    let isShown = report.display != .hidden
    let former = take { $0.take(like: report) }
    var successor: NotificationReport?
    if let published = former?.published {
      report.isRepeat = true
      if !isShown {
        outputs.append(.publish(published.removal()))
      } else if published.event.uid != uid {
        successor = published.removal()
      }
    }
    // With the same app and category, it may only have changed meanwhile, so that it need not be removed; or the phone
    // has used the UID again, so that rules act on it.
    if let published = take({ $0.take(uid) })?.published, !published.resembles(report) || !isShown {
      outputs.append(.publish(published.removal()))
    }
    if let former {
      let place = place(after: former.number - 1)
      if place < order.count, order[place].number == former.number { order[place].uid = uid }
      (entry.number, entry.isActedOn) = (former.number, former.isActedOn)
    }
    return successor
  }

  private mutating func take(_ take: (inout KeptNotifications) -> Entry?) -> Entry? {
    let entry = take(&kept)
    size -= entry?.size ?? 0
    return entry
  }

  // MARK: Rules

  /// The rules have changed: removes notifications that they hide now, and fetches those that they no longer hide, or
  /// can't judge without more attributes.
  mutating func rulesChanged(_ judge: @escaping NotificationJudge, at now: Instant) {
    rules = NotificationRules(judge: judge, version: rules.version + 1)
    kept.sort()
    for place in order {
      guard let entry = entry(at: place), var report = entry.known else { continue }
      let judgement = judge(entry.event, report.attributes)
      let isLive = kept.entries[place.number] == nil
      let hasChanged = judgement.display != report.display
      switch entry.state {
      case .published where isLive && !judgement.isFinal,
        .hidden where isLive && (hasChanged || !judgement.isFinal):
        fetchAgain(place.uid, at: now)
      case .published(let published) where hasChanged:
        report.display = judgement.display
        if judgement.display == .hidden {
          outputs.append(.publish(published.removal()))
        } else if isLive {
          report.event.change = .modified
          outputs.append(.publish(report))
        }
        let state: State = judgement.display == .hidden ? .hidden(report) : .published(report)
        if isLive { live[place.uid]?.state = state } else { kept.change(place.number, to: state) }
      // Without its phone it is judged again when the phone tells it again.
      case .pending, .published, .hidden: break
      }
    }
  }

  /// Has a notification fetched that the phone has said nothing new of: what is known already is not published again.
  private mutating func fetchAgain(_ uid: NotificationUID, at now: Instant) {
    guard let index = live.index(forKey: uid) else { return }
    let onlyIfChanged = live.values[index].wait?.onlyIfChanged ?? true
    lanes.add(uid, to: &live.values[index].wait, in: .again, onlyIfChanged: onlyIfChanged, at: now)
  }

  // MARK: Limits

  private mutating func makeSpace() {
    while count > NotificationLimits.notifications || size > NotificationLimits.bytes,
      let oldest = order.popFirst()
    {
      guard let entry = entry(at: oldest) else { continue }
      if live[oldest.uid]?.number == oldest.number {
        live[oldest.uid] = nil
        forget(entry)
      } else {
        kept.remove(oldest)
        size -= entry.size
      }
      if let published = entry.published { outputs.append(.publish(published.removal())) }
      isIncomplete = true
      lanes.sweep(live)
    }
  }

  /// A notification of this session was removed.
  private mutating func forget(_ entry: Entry) {
    size -= entry.size
    if entry.isPending { pending -= 1 }
    lanes.remove(entry.wait)
  }
}
