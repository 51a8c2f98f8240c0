// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import Testing
import Wire

@Suite("Times")
struct WallTimeTests {
  @Test("A time is written as RFC 3339 with milliseconds, and read back")
  func timestamps() {
    let time = WallTime(seconds: 1_795_244_400, nanoseconds: 42_999_999)
    #expect(time.rfc3339 == "2026-11-21T07:00:00.042Z")
    #expect(
      WallTime(rfc3339: time.rfc3339) == WallTime(seconds: 1_795_244_400, nanoseconds: 42_000_000))
    for text in [
      "2026-11-21T07:00:00Z", "2026-11-21T08:00:00+01:00", "2026-11-21T05:30:00.0-01:30",
    ] {
      #expect(WallTime(rfc3339: text) == WallTime(seconds: 1_795_244_400), "\(text)")
    }
    for text in [
      "", "Z", "2026-11-21", "2026-11-21Z", "2026-11-21T07:00:00", "2026-11-21T07:00:00.042",
      "2026-11-21T07:00:00.-42Z", "2026-11-21T07:00:00.Z", "2026-11-21T07:00:00+1:00",
    ] { #expect(WallTime(rfc3339: text) == nil, "\(text)") }
  }
}
