// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import EventLoop
import Mgmt
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Nobody takes a phone's bond by claiming to be it", .inWorld)
struct ImpostorTests: InWorld {
  /// Where the phone is when somebody claims to be it, and whether he is gone before his key is told.
  enum Phone: CaseIterable { case away, awayAndImpostorGone, thereBefore, cameMeanwhile }

  /// A stranger who names the identity of the world's phone.
  private func impostor(_ order: Handset.KeyOrder, at address: Address) -> Handset {
    let impostor = world.stranger {
      $0.identity = world.phone.kind.identity
      $0.identityKey = 0x5A
      $0.privateAddress = address
    }
    impostor.keyOrder = order
    return impostor
  }

  /// Checks that an impostor has gone with nothing, and that the phone still has its bond.
  private func expectNothing(for impostor: Handset, _ key: String?) async throws {
    #expect(impostor.connection == nil)
    #expect(world.bondKeys == key && key != nil)
    #expect(world.bondFiles.count == 1)
    world.phone.leave()
    await world.pass(.seconds(5))
    try await world.phoneConnectsEncrypted()
  }

  nonisolated static let cases = Handset.KeyOrder.allCases.flatMap { order in
    Phone.allCases.map { (order, $0) }
  }

  nonisolated static let orders = Handset.KeyOrder.allCases.flatMap { [($0, false), ($0, true)] }

  /// Addresses that an impostor comes by: one that the kernel tells beside his Identity Resolving Key, and one that it
  /// does not.
  nonisolated static let ownAddresses = [Address(0x4ABB_CCDD_EEFF), Address(0xC0BB_CCDD_EEFF)]

  @Test(
    "A stranger who names a bonded phone's identity gets nothing, and the phone keeps its bond",
    arguments: cases, ownAddresses)
  func impostor(_ order: (keys: Handset.KeyOrder, phone: Phone), _ address: Address) async throws {
    try await world.begin(order.phone == .thereBefore ? .paired : .phoneLeft)
    let key = world.bondKeys
    try await world.openPairing()
    let impostor = impostor(order.keys, at: address)
    await world.pass(.seconds(1))
    #expect(impostor.connect(to: world.adapter))
    if order.phone == .cameMeanwhile { await world.phoneConnects() }
    if order.phone == .awayAndImpostorGone {
      world.onTurn = { if impostor.isBonded(to: world.adapter) { impostor.goOutOfRange() } }
    } else {
      let reason = try await world.pairingFailure()
      #expect(reason.contains("ancsd forget"), "\(reason)")
    }
    await world.pass(.seconds(20))
    #expect(order.phone != .awayAndImpostorGone || impostor.isBonded(to: world.adapter))
    try await expectNothing(for: impostor, key)
  }

  @Test(
    "Nor does one who was there when the phone paired, and pairs after it, get anything",
    arguments: orders, ownAddresses)
  func impostorBefore(
    _ order: (keys: Handset.KeyOrder, isFirst: Bool), _ address: Address
  ) async throws {
    try await world.begin(.onAir) { $0.radio.pairable = .always }
    let impostor = impostor(order.keys, at: address)
    impostor.consent = .refuses(after: .milliseconds(100))
    // While one of them pairs the other waits.
    for phone in order.isFirst ? [impostor, world.phone] : [world.phone, impostor] {
      #expect(phone.connect(to: world.adapter))
      await world.pass(.seconds(1))
    }
    try await world.until(.subscribed)
    let key = world.bondKeys
    impostor.consent = .accepts(after: .milliseconds(100))
    impostor.pair()
    await world.pass(.seconds(20))
    try await expectNothing(for: impostor, key)
  }

  @Test(
    "A stranger who pairs at a bonded phone's address does not become that phone, and costs it no bond",
    arguments: Handset.KeyOrder.allCases)
  func addressTaken(_ order: Handset.KeyOrder) async throws {
    try await world.begin(.paired)
    try await world.bringMailAndLeave()
    try await world.openPairing()
    let key = world.bondKeys
    let stranger = await world.strangerComes {
      $0.privateAddress = world.phone.kind.identity.address
    }
    stranger.keyOrder = order
    stranger.pair()
    try await world.until(.subscribed)
    let phones = try #require(world.daemon?.phoneBook.phones)
    #expect(phones.map(\.identity) == [world.phone.kind.identity, stranger.kind.identity])
    #expect(phones.map(\.notifications.ledger.count) == [3, 0])
    await world.pass(.seconds(10))
    #expect(world.bondKeys == key && key != nil)
    stranger.leave()
    await world.pass(.seconds(5))
    try await world.phoneConnectsEncrypted()
  }
}

