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
    try Pair(
      loop,
      ServiceDefinition(
        0x1234, at: 1,
        characteristics: [
          .init(0x2A00, [.notify]), .init(0x2A01, [.indicate]),
          .init(0x2A02, [.notify, .indicate]),
        ]))
  }

  @Test("A configuration is told with the value that it is for, without its reserved bits")
  func told() throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop)
      var told: [String] = []
      pair.server.onSubscribe = { told.append("\($0) \($1.rawValue)") }
      for (cccd, value) in [(4, [1, 0]), (7, [2, 0]), (10, [3, 1]), (4, [0, 0])] as [(Handle, [UInt8])] {
        try await pair.client.write(cccd, value)
      }
      #expect(told == ["3 1", "6 2", "9 3", "3 0"])
      #expect(try await pair.client.read(10) == [3, 0])
      #expect(pair.server.client.configurations == [7: .indications, 10: [.notifications, .indications]])
      #expect(try await !pair.server.indicate(3, [5]))
      #expect(try !pair.server.notify(6, [5]))
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
