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
      ("2026-11-20 08:00:00", 86_400),
    ])
  func times(text: String, secondsAgo: Int64) {
    let time = WallTime(typed: text, now: Self.now, zone: 3_600)
    #expect(time?.seconds == Self.now.seconds - secondsAgo)
  }

  @Test("What is not a time", arguments: ["", "10", "soon", "25:00", "7:00", "2026-13-01", "-1h"])
  func wrong(text: String) {
    #expect(WallTime(typed: text, now: Self.now, zone: 3_600) == nil)
  }
}
