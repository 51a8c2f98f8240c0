// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import System
import Wire

extension WallTime {
  /// How a time in the past is typed, for errors.
  static let forms = "a time: how long ago (10m, 2h, 1d), 07:00, or 2026-11-21T07:00"

  /// Reads a time in the past as people type it: how long ago, the last time that clocks showed it, or a date
  /// with or without a time.
  ///
  /// - Parameter zone: the board's offset from UTC, in seconds.
  init?(typed text: String, now: WallTime = .now, zone: Int = WallTime.now.zoneOffset) {
    let local = CivilTime(secondsSince1970: now.seconds + Int64(zone))
    if let last = text.last, last.isLetter, let ago = Duration(typed: text) {
      self.init(seconds: now.seconds - ago.components.seconds, nanoseconds: now.nanoseconds)
    } else if let time = CivilTime(completing: text) {
      self.init(seconds: time.secondsSince1970 - Int64(zone))
    } else if let time = CivilTime(completing: "\(local.dateText)T\(text)") {
      let seconds = time.secondsSince1970 - Int64(zone)
      self.init(seconds: seconds <= now.seconds ? seconds : seconds - 86_400)
    } else {
      return nil
    }
  }
}

extension CivilTime {
  /// Reads a date, with a time or without, with seconds or without.
  fileprivate init?(completing text: String) {
    let whole = String(text.map { $0 == " " ? "T" : $0 })
    switch text.utf8.count {
    case 10: self.init(text + "T00:00:00")
    case 16: self.init(whole + ":00")
    case 19: self.init(whole)
    default: return nil
    }
  }
}
