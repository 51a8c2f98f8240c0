// SPDX-License-Identifier: GPL-3.0-or-later

/// How far a track has come, as a bar of blocks that every console font has (they are in code
/// page 437), with the times on both sides: `1:07 ██████░░░░░░░░░░ 4:12`.
struct ProgressBar {
  /// Seconds; what is out of range is shown as the nearest end.
  var elapsed: Double?
  /// Seconds; without it there is no bar.
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
    let rest = padded(whole % 60, 2)
    return whole < 3_600
      ? "\(whole / 60):\(rest)" : "\(whole / 3_600):\(padded(whole / 60 % 60, 2)):\(rest)"
  }
}
