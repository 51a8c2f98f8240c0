// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@testable import ControlClients

@Suite("Times as they are typed")
struct TypedTimeTests {
  /// 2026-11-21 07:00:00 UTC, on a board that is an hour ahead.
  private static let now = WallTime(seconds: 1_795_244_400)

  @Test(
    "How long ago, the time of day, or a date",
    arguments: [
      ("10m", 600), ("2h", 7_200), ("1d", 86_400), ("90s", 90), ("08:00", 0), ("07:59", 60),
      ("08:01", 86_340), ("2026-11-21", 28_800), ("2026-11-21T07:30", 1_800),
      ("2026-11-20 08:00:00", 86_400), ("1h30m", 5_400), ("1w", 604_800), ("today", 28_800),
      ("Yesterday", 115_200), ("2026-11-21T06:48:52.000Z", 668), ("2026-11-21T06:59:59Z", 1),
      ("2026-11-21T08:00+01:00", 0), ("2026-11-21T04:30:00.5-02:30", 0),
    ])
  func times(text: String, secondsAgo: Int64) {
    let time = WallTime(typed: text, now: Self.now, zone: 3_600)
    #expect(time?.seconds == Self.now.seconds - secondsAgo)
  }

  @Test(
    "What is not a time",
    arguments: [
      "", "10", "soon", "25:00", "7:00", "2026-13-01", "-1h", "2026-11-21Z", "08:00Z", "1h30",
      "2026-11-21T08:00:00.Z", "2026-11-21T08:00:00.+1Z", "2026-11-21T08:00*01:00",
    ])
  func wrong(text: String) {
    #expect(WallTime(typed: text, now: Self.now, zone: 3_600) == nil)
  }
}
