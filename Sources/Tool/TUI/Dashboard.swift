// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import TerminalScreen
import Wire

/// What the screen of `ancsd tui` knows, and where its user is in it.
///
///     daemon's answers and events ─┐
///     keys ────────────────────────┼─▶ Dashboard ─▶ DashboardView ─▶ rows
///     answers of the phone ────────┤       └─▶ effects: requests for the phone, the end
///     time ────────────────────────┘
///
/// It knows no terminal and no socket. Times are arguments.
struct Dashboard {
  /// The daemon.
  enum Daemon {
    /// It was not reached yet.
    case sought
    /// It can't be reached, for this reason.
    case away(String)
    /// Its latest status.
    case present(StatusReport)
  }

  /// Which notification is meant: numbers are the phone's own, and those of one session.
  struct ID: Hashable {
    var phone: Address?
    var uid: NotificationUID
  }

  /// What a notification is known by when its number has changed: in another session of its phone, or in another life
  /// of the daemon.
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
    /// One that was chosen and is not here now; it is chosen again when it comes back.
    case missing(Likeness)
  }

  /// What the middle of the screen shows.
  enum Page {
    case list
    case opened(Opened)
    /// The keys. It is scrolled by so many rows.
    case help(scroll: Int)
    /// The player's keys.
    case player(scroll: Int)
  }

  /// A notification that is shown in full.
  struct Opened {
    enum Standing { case there, removed, away }
    var notification: ActiveNotification
    /// Whether the phone has it, has removed it, or its number is not known, because the daemon has left.
    var standing = Standing.there
    var scroll = 0
  }

  /// The search for notifications by their texts.
  enum Search: Equatable {
    case none
    /// It is being typed; Escape goes back to `before`.
    case typing(String, before: String)
    case set(String)

    /// A search that nobody is typing.
    init(_ text: String) { self = text.isEmpty ? .none : .set(text) }

    var text: String {
      switch self {
      case .none: ""
      case .typing(let text, _), .set(let text): text
      }
    }
  }

  /// A message at the bottom.
  struct Note: Equatable {
    var text: String
    var paint: Paint
    /// When it goes; nil: with the next key, or the answer that it waits for.
    var until: Instant?
  }

  /// What the phone is asked for.
  enum Request: Hashable {
    case act(NotificationAction, ID)
    /// All about the notification.
    case show(ID)
    case media(RemoteCommand, phone: Address?)
  }

  /// What follows from a key, or from time.
  enum Effect: Hashable {
    case request(Request)
    case quit
  }

  /// What rings the terminal's bell when it arrives.
  enum Bell: String, CaseIterable {
    case calls, all, never
  }

  /// What has to be asked of the daemon again after an event.
  struct Outdated: OptionSet {
    let rawValue: Int
    static let status = Outdated(rawValue: 1)
    static let notifications = Outdated(rawValue: 2)
  }

  /// What plays, and on which phone.
  struct Playing {
    var phone: Address?
    /// Its position is as of an instant of this program's clock.
    var state: MediaState
  }

  /// The body of the picture that was drawn last.
  struct Extent: Hashable {
    var rows = 1
    /// By how many rows its text can be scrolled.
    var lastScroll = 0
    /// How many notifications the list shows.
    var entries = 1
  }

  var size: Screen.Size
  var extent = Extent()
  let bell: Bell
  private(set) var daemon = Daemon.sought
  /// In the order of their arrival.
  private(set) var notifications: [ActiveNotification] = []
  private(set) var playing: Playing?
  /// Whether all is here that the phones have, as far as the daemon has said: not while it fetches in a new life.
  private(set) var isWhole = true
  /// Since when nothing is left to be fetched, while `isWhole` is not true.
  private var calm: Instant?
  var selection = Selection.newest
  /// Those that the next action is for, if any are.
  var marked: Set<ID> = []
  var pending: [Pending] = []
  var page = Page.list
  var search = Search.none
  var note: Note?
  /// When the list last moved below the user's fingers.
  private(set) var moved: Instant?
  /// What was acted on: that it goes is no surprise.
  var acted: Set<ID> = []
  /// Whether the bell has to be rung.
  private var isToRing = false

  init(size: Screen.Size, bell: Bell = .calls) {
    self.size = size
    self.bell = bell
  }

  // MARK: The daemon

  /// The daemon can't be reached. What it said is not true any more, and its numbers mean nothing from now on.
  mutating func lose(_ why: String) {
    if case .present = daemon {
      note = pending.isEmpty ? nil : Note(text: "not done: \(pending[0].words)", paint: .bad)
    }
    daemon = .away(why)
    isWhole = false
    calm = nil
    if case .chosen(let id) = selection { selection = Selection(missing: id, in: notifications) }
    if case .opened(var opened) = page, opened.standing == .there {
      opened.standing = .away
      page = .opened(opened)
    }
    (notifications, marked, acted, pending, playing) = ([], [], [], [], nil)
  }

  mutating func update(_ status: StatusReport, at now: Instant) {
    daemon = .present(status)
    if status.links.isEmpty { playing = nil }
    guard !isWhole else { return }
    // The phone announces what it has after the subscription: all is there once nothing is left to be fetched for a while.
    guard status.isSubscribed, !status.isFetching else { return calm = nil }
    if let calm, now - calm >= Self.calmTime { isWhole = true }
    calm = calm ?? now
  }

  /// For how long there is nothing to be fetched until all is there.
  static let calmTime = Duration.seconds(1)

  /// Whether the daemon has to be asked again soon how much it still fetches.
  var isFetching: Bool {
    guard case .present(let status) = daemon else { return false }
    return status.isFetching || status.isSubscribed && !isWhole
  }

  /// Takes the list of all that is active.
  mutating func replace(_ list: [ActiveNotification], at now: Instant) {
    var successor: Selection?
    if case .chosen(let id) = selection, !list.contains(where: { $0.id == id }) {
      successor = Selection(missing: id, in: notifications).found(among: list)
    }
    change(at: now, successor: successor ?? selection.found(among: list)) { $0 = list }
    let ids = Set(list.map(\.id))
    marked.formIntersection(ids)
  }

  /// Takes an event; returns what it makes out of date.
  @discardableResult mutating func receive(_ event: Event, at now: Instant) -> Outdated {
    switch event.content {
    case .notification(let report):
      receive(ActiveNotification(report, adapter: event.adapter, phone: event.phone), at: now)
      // It comes of a burst, of which the daemon knows how many are left.
      return !isFetching && report.event.flags.contains(.preExisting) ? .status : []
    case .media(var state, _):
      if let seconds = state.player.position?.seconds {
        state.player.position = MediaState.Position(seconds: seconds, instant: now)
      }
      playing = Playing(phone: event.phone, state: state)
      return []
    case .disconnected:
      say(event.sentence, .attention, at: now)
      return [.status, .notifications]
    case .stale, .pairing, .error, .lost, .pairingFailed:
      say(event.sentence, .attention, at: now, for: .seconds(30))
      return .status
    case .paired:
      say(event.sentence, .good, at: now)
      return .status
    case .incoming, .time: return []
    case .ready, .advertising, .connected, .subscribed, .authorization, .battery, .servicesChanged,
      .why:
      return .status
    }
  }

  private mutating func receive(_ news: ActiveNotification, at now: Instant) {
    let isRemoved = news.report.event.change == .removed
    let place = notifications.lastIndex { $0.id == news.id }
    ring(for: news.report)
    change(at: now, successor: isRemoved ? successor(ofRemoved: news.id) : selection.met(by: news))
    {
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
    if opened.standing == .away, !isRemoved, opened.notification.likeness == news.likeness {
      opened.notification = news
      opened.standing = .there
    } else if opened.notification.id == news.id, opened.standing == .there {
      if isRemoved {
        let twin = notifications.first { $0.likeness == opened.notification.likeness }
        opened.notification = twin ?? opened.notification
        opened.standing = twin == nil ? .removed : .there
      } else {
        opened.notification = news
      }
    }
    page = .opened(opened)
  }

  private mutating func ring(for report: NotificationReport) {
    guard report.event.change == .added, !report.isRepeat, !report.isStale,
      !report.event.flags.contains(.preExisting)
    else { return }
    switch bell {
    case .never: break
    case .calls: if report.event.category == .incomingCall { isToRing = true }
    case .all: isToRing = true
    }
  }

  /// Whether the bell has to be rung now.
  mutating func takeBell() -> Bool {
    defer { isToRing = false }
    return isToRing
  }

  /// Whether the picture changes with time: something plays.
  var isMoving: Bool {
    guard let state = playing?.state, let playback = state.player.state else { return false }
    return playback != .paused && state.player.position != nil
  }

  // MARK: Notifications

  /// Those that the search finds: calls that ring, then the others, the newest first.
  var found: [ActiveNotification] {
    let wanted = search.text.isEmpty ? nil : Glob("*\(search.text)*")
    var (ringing, others): ([ActiveNotification], [ActiveNotification]) = ([], [])
    for one in notifications.reversed() where wanted.map(one.report.contains) ?? true {
      if one.report.rings { ringing.append(one) } else { others.append(one) }
    }
    return ringing.isEmpty ? others : ringing + others
  }

  /// The place of the selection among `found`; nil where nothing is, or what was chosen is not here.
  func selected(among found: [ActiveNotification]) -> Int? {
    switch selection {
    case .newest: found.isEmpty ? nil : 0
    case .chosen(let id): found.firstIndex { $0.id == id }
    case .missing: nil
    }
  }

  /// What is selected: without a search, found without making a list of all of them.
  private var selectedID: ID? {
    switch selection {
    case .chosen(let id): id
    case .missing: nil
    case .newest:
      search.text.isEmpty
        ? (notifications.last { $0.report.rings } ?? notifications.last)?.id : found.first?.id
    }
  }

  /// Changes the list.
  ///
  /// - Parameter successor: what is selected from then on; nil: what was.
  private mutating func change(
    at now: Instant, successor: Selection?, _ change: (inout [ActiveNotification]) -> Void
  ) {
    let before = selectedID
    change(&notifications)
    if let successor { selection = successor }
    guard let before, before != selectedID else { return }
    if acted.remove(before) == nil { moved = now }
  }

  /// What is selected once this one is removed: the same notification under another number; the one that takes its
  /// place, where it is gone; nil: what was.
  private func successor(ofRemoved id: ID) -> Selection? {
    guard selection == .chosen(id), let gone = notifications.first(where: { $0.id == id }) else {
      return nil
    }
    if let twin = notifications.last(where: { $0.id != id && $0.likeness == gone.likeness }) {
      return .chosen(twin.id)
    }
    // Its phone has come back, and may tell of it again.
    return gone.report.isStale ? .missing(gone.likeness) : successor(of: id, without: [id])
  }

  /// What takes the place of a notification, among those that stay.
  func successor(of id: ID, without going: Set<ID>) -> Selection {
    let found = self.found
    guard let place = found.firstIndex(where: { $0.id == id }) else { return .newest }
    let below = found[place...].first { !going.contains($0.id) && !isPending($0.id) }
    let above = found[..<place].last { !going.contains($0.id) && !isPending($0.id) }
    return (below ?? above).map { .chosen($0.id) } ?? .newest
  }
}

