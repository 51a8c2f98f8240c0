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
///     answers of the phone ────────┘       └─▶ effects: requests for the phone, the end
///
/// It knows no terminal and no socket. Times are arguments.
struct Dashboard {
  /// The daemon.
  enum Daemon {
    /// It can't be reached, for this reason.
    case away(String)
    /// Its latest status.
    case present(StatusReport)
  }

  /// Which notification is meant: numbers are the phone's own.
  struct ID: Hashable {
    var phone: Address?
    var uid: NotificationUID
  }

  /// The notification that keys act on.
  enum Selection: Hashable {
    /// The one at the top, whichever that is.
    case newest
    case chosen(ID)
  }

  /// What the middle of the screen shows.
  enum Page {
    case list
    case opened(Opened)
    /// The keys. It is scrolled by so many rows.
    case help(scroll: Int)
  }

  /// A notification that is shown in full.
  struct Opened {
    var notification: ActiveNotification
    /// Whether the phone has removed it meanwhile.
    var isGone = false
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

  /// Something that is said once, at the bottom.
  struct Note: Equatable {
    var text: String
    var paint: Paint
  }

  /// What the phone is asked for.
  enum Request: Hashable {
    case act(NotificationAction, ID)
    /// All about the notification.
    case show(ID)
    case media(RemoteCommand, phone: Address?)
  }

  /// What follows from a key.
  enum Effect: Hashable {
    case request(Request)
    case quit
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
  }

  var size: Screen.Size
  var extent = Extent()
  private(set) var daemon = Daemon.away("connecting…")
  /// In the order of their arrival.
  private(set) var notifications: [ActiveNotification] = []
  private(set) var playing: Playing?
  var selection = Selection.newest
  var page = Page.list
  var search = Search.none
  var note: Note?
  /// When the list last moved below the user's fingers.
  private var moved: Instant?
  /// What was acted on: that it goes is no surprise.
  private var acted: Set<ID> = []

  init(size: Screen.Size) { self.size = size }

  // MARK: The daemon

  /// The daemon can't be reached. What it said is not true any more.
  mutating func lose(_ why: String) {
    daemon = .away(why)
    notifications = []
    playing = nil
  }

  mutating func update(_ status: StatusReport) {
    daemon = .present(status)
    if status.links.isEmpty { playing = nil }
  }

  /// Takes the list of all that is active.
  mutating func replace(_ list: [ActiveNotification], at now: Instant) {
    var successor: Selection?
    if case .chosen(let id) = selection, !list.contains(where: { $0.id == id }) {
      successor = .newest
    }
    change(at: now, successor: successor) { $0 = list }
  }

  /// Takes an event; returns what it makes out of date.
  @discardableResult mutating func receive(_ event: Event, at now: Instant) -> Outdated {
    switch event.content {
    case .notification(let report):
      receive(ActiveNotification(report, adapter: event.adapter, phone: event.phone), at: now)
      return []
    case .media(var state, _):
      if let seconds = state.player.position?.seconds {
        state.player.position = MediaState.Position(seconds: seconds, instant: now)
      }
      playing = Playing(phone: event.phone, state: state)
      return []
    case .disconnected:
      note = Note(text: event.sentence, paint: .attention)
      return [.status, .notifications]
    case .stale, .pairing, .error, .lost, .pairingFailed:
      note = Note(text: event.sentence, paint: .attention)
      return .status
    case .paired:
      note = Note(text: event.sentence, paint: .good)
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
    change(at: now, successor: isRemoved ? successor(of: news.id) : nil) { notifications in
      switch (isRemoved, place) {
      case (true, let place?): notifications.remove(at: place)
      case (true, nil): break
      case (false, let place?): notifications[place] = news
      case (false, nil): notifications.append(news)
      }
    }
    guard case .opened(var opened) = page, opened.notification.id == news.id else { return }
    if isRemoved {
      opened.isGone = true
    } else {
      opened.notification = news
    }
    page = .opened(opened)
  }

  /// Whether the picture changes with time: something plays.
  var isMoving: Bool {
    guard let state = playing?.state, let playback = state.player.state else { return false }
    return playback != .paused && state.player.position != nil
  }

  // MARK: Notifications

  /// Those that the search finds, the newest first.
  var found: [ActiveNotification] {
    let all = notifications.reversed()
    guard !search.text.isEmpty else { return Array(all) }
    let wanted = Glob("*\(search.text)*")
    return all.filter { $0.report.contains(wanted) }
  }

  /// The place of the selection among `found`; nil where nothing is.
  func selected(among found: [ActiveNotification]) -> Int? {
    guard !found.isEmpty else { return nil }
    guard case .chosen(let id) = selection else { return 0 }
    return found.firstIndex { $0.id == id } ?? 0
  }

  /// What is selected: without a search, found without looking at all of them.
  private var selectedID: ID? {
    if case .chosen(let id) = selection { return id }
    return search.text.isEmpty ? notifications.last?.id : found.first?.id
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

  /// What is selected once this one goes: the one that takes its place; nil: what was.
  private func successor(of id: ID) -> Selection? {
    guard selection == .chosen(id) else { return nil }
    let found = self.found
    guard found.count > 1, let place = found.firstIndex(where: { $0.id == id }) else {
      return .newest
    }
    return .chosen(found[place + 1 < found.count ? place + 1 : place - 1].id)
  }

  /// How long after the list has moved by itself keys do not act on it: what the user has seen and what is
  /// selected may be two things.
  private static let caution = Duration.milliseconds(700)

  /// The request for an action on a notification, if it has the action.
  mutating func act(
    _ action: NotificationAction, on target: ActiveNotification, at now: Instant
  ) -> Effect? {
    if case .list = page, let moved, now - moved < Self.caution {
      note = Note(text: "the list has just moved: press it again", paint: .attention)
      return nil
    }
    guard target.report.has(action) else {
      note = Note(
        text: "#\(target.id.uid) has no \(action) action", paint: .attention)
      return nil
    }
    acted.insert(target.id)
    return ask(
      .act(action, target.id),
      "#\(target.id.uid): \(target.report.label(of: action) ?? "\(action)")…")
  }

  // MARK: Requests

  /// A request, and what is said until it is answered.
  mutating func ask(_ request: Request, _ text: String) -> Effect {
    note = Note(text: text, paint: .faint)
    return .request(request)
  }

  /// The phone has done what was asked; for `show`, it is here.
  mutating func answered(_ request: Request, with notification: ActiveNotification? = nil) {
    note = nil
    guard let notification, case .opened(var opened) = page,
      opened.notification.id == notification.id
    else { return }
    opened.notification = notification
    page = .opened(opened)
  }

  /// It was not done.
  mutating func failed(_ request: Request, _ failure: Failure) {
    if case .act(_, let id) = request { acted.remove(id) }
    note = Note(text: failure.sentence, paint: .bad)
  }
}

extension ActiveNotification {
  /// Which one it is.
  var id: Dashboard.ID { Dashboard.ID(phone: phone, uid: report.event.uid) }
}

extension NotificationReport {
  /// Whether one of its texts matches.
  fileprivate func contains(_ wanted: Glob) -> Bool {
    [
      app, attributes.appIdentifier, attributes.title, attributes.subtitle, attributes.message,
      event.category.description,
    ].contains { $0.map(wanted.matches) ?? false }
  }
}
