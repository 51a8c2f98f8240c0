// SPDX-License-Identifier: GPL-3.0-or-later
package import Wire

/// How text is laid out.
public struct TextStyle: Hashable, Sendable {
  /// Whether colours may be used: on a terminal, and where NO_COLOR is not set
  /// (https://no-color.org).
  public var colour: Bool
  /// The terminal's columns; nil if there is no terminal, in which case nothing is wrapped or cut.
  public var width: Int?
  /// The board's offset from UTC, in seconds.
  public var zone: Int
  /// Whether each line names its adapter, because more than one may be served.
  public var namesAdapter: Bool

  public init(colour: Bool = false, width: Int? = nil, zone: Int = 0, namesAdapter: Bool = false) {
    self.colour = colour
    self.width = width.map { max($0, 20) }
    self.zone = zone
    self.namesAdapter = namesAdapter
  }

  /// Whether the terminal is so narrow that times are shortened and texts hardly indented.
  var isNarrow: Bool { width.map { $0 < 60 } ?? false }

  /// The local time of day, as in `07:00:00`; `07:00` if space is tight.
  func timeText(_ time: WallTime) -> String {
    let text = localTime(time).timeText
    return isNarrow ? String(text.prefix(5)) : text
  }

  /// The local date and time, as in `2026-11-21 07:00`; `07:00` or `11-20 07:00` if space is tight.
  func dateText(_ time: WallTime, now: WallTime) -> String {
    let local = localTime(time)
    return isNarrow ? shortDateText(time, now: now) : "\(local.dateText) \(local.timeText.prefix(5))"
  }

  /// The local time of day, as in `07:00`, preceded by the date, as in `11-20 07:00`, if that is
  /// not today; of another year only the date, as in `2025-11-20`.
  package func shortDateText(_ time: WallTime, now: WallTime) -> String {
    let local = localTime(time)
    let hour = local.timeText.prefix(5)
    if local.year != localTime(now).year { return local.dateText }
    return local.dateText == localTime(now).dateText ? "\(hour)" : "\(local.dateText.dropFirst(5)) \(hour)"
  }

  /// What the board's wall clock shows at `time`.
  func localTime(_ time: WallTime) -> CivilTime {
    CivilTime(secondsSince1970: time.seconds &+ Int64(zone))
  }
}

/// The style of a piece of text, by what it is (ECMA-48, SGR).
package enum Paint: String {
  case plain = ""
  case strong = "1"
  case faint = "2"
  case app = "36"
  case good = "32"
  case attention = "33"
  case bad = "31"
  /// A command to a controller, and an event of one.
  case command = "34"
  case event = "35"
  /// The line that keys act on, in reverse video.
  case selected = "7"
}

/// What is printed: text for people, or JSON Lines.
public enum OutputFormat: String, CaseIterable, Sendable {
  case text, json
}
