// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import TerminalScreen
import Wire

/// The state of the screen of `ancsd tui`.
///
///     daemon's responses, events ──┐
///     keys ────────────────────────┼─▶ Dashboard ─▶ DashboardView ─▶ rows
///     responses of the phone ──────┤       └─▶ requests for the phone
///     time ────────────────────────┘
///
/// It uses no terminal and no socket. Times are arguments.
struct Dashboard {
  /// The daemon.
  enum Daemon {
    /// Not reached yet.
    case sought
    /// Not reachable, for this reason.
    case away(String)
    /// Its latest status.
    case present(StatusReport)
  }

  /// Identifies a notification: UIDs belong to a phone and a session.
  struct ID: Hashable {
    var phone: Address?
    var uid: NotificationUID
  }

  /// Identifies a notification across a change of its UID, in another session of its phone or after a restart of the
  /// daemon.
  struct Likeness: Hashable {
    var phone: Address?
    var app: String?
    var date: CivilTime?
    var title: String?
  }

  /// The notification that was chosen for keys to act on.
  struct Selection: Hashable {
    /// Nil: it is absent now; it is selected again when it returns.
    var id: ID?
    var likeness: Likeness

    /// The same in this list: by its identity, or else another one that is alike.
    func found(in list: [ActiveNotification]) -> Selection {
      let found = list.first { $0.id == id } ?? list.last { $0.likeness == likeness }
      return found?.asSelection ?? Selection(likeness: likeness)
    }
  }

  /// What the middle of the screen shows.
  enum Page {
    case list
    case opened(Opened)
    /// The keys.
    case help
    /// The player's keys.
    case player
  }

  /// A notification that is shown in full.
  struct Opened {
    enum Presence { case there, removed, away }
    var notification: ActiveNotification
    /// Whether the phone has it, has removed it, or its UID is unknown because the daemon has exited.
    var presence = Presence.there

    var removed: Opened { Opened(notification: notification, presence: .removed) }
    var away: Opened { Opened(notification: notification, presence: .away) }
  }

  /// The search for notifications by their texts.
  struct Search: Equatable {
    /// Empty: everything is found.
    var text = ""
    /// What Escape goes back to while the text is being typed; nil: it is not.
    var before: String?
  }

  /// The part of the list that is shown.
  enum Part: Hashable {
    case app(String)
    case category(ANCS.Category)
  }

  /// A message at the bottom.
  struct Note: Equatable {
    var text: String
    var paint: Paint
    /// When it disappears; nil: at the next key, or at the response that it waits for.
    var until: Instant?
    /// What it explains: it disappears as soon as that is over.
    var obstacle: Obstacle?
  }

  /// Why keys have no effect for as long as the list is in this state.
  enum Obstacle: String {
    case incomplete = "the list is not complete yet: wait until everything is fetched again"
    case missing = "the selected notification is gone: select another"
  }

  /// A request to the phone, which a key or the passing of time has caused.
  enum Request: Hashable {
    case act(NotificationAction, ID)
    /// The notification in full.
    case show(ID)
    case media(RemoteCommand, phone: Address?)

    /// Whether it changes something on the phone.
    var changesPhone: Bool { if case .show = self { false } else { true } }
  }

  /// What rings the terminal's bell when it arrives.
  enum Bell: String, CaseIterable {
    case calls, all, never
  }

  /// The extent of the last rendered body.
  struct Extent: Hashable {
    var rows = 1
    /// The maximum scroll position in rows.
    var lastScroll = 0
    /// The number of notifications in the list.
    var entries = 1
    /// The number of rows above the body.
    var top = 0
    /// For each row of the list, the index of its notification in `found`.
    var places: [Int] = []
  }

  var size: Screen.Size
  var extent = Extent()
  let bell: Bell
  private(set) var daemon = Daemon.sought
  /// In the order of their arrival.
  private(set) var notifications: [ActiveNotification] = []
  /// The media state, whose position refers to this program's clock, and its phone.
  private(set) var playing: (phone: Address?, state: MediaState)?
  /// Whether the list is complete, as far as the daemon has reported; not while a restarted daemon is fetching.
  private(set) var isWhole = true
  /// The time since which nothing is left to fetch, while `isWhole` is false.
  private var settledSince: Instant?
  /// Nil: the notification at the top, whichever that is.
  var selection: Selection? { didSet { if selection == nil { fresh = [] } } }
  /// Those that have come while the selection was not at the top.
  var fresh: Set<ID> = []
  /// The marked notifications, which the next action applies to.
  var marked: Set<ID> = []
  var pending: [Pending] = []
  var page = Page.list
  /// By how many rows the page is scrolled; the list is not, because it follows the selection.
  var scroll = 0
  var search = Search()
  /// The part of the list that is shown; nil: all.
  var only: Part?
  var note: Note?
  /// The message at the bottom, unless what it explains is over.
  var currentNote: Note? {
    note.flatMap { $0.obstacle == nil || $0.obstacle == obstacle ? $0 : nil }
  }
  /// When the list last moved by itself.
  private(set) var moved: Instant?
  /// The notifications that were acted on, whose removal is expected.
  var acted: Set<ID> = []
  /// The requests that are not sent yet.
  var requests: [Request] = []
  /// The number of requests that change something on the phone, and have no response yet.
  var underWay = 0
  /// How often the user has quit.
  var quits = 0
  /// Whether it ends: once what was begun has its response, or if the user has quit again.
  var isOver: Bool { quits > 1 || quits == 1 && underWay == 0 && pending.isEmpty }
  /// Whether the bell should ring.
  private var isToRing = false
  /// When the latest input arrived.
  var now: Instant

