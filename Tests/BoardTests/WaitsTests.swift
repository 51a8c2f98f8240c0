// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import OnLoop
import TestLoop
import Testing
import Wire

@testable import Board

@Suite("The board of what is waited for")
struct WaitsTests {
  @Test("A change is reported at once, and again, once, when it has lasted")
  func changes() async throws {
    try await onLoop {
      let clock = HandClock()
      let board = Waits(scheduler: clock)
      var changes: [String] = []
      var lasting: [String] = []
      board.onNewWait = { changes.append($0.wait.name.rawValue) }
      board.onLastingWait = { lasting.append($0.wait.name.rawValue) }
      @LoopActor func become(_ wait: Wait?, lasting seconds: Int = 0) {
        let current = wait.map { Waits.CurrentWait($0, adapter: "hci0") }
        board.set(.adapter("hci0"), current)
        board.set(.adapter("hci0"), current)
        var isOver = false
        _ = clock.schedule(after: .seconds(seconds)) { isOver = true }
        while !isOver { _ = clock.turn() }
      }
      become(.settingUp)
      become(.firstPhone, lasting: 10)
      become(.firstPhone, lasting: 10)
      #expect(changes == ["setting-up", "first-phone"])
      #expect(lasting == ["first-phone"])
      // A blip is not worth a line, nor is the way back.
      become(nil, lasting: 1)
      become(.firstPhone, lasting: 10)
      #expect(lasting == ["first-phone"])
      // What is urgent is not waited for.
      become(.bluetoothd)
      #expect(lasting == ["first-phone", "bluetoothd"])
      become(.bluetoothd, lasting: 10)
      become(nil, lasting: 10)
      become(.bluetoothd, lasting: 10)
      #expect(lasting == ["first-phone", "bluetoothd", "bluetoothd"])
      // What is to last for hours needs no timer.
      become(.bondedPhone)
      #expect(lasting.last == "bonded-phone")
      // Nothing is left that would wake the daemon up.
      #expect(clock.scheduled == 0)
    }
  }

  @Test("A wait that another follows at once is not reported")
  func replaced() async throws {
    try await onLoop {
      let clock = HandClock()
      let board = Waits(scheduler: clock)
      var changes: [String] = []
      board.onNewWait = { changes.append($0.wait.name.rawValue) }
      board.set(.link(1), .init(.mtu))
      board.set(.daemon, .init(.dialling))
      board.set(.link(1), .init(.discovery))
      board.set(.daemon, nil)
      #expect(changes.isEmpty)
      _ = clock.turn()
      #expect(changes == ["discovery"])
    }
  }

  @Test("A link that has ended leaves nothing behind, and its phone may be learned late")
  func links() async throws {
    try await onLoop {
      let clock = HandClock()
      let board = Waits(scheduler: clock)
      var changes = 0
      board.onNewWait = { _ in changes += 1 }
      board.set(.link(1), .init(.discovery, adapter: "hci0"))
      _ = clock.turn()
      board.set(.link(1), .init(.discovery, adapter: "hci0", phone: Address(1)))
      _ = clock.turn()
      #expect(changes == 1)
      board.set(.link(1), nil)
      _ = clock.turn()
      // One that ends as soon as it begins.
      board.set(.link(2), .init(.discovery, adapter: "hci0"))
      board.set(.link(2), nil)
      _ = clock.turn()
      #expect(clock.scheduled == 0)
      let records = try #require(Mirror(reflecting: board).descendant("records"))
      #expect(Mirror(reflecting: records).children.isEmpty)
    }
  }
}
