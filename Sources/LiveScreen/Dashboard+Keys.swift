// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import TerminalScreen
import Wire

extension Dashboard {
  /// A key was pressed; returns what has to be done.
  @discardableResult mutating func press(_ key: Key, at now: Instant) -> [Request] {
    (note, self.now) = (nil, now)
    if search.before != nil {
      type(key)
    } else if case .click(let row) = key {
      click(row)
    } else if let binding = binding(of: key) {
      binding.perform(&self)
    } else {
      say("this key does nothing; ? shows those that do", .faint)
    }
    return takeRequests()
  }

  private func binding(of key: Key) -> KeyBinding? {
    var bindings = KeyBinding.all
    if case .player = page { bindings = KeyBinding.player + bindings }
    return bindings.first { $0.keys.contains(key) }
  }

  /// Selects what was drawn in this row of the window.
  private mutating func click(_ row: Int) {
    guard case .list = page, extent.places.indices.contains(row - extent.top) else { return }
    let (found, place) = (self.found, extent.places[row - extent.top])
    if found.indices.contains(place) { selection = found[place].asSelection }
  }

  /// Shows the selected notification in full.
  fileprivate mutating func openSelected() {
    guard case .list = page, let target else { return }
    open(target)
  }

  private mutating func open(_ notification: ActiveNotification) {
    selection = notification.asSelection
    show(.opened(Opened(notification: notification)))
    send(.show(notification.id))
  }

  fileprivate mutating func beginSearch() {
    show(.list)
    search = Search(before: search.text)
  }

  /// Shows only the selection's part of the list, or all again if it shows that part.
  fileprivate mutating func showOnly(_ part: (NotificationReport) -> Part) {
    guard case .list = page, let target else { return }
    selection = target.asSelection
    only = only == part(target.report) ? nil : part(target.report)
  }

  /// Back to the list; in the list, clears the marks first, then the filter and then the search.
  fileprivate mutating func goBack() {
    guard case .list = page else { return show(.list) }
    guard marked.isEmpty else { return marked = [] }
    // The list grows around the selection.
    if isNarrowed, let target { selection = target.asSelection }
    if only != nil { only = nil } else { search = Search() }
  }

  /// Goes to the next or previous notification, and shows it in full if one is.
  fileprivate mutating func goTo(_ step: Int) {
    guard case .opened(let opened) = page else { return move(by: step) }
    let found = self.found
    let place = found.firstIndex { $0.id == opened.notification.id }.map { $0 + step }
    if let place, found.indices.contains(place) { open(found[place]) }
  }

  /// To the ringing call from any page; otherwise to the top.
  fileprivate mutating func goToFirst() {
    if call != nil {
      show(.list)
      (search, only) = (Search(), nil)
    }
    move(by: -Self.anyDistance)
  }

  /// The size of a page; one line stays visible.
  fileprivate var pageSize: Int {
    if case .list = page { return max(1, extent.entries - 1) }
    return max(1, extent.rows - 1)
  }

  fileprivate var halfPage: Int { max(1, pageSize / 2) }

  /// Farther than any list is long.
  fileprivate static let anyDistance = Int.max / 2

  /// Moves the selection, or scrolls the text.
  fileprivate mutating func move(by distance: Int) {
    func moved(_ place: Int, to last: Int) -> Int { min(max(0, place + distance), max(0, last)) }
    guard case .list = page else { return scroll = moved(scroll, to: extent.lastScroll) }
    let found = self.found
    guard !found.isEmpty else { return }
    // If the selected notification is gone, the first key selects the top one.
    let next = selected(among: found).map { moved($0, to: found.count - 1) } ?? 0
    selection = distance == -Self.anyDistance ? nil : found[next].asSelection
    if !fresh.isEmpty { fresh.subtract(found[next...].map(\.id)) }
  }

  /// Goes to the next or previous match, wrapping around.
  fileprivate mutating func goToMatch(_ step: Int) {
    show(.list)
    guard !search.text.isEmpty else { return say("no search is active: press /", .attention) }
    let found = self.found
    guard !found.isEmpty else { return }
    let next = selected(among: found).map { ($0 + step + found.count) % found.count } ?? 0
    selection = found[next].asSelection
  }

  /// Toggles the mark of the selection, and moves to the next.
  fileprivate mutating func toggleMark() {
    guard case .list = page, let target else { return }
    if marked.remove(target.id) == nil { marked.insert(target.id) }
    move(by: 1)
    // At the end of the list there is none to go to.
    if selection == nil { selection = target.asSelection }
  }

  /// A key typed into the search, which changes the matches.
  private mutating func type(_ key: Key) {
    switch key {
    case .character(let character): search.text.append(character)
    case .backspace, .delete: search.text = String(search.text.dropLast())
    case .control("u"): search.text = ""
    case .enter: search.before = nil
    case .escape: search = Search(text: search.before ?? "")
    default: break
    }
    // The selection stays if it still matches.
    if selected(among: found) == nil { selection = nil }
  }
}

