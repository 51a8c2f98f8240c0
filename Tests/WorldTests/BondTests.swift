// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import Mgmt
import System
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

/// What a bond is worth.
@LoopActor
enum Bonds {
  /// Pairs the phone of a world.
  static func make(
    _ world: World, _ change: (inout World.Options) -> Void = { _ in }
  ) async throws {
    try await world.serve(change)
    await world.pass(.seconds(10))
  }

  /// The same phone has left.
  static func makeAndLeave(_ world: World) async throws {
    try await make(world)
    try await world.phoneLeaves()
  }

  /// Pairs the phone of a world whose disk takes nothing any more.
  static func makeOnFullDisk(_ world: World) async throws {
    try await world.start()
    world.platform.disk.fail(.noSpace)
    await world.pass(.seconds(1))
    try await world.phoneComes()
  }

  /// Checks that the phone comes back without pairing again.
  static func returnsEncrypted(_ world: World) async throws {
    try await world.phoneLeaves()
    try await connectsEncrypted(world)
  }

  /// Checks that the phone connects without pairing again.
  static func connectsEncrypted(_ world: World) async throws {
    await world.pass(.seconds(1))
    let mark = world.events.count
    try await world.phoneComes()
    let story = world.story(since: mark)
    #expect(story.starts(with: ["connected", "subscribed"]), "\(story)")
  }
}

@Suite("A bonded phone comes back")
struct BondTests {
  @Test("Also when the daemon was started again", arguments: [true, false])
  func afterRestart(whileConnected: Bool) async throws {
    try await inWorld(after: .paired) { world in
      if !whileConnected { world.phone.leave() }
      try await world.stop()
      #expect(world.adapter.connections.isEmpty)
      #expect(world.adapter.keyedPeers == [])
      try await world.start()
      try await Bonds.connectsEncrypted(world)
    }
  }

  @Test("Nothing of a session is left in memory when its link is over")
  func released() async throws {
    try await inWorld(after: .paired) { world in
      weak let session = world.daemon?.sessions.first
      weak let client = session?.client
      weak let bearer = session?.bearer
      weak let consumer = session?.services.active(NotificationConsumer.self)
      #expect(client != nil && bearer != nil && consumer != nil)
      try await world.phoneLeaves()
      await world.pass(.seconds(60))
      #expect(session == nil && client == nil && bearer == nil && consumer == nil)
    }
  }

  @Test(
    "A forgotten phone's keys are gone from the disk and the kernel, and it can pair again, even if pairing was closed",
    arguments: [true, false])
  func forgotten(wasClosed: Bool) async throws {
    try await inWorld(after: .paired) { world in
      if wasClosed { try await world.closePairing() }
      try await ForgettingTests.forget(world)
      try await world.until(.disconnected)
      await world.pass(.seconds(1))
      #expect(world.adapter.keyedPeers == [])
      #expect(!world.platform.disk.paths.contains { $0.contains("c01122334455") })
      world.phone.forget(world.adapter)
      #expect(world.phone.connect(to: world.adapter))
      try await world.until(.paired)
    }
  }
}

@Suite("Keys that change while the kernel is told its keys")
struct KeyLoadTests {
  @Test("That of a phone that pairs meanwhile is not lost")
  func paired() async throws {
    try await inWorld(after: .phoneLeft) { world in
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
  }

  @Test("That of a phone that is forgotten while the adapter is set up does not come back")
  func forgotten() async throws {
    try await inWorld(after: .phoneLeft) { world in
      try await world.stop()
      world.kernel.commandFate = { $0 == .setLowEnergy ? .late(.seconds(2)) : .arrives }
      world.launch()
      await world.pass(.seconds(1))
      try await ForgettingTests.forget(world)
      try await world.until(.ready)
      await world.pass(.seconds(1))
      #expect(world.adapter.keyedPeers == [])
    }
  }
}

@Suite("One side has lost the bond")
struct OneSidedBondTests {
  /// The phone connects, finds that nothing works, and leaves, a few times.
  @LoopActor static func flutter(_ world: World) async {
    for _ in 0..<StaleBondWatch.drops {
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.seconds(2))
      world.phone.leave()
      await world.pass(.seconds(3))
    }
  }

  /// A bonded phone forgets the board, and connects again while pairing is open.
  @LoopActor private static func comesBackToPair(_ world: World) async throws {
    try await Bonds.makeAndLeave(world)
    world.phone.forget(world.adapter)
    try await world.openPairing(seconds: 60)
    await world.pass(.seconds(1))
    #expect(world.phone.connect(to: world.adapter))
  }

  @Test(
    "The phone: while pairing is open it pairs again, and the bond is replaced",
    arguments: [false, true])
  func lostByPhonePairsAgain(kernelHasBug: Bool) async throws {
    try await inWorld(adapter: .init { $0.failsToPairAnew = kernelHasBug }) { world in
      try await Self.comesBackToPair(world)
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
      try await Bonds.returnsEncrypted(world)
    }
  }

  @Test(
    "A kernel that can't pair again has the phone's old key again once pairing is closed, by hand or by its end",
    arguments: [true, false])
  func keyComesBack(byHand: Bool) async throws {
    try await inWorld(adapter: .init { $0.failsToPairAnew = true }) { world in
      try await Self.comesBackToPair(world)
      try await world.until(.pairingFailed)
      await world.pass(.seconds(1))
      #expect(world.adapter.keyedPeers == [])
      if byHand {
        try await world.closePairing()
        await world.pass(.seconds(1))
      } else {
        await world.pass(.seconds(60))
      }
      #expect(world.adapter.keyedPeers == [world.phone.kind.identity])
      #expect(world.daemon?.phoneReports.count == 1)
    }
  }

  @Test("Neither, but the keys differ: the link ends at once, and it is called stale")
  func keysDiffer() async throws {
    try await inWorld(after: .phoneLeft) { world in
      world.phone.spoilKey(of: world.adapter)
      for _ in 0..<StaleBondWatch.drops {
        await world.pass(.seconds(2))
        #expect(world.phone.connect(to: world.adapter))
        try await world.until(.disconnected)
      }
      await world.pass(.seconds(1))
      #expect(
        world.last(.disconnected)
          == .disconnected(reason: "Connection Terminated due to MIC Failure"))
      #expect(world.last(.stale) != nil, "\(world.story)")
      #expect(world.wait == "keys-differ")
      // The next link, after the board's second of quiet, says it too: the phone has given up until then.
      try world.phone.phone.perform(.tap)
      await world.pass(.seconds(1))
      world.phone.encryptsAfter = nil
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.seconds(1))
      #expect(try await world.status().links.map(\.waiting.wait) == ["keys-differ"])
    }
  }
}
