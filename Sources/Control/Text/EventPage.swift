// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// Events as text, one below the other, with the date on a separate line when the day changes.
public struct EventPage: Sendable {
  public var style: TextStyle
  private var day: String

  /// - Parameter today: a time on the day whose date is not printed.
  public init(_ style: TextStyle, today: WallTime) {
    self.style = style
    day = style.localTime(today).dateText
  }

  /// The next event, as one line or more.
  public mutating func text(_ event: NumberedEvent) -> String {
    let date = style.localTime(event.time).dateText
    guard date != day else { return event.text(style) }
    day = date
    return StyledText("--- \(date) ---", .faint).text(style) + "\n" + event.text(style)
  }
}

extension WallTime {
  /// The time this many seconds later; nil if that is out of range.
  init?(_ time: WallTime, plus seconds: Double) {
    guard seconds.isFinite, abs(seconds) < 1e10 else { return nil }
    self.init(seconds: time.seconds &+ Int64(seconds.rounded()), nanoseconds: time.nanoseconds)
  }
}
