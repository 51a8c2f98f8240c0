// SPDX-License-Identifier: GPL-3.0-or-later
public import AMS
import Wire

extension MediaState {
  /// The media state as text: the track, then its position, volume and modes.
  ///
  ///     07:00:12 playing Lovers Dream · Anna Ternheim · The Night Visitor (Music)
  ///              1:07 ██████░░░░░░░░░░ 4:12 volume 50 %
  ///
  /// A change of only the volume is a separate line.
  ///
  /// - Parameter isBrief: whether the track is cut to one line, rather than three.
  package func rows(
    changed: [MediaField] = [], head: StyledText = StyledText(), _ style: TextStyle,
    indent: Int = 0, isBrief: Bool = false
  ) -> [StyledRow] {
    var first = head
    if changed == [.playerVolume], let volume = player.volume {
      first.add("volume \(Self.percent(volume))")
      return first.rows(style, indent: indent)
    }
    first.add(
      player.state?.description ?? "nothing is playing",
      player.state == .playing ? .good : .attention)
    let parts = [(track.title, Paint.strong), (track.artist, .plain), (track.album, .plain)]
      .compactMap { text, paint in text.flatMap { $0.isEmpty ? nil : ($0, paint) } }
    for (place, (text, paint)) in parts.enumerated() {
      if place > 0 { first.add("·", .faint) }
      first.add(text, paint)
    }
    if let name = player.name, !name.isEmpty { first.add("(\(name))", .app) }
    let track = isBrief ? [first.row(displayWidth: style.width ?? .max)] : first.rows(style, indent: indent, maximum: 3)
    return track + positionRows(style, indent: indent)
  }

  /// The state as `ancsd media` prints it.
  public func text(_ style: TextStyle) -> String {
    rows(style).map { $0.text(style) }.joined(separator: "\n")
  }

  private func positionRows(_ style: TextStyle, indent: Int) -> [StyledRow] {
    var modes = StyledText()
    if let rate = player.rate, rate != 1, rate != 0, rate.isFinite { modes.add("×\(rate)") }
    if let volume = player.volume { modes.add("volume \(Self.percent(volume))", .faint) }
    if let index = queue.index, let count = queue.count, count > 0 {
      modes.add("track \(index &+ 1) of \(count)", .faint)
    }
    if let shuffle = queue.shuffleMode, shuffle != .off { modes.add("shuffle \(shuffle)", .faint) }
    if let mode = queue.repeatMode, mode != .off { modes.add("repeat \(mode)", .faint) }
    var line = StyledText()
    if player.position != nil || track.duration != nil {
      // The bar takes the rest of the line.
      let room = (style.width ?? 80) - indent - modes.displayWidth - 1
      let bar = ProgressBar(elapsed: player.position?.seconds, duration: track.duration)
      line.addWhole(bar.text(width: min(max(room, 24), 60)))
    }
    line.add(modes)
    return line.rows(style, indent: indent, hanging: false)
  }

  private static func percent(_ part: Double) -> String {
    "\(part.isFinite ? Int((min(max(part, 0), 1) * 100).rounded()) : 0) %"
  }
}

/// A track's progress, as a bar of blocks that every console font has (code page 437), with the
/// times on both sides: `1:07 ██████░░░░░░░░░░ 4:12`.
struct ProgressBar {
  /// Seconds; a value out of range is shown as the nearest end.
  var elapsed: Double?
  /// Seconds; nil: there is no bar.
  var duration: Double?

  /// The bar and its times, in at most `width` columns.
  func text(width: Int) -> String {
    let left = elapsed.map(Self.clock) ?? "-:--"
    guard let duration, duration.isFinite, duration > 0 else { return left }
    let right = Self.clock(duration)
    let room = min(width - left.utf8.count - right.utf8.count - 2, 60)
    guard room >= 4 else { return "\(left)/\(right)" }
    let part = min(max((elapsed ?? 0) / duration, 0), 1)
    let full = part.isNaN ? 0 : Int((part * Double(room)).rounded())
    return left + " " + String(repeating: "█", count: full)
      + String(repeating: "░", count: room - full) + " " + right
  }

  /// As in `4:12`, or `1:02:03` from an hour on.
  static func clock(_ seconds: Double) -> String {
    let whole = seconds.isFinite ? Int(min(max(seconds, 0), 359_999)) : 0
    let rest = String(whole % 60, digits: 2)
    return whole < 3_600 ? "\(whole / 60):\(rest)" : "\(whole / 3_600):\(String(whole / 60 % 60, digits: 2)):\(rest)"
  }
}
