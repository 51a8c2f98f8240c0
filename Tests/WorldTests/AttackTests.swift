// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

/// BLESA (Wu et al., WOOT 2020): a device that uses a bonded device's address, and is believed without encryption.
/// BLERP (Tommasi et al., 2025): one that pairs again in its name, and so replaces the bond.
@Suite("World: attacks with a name")
struct AttackTests {
  /// What the attacker does about the key that it does not have.
  enum Way: CaseIterable {
    /// Nothing: it serves its own notifications unencrypted (BLESA).
    case ignores
    /// It encrypts with a key of its own.
    case invents
    /// It pairs at once, or when it is asked to encrypt (BLERP).
    case pairs, pairsWhenAsked
  }

  /// When it comes.
  enum Moment: CaseIterable {
    case phoneAway, phoneBeforeEncryption, phoneServed, daemonStarts
  }

  /// A device at the addresses of the phone, with services and notifications of its own, readable without encryption.
  @LoopActor private static func attacker(_ world: World, _ way: Way) throws -> Handset {
    let attacker = world.stranger { $0 = world.phone.kind }
    attacker.encryptsAfter = nil
    attacker.heedsRequests = way != .ignores
    attacker.consent = .accepts(after: .milliseconds(20))
    switch way {
    case .ignores: attacker.spoilKey(of: world.adapter)
    case .invents:
      // The first one that a handset makes would be the phone's.
      for _ in 0..<2 { attacker.spoilKey(of: world.adapter) }
      attacker.encryptsAfter = .milliseconds(50)
    case .pairs: attacker.pairsAfter = .milliseconds(50)
    case .pairsWhenAsked: break
    }
    try attacker.phone.perform(
      .add(NotificationContents(.social, app: "evil", title: "Transfer the money")))
    return attacker
  }

  /// Has it connect, and send what a served phone would.
  @LoopActor private static func attack(_ attacker: Handset, _ world: World) async {
    attacker.connect(to: world.adapter)
    for _ in 0..<40 {
      await world.pass(.milliseconds(500))
      guard attacker.connection != nil else { break }
      _ = try? attacker.phone.perform(.encrypt(true))
      // Notification Source and Entity Update, at the handles that the board remembers.
      attacker.say([0x1B, 0x1E, 0x00, 0, 0, 4, 1, 7, 0, 0, 0])
      attacker.say([0x1B, 0x2A, 0x00, 2, 2, 0, 0x78])
    }
  }

  @Test(
    "A device in a phone's name, without its key, changes nothing and is told nothing",
    arguments: Way.allCases, Moment.allCases)
  func attack(_ way: Way, _ moment: Moment) async throws {
    try await inWorld { world in
      try await Bonds.make(world) { $0.hooks = [Hook("notification=/bin/lamp")!] }
      let key = BondOwnerTests.keys(world)
      let attacker = try Self.attacker(world, way)
      if moment != .phoneServed {
        try await world.phoneLeaves()
        await world.pass(.seconds(1))
      }
      if moment == .daemonStarts {
        try await world.stop()
        try await world.start { $0.hooks = [Hook("notification=/bin/lamp")!] }
        try await world.until(.advertising)
      }
      if moment == .phoneBeforeEncryption {
        world.phone.encryptsAfter = nil
        world.phone.heedsRequests = false
        #expect(world.phone.connect(to: world.adapter))
        await world.pass(.seconds(6))
      }
      let mark = world.events.count
      await Self.attack(attacker, world)
      await world.pass(.seconds(30))
      let told = Set(world.story(since: mark))
      #expect(
        told.isDisjoint(with: [
          "paired", "subscribed", "authorization", "incoming", "notification", "media", "battery",
        ]), "\(world.story(since: mark))")
      #expect(BondOwnerTests.keys(world) == key && key != nil)
      #expect(world.adapter.keyedPeers == [world.phone.kind.identity])
      #expect(world.platform.programs.runs.isEmpty)
      #expect(attacker.connection == nil)
      // Where the phone is served, the board is not on the air.
      let totals = try #require(try await world.status().totals)
      #expect(totals.unproven > 0 || moment == .phoneServed)
      world.phone.leave()
      await world.pass(.seconds(5))
      world.phone.encryptsAfter = .milliseconds(20)
      try await Bonds.connectsEncrypted(world)
    }
  }
}
