// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import TestLoop
import Testing
import Wire

/// Vol 3 Part G, 2.5.2.1 and 7, where the transcripts (docs/conformance.md) leave something. Service
/// Changed is at 0x12, its configuration at 0x13, Client Supported Features at 0x15, the Database Hash at 0x17.
@Suite("GATT: robust caching")
struct RobustCachingTests {
  static func pair(
    _ loop: isolated TestLoop, features: UInt8?, known: ClientState? = nil
  ) throws -> Pair {
    let pair = try Pair(
      loop, known: known ?? ClientState(), StandardServices.genericAccess(name: { "board" }),
      StandardServices.genericAttribute())
    if let features { #expect(pair.ask("121500" + [features].hex) == "13") }
    return pair
  }

  static var battery: ServiceDefinition {
    ServiceDefinition(0x180F, at: 0x40, characteristics: [.init(0x2A19, [.read, .notify])])
  }

  @Test("A database that changes again before the client's next request is out of sync again")
  func outOfSync() throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop, features: 1)
      try pair.database.add(Self.battery)
      #expect(pair.ask("12150001") == "0112150012")
      pair.database.remove(at: 0x40)
      #expect(pair.ask("12150001") == "0112150012")
      try pair.database.add(Self.battery)
      #expect(pair.ask("12150001") == "0112150012")
      #expect(pair.ask("12150001") == "13")
      #expect(pair.server.client.databaseHash == pair.database.hash)
    }
  }

  @Test("What uses no handle is answered", arguments: ["080100ffff002a", "1800", "021700"])
  func answered(hex: String) throws {
    try TestLoop.run { loop in
      let pair = try Self.pair(loop, features: 1)
      try pair.database.add(Self.battery)
      #expect(pair.ask(hex)?.hasPrefix("01") == false)
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
