// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import TerminalScreen

/// The binding of a key. The tables below are also the help pages.
struct KeyBinding {
  /// What it does.
  enum Command: Hashable {
    case up, down, wheelUp, wheelDown, pageUp, pageDown, halfUp, halfDown, first, last
    case open, back
    /// The next notification, or the previous one.
    case below, above
    case act(NotificationAction)
    /// Acts on the ringing call.
    case call(NotificationAction)
    case mark, undo
    case player
    case media(RemoteCommand)
    case search, nextMatch, previousMatch
    /// Shows only those of the selection's app or category, or all again.
    case onlyApp, onlyCategory
    case help, quit
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

  /// The keys of the list and of a notification, in the order of the help.
  static let all: [KeyBinding] = [
    .init([.up, .character("k")], "↑ k", .up, "the notification or line above"),
    .init([.down, .character("j")], "↓ j", .down, "the one below"),
    .init([.wheelUp], "wheel", .wheelUp, "three up"),
    .init([.wheelDown], "", .wheelDown, "or down; a click selects"),
    .init([.pageUp, .control("b")], "PgUp ^B", .pageUp, "page up"),
    .init([.pageDown, .control("f")], "PgDn ^F", .pageDown, "page down"),
    .init([.control("u")], "^U", .halfUp, "half a page up"),
    .init([.control("d")], "^D", .halfDown, "half a page down"),
    .init(
      [.home, .character("g")], "Home g", .first,
      "the top one, and follow whatever comes to the top; from any page, the ringing call"),
    .init([.end, .character("G")], "End G", .last, "the oldest"),
    .init([.enter], "Enter", .open, "the notification in full"),
    .init([.character("J")], "J", .below, "the next notification, also from one in full"),
    .init([.character("K")], "K", .above, "the one before"),
    .init(
      [.escape], "Esc", .back,
      "back to the list; in the list, clears marks, then a or c, then the search"),
    .init(
      [.character("+"), .character("=")], "+", .act(.positive),
      "its positive action, as in [+Answer], or that of all marked ones"),
    .init(
      [.character("-"), .delete], "- Del", .act(.negative),
      "its negative action, as in [-Clear], or that of all marked ones, after 2 seconds"),
    .init([.character("A")], "A", .call(.positive), "answer the ringing call, from any page"),
    .init([.character("D")], "D", .call(.negative), "decline it, at once"),
    .init([.character("u")], "u", .undo, "undo -, within the 2 seconds"),
    .init([.character(" ")], "Space", .mark, "mark it and move to the next"),
    .init([.character("m")], "m", .player, "the player, and its keys"),
    .init([.character("/")], "/", .search, "show only those that contain a text"),
    .init([.character("a")], "a", .onlyApp, "show only those of its app, or all again"),
    .init([.character("c")], "c", .onlyCategory, "show only those of its category, or all again"),
    .init([.character("n")], "n", .nextMatch, "next match"),
    .init([.character("N")], "N", .previousMatch, "previous match"),
    .init([.character("?"), .character("h")], "?", .help, "these keys"),
    .init([.character("q")], "q", .quit, "quit"),
  ]

  /// The keys of the player, which work only on its page.
  static let player: [KeyBinding] = [
    .init([.character(" ")], "Space", .media(.togglePlayPause), "play or pause"),
    .init([.character("n")], "n", .media(.nextTrack), "next track"),
    .init([.character("p")], "p", .media(.previousTrack), "previous track"),
    .init([.character(".")], ".", .media(.skipForward), "skip forward"),
    .init([.character(",")], ",", .media(.skipBackward), "skip backward"),
    .init([.character("]")], "]", .media(.volumeUp), "louder"),
    .init([.character("[")], "[", .media(.volumeDown), "quieter"),
    .init([.character("r")], "r", .media(.advanceRepeatMode), "next repeat mode"),
    .init([.character("s")], "s", .media(.advanceShuffleMode), "next shuffle mode"),
    .init([.character("l")], "l", .media(.likeTrack), "like the track"),
    .init([.character("d")], "d", .media(.dislikeTrack), "dislike the track"),
    .init([.character("b")], "b", .media(.bookmarkTrack), "bookmark the track"),
    .init([.escape, .character("m")], "Esc m", .back, "back to the list"),
  ]

  private static func table(_ bindings: [KeyBinding]) -> [Key: Command] {
    Dictionary(
      bindings.flatMap { binding in binding.keys.map { ($0, binding.command) } },
      uniquingKeysWith: { first, _ in first })
  }

  private static let usual = table(all)
  private static let ofPlayer = table(player + all)

  /// What a key does; nil for nothing.
  static func command(of key: Key, inPlayer: Bool) -> Command? {
    (inPlayer ? ofPlayer : usual)[key]
  }

  /// The title of a player command.
  static func title(of command: RemoteCommand) -> String {
    player.first { $0.command == .media(command) }?.title ?? "\(command)"
  }
}
