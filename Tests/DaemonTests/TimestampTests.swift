// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon
import Testing

@Suite("Moments")
struct TimestampTests {
  @Test("A moment is written as RFC 3339 with milliseconds, and read back")
  func timestamps() {
    let time = Timestamp(seconds: 1_795_244_400, nanoseconds: 42_999_999)
    #expect(time.description == "2026-11-21T07:00:00.042Z")
    #expect(
      Timestamp(time.description) == Timestamp(seconds: 1_795_244_400, nanoseconds: 42_000_000))
    for text in ["", "2026-11-21T07:00:00Z", "2026-11-21T07:00:00.042", "2026-11-21T07:00:00.-42Z"]
    { #expect(Timestamp(text) == nil) }
  }
}
