// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import OnLoop
import System
import Testing

@testable import Arguments

@Suite("The signals of a service")
struct ServiceSignalsTests {
  /// What these signals make a service do.
  private func actions(_ signals: [Signal], isOnTerminal: Bool = false) async throws -> [String] {
    try await onLoop {
      var actions: [String] = []
      let service = ServiceSignals(
        isOnTerminal: isOnTerminal, reload: { actions.append("reload") },
        leave: { actions.append($1 ? "leave again" : "leave with \($0.rawValue)") })
      for signal in signals { service.receive(signal) }
      return actions
    }
  }

  @Test("SIGHUP makes it read its settings again, as often as it comes")
  func reload() async throws {
    #expect(try await actions([.hangUp, .hangUp]) == ["reload", "reload"])
  }

  @Test("The first signal that ends it decides, and nothing is read again after it")
  func leave() async throws {
    #expect(
      try await actions([.hangUp, .terminate, .hangUp, .interrupt])
        == ["reload", "leave with 143", "leave again"])
  }

  @Test("From a terminal, SIGHUP ends it")
  func terminal() async throws {
    #expect(try await actions([.hangUp], isOnTerminal: true) == ["leave with 143"])
  }
}
