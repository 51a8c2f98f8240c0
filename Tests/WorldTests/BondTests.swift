// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import JSON
import Mgmt
import Testing
import VirtualKernel
import VirtualPhone

@testable import Board
@testable import Daemon

@Suite("Bonds, and keys that change while the kernel is told of them", .inWorld)
struct BondTests: InWorld {
  @Test("Nothing of a session is left in memory when its link is over")
  func released() async throws {
    try await world.begin(.paired)
    weak let session = world.daemon?.sessions.first
    weak let client = session?.client
    weak let bearer = session?.bearer
    weak let consumer = session?.services.active(NotificationConsumer.self)
    #expect(client != nil && bearer != nil && consumer != nil)
    try await world.phoneLeaves()
    await world.pass(.seconds(60))
    #expect(session == nil && client == nil && bearer == nil && consumer == nil)
  }

  @Test("The key of a phone that pairs meanwhile is not lost")
  func paired() async throws {
    try await world.begin(.phoneLeft)
    try await world.openPairing()
    await world.pass(.seconds(1))
    world.kernel.commandFate = { $0 == .loadLongTermKeys ? .late(.seconds(3)) : .arrives }
    world.daemon?.radio?.sortedAdapters.first?.keys.load()
    let stranger = world.stranger()
    #expect(stranger.connect(to: world.adapter))
    stranger.pair()
    try await world.until(.paired, within: .seconds(10))
    await world.pass(.seconds(10))
    #expect(world.adapter.keyedPeers == [world.phone.kind.identity, stranger.kind.identity])
  }

  @Test("The key of a phone that is forgotten while the adapter is set up does not come back")
  func forgotten() async throws {
    try await world.begin(.phoneLeft)
    try await world.stop()
    world.kernel.commandFate = { $0 == .setLowEnergy ? .late(.seconds(2)) : .arrives }
    world.launch()
    await world.pass(.seconds(1))
    try await world.forgetPhone()
    try await world.until(.ready)
    await world.pass(.seconds(1))
    #expect(world.adapter.keyedPeers == [])
  }
}

@Suite("One side has lost the bond", .inWorld)
struct OneSidedBondTests: InWorld {
  /// A bonded phone forgets the board, and connects again while pairing is open.
  private func comesBackToPair() async throws {
    try await world.begin(.phoneLeft)
    world.phone.forget(world.adapter)
    try await world.openPairing(seconds: 60)
    await world.phoneConnects()
  }

  @Test(
    "The phone: while pairing is open it pairs again, and the bond is replaced",
    arguments: [false, true])
  func lostByPhonePairsAgain(kernelHasBug: Bool) async throws {
    world.useAdapter { $0.failsToPairAnew = kernelHasBug }
    try await comesBackToPair()
    if kernelHasBug {
      let reason = try await world.pairingFailure()
      #expect(reason.contains("tap the board again"), "\(reason)")
      try await world.until(.disconnected)
      await world.pass(.seconds(1))
      #expect(world.adapter.keyedPeers == [])
      #expect(world.phone.connect(to: world.adapter))
    }
    try await world.until(.paired)
    try await world.until(.subscribed)
    #expect(world.daemon?.phoneReports.count == 1)
    try await world.phoneReturnsEncrypted()
  }

  @Test(
    "A kernel that can't pair again has the phone's old key again once pairing is closed, by hand or by its end",
    arguments: [true, false])
  func keyComesBack(byHand: Bool) async throws {
    world.useAdapter { $0.failsToPairAnew = true }
    try await comesBackToPair()
    try await world.until(.pairingFailed)
    await world.pass(.seconds(1))
    #expect(world.adapter.keyedPeers == [])
    if byHand { try await world.closePairing() }
    await world.pass(byHand ? .seconds(1) : .seconds(60))
    #expect(world.adapter.keyedPeers == [world.phone.kind.identity])
    #expect(world.daemon?.phoneReports.count == 1)
  }

  @Test("Neither, but the keys differ: the next link says it too")
  func keysDiffer() async throws {
    try await world.begin(.phoneLeft)
    world.phone.spoilKey(of: world.adapter)
    await world.pass(.seconds(1))
    await world.phoneFlutters()
    // The phone has given up until then.
    try world.phoneDoes(.tap)
    world.phone.encryptsAfter = nil
    await world.phoneConnects()
    await world.pass(.seconds(1))
    #expect(try await world.status().links.map(\.waiting.wait) == ["keys-differ"])
  }
}

@Suite("What is kept of a bonded phone, and when the disk has to wait for it", .inWorld)
struct SightingTests: InWorld {
  @Test(
    "Keys are saved when a phone pairs; what was learned of it once it is quiet, and at its end")
  func quiet() async throws {
    let disk = world.platform.disk
    try await world.meet()
    try await world.until(.paired)
    #expect(disk.takeSaved() == ["bond"])
    try await world.until(.subscribed)
    await world.pass(.seconds(30))
    #expect(disk.takeSaved() == [])
    await world.pass(.seconds(60))
    #expect(disk.takeSaved() == ["cache"])
    for _ in 1...2 {
      try await world.phoneLeaves()
      await world.pass(.seconds(1))
      #expect(disk.takeSaved() == ["cache"])
      try await world.phoneComes()
      await world.pass(.seconds(600))
      #expect(disk.takeSaved() == [])
    }
  }

  private func bond() -> [UInt8]? {
    world.platform.disk.content { $0.hasSuffix(".bond.json") }
  }

  private func memory() throws -> JSONValue {
    let bytes = try #require(world.platform.disk.content { $0.hasSuffix(".cache.json") })
    return try JSONValue(parsing: bytes)
  }

  @Test("When it was last here, and its name, are beside the keys, which are not written again")
  func beside() async throws {
    try await world.serve()
    await world.pass(.seconds(60))
    let keys = bond()
    try await world.phoneLeaves()
    let first = try #require(try memory()["last_seen"]?.int)
    await world.pass(.seconds(3_600))
    try await world.phoneComes()
    await world.pass(.seconds(60))
    try await world.phoneLeaves()
    #expect(try #require(try memory()["last_seen"]?.int) >= first + 3_600)
    #expect(bond() == keys && keys != nil)
    try await world.stop()
    try await world.start()
    let name = try #require(try memory()["name"]?.string)
    #expect(world.daemon?.phoneReports.first?.name == name)
    let files = {
      world.platform.disk.paths.filter { $0.contains("cache") || $0.contains("bond") }
    }
    #expect(files().count == 2)
    try await world.forgetPhone()
    #expect(files().isEmpty)
  }
}
