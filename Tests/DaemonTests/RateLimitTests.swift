// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@testable import Board
@testable import Daemon

@Suite("Doing nothing too often")
struct RateLimitTests {
  @Test("A few times at once, then once an interval, and at once again after a rest")
  func pauses() {
    var limit = RateLimit(burst: 3, interval: .seconds(10))
    let start = Instant.zero
    let pauses = (0..<6).map { _ in limit.pause(at: start) }
    #expect(pauses == [.zero, .zero, .zero, .seconds(10), .seconds(20), .seconds(30)])
    #expect(limit.pause(at: start + .seconds(45)) == .zero)
    #expect(limit.pause(at: start + .seconds(45)) == .seconds(5))
    let later = start + .seconds(1_000)
    #expect((0..<4).map { _ in limit.pause(at: later) } == [.zero, .zero, .zero, .seconds(10)])
  }
}
