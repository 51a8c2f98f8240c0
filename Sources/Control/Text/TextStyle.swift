// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// How text is laid out for whoever reads it.
public struct TextStyle: Hashable, Sendable {
  /// Whether colours may be used: on a terminal, and where NO_COLOR is not set
  /// (https://no-color.org).
  public var colour: Bool
  /// Columns of the terminal; nil where there is none: then nothing is wrapped or cut.
  public var width: Int?
  /// What the board's local time is ahead of universal time, in seconds.
  public var zone: Int
  /// Whether each line names its adapter, because more than one is served.
  public var namesAdapter: Bool

  public init(colour: Bool = false, width: Int? = nil, zone: Int = 0, namesAdapter: Bool = false) {
    self.colour = colour
    self.width = width.map { max($0, 20) }
    self.zone = zone
    self.namesAdapter = namesAdapter
  }

  /// The local time of day, as in `07:00:00`.
  func timeText(_ time: WallTime) -> String { localTime(time).timeText }

  /// What the board's wall clock shows at `time`.
  func localTime(_ time: WallTime) -> CivilTime {
    CivilTime(secondsSince1970: time.seconds &+ Int64(zone))
  }
}

/// What a piece of text is, and so how it is painted (ECMA-48, SGR).
package enum Paint: String {
  case plain = ""
  case strong = "1"
  case faint = "2"
  case app = "36"
  case good = "32"
  case attention = "33"
  case bad = "31"
}

/// What is printed: text for people, or JSON Lines.
public enum OutputFormat: String, CaseIterable, Sendable {
  case text, json
}
