// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import TerminalScreen
import Wire

/// What a key does. The table below is also the page of help.
struct KeyBinding {
  /// What it does.
  enum Command: Hashable {
    case up, down, pageUp, pageDown, first, last
    case open, back
    case act(NotificationAction)
    case media(RemoteCommand)
    case search, help, quit
  }

  var keys: [Key]
  /// How the keys are written.
  var name: String
  var command: Command
  /// What it does, in the words of the help.
  var title: String

  init(_ keys: [Key], _ name: String, _ command: Command, _ title: String) {
    self.keys = keys
    self.name = name
    self.command = command
    self.title = title
  }

  /// All keys, in the order of the help.
  static let all: [KeyBinding] = [
    .init([.up, .character("k")], "↑ k", .up, "the notification above, or the line"),
    .init([.down, .character("j")], "↓ j", .down, "the one below"),
    .init([.pageUp], "PgUp", .pageUp, "a page up"),
    .init([.pageDown], "PgDn", .pageDown, "a page down"),
    .init(
      [.home, .character("g")], "Home g", .first, "the newest, and whichever is newest from then on"
    ),
    .init([.end, .character("G")], "End G", .last, "the oldest"),
    .init([.enter], "Enter", .open, "the notification in full"),
    .init([.escape], "Esc", .back, "back to the list; in the list, the end of the search"),
    .init(
      [.character("+"), .character("=")], "+", .act(.positive),
      "its positive action, as in [+Answer]"),
    .init([.character("-")], "-", .act(.negative), "its negative action, as in [-Clear]"),
    .init([.character("/")], "/", .search, "only what contains a text"),
    .init([.character(" ")], "Space", .media(.togglePlayPause), "play or pause"),
    .init([.character("n")], "n", .media(.nextTrack), "the next track"),
    .init([.character("p")], "p", .media(.previousTrack), "the previous track"),
    .init([.character(".")], ".", .media(.skipForward), "skip forward"),
    .init([.character(",")], ",", .media(.skipBackward), "skip backward"),
    .init([.character("]")], "]", .media(.volumeUp), "louder"),
    .init([.character("[")], "[", .media(.volumeDown), "quieter"),
    .init([.character("r")], "r", .media(.advanceRepeatMode), "the next way to repeat"),
    .init([.character("s")], "s", .media(.advanceShuffleMode), "the next way to shuffle"),
    .init([.character("l")], "l", .media(.likeTrack), "like the track"),
    .init([.character("d")], "d", .media(.dislikeTrack), "dislike it"),
    .init([.character("b")], "b", .media(.bookmarkTrack), "bookmark it"),
    .init([.character("?"), .character("h")], "?", .help, "these keys"),
    .init([.character("q")], "q", .quit, "leave"),
  ]

  fileprivate static let commands: [Key: Command] = Dictionary(
    all.flatMap { binding in binding.keys.map { ($0, binding.command) } },
    uniquingKeysWith: { first, _ in first })
}

extension Dashboard {
  /// A key was pressed; returns what has to be done.
  @discardableResult mutating func press(_ key: Key, at now: Instant) -> Effect? {
    note = nil
    if case .typing(let text, let before) = search {
      type(key, text, before: before)
      return nil
    }
    guard let command = KeyBinding.commands[key] else { return nil }
    switch command {
    case .quit: return .quit
    case .media(let command):
      return ask(.media(command, phone: playing?.phone), "\(command.name ?? "")…")
    case .act(let action):
      guard let target else { return nil }
      return act(action, on: target, at: now)
    case .open:
      guard case .list = page, let target else { return nil }
      selection = .chosen(target.id)
      page = .opened(Opened(notification: target))
      return .request(.show(target.id))
    case .back: goBack()
    case .help: page = .help(scroll: 0)
    case .search:
      page = .list
      search = .typing("", before: search.text)
    case .up: move(by: -1)
    case .down: move(by: 1)
    case .pageUp: move(by: -pageRows)
    case .pageDown: move(by: pageRows)
    case .first: move(by: -Self.anyDistance)
    case .last: move(by: Self.anyDistance)
    }
    return nil
  }

  /// The notification that keys act on.
  private var target: ActiveNotification? {
    switch page {
    case .opened(let opened): return opened.isGone ? nil : opened.notification
    case .help: return nil
    case .list:
      let found = self.found
      return selected(among: found).map { found[$0] }
    }
  }

  private mutating func goBack() {
    if case .list = page { search = .none } else { page = .list }
  }

  /// How far a page is: what is seen stays in sight.
  private var pageRows: Int { max(1, extent.rows / 2) }

  /// Farther than anything is long.
  private static let anyDistance = Int.max / 2

  /// Moves the selection, or scrolls the text.
  private mutating func move(by distance: Int) {
    func moved(_ place: Int, to last: Int) -> Int {
      min(max(0, place + distance), max(0, last))
    }
    switch page {
    case .opened(var opened):
      opened.scroll = moved(opened.scroll, to: extent.lastScroll)
      page = .opened(opened)
    case .help(let scroll):
      page = .help(scroll: moved(scroll, to: extent.lastScroll))
    case .list:
      let found = self.found
      guard let place = selected(among: found) else { return }
      let next = moved(place, to: found.count - 1)
      selection = distance == -Self.anyDistance ? .newest : .chosen(found[next].id)
    }
  }

  /// A key while the text of the search is typed. What is found changes with each.
  private mutating func type(_ key: Key, _ text: String, before: String) {
    switch key {
    case .character(let character): search = .typing(text + String(character), before: before)
    case .backspace: search = .typing(String(text.dropLast()), before: before)
    case .enter: search = Search(text)
    case .escape: search = Search(before)
    default: break
    }
    selection = .newest
  }
}
