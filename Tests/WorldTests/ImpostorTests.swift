// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Testing
import VirtualKernel
import Wire

@testable import Board
@testable import Daemon

@Suite("Nobody takes a phone's bond by claiming to be it")
struct ImpostorTests {
  /// Where the phone is when somebody claims to be it.
  enum Phone: CaseIterable { case away, thereBefore, cameMeanwhile }

  /// A stranger who names the identity of the world's phone.
  @LoopActor private static func impostor(
    _ world: World, _ order: Handset.KeyOrder, at address: Address
  ) -> Handset {
    let impostor = world.stranger {
      $0.identity = world.phone.kind.identity
      $0.identityKey = 0x5A
      $0.privateAddress = address
    }
    impostor.keyOrder = order
    return impostor
  }

  /// Checks that an impostor has gone with nothing, and that the phone still has its bond.
  @LoopActor private static func expectNothing(
    for impostor: Handset, _ world: World, _ key: String?
  ) async throws {
    #expect(impostor.connection == nil)
    #expect(BondOwnerTests.keys(world) == key && key != nil)
    #expect(world.platform.disk.paths.filter { $0.hasSuffix(".bond.json") }.count == 1)
    world.phone.leave()
    await world.pass(.seconds(5))
    try await Bonds.connectsEncrypted(world)
  }

  static let cases = Handset.KeyOrder.allCases.flatMap { order in
    Phone.allCases.map { (order, $0) }
  }

  static let orders = Handset.KeyOrder.allCases.flatMap { [($0, false), ($0, true)] }

  /// Addresses that an impostor comes by: one that the kernel tells beside his Identity Resolving Key, and one that it
  /// does not.
  static let ownAddresses = [Address(0x4ABB_CCDD_EEFF), Address(0xC0BB_CCDD_EEFF)]

  @Test(
    "A stranger who names a bonded phone's identity gets nothing, and the phone keeps its bond",
    arguments: cases, ownAddresses)
  func impostor(_ order: (Handset.KeyOrder, Phone), _ address: Address) async throws {
    let (order, phone) = order
    try await inWorld(after: .paired) { world in
      if phone != .thereBefore {
        try await world.phoneLeaves()
      }
      let key = BondOwnerTests.keys(world)
      try await world.openPairing()
      let impostor = Self.impostor(world, order, at: address)
      await world.pass(.seconds(1))
      #expect(impostor.connect(to: world.adapter))
      if phone == .cameMeanwhile {
        await world.pass(.seconds(1))
        #expect(world.phone.connect(to: world.adapter))
      }
      let reason = try await world.pairingFailure()
      #expect(reason.contains("ancsd forget"), "\(reason)")
      await world.pass(.seconds(20))
      try await Self.expectNothing(for: impostor, world, key)
    }
  }

  @Test(
    "Nor does one who was there when the phone paired, and pairs after it, get anything",
    arguments: orders, ownAddresses)
  func impostorBefore(
    _ order: (keys: Handset.KeyOrder, isFirst: Bool), _ address: Address
  ) async throws {
    try await inWorld { world in
      try await world.start { $0.pairable = .always }
      try await world.until(.advertising)
      let impostor = Self.impostor(world, order.keys, at: address)
      impostor.consent = .refuses(after: .milliseconds(100))
      // While one of them pairs the other waits.
      for phone in order.isFirst ? [impostor, world.phone] : [world.phone, impostor] {
        #expect(phone.connect(to: world.adapter))
        await world.pass(.seconds(1))
      }
      try await world.until(.subscribed)
      let key = BondOwnerTests.keys(world)
      impostor.consent = .accepts(after: .milliseconds(100))
      impostor.pair()
      await world.pass(.seconds(20))
      try await Self.expectNothing(for: impostor, world, key)
    }
  }

  @Test(
    "Nor is his key used in place of the phone's if he is gone before it is told",
    arguments: Handset.KeyOrder.allCases, ownAddresses)
  func impostorGone(_ order: Handset.KeyOrder, _ address: Address) async throws {
    try await inWorld(after: .phoneLeft) { world in
      let key = BondOwnerTests.keys(world)
      try await world.openPairing()
      let impostor = Self.impostor(world, order, at: address)
      await world.pass(.seconds(1))
      #expect(impostor.connect(to: world.adapter))
      world.onTurn = { if impostor.isBonded(to: world.adapter) { impostor.goOutOfRange() } }
      await world.pass(.seconds(20))
      #expect(impostor.isBonded(to: world.adapter) && impostor.connection == nil)
      #expect(BondOwnerTests.keys(world) == key)
      try await Bonds.connectsEncrypted(world)
    }
  }

  @Test(
    "A stranger at a bonded phone's address, with another identity, costs it no bond",
    arguments: Handset.KeyOrder.allCases)
  func addressTaken(_ order: Handset.KeyOrder) async throws {
    try await inWorld(after: .phoneLeft) { world in
      try await world.openPairing()
      let key = BondOwnerTests.keys(world)
      let stranger = world.stranger { $0.privateAddress = world.phone.kind.identity.address }
      stranger.keyOrder = order
      await world.pass(.seconds(1))
      #expect(stranger.connect(to: world.adapter))
      stranger.pair()
      try await world.until(.subscribed)
      await world.pass(.seconds(10))
      #expect(BondOwnerTests.keys(world) == key && key != nil)
      stranger.leave()
      await world.pass(.seconds(5))
      try await Bonds.connectsEncrypted(world)
    }
  }
}
