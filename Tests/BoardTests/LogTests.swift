// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import OnLoop
import System
import TestLoop
import Testing
import Wire

@testable import Board

@Suite("Lines of the log")
struct LogTests {
  /// The lines of a log at this level, after `body` and the minutes that follow.
  private func lines(
    _ level: LogLevel = .info, _ body: @escaping @LoopActor (Log, HandClock) async -> Void
  ) async throws -> [String] {
    try await onLoop {
      var lines: [String] = []
      let clock = HandClock()
      await body(Log(level: level, to: Log.Sink { lines.append($0.line) }), clock)
      return lines
    }
  }

  @Test("What was dropped is shown at debug only", arguments: LogLevel.allCases)
  func dropped(level: LogLevel) async throws {
    let pin = Array("code 4711".utf8)
    let lines = try await lines(level) { log, _ in
      log.dropped("from the phone: bytes after a response", pin)
      log.dropped("a value", pin, at: .info)
    }
    #expect(lines.contains { $0.contains(pin.hex) } == (level == .debug))
    #expect(!lines.contains { $0.contains("4711") })
    switch level {
    case .error: #expect(lines.isEmpty)
    case .warning, .notice:
      #expect(lines == ["ancsd: dropped from the phone: bytes after a response (9 bytes)"])
    case .info, .debug: #expect(lines.count == 2)
    }
  }

  @Test("Beyond thirty lines a minute they are counted, and the number is logged afterwards")
  func budget() async throws {
    let lines = try await lines { log, clock in
      let stranger = log.limited(by: LogBudget("a stranger", clock))
      for number in 1...1_000 { stranger.warning("line \(number)") }
      log.warning("about something else")
      while clock.turn(until: .zero + .seconds(61)) {}
      stranger.warning("the next minute")
    }
    #expect(lines.count == LogBudget.lines + 3)
    #expect(
      lines.suffix(4) == [
        "ancsd: line 30", "ancsd: about something else",
        "ancsd: 970 more lines about a stranger were suppressed within a minute",
        "ancsd: the next minute",
      ])
  }

  @Test("What a level leaves out costs nothing of the budget")
  func levels() async throws {
    let lines = try await lines(.warning) { log, clock in
      let stranger = log.limited(by: LogBudget("a stranger", clock))
      for _ in 1...100 { stranger.info("what nobody reads") }
      stranger.warning("what matters")
    }
    #expect(lines == ["ancsd: what matters"])
  }
}
