// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@testable import ControlClients

@Suite("Times as they are typed")
struct TypedTimeTests {
  /// 2026-11-21 07:00:00 UTC, on a board that is an hour ahead.
  private static let now = WallTime(seconds: 1_795_244_400)

  @Test(
    "How long ago, the time of day, or a date; anything else is no time",
    arguments: [
      ("10m", 600), ("2h", 7_200), ("1d", 86_400), ("90s", 90), ("08:00", 0), ("07:59", 60),
      ("08:01", 86_340), ("2026-11-21", 28_800), ("2026-11-21T07:30", 1_800),
      ("2026-11-20 08:00:00", 86_400), ("1h30m", 5_400), ("1w", 604_800), ("today", 28_800),
      ("Yesterday", 115_200), ("2026-11-21T06:48:52.000Z", 668), ("2026-11-21T06:59:59Z", 1),
      ("2026-11-21T08:00+01:00", 0), ("2026-11-21T04:30:00.5-02:30", 0),
      ("", nil), ("10", nil), ("soon", nil), ("25:00", nil), ("7:00", nil), ("2026-13-01", nil),
      ("-1h", nil), ("2026-11-21Z", nil), ("08:00Z", nil), ("1h30", nil),
      ("2026-11-21T08:00:00.Z", nil), ("2026-11-21T08:00:00.+1Z", nil),
      ("2026-11-21T08:00*01:00", nil),
    ] as [(String, Int64?)])
  func times(text: String, secondsAgo: Int64?) {
    let time = WallTime(typed: text, now: Self.now, zone: 3_600)
    #expect(time?.seconds == secondsAgo.map { Self.now.seconds - $0 })
  }
}
