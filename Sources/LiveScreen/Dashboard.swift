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
///     responses of the phone ──────┤       └─▶ effects: requests for the phone, the end
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

  /// The notification that keys act on.
  enum Selection: Hashable {
    /// The one at the top, whichever that is.
    case newest
    case chosen(ID)
    /// A selected notification that is absent now; it is selected again when it returns.
    case missing(Likeness)
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

  /// The effect of a key, or of time passing: a request to the phone, or the end.
  enum Effect: Hashable {
    case act(NotificationAction, ID)
    /// The notification in full.
    case show(ID)
    case media(RemoteCommand, phone: Address?)
    /// The end, once the phone has responded to all requests before.
    case finish
    /// The end, at once.
    case quit

    /// Whether it changes something on the phone.
    var changesPhone: Bool {
      switch self {
      case .act, .media: true
      case .show, .finish, .quit: false
      }
    }
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
  var selection = Selection.newest { didSet { if selection == .newest { fresh = [] } } }
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
  /// What the last key or the passing of time has to have done.
  var effects: [Effect] = []
  /// The number of requests that change something on the phone, and have no response yet.
  var underWay = 0
  /// Whether the user wants it to end.
  var isLeaving = false
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
    if case .chosen(let id) = selection { selection = Selection(missing: id, in: notifications) }
    if case .opened(var opened) = page, opened.presence == .there {
      opened.presence = .away
      page = .opened(opened)
    }
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
    var successor: Selection?
    if case .chosen(let id) = selection, !list.contains(where: { $0.id == id }) {
      successor = Selection(missing: id, in: notifications).found(among: list)
    }
    change(successor: successor ?? selection.found(among: list)) { $0 = list }
    marked.formIntersection(list.map(\.id))
  }

  /// Handles an event; returns what it makes out of date.
  @discardableResult mutating func receive(_ event: Event, at now: Instant)
    -> EventName.Outdated
  {
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
    if news.report.isNews {
      let isCall = news.report.event.category == .incomingCall
      if bell == .all || bell == .calls && isCall { isToRing = true }
      if selection != .newest { fresh.insert(news.id) }
    }
    change(successor: isRemoved ? successor(ofRemoved: news.id) : selection.met(by: news)) {
      notifications in
      switch (isRemoved, place) {
      case (true, let place?): notifications.remove(at: place)
      case (true, nil): break
      case (false, let place?): notifications[place] = news
      case (false, nil): notifications.append(news)
      }
    }
    if isRemoved { marked.remove(news.id) }
    guard case .opened(var opened) = page else { return }
    if opened.presence == .away, !isRemoved, opened.notification.likeness == news.likeness {
      opened.notification = news
      opened.presence = .there
    } else if opened.notification.id == news.id, opened.presence == .there {
      if isRemoved {
        let match = notifications.first { $0.likeness == opened.notification.likeness }
        opened.notification = match ?? opened.notification
        opened.presence = match == nil ? .removed : .there
      } else {
        opened.notification = news
      }
    }
    page = .opened(opened)
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
    for one in notifications.reversed()
    where one.report.isIn(only) && (wanted.map(one.report.contains) ?? true) {
      if one.report.rings { ringing.append(one) } else { others.append(one) }
    }
    return ringing.isEmpty ? others : ringing + others
  }

  /// The ringing call, the newest if there are several.
  var call: ActiveNotification? { notifications.last { $0.report.rings && !isPending($0.id) } }

  /// The index of the selection in `found`; nil if that is empty, or the selection is absent.
  func selected(among found: [ActiveNotification]) -> Int? {
    switch selection {
    case .newest: found.isEmpty ? nil : 0
    case .chosen(let id): found.firstIndex { $0.id == id }
    case .missing: nil
    }
  }

  /// The selected notification; without a search, found without building the whole list.
  private var selectedID: ID? {
    switch selection {
    case .chosen(let id): id
    case .missing: nil
    case .newest:
      isNarrowed
        ? found.first?.id : (notifications.last { $0.report.rings } ?? notifications.last)?.id
    }
  }

  /// Changes the list.
  ///
  /// - Parameter successor: the new selection; nil: unchanged.
  private mutating func change(
    successor: Selection?, _ change: (inout [ActiveNotification]) -> Void
  ) {
    let before = selectedID
    change(&notifications)
    if let successor { selection = successor }
    guard let before, before != selectedID else { return }
    if acted.remove(before) == nil { moved = now }
  }

  /// The selection after this one is removed: the same notification under another UID, or else the one that takes its
  /// place; nil: unchanged.
  private func successor(ofRemoved id: ID) -> Selection? {
    guard selection == .chosen(id), let gone = notifications.first(where: { $0.id == id }) else {
      return nil
    }
    if let match = notifications.last(where: { $0.id != id && $0.likeness == gone.likeness }) {
      return .chosen(match.id)
    }
    // Its phone has reconnected, and may announce it again.
    return gone.report.isStale ? .missing(gone.likeness) : successor(of: id, without: [id])
  }

  /// The notification that takes the place of another, among those that stay.
  func successor(of id: ID, without going: Set<ID>) -> Selection {
    let found = self.found
    guard let place = found.firstIndex(where: { $0.id == id }) else { return .newest }
    let below = found[place...].first { !going.contains($0.id) && !isPending($0.id) }
    let above = found[..<place].last { !going.contains($0.id) && !isPending($0.id) }
    return (below ?? above).map { .chosen($0.id) } ?? .newest
  }
}

extension Dashboard.Selection {
  /// The selection of an absent notification.
  init(missing id: Dashboard.ID, in list: [ActiveNotification]) {
    self = list.first { $0.id == id }.map { .missing($0.likeness) } ?? .newest
  }

  /// The selection after a new list: a missing notification is selected again if it is present.
  func found(among list: [ActiveNotification]) -> Self {
    guard case .missing(let likeness) = self else { return self }
    return list.last { $0.likeness == likeness }.map { .chosen($0.id) } ?? self
  }

  /// The same after a single addition; nil: unchanged.
  func met(by news: ActiveNotification) -> Self? {
    self == .missing(news.likeness) ? .chosen(news.id) : nil
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
