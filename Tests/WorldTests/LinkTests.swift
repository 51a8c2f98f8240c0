// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Bluetooth
import Control
import EventLoop
import GAP
import GATT
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon
@testable import Mgmt

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
    arguments: [(.displayOnly, 0), (.displayOnly, 5), (.keyboardOnly, 1), (.displayYesNo, 1)] as [(IOCapability, Int)])
  func secondAttempt(_ io: IOCapability, pause: Int) async throws {
    world.phone.typesCorrectly = false
    try await world.meet {
      $0.radio.io = io
      $0.radio.pairable = .always
    }
    try await world.answer(accept: io != .displayYesNo, passkey: 1)
    try await world.until(.pairingFailed)
    await world.pass(.seconds(pause))
    world.phone.typesCorrectly = true
    world.phone.pair()
    try await world.answer()
    try await isServedOnOneLink()
  }

  /// How long the impostor has been there when the phone comes.
  enum Stage: CaseIterable { case expected, asked }

  @Test("The phone displaces who only uses its address", arguments: Stage.allCases)
  func displaced(_ stage: Stage) async throws {
    try await world.begin(.phoneLeft)
    // Beside one that may still encrypt by itself the board is on the air only for others.
    if stage == .expected { try await world.openPairing() }
    let impostor = await world.impostorComes()
    await world.pass(stage == .expected ? .seconds(1) : .seconds(6))
    let mark = world.events.count
    try await world.phoneComes()
    #expect(world.story(since: mark) == ["disconnected", "connected", "subscribed"])
    #expect(world.last(.disconnected) == .disconnected(reason: "another link in its name has replaced it"))
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
    "The end of a refused impostor's link is not that of the phone's, nor of its next one",
    arguments: [false, true], [500, 3_000, 6_000, 20_000])
  func impostorEnds(eventFirst: Bool, milliseconds: Int64) async throws {
    try await world.begin(.paired)
    try await world.openPairing()
    let impostor = await world.impostorComes()
    (impostor.endsWithEventFirst, world.phone.endsWithEventFirst) = (eventFirst, eventFirst)
    await world.pass(.milliseconds(milliseconds))
    world.phone.leave()
    try await world.until(.disconnected, within: .seconds(1))
    try await world.phoneConnectsEncrypted()
    await world.pass(.seconds(60))
    #expect(impostor.connection == nil && world.phone.connection != nil)
    #expect(world.daemon?.sessions.count == 1)
    #expect(world.story.count { $0 == "disconnected" } == 1)
  }

  @Test("A phone that is back before the kernel has told all of its end keeps its new link", arguments: [false, true])
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
    try world.phoneDoes(.unpublish(.ancs), .unpublish(.ams))
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
  private func configurations() throws -> [Handle: ClientConfiguration] {
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

@Suite("Connection parameters of a link", .inWorld)
struct LinkTuningTests: InWorld {
  @Test(
    "Where the kernel survives it, L2CAP requests what the controller refuses to, on later links at once",
    arguments: [0x0C, 0x1A])
  func signals(status: Int) async throws {
    try await world.begin(.onAir)
    let controller = try #require(world.platform.controller)
    controller.signals = true
    if status == 0x1A { controller.result = 0x1A } else { controller.response = 0x0C }
    try await world.phoneComes()
    await world.pass(.seconds(5))
    let first = try await world.status()
    #expect(first.links.first?.timeout == 6_000)
    #expect(first.adapters[0].parametersRefusal == nil)
    #expect(controller.requests.count == 1 && controller.signalled.count == 1)
    try await world.phoneReturnsEncrypted()
    await world.pass(.seconds(5))
    #expect(controller.requests.count == 1 && controller.signalled.count > 1)
    #expect(controller.signalled.allSatisfy { $0.timeout == 600 })
  }

  @Test(
    "A controller that refuses, if only at the end, is not asked again: status says so, and the kernel asks in its place",
    arguments: [
      (0x0C, 0, "0x0C, Command Disallowed"), (0, 0x1A, "0x1A)"),
      (0x02, 0, nil),  // Unknown Connection Identifier: the link has just gone
    ] as [(response: UInt8, result: UInt8, refusal: String?)])
  func refusals(_ says: (response: UInt8, result: UInt8, refusal: String?)) async throws {
    try await world.begin(.onAir)
    let controller = try #require(world.platform.controller)
    (controller.response, controller.result) = (says.response, says.result)
    try await world.phoneComes()
    await world.pass(.seconds(60))
    #expect(world.phone.connection?.parameterRequest == nil)
    let text = try await world.status().adapters[0].parametersRefusalText
    guard let refusal = says.refusal else { return #expect(text == nil) }
    #expect(text?.contains(refusal) == true && controller.requests.count == 1)
    try await world.phoneReturnsEncrypted()
    #expect(world.phone.connection?.parameterRequest == 36...48)
    // And also after the adapter was set up again.
    world.kernel.failHardware(of: world.adapter)
    await world.phoneConnects(after: .seconds(5))
    await world.pass(.seconds(5))
    #expect(world.phone.connection?.parameterRequest == 36...48)
  }

  @Test(
    "A phone that drops two links soon after a request is not asked for a day", arguments: [0x28, 0x08, 0x22, 0x13])
  func drops(reason: Int) async throws {
    try await world.begin(.phoneLeft)
    let controller = try #require(world.platform.controller)
    @LoopActor func link() async throws -> Int {
      let before = controller.requests.count
      await world.phoneConnects()
      let handle = try #require(world.phone.connection?.handle)
      await world.pass(.seconds(4))
      world.phone.goOutOfRange()
      controller.onEvent?(.disconnected(handle: handle, reason: UInt8(reason)))
      try await world.until(.disconnected)
      return controller.requests.count - before
    }
    let isOrdinary = reason == 0x13
    #expect(try await link() == 1)
    #expect(try await link() == 1)
    #expect(try await link() == (isOrdinary ? 1 : 0))
    await world.pass(.seconds(1))
    try await world.phoneComes()
    let link2 = try await world.status().links[0]
    #expect((link2.parametersPause != nil) == !isOrdinary)
    world.phone.leave()
    await world.pass(.seconds(24 * 3600))
    #expect(try await link() == 1)
  }

  @Test(
    "An end that the kernel has no error for is one by different keys only if the controller says so",
    arguments: [(0x28, "Instant Passed"), (0x3D, "Connection Terminated due to MIC Failure")])
  func unnamedEnd(reason: Int, name: String) async throws {
    try await world.begin(.phoneLeft)
    world.phone.encryptsAfter = nil
    for _ in 0..<StaleBondWatch.drops {
      await world.phoneConnects(after: .seconds(2))
      let handle = try #require(world.phone.connection?.handle)
      await world.pass(.seconds(1))
      world.platform.controller?.onEvent?(.disconnected(handle: handle, reason: UInt8(reason)))
      world.phone.dropUnnamed()
      try await world.until(.disconnected)
      #expect(world.last(.disconnected) == .disconnected(reason: name))
    }
    await world.pass(.seconds(2))
    #expect((world.wait == "keys-differ") == (reason == 0x3D))
  }

  @Test("With the quirk phy=1m the controller is told so once")
  func onlyPHY1M() async throws {
    try await world.start { $0.radio.onlyPHY1M = true }
    #expect(world.platform.controller?.requests == [.onlyPHY1M])
    let adapter = try await world.status().adapters[0]
    #expect(adapter.phy == "1m" && "\(adapter.lines(TextStyle()))".contains("PHY 1m"))
  }
}

/// A phone that counts links without a subscription, and stays away after three (`PhoneRules.strikes`).
@Suite("World: the phone's patience", .inWorld)
struct PatienceTests: InWorld {
  /// What becomes of the board once it has left the phone twice.
  enum Fortune: CaseIterable { case none, restarted, withoutPower }

  @Test(
    "A phone that is slow to encrypt is not left a third time, whatever became of the board, and does not give up",
    arguments: Fortune.allCases)
  func slowToEncrypt(_ fortune: Fortune) async throws {
    try await world.begin(.phoneLeft)
    world.phone.encryptsAfter = .seconds(25)
    world.phone.heedsRequests = false
    for _ in 0..<2 { try await world.phoneIsLeft() }
    if fortune == .restarted { try await world.stop() }
    if fortune == .withoutPower { world.cutPower() }
    if fortune != .none { try await world.start() }
    try await world.until("on the air") { world.adapter.isOnAir }
    #expect(world.phone.phone.strikes == 2)
    #expect(world.phone.connect(to: world.adapter))
    await world.pass(.seconds(20))
    #expect(world.phone.connection != nil)
    if fortune == .withoutPower {
      // The person carries it away: that is the third.
      world.phone.goOutOfRange()
      await world.pass(.seconds(5))
      #expect(world.phone.phone.hasGivenUp && world.wait == "given-up")
      try world.phoneDoes(.tap)
      world.phone.encryptsAfter = .milliseconds(20)
      await world.phoneConnects()
    }
    try await world.until(.subscribed)
    #expect(world.phone.phone.strikes == 0)
  }

  @Test("Requests that are never answered do not end a third link from this side")
  func timeouts() async throws {
    try await world.begin(.phoneLeft)
    world.dropRequests()
    for _ in 0..<2 { try await world.phoneIsLeft() }
    #expect(world.phone.connect(to: world.adapter))
    await world.pass(.seconds(300))
    #expect(world.phone.connection != nil && world.phone.phone.strikes == 2)
    #expect(try await world.status().totals?.timeouts == 3)
    world.phone.transform = { pdu, _ in pdu }
    world.phone.leave()
    try world.phoneDoes(.tap)
    await world.pass(.seconds(1))
    try await world.phoneComes()
  }

  @Test("Pairing that is opened, used and closed beside the phone costs it no subscription")
  func pairingBeside() async throws {
    try await world.begin(.phoneLeft)
    for round in 0..<8 {
      let other = world.stranger()
      other.consent = round % 2 == 0 ? .accepts(after: .seconds(1)) : .refuses(after: .seconds(1))
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.milliseconds(round * 40))
      try await world.openPairing()
      try await world.until("on the air") { world.adapter.isOnAir }
      #expect(other.connect(to: world.adapter))
      await world.pass(.milliseconds(round * 150))
      try await world.closePairing()
      await world.pass(.seconds(20))
      #expect(world.phone.phone.strikes == 0, "round \(round): \(world.story.suffix(12))")
      other.leave()
      world.phone.leave()
      await world.pass(.seconds(5))
    }
  }
}