/// The binding of a key. The tables are also the help pages.
struct KeyBinding: Sendable {
  var keys: [Key]
  /// How the keys are written.
  var name: String
  /// What it does, in the words of the help.
  var title: String
  /// The command that it sends to the player.
  var media: RemoteCommand?
  fileprivate var perform: @Sendable (inout Dashboard) -> Void

  private static func key(
    _ keys: Key..., name: String, _ title: String, _ perform: @escaping @Sendable (inout Dashboard) -> Void
  ) -> KeyBinding { KeyBinding(keys: keys, name: name, title: title, perform: perform) }

  private static func media(_ key: Key, name: String, _ title: String, _ command: RemoteCommand) -> KeyBinding {
    KeyBinding(keys: [key], name: name, title: title, media: command) { $0.control(command) }
  }

  /// The keys of the list and of a notification, in the order of the help.
  static let all: [KeyBinding] = [
    .key(.up, "k", name: "↑ k", "the notification or line above") { $0.move(by: -1) },
    .key(.down, "j", name: "↓ j", "the one below") { $0.move(by: 1) },
    .key(.wheelUp, name: "wheel", "three up") { $0.move(by: -3) },
    .key(.wheelDown, name: "", "or down; a click selects") { $0.move(by: 3) },
    .key(.pageUp, .control("b"), name: "PgUp ^B", "page up") { $0.move(by: -$0.pageSize) },
    .key(.pageDown, .control("f"), name: "PgDn ^F", "page down") { $0.move(by: $0.pageSize) },
    .key(.control("u"), name: "^U", "half a page up") { $0.move(by: -$0.halfPage) },
    .key(.control("d"), name: "^D", "half a page down") { $0.move(by: $0.halfPage) },
    .key(
      .home, "g", name: "Home g",
      "the top one, and follow whatever comes to the top; from any page, the ringing call"
    ) { $0.goToFirst() },
    .key(.end, "G", name: "End G", "the oldest") { $0.move(by: Dashboard.anyDistance) },
    .key(.enter, name: "Enter", "the notification in full") { $0.openSelected() },
    .key("J", name: "J", "the next notification, also from one in full") { $0.goTo(1) },
    .key("K", name: "K", "the one before") { $0.goTo(-1) },
    .key(
      .escape, name: "Esc",
      "back to the list; in the list, clears marks, then a or c, then the search"
    ) { $0.goBack() },
    .key(
      "+", "=", name: "+", "its positive action, as in [+Answer], or that of all marked ones"
    ) { $0.act(.positive) },
    .key(
      "-", .delete, name: "- Del",
      "its negative action, as in [-Clear], or that of all marked ones, after 2 seconds"
    ) { $0.act(.negative) },
    .key("A", name: "A", "answer the ringing call, from any page") { $0.actOnCall(.positive) },
    .key("D", name: "D", "decline it, at once") { $0.actOnCall(.negative) },
    .key("u", name: "u", "undo -, within the 2 seconds") { $0.undo() },
    .key(" ", name: "Space", "mark it and move to the next") { $0.toggleMark() },
    .key("m", name: "m", "the player, and its keys") { $0.show(.player) },
    .key("/", name: "/", "show only those that contain a text") { $0.beginSearch() },
    .key("a", name: "a", "show only those of its app, or all again") { $0.showOnly { .app($0.appIdentity) } },
    .key("c", name: "c", "show only those of its category, or all again") {
      $0.showOnly { .category($0.event.category) }
    },
    .key("n", name: "n", "next match") { $0.goToMatch(1) },
    .key("N", name: "N", "previous match") { $0.goToMatch(-1) },
    .key("?", "h", name: "?", "these keys") { $0.show(.help) },
    .key("q", name: "q", "quit") { $0.leave() },
  ]

  /// The keys of the player, which work only on its page.
  static let player: [KeyBinding] = [
    .media(" ", name: "Space", "play or pause", .togglePlayPause),
    .media("n", name: "n", "next track", .nextTrack),
    .media("p", name: "p", "previous track", .previousTrack),
    .media(".", name: ".", "skip forward", .skipForward),
    .media(",", name: ",", "skip backward", .skipBackward),
    .media("]", name: "]", "louder", .volumeUp),
    .media("[", name: "[", "quieter", .volumeDown),
    .media("r", name: "r", "next repeat mode", .advanceRepeatMode),
    .media("s", name: "s", "next shuffle mode", .advanceShuffleMode),
    .media("l", name: "l", "like the track", .likeTrack),
    .media("d", name: "d", "dislike the track", .dislikeTrack),
    .media("b", name: "b", "bookmark the track", .bookmarkTrack),
    .key(.escape, "m", name: "Esc m", "back to the list") { $0.goBack() },
  ]

  /// The title of a player command.
  static func title(of command: RemoteCommand) -> String {
    player.first { $0.media == command }?.title ?? "\(command)"
  }
}
