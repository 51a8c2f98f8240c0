// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Control
import GATT
import Mgmt
import Testing
import VirtualKernel
import VirtualPhone

@testable import Board
@testable import Daemon

@Suite("Link states and their time limits", .inWorld)
struct LinkTests: InWorld {
  /// The phone is served, and stays on the one link that it has had.
  private func isServedOnOneLink() async throws {
    try await world.until(.subscribed, within: .seconds(20))
    await world.pass(.seconds(60))
    #expect(world.wait == "news")
    #expect(world.story.count { $0 == "connected" } == 1)
    #expect(!world.story.contains("disconnected"))
  }

  @Test(
    "A second attempt on the same link that succeeds is served, whichever side got the first one wrong",
    arguments: [(.displayOnly, 0), (.displayOnly, 5), (.keyboardOnly, 1), (.displayYesNo, 1)]
      as [(IOCapability, Int)])
  func secondAttempt(_ io: IOCapability, pause: Int) async throws {
    world.phone.typesCorrectly = false
    try await world.meet {
      $0.io = io
      $0.pairable = .always
    }
    try await world.answer(accept: io != .displayYesNo, passkey: 1)
    try await world.until(.pairingFailed)
    await world.pass(.seconds(pause))
    world.phone.typesCorrectly = true
    world.phone.pair()
    try await world.answer()
    try await isServedOnOneLink()
  }

  @Test("While pairing is open it has the time that a person needs to pair again")
  func pairsAnewSlowly() async throws {
    try await world.begin(.phoneLeft)
    await world.pass(.seconds(1))
    world.phone.forget(world.adapter)
    world.phone.consent = .accepts(after: .seconds(25))
    try await world.openPairing()
    await world.phoneConnects()
    try await world.until(.paired)
    try await world.until(.subscribed)
  }

  @Test("Three links in a row that never encrypt are a bond that the phone has lost")
  func stale() async throws {
    try await world.begin(.phoneLeft)
    await world.pass(.seconds(1))
    world.phone.forget(world.adapter)
    world.phone.consent = .ignores
    for _ in 1..<StaleBondWatch.drops {
      #expect(world.phone.connect(to: world.adapter))
      try await world.until(.disconnected)
      await world.pass(.seconds(1))
    }
    // The board does not end the last one, which would count for a phone that has not lost it.
    #expect(world.phone.connect(to: world.adapter))
    await world.pass(.seconds(20))
    #expect(world.phone.connection != nil)
    #expect(world.story.count { $0 == "stale" } == 1)
    #expect(world.wait == "bond-lost-by-phone")
  }

  /// How long the impostor has been there when the phone comes.
  enum Stage: CaseIterable { case expected, asked }