/// BLESA (Wu et al., WOOT 2020): a device that uses a bonded device's address, and is believed without encryption.
/// BLERP (Tommasi et al., 2025): one that pairs again in its name, and so replaces the bond.
@Suite("World: attacks with a name", .inWorld)
struct AttackTests: InWorld {
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
  private func attacker(_ way: Way) throws -> Handset {
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
  private func attack(_ attacker: Handset) async {
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
    try await world.begin(.paired) { $0.live.hooks = [Hook("notification=/bin/lamp")!] }
    let key = world.bondKeys
    let attacker = try attacker(way)
    if moment != .phoneServed { try await world.phoneLeaves() }
    await world.pass(.seconds(1))
    if moment == .daemonStarts {
      try await world.stop()
      try await world.begin(.onAir) { $0.live.hooks = [Hook("notification=/bin/lamp")!] }
    }
    if moment == .phoneBeforeEncryption {
      world.phone.encryptsAfter = nil
      world.phone.heedsRequests = false
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.seconds(6))
    }
    let mark = world.events.count
    await attack(attacker)
    await world.pass(.seconds(30))
    let told = Set(world.story(since: mark))
    #expect(
      told.isDisjoint(with: ["paired", "subscribed", "authorization", "incoming", "notification", "media", "battery"]),
      "\(world.story(since: mark))")
    #expect(world.bondKeys == key && key != nil)
    #expect(world.adapter.keyedPeers == [world.phone.kind.identity])
    #expect(world.platform.programs.runs.isEmpty)
    #expect(attacker.connection == nil)
    // Where the phone is served, the board is not on the air.
    let totals = try #require(try await world.status().totals)
    #expect(totals.unproven > 0 || moment == .phoneServed)
    world.phone.leave()
    await world.pass(.seconds(5))
    world.phone.encryptsAfter = .milliseconds(20)
    try await world.phoneConnectsEncrypted()
  }
}

@Suite("Commands reach secured phones only", .inWorld)
struct SecuredCommandTests: InWorld {
  @Test("A device at a bonded phone's address gets nothing that a user sends, and is no phone")
  func impostor() async throws {
    try await world.begin(.phoneLeft)
    let phone = PhoneSelector("\(world.phone.kind.identity.address)")
    let impostor = world.stranger { $0.privateAddress = world.phone.kind.identity.address }
    var heard: Set<UInt8> = []
    impostor.hears { heard.insert($0[0]) }
    await world.pass(.seconds(1))
    #expect(impostor.connect(to: world.adapter))
    await world.pass(.seconds(2))
    #expect(world.daemon?.sessions.count == 1)
    @LoopActor func refuses<Parameters, Response>(
      _ method: ControlMethod<Parameters, Response>, _ parameters: Parameters
    ) async {
      await #expect(throws: RPCError.self, "\(method.name)") {
        _ = try await world.call(method, parameters)
      }
    }
    for selector in [phone, nil] {
      var write = WriteParameters()
      (write.phone, write.value) = (selector, HexBytes([1, 2, 3]))
      var read = ReadParameters()
      read.phone = selector
      await refuses(ControlMethods.writeAttribute, write)
      write.isCommand = true
      await refuses(ControlMethods.writeAttribute, write)
      await refuses(ControlMethods.readAttribute, read)
      await refuses(ControlMethods.discover, PhoneParameters(phone: selector))
      await refuses(ControlMethods.sendMediaCommand, MediaParameters(.play, phone: selector))
    }
    let phones = try await world.call(ControlMethods.listPhones, NoParameters()).elements
    #expect(phones.map(\.isConnected) == [false])
    // The board's request for the MTU, and its responses.
    #expect(heard.isSubset(of: [0x01, 0x02, 0x03]), "\(heard)")
  }

  @Test("A stranger does not make commands ambiguous")
  func stranger() async throws {
    try await world.begin(.paired)
    try await world.openPairing()
    await world.strangerComes().consent = .ignores
    await world.pass(.seconds(2))
    #expect(world.daemon?.sessions.count == 2)
    var read = ReadParameters()
    read.handle = AttributeHandle(value: 3)
    _ = try await world.call(ControlMethods.readAttribute, read)
    _ = try await world.call(ControlMethods.getMedia, PhoneParameters())
  }
}
