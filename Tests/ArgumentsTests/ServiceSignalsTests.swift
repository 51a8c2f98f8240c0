// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import OnLoop
import System
import Testing

@testable import Arguments

@Suite("The signals of a service")
struct ServiceSignalsTests {
  @Test(
    "SIGHUP reloads, but ends it from a terminal; the first signal that ends it decides, and nothing reloads after it",
    arguments: [
      ([.hangUp, .hangUp], false, ["reload", "reload"]),
      ([.hangUp, .terminate, .hangUp, .interrupt], false, ["reload", "leave with 143", "leave again"]),
      ([.hangUp], true, ["leave with 143"]),
    ] as [([Signal], Bool, [String])])
  func actions(signals: [Signal], isOnTerminal: Bool, expected: [String]) async throws {
    try await onLoop {
      var actions: [String] = []
      let service = ServiceSignals(
        isOnTerminal: isOnTerminal, reload: { actions.append("reload") },
        leave: { actions.append($1 ? "leave again" : "leave with \($0.rawValue)") })
      for signal in signals { service.receive(signal) }
      #expect(actions == expected)
    }
  }
}