extension Dashboard.Selection {
  /// The selection of one that is here no more.
  init(missing id: Dashboard.ID, in list: [ActiveNotification]) {
    self = list.first { $0.id == id }.map { .missing($0.likeness) } ?? .newest
  }

  /// The selection after a list has come: what was missing is chosen where it is there.
  func found(among list: [ActiveNotification]) -> Self {
    guard case .missing(let likeness) = self else { return self }
    return list.last { $0.likeness == likeness }.map { .chosen($0.id) } ?? self
  }

  /// The same after one has come; nil: it does not change.
  func met(by news: ActiveNotification) -> Self? {
    self == .missing(news.likeness) ? .chosen(news.id) : nil
  }
}

extension StatusReport {
  /// Whether the notifications of a phone come.
  fileprivate var isSubscribed: Bool { links.contains { $0.services.contains(.ancs) } }

  /// Whether notifications are left to be fetched that their phone lets be read.
  fileprivate var isFetching: Bool {
    links.contains { $0.backlog > 0 && $0.authorization != .refused }
  }
}

extension ActiveNotification {
  /// Which one it is.
  var id: Dashboard.ID { Dashboard.ID(phone: phone, uid: report.event.uid) }

  var likeness: Dashboard.Likeness {
    Dashboard.Likeness(
      phone: phone, app: report.attributes.appIdentifier ?? report.app,
      date: report.attributes.date, title: report.attributes.title)
  }
}

extension NotificationReport {
  /// Whether somebody calls now.
  fileprivate var rings: Bool { event.category == .incomingCall && !isStale }

  /// Whether one of its texts matches.
  fileprivate func contains(_ wanted: Glob) -> Bool {
    [
      app, attributes.appIdentifier, attributes.title, attributes.subtitle, attributes.message,
      event.category.description,
    ].contains { $0.map(wanted.matches) ?? false }
  }
}