  @Test("The phone displaces who only uses its address", arguments: Stage.allCases)
  func displaced(_ stage: Stage) async throws {
    try await world.begin(.phoneLeft)
    await world.pass(.seconds(1))
    // Beside one that may still encrypt by itself the board is on the air only for others.
    if stage == .expected {
      try await world.openPairing()
      await world.pass(.seconds(1))
    }
    let impostor = world.impostor()
    #expect(impostor.connect(to: world.adapter))
    await world.pass(stage == .expected ? .seconds(1) : .seconds(6))
    let mark = world.events.count
    try await world.phoneComes()
    #expect(world.story(since: mark) == ["disconnected", "connected", "subscribed"])
    #expect(
      world.last(.disconnected)
        == .disconnected(reason: "another link in its name has replaced it"))
    #expect(world.daemon?.sessions.count == 1)
    // The end of the impostor's link is not that of the phone's.
    await world.pass(.seconds(60))
    #expect(impostor.connection == nil && world.phone.connection != nil)
    // Nor does it leave the board on the air, as the kernel has it.
    #expect(world.adapter.isOnAir == (stage == .expected))
    #expect(world.daemon?.sessions.count == 1 && world.wait == "news")
    #expect(world.daemon?.phoneBook.phones.count == 1)
  }

  @Test(
    "The end of a refused impostor's link is not that of the phone's next one",
    arguments: [false, true], [500, 3_000, 6_000])
  func impostorEnds(eventFirst: Bool, milliseconds: Int64) async throws {
    try await world.begin(.paired)
    try await world.openPairing()
    await world.pass(.seconds(1))
    let impostor = world.impostor()
    (impostor.endsWithEventFirst, world.phone.endsWithEventFirst) = (eventFirst, eventFirst)
    #expect(impostor.connect(to: world.adapter))
    await world.pass(.milliseconds(milliseconds))
    try await world.phoneLeaves()
    try await world.phoneConnectsEncrypted()
    await world.pass(.seconds(60))
    #expect(impostor.connection == nil && world.phone.connection != nil)
    #expect(world.daemon?.sessions.count == 1)
    #expect(world.story.count { $0 == "disconnected" } == 1)
  }

  @Test(
    "The end of the phone's own link shows, whatever an impostor's does", arguments: [false, true])
  func impostorEndsFirst(eventFirst: Bool) async throws {
    try await world.begin(.paired)
    try await world.openPairing()
    await world.pass(.seconds(1))
    world.phone.endsWithEventFirst = eventFirst
    let impostor = world.impostor()
    #expect(impostor.connect(to: world.adapter))
    await world.pass(.seconds(1))
    impostor.leave()
    await world.pass(.seconds(10))
    #expect(world.daemon?.sessions.count == 1)
    #expect(!world.story.contains("disconnected"))
    world.phone.goOutOfRange()
    try await world.until(.disconnected, within: .seconds(1))
  }

  @Test(
    "A phone that is back before the kernel has told all of its end keeps its new link",
    arguments: [false, true])
  func backAtOnce(eventFirst: Bool) async throws {
    try await world.begin(.paired)
    try await world.phoneReturnsEncrypted()
    try await world.openPairing()
    await world.pass(.seconds(1))
    world.phone.endsWithEventFirst = eventFirst
    let mark = world.events.count
    let links = world.daemon?.timeline.report.links.count ?? 0
    world.phone.leave()
    #expect(world.phone.connect(to: world.adapter))
    await world.pass(.seconds(20))
    let story = world.story(since: mark)
    #expect(story.count { $0 == "disconnected" } == 1)
    #expect(story.count { $0 == "subscribed" } == 1)
    #expect(world.daemon?.sessions.count == 1 && world.wait == "news")
    // The end of the former link was not taken for that of the next one, of which the kernel had told meanwhile.
    #expect(world.daemon?.timeline.report.links.count == links + 1)
  }

  @Test(
    "A phone without ANCS that has paired is known by its identity",
    arguments: Handset.KeyOrder.allCases)
  func identityWithoutServices(_ order: Handset.KeyOrder) async throws {
    try world.phoneDoes(.unpublish(.ancs))
    try world.phoneDoes(.unpublish(.ams))
    world.phone.keyOrder = order
    try await world.meet()
    try await world.until(.paired)
    await world.pass(.seconds(10))
    let phone = try #require(world.daemon?.phoneBook.phones.first)
    #expect(phone.identity == world.phone.kind.identity)
    #expect(world.daemon?.phoneReports.first?.name == phone.cache.name)
    #expect(phone.cache.name != nil)
  }

  /// What the disk has of the configurations that the phone has written.
  private func configurations() throws -> [Handle:
    ClientConfiguration]
  {
    let phone = world.phone.kind.identity
    let adapter = try #require(world.daemon?.radio?.sortedAdapters.first?.address)
    let place = BondStore.Place(adapter: adapter, phone: phone)
    let cache = try #require(world.daemon?.bonds.cache(of: place))
    return cache.client.configurations
  }

  @Test("What the phone has configured before it has paired belongs to the bond")
  func configuredBefore() async throws {
    try await world.meet()
    await world.pass(.seconds(1))
    for handle in UInt8(1)...0x40 { world.phone.say([0x12, handle, 0x00, 0x02, 0x00]) }
    try await world.until(.subscribed)
    await world.pass(.seconds(5))
    try await world.phoneLeaves()
    #expect(try configurations().count == 1)
  }

  /// When the phone pairs again.
  enum Again: CaseIterable { case onFirstLink, whileServed, onNextLink }

  @Test(
    "What the phone has configured on the board starts over with a new bond",
    arguments: Again.allCases)
  func configurationsOfFormerBond(_ again: Again) async throws {
    try await world.begin(.paired)
    for handle in UInt8(1)...0x40 { world.phone.say([0x12, handle, 0x00, 0x02, 0x00]) }
    await world.pass(.seconds(1))
    if again != .onFirstLink {
      try await world.phoneLeaves()
      #expect(try configurations().count == 1)
      if again == .onNextLink { world.phone.forget(world.adapter) }
    }
    try await world.openPairing()
    await world.pass(.seconds(1))
    if again != .onFirstLink { #expect(world.phone.connect(to: world.adapter)) }
    if again == .whileServed { try await world.until(.subscribed) }
    world.phone.pair()
    await world.pass(.seconds(10))
    #expect(world.phone.connection?.isEncrypted == true)
    #expect(try configurations().isEmpty)
    try await world.phoneLeaves()
    #expect(try configurations().isEmpty)
    try await world.phoneConnectsEncrypted()
  }
}