  init(size: Screen.Size, bell: Bell = .calls, now: Instant = .zero) {
    self.size = size
    self.bell = bell
    self.now = now
  }

  /// Changes what the middle of the screen shows.
  mutating func show(_ page: Page) { (self.page, scroll) = (page, 0) }

  // MARK: The daemon

  /// The daemon can't be reached: its last state is obsolete, and its UIDs are meaningless from now on.
  mutating func lose(_ why: String) {
    if case .present = daemon {
      note = pending.isEmpty ? nil : Note(text: "not done: \(pending[0].words)", paint: .bad)
    }
    daemon = .away(why)
    isWhole = false
    settledSince = nil
    selection?.id = nil
    if case .opened(let opened) = page, opened.presence == .there { page = .opened(opened.away) }
    (notifications, marked, acted, pending, playing) = ([], [], [], [], nil)
  }

  mutating func update(_ status: StatusReport, at now: Instant) {
    self.now = now
    daemon = .present(status)
    if status.links.isEmpty { playing = nil }
    guard !isWhole else { return }
    // The phone announces its notifications after the subscription: the list is complete once nothing has been left to
    // fetch for a while.
    guard status.isSubscribed, !status.isFetching else { return settledSince = nil }
    if let settledSince, now - settledSince >= Self.settlingTime { isWhole = true }
    settledSince = settledSince ?? now
  }

  /// How long nothing must be left to fetch before the list counts as complete.
  static let settlingTime = Duration.seconds(1)

  /// Whether to poll the daemon for its backlog.
  var isFetching: Bool {
    guard case .present(let status) = daemon else { return false }
    return status.isFetching || status.isSubscribed && !isWhole
  }

  /// Replaces the list of active notifications.
  mutating func replace(_ list: [ActiveNotification], at now: Instant) {
    self.now = now
    let likenesses = Dictionary(list.map { ($0.id, $0.likeness) }) { $1 }
    let gone = Set(notifications.filter { likenesses[$0.id] != $0.likeness }.map(\.id))
    change { dashboard in
      dashboard.notifications = list
      if let id = dashboard.selection?.id, gone.contains(id) { dashboard.selection?.id = nil }
    }
    if let selectedID, gone.contains(selectedID) { moved = now }
    withdraw(gone)
  }

  /// Handles an event; returns what it makes out of date.
  @discardableResult mutating func receive(
    _ event: Event, at now: Instant
  ) -> EventName.Outdated {
    self.now = now
    switch event.content {
    case .notification(let report):
      receive(ActiveNotification(report, adapter: event.adapter, phone: event.phone))
      // It belongs to a burst; the daemon knows how many are left.
      if !isFetching, report.event.flags.contains(.preExisting) { return .status }
    case .media(var state, _):
      if let seconds = state.player.position?.seconds {
        state.player.position = MediaState.Position(seconds: seconds, instant: now)
      }
      playing = (event.phone, state)
    case .disconnected: say(event.sentence, .attention)
    case .stale, .pairing, .error, .lost, .pairingFailed:
      say(event.sentence, .attention, for: .seconds(30))
    case .paired: say(event.sentence, .good)
    default: break
    }
    return event.name.outdates
  }

  private mutating func receive(_ news: ActiveNotification) {
    let isRemoved = news.report.event.change == .removed
    let place = notifications.lastIndex { $0.id == news.id }
    // In the phone's next session it is another one's number.
    let isAnother = place.map { notifications[$0] }.map { $0.report.isStale && $0.likeness != news.likeness } ?? false
    let isGone = isRemoved || isAnother
    if news.report.isNews {
      let isCall = news.report.event.category == .incomingCall
      if bell == .all || bell == .calls && isCall { isToRing = true }
      if selection != nil { fresh.insert(news.id) }
    }
    if isGone {
      if let place { change { $0.remove(at: place) } }
      withdraw([news.id])
    }
    if isRemoved { return }
    change { if let place, !isGone { $0.notifications[place] = news } else { $0.notifications.append(news) } }
    guard case .opened(let opened) = page else { return }
    let isIt = opened.presence == .there && opened.notification.id == news.id
    let isAlike = opened.presence == .away && opened.notification.likeness == news.likeness
    if isIt || isAlike { page = .opened(Opened(notification: news)) }
  }

