// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import TestLoop
import Testing
import Wire

/// Vol 3 Part G, 2.5.2.1 and 7. Service Changed is at 0x12, its configuration at 0x13, Client
/// Supported Features at 0x15, the Database Hash at 0x17.
@Suite("GATT: robust caching")
struct RobustCachingTests {
  static func pair(
    _ loop: isolated TestLoop, features: UInt8?, known: ClientState? = nil
  ) throws -> Pair {
    let database = AttributeDatabase()
    try database.add(StandardServices.genericAccess(name: { "board" }))
    try database.add(StandardServices.genericAttribute())
    let pair = Pair(loop, known: known ?? ClientState(), database: database)
    if let features { #expect(pair.ask("121500" + [features].hex) == "13") }
    return pair
  }

  static var battery: ServiceDefinition {
    ServiceDefinition(
      0x180F, at: 0x40, characteristics: [CharacteristicDefinition(0x2A19, [.read, .notify])])
  }

  @Test("A robust client gets one error for old handles; its next request makes it aware")
  func outOfSync() throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop, features: 1)
      #expect(pair.ask("0a0300") == "0b626f617264")
      try pair.database.add(Self.battery)
      #expect(pair.ask("52150007") == nil)
      #expect(pair.ask("0a0300") == "010a030012")
      #expect(pair.ask("52150007") == nil)
      #expect(pair.ask("0a1500") == "0b01")
      #expect(pair.ask("0a0300") == "0b626f617264")
      // The database changes again before its next request.
      pair.database.remove(at: 0x40)
      #expect(pair.ask("12150001") == "0112150012")
      try pair.database.add(Self.battery)
      #expect(pair.ask("12150001") == "0112150012")
      #expect(pair.ask("12150001") == "13")
      #expect(pair.server.client.databaseHash == pair.database.hash)
    }
  }

  @Test(
    "Requests that use handles are refused, discoveries are answered",
    arguments: [
      ("0a0300", true), ("0c03000000", true), ("0e03000500", true), ("2003000500", true),
      ("12150001", true), ("16150000000001", true), ("0801000f00002a", true),
      ("080100ffff002a", false), ("080100ffff0328", false), ("0801000f000328", false),
      ("0801000f000228", false), ("040100ffff", false), ("100100ffff0028", false),
      ("060100ffff00280018", false), ("1800", false), ("021700", false),
    ] as [(String, Bool)])
  func requests(hex: String, isRefused: Bool) throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop, features: 1)
      try pair.database.add(Self.battery)
      let refusal = "01" + hex.prefix(2) + hex.dropFirst(2).prefix(4) + "12"
      #expect((pair.ask(hex) == refusal) == isRefused)
    }
  }

  @Test("Values are held back until the client is aware, except Service Changed")
  func silence() throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop, features: 1)
      try pair.database.add(Self.battery)
      _ = (pair.ask("0a0300"), pair.ask("1243000100"))
      #expect(try pair.server.notify(0x42, [1]))
      pair.database.remove(at: 0x01)
      #expect(try !pair.server.notify(0x42, [2]))
    }
  }

  @Test("Service Changed is indicated to subscribed clients, whose confirmation makes them aware")
  func serviceChanged() throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop, features: 1)
      var changes: [HandleRange] = []
      pair.client.setHandler(for: 0x12) { value in
        if let change = try? ServiceChanged(decoding: value) { changes.append(change.range) }
      }
      try await pair.client.configure(0x13, .indications)
      try pair.database.add(Self.battery)
      pair.database.remove(at: 0x40)
      #expect(changes == [HandleRange(0x40, 0x43), HandleRange(0x40, 0x43)])
      #expect(pair.ask("0a0300") == "0b626f617264")
    }
  }

  @Test("Changes during an indication are indicated together after its confirmation")
  func merged() throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop, features: 1)
      #expect(pair.ask("1213000200") == "13")
      pair.isCut = true
      try pair.database.add(Self.battery)
      pair.database.remove(at: 0x01)
      pair.database.remove(at: 0x40)
      #expect(pair.trace.last == "<1d120040004300")
      pair.isCut = false
      _ = pair.ask("1e")
      #expect(pair.trace.suffix(2) == ["<1d120001004300", ">1e"])
      #expect(pair.ask("0a1500") == "0b01")
    }
  }

  @Test("A client without robust caching gets no errors")
  func notRobust() throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop, features: nil)
      try pair.database.add(Self.battery)
      #expect(pair.ask("0a0300") == "0b626f617264")
      #expect(pair.ask("1243000100") == "13")
      #expect(try pair.server.notify(0x42, [1]))
    }
  }

  @Test("A bonded client that returns to a changed database is notified, one that knows it is not")
  func comesBack() throws {
    try TestLoop.run { loop in
      let first = try Self.pair(loop, features: 1)
      _ = first.ask("1213000200")
      let known = first.server.client
      #expect(known.databaseHash == first.database.hash)

      let same = try Self.pair(loop, features: nil, known: known)
      same.server.announceChanges()
      #expect(same.trace.isEmpty)
      #expect(same.ask("0a0300") == "0b626f617264")

      var older = known
      older.databaseHash = [UInt8](repeating: 0, count: 16)
      let told = try Self.pair(loop, features: nil, known: older)
      told.server.announceChanges()
      #expect(told.trace == ["<1d12000100ffff", ">1e"])
      #expect(told.ask("0a0300") == "0b626f617264")

      let untold = try Self.pair(loop, features: nil, known: older)
      #expect(untold.ask("0a0300") == "010a030012")
    }
  }
}
