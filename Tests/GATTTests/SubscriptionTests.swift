// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import TestLoop
import Testing
import Wire

@Suite("GATT: subscriptions")
struct SubscriptionTests {
  /// Values at 3 (notify), 6 (indicate) and 9 (both), each followed by its CCCD.
  static func pair(_ loop: isolated TestLoop) throws -> Pair {
    let pair = Pair(loop)
    try pair.database.add(
      ServiceDefinition(
        0x1234, at: 1,
        characteristics: [
          CharacteristicDefinition(0x2A00, [.notify]),
          CharacteristicDefinition(0x2A01, [.indicate]),
          CharacteristicDefinition(0x2A02, [.notify, .indicate]),
        ]))
    return pair
  }

  @Test("Values are sent to subscribed clients only")
  func subscribers() throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop)
      var told: [String] = []
      pair.server.onSubscribe = { told.append("\($0) \($1.rawValue)") }
      var taken: [String] = []
      for handle: Handle in [3, 6, 9] {
        pair.client.setHandler(for: handle) { taken.append("\(handle) \($0.hex)") }
      }
      #expect(try !pair.server.notify(3, [1]))
      try await pair.client.configure(4, .notifications)
      #expect(try pair.server.notify(3, [2]))
      #expect(try !pair.server.notify(6, [3]))
      try await pair.client.configure(7, .indications)
      let indicated = try await pair.server.indicate(6, [4])
      #expect(indicated)
      let unwanted = try await pair.server.indicate(3, [5])
      #expect(!unwanted)
      // Reserved bits are dropped.
      try await pair.client.write(10, [3, 1])
      #expect(try pair.server.notify(9, [6]))
      try await pair.client.configure(4, [])
      #expect(try !pair.server.notify(3, [7]))
      #expect(taken == ["3 02", "6 04", "9 06"])
      #expect(told == ["3 1", "6 2", "9 3", "3 0"])
      let written = try await pair.client.read(10)
      #expect(written == [3, 0])
      #expect(
        pair.server.client.configurations == [7: .indications, 10: [.notifications, .indications]])
      #expect(pair.server.configuration(of: 9) == [.notifications, .indications])
    }
  }

  @Test("Each connection has configurations of its own, and a bonded client's are kept")
  func perConnection() throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop)
      _ = pair.ask("1204000100")
      let other = Bearer(scheduler: loop.clock)
      let stranger = Server(other, database: pair.database)
      #expect(try !stranger.notify(3, []))
      let known = Server(other, database: pair.database, client: pair.server.client)
      #expect(try known.notify(3, []))
    }
  }

  @Test("A configuration is removed with its service")
  func removed() throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop)
      _ = pair.ask("1204000100")
      pair.database.remove(at: 1)
      #expect(pair.server.client.configurations.isEmpty)
      #expect(try !pair.server.notify(3, []))
      #expect(pair.ask("1204000100") == "0112040001")
    }
  }
}