  /// These are gone: what the user has chosen or begun does not concern others with their numbers.
  private mutating func withdraw(_ gone: Set<ID>) {
    marked.subtract(gone)
    acted.subtract(gone)
    for place in pending.indices { pending[place].targets.removeAll(where: gone.contains) }
    pending.removeAll { $0.targets.isEmpty }
    guard case .opened(let opened) = page, opened.presence == .there, gone.contains(opened.notification.id)
    else { return }
    let match = notifications.first { $0.likeness == opened.notification.likeness }
    page = .opened(match.map { Opened(notification: $0) } ?? opened.removed)
  }

  /// Whether to ring the bell now; resets that.
  mutating func takeBell() -> Bool {
    defer { isToRing = false }
    return isToRing
  }

  /// Whether the screen changes with time, because something is playing.
  var isMoving: Bool {
    guard let state = playing?.state, let playback = state.player.state else { return false }
    return playback != .paused && state.player.position != nil
  }

  // MARK: Notifications

  /// Whether not all notifications are shown.
  var isNarrowed: Bool { only != nil || search != Search() }

  /// What the search and the filter leave: ringing calls, then the others, newest first.
  var found: [ActiveNotification] {
    let wanted = search.text.isEmpty ? nil : Glob("*\(search.text)*")
    var (ringing, others): ([ActiveNotification], [ActiveNotification]) = ([], [])
    for one in notifications.reversed() where one.report.isIn(only) && (wanted.map(one.report.contains) ?? true) {
      if one.report.rings { ringing.append(one) } else { others.append(one) }
    }
    return ringing.isEmpty ? others : ringing + others
  }

  /// The ringing call, the newest if there are several.
  var call: ActiveNotification? { notifications.last { $0.report.rings && !isPending($0.id) } }

  /// The index of the selection in `found`; nil if that is empty, or the selection is absent.
  func selected(among found: [ActiveNotification]) -> Int? {
    guard let selection else { return found.isEmpty ? nil : 0 }
    return found.firstIndex { $0.id == selection.id }
  }

  /// The selected notification; without a search, found without building the whole list.
  private var selectedID: ID? {
    guard selection == nil else { return selection?.id }
    return isNarrowed ? found.first?.id : (notifications.last { $0.report.rings } ?? notifications.last)?.id
  }

  /// Changes the list; the selection stays with its notification.
  private mutating func change(_ change: (inout Dashboard) -> Void) {
    let before = selectedID
    change(&self)
    selection = selection?.found(in: notifications)
    guard let before, before != selectedID else { return }
    if acted.remove(before) == nil { moved = now }
  }

  /// Removes a notification. If it was selected, the one that takes its place is, unless it is there under another UID, or
  /// its phone has reconnected and may announce it again.
  private mutating func remove(at place: Int) {
    let gone = notifications[place]
    let isThere = notifications.contains { $0.id != gone.id && $0.likeness == gone.likeness }
    if selection?.id == gone.id, !isThere, !gone.report.isStale {
      selection = successor(of: gone.id, without: [gone.id])
    }
    notifications.remove(at: place)
  }

  /// The selection of what takes the place of a notification, among those that stay.
  func successor(of id: ID, without going: Set<ID>) -> Selection? {
    let found = self.found
    guard let place = found.firstIndex(where: { $0.id == id }) else { return nil }
    let below = found[place...].first { !going.contains($0.id) && !isPending($0.id) }
    let above = found[..<place].last { !going.contains($0.id) && !isPending($0.id) }
    return (below ?? above)?.asSelection
  }
}

extension StatusReport {
  /// Whether a phone's notifications are subscribed to.
  fileprivate var isSubscribed: Bool { links.contains { $0.services.contains(.ancs) } }

  /// Whether accessible notifications are left to fetch.
  fileprivate var isFetching: Bool {
    links.contains { $0.backlog > 0 && $0.authorization != .refused }
  }
}

extension ActiveNotification {
  /// Its identity.
  var id: Dashboard.ID { Dashboard.ID(phone: phone, uid: report.event.uid) }

  var likeness: Dashboard.Likeness {
    Dashboard.Likeness(
      phone: phone, app: report.attributes.appIdentifier ?? report.app,
      date: report.attributes.date, title: report.attributes.title)
  }

  var asSelection: Dashboard.Selection { Dashboard.Selection(id: id, likeness: likeness) }
}

extension NotificationReport {
  /// Whether it is a ringing call.
  fileprivate var rings: Bool { event.category == .incomingCall && !isStale }

  /// Whether it is new, rather than told again.
  fileprivate var isNews: Bool {
    event.change == .added && !isRepeat && !isStale && !event.flags.contains(.preExisting)
  }

  /// What its app is known by.
  var appIdentity: String { attributes.appIdentifier ?? app ?? "" }

  fileprivate func isIn(_ part: Dashboard.Part?) -> Bool {
    switch part {
    case nil: true
    case .app(let app): appIdentity == app
    case .category(let category): event.category == category
    }
  }

  /// Whether one of its texts matches.
  fileprivate func contains(_ wanted: Glob) -> Bool {
    [
      app, attributes.appIdentifier, attributes.title, attributes.subtitle, attributes.message,
      event.category.description,
    ].contains { $0.map(wanted.matches) ?? false }
  }
}
