// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@testable import Board
@testable import Daemon

@Suite("Doing nothing too often")
struct PaceTests {
  @Test("A few times at once, then once an interval, and at once again after a rest")
  func pauses() {
    var pace = Pace(burst: 3, interval: .seconds(10))
    let start = Instant.zero
    let pauses = (0..<6).map { _ in pace.pause(at: start) }
    #expect(pauses == [.zero, .zero, .zero, .seconds(10), .seconds(20), .seconds(30)])
    #expect(pace.pause(at: start + .seconds(45)) == .zero)
    #expect(pace.pause(at: start + .seconds(45)) == .seconds(5))
    let later = start + .seconds(1_000)
    #expect((0..<4).map { _ in pace.pause(at: later) } == [.zero, .zero, .zero, .seconds(10)])
  }
}
