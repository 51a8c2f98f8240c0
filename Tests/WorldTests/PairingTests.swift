// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Testing
import VirtualKernel

@testable import Board
@testable import Daemon

@Suite("A phone pairs with the board", .inWorld)
struct PairingTests: InWorld {
  /// What is to happen from the phone's connection on.
  private static let success = [
    "connected", "pairing", "paired", "subscribed", "battery", "media", "time", "authorization",
  ]

  /// How a board with this capability pairs with a phone with that one (Vol 3 Part H, 2.3.5.1).
  struct Capabilities: CustomStringConvertible {
    var board: IOCapability
    var phone: IOCapability
    var method: PairingMethod
    var description: String { "\(board) and \(phone): \(method.rawValue)" }
  }

  nonisolated static let capabilities: [Capabilities] = [
    .init(board: .noInputNoOutput, phone: .keyboardDisplay, method: .justWorks),
    .init(board: .displayOnly, phone: .keyboardDisplay, method: .display),
    .init(board: .displayOnly, phone: .keyboardOnly, method: .display),
    .init(board: .displayOnly, phone: .displayYesNo, method: .justWorks),
    .init(board: .keyboardOnly, phone: .keyboardDisplay, method: .entry),
    .init(board: .keyboardOnly, phone: .displayOnly, method: .entry),
    .init(board: .displayYesNo, phone: .keyboardDisplay, method: .confirm),
    .init(board: .displayYesNo, phone: .displayYesNo, method: .confirm),
    .init(board: .displayYesNo, phone: .keyboardOnly, method: .display),
    .init(board: .displayYesNo, phone: .noInputNoOutput, method: .justWorks),
  ]

  /// The phone connects, and everything happens that is to happen, with what a test does meanwhile.
  private func succeeds(_ act: @LoopActor () async throws -> Void = {}) async throws {
    let mark = world.events.count
    #expect(world.phone.connect(to: world.adapter))
    try await act()
    try await world.until(.subscribed)
    await world.pass(.seconds(10))
    #expect(world.story(since: mark).starts(with: Self.success), "\(world.story)")
  }

  @Test("The method follows from what both sides can show and take", arguments: capabilities)
  func methods(_ capabilities: Capabilities) async throws {
    world.usePhone { $0.capability = capabilities.phone }
    try await world.start { $0.io = capabilities.board }
    try await world.until(.advertising)
    try await succeeds { try await world.answer() }
    #expect(world.last(.pairing)?.question?.method == capabilities.method)
    let key = try #require(world.daemon?.phoneReports.first?.key)
    #expect(key.isSecureConnections)
    #expect(key.isAuthenticated == (capabilities.method != .justWorks))
  }

  @Test(
    "The order in which the kernel tells of the keys does not matter",
    arguments: Handset.KeyOrder.allCases, [true, false])
  func keyOrder(_ order: Handset.KeyOrder, isPrivate: Bool) async throws {
    world.usePhone { if !isPrivate { $0.privateAddress = nil } }
    try await world.begin(.onAir)
    world.phone.keyOrder = order
    try await succeeds()
    // What is kept is enough for the next connection.
    try await world.phoneReturnsEncrypted()
  }

  @Test(
    "The ATT channel may come before or after the kernel tells of the phone",
    arguments: [-40, -1, 0, 1, 40, 900])
  func channelDelay(milliseconds: Int64) async throws {
    try await world.begin(.onAir)
    world.phone.channelDelay = .milliseconds(milliseconds)
    try await succeeds()
    #expect(world.kernel.commands.filter { $0 == .pairDevice }.count == 1)
    try await world.phoneReturnsEncrypted()
  }

  @Test("A phone that pairs by itself is served too")
  func phonePairsFirst() async throws {
    try await world.begin(.onAir)
    try await succeeds { world.phone.pair() }
  }
}

@Suite("Pairing fails", .inWorld)
struct FailedPairingTests: InWorld {
  /// Something that goes wrong, and what the daemon says of it.
  struct Failing: CustomStringConvertible {
    var what: String
    var io = IOCapability.noInputNoOutput
    var phone: @Sendable (inout Handset.Kind) -> Void = { _ in }
    var act: @LoopActor @Sendable (World) async throws -> Void = { _ in }
    var reason: String
    var description: String { what }
  }

  nonisolated static let failures: [Failing] = [
    .init(
      what: "the phone's user refuses", act: { $0.phone.consent = .refuses(after: .seconds(2)) },
      reason: "the phone refused"),
    .init(
      what: "the phone's user refuses, and the channel's end is read first",
      act: { world in
        world.phone.consent = .refuses(after: .seconds(2))
        world.phone.isRefusalReadLate = true
      }, reason: "the phone refused"),
    .init(
      what: "nobody looks at the phone", act: { $0.phone.consent = .ignores },
      reason: "the phone did not respond"),
    .init(
      what: "the board's user says no", io: .displayYesNo,
      act: { world in try await world.answer(accept: false) },
      reason: "it was declined on this board"),
    .init(
      what: "the board's user types another number", io: .keyboardOnly,
      act: { world in try await world.answer(passkey: 1) },
      reason: "the phone refused, or the numbers did not match"),
    .init(
      what: "the phone's user types another number", io: .displayOnly,
      act: { $0.phone.typesCorrectly = false },
      reason: "the phone refused, or the numbers did not match"),
    .init(
      what: "the link is lost", act: { try await ends($0) { $0.goOutOfRange() } },
      reason: "the connection was lost during pairing"),
    .init(
      what: "the phone leaves, as the channel says first",
      act: { try await ends($0) { $0.leave() } }, reason: "the connection was lost during pairing"),
    .init(
      what: "the phone leaves, as mgmt says first",
      act: { world in
        world.phone.endsWithEventFirst = true
        try await ends(world) { $0.leave() }
      }, reason: "the connection was lost during pairing"),
    .init(
      what: "legacy pairing", phone: { $0.isSecureConnections = false },
      reason: "the phone offered legacy pairing only"),
    .init(
      what: "a short key", phone: { $0.keySize = 7 },
      reason: "the phone offered a key of 7 bytes instead of 16"),
    .init(
      what: "the published debug key", phone: { $0.usesDebugKey = true },
      reason: "the phone used the published debug key"),
  ]

  /// Nobody looks at the phone until the link ends.
  @LoopActor private static func ends(_ world: World, _ end: (Handset) -> Void) async throws {
    world.phone.consent = .ignores
    await world.pass(.seconds(5))
    end(world.phone)
  }

  @Test("It is logged once, with the reason, and nothing is kept", arguments: failures)
  func fails(_ failure: Failing) async throws {
    world.usePhone(failure.phone)
    try await world.start { $0.io = failure.io }
    try await world.until(.advertising)
    let mark = world.events.count
    world.phone.connect(to: world.adapter)
    try await failure.act(world)
    let reason = try await world.pairingFailure()
    await world.pass(.seconds(60))
    #expect(reason.hasPrefix(failure.reason), "\(reason)")
    let story = world.story(since: mark)
    #expect(story.count { $0 == "pairing-failed" } == 1, "\(story)")
    #expect(!story.contains("paired") && !story.contains("subscribed"), "\(story)")
    #expect(world.daemon?.phoneReports == [])
    #expect(world.adapter.keyedPeers == [] && world.adapter.connections.isEmpty)
    #expect(world.adapter.isOnAir)
  }

  @Test("An unknown phone is disconnected after a while if pairing is closed")
  func closedOut() async throws {
    try await world.begin(.onAir)
    try await world.closePairing()
    let mark = world.events.count
    world.phone.connect(to: world.adapter)
    await world.pass(.seconds(9))
    #expect(world.wait == "closed-out")
    #expect(world.adapter.connections.count == 1)
    await world.pass(.seconds(2))
    #expect(world.adapter.connections.isEmpty)
    #expect(world.story(since: mark) == ["connected", "disconnected", "advertising"])
    #expect(
      world.last(.disconnected) == .disconnected(reason: "pairing is closed for unknown phones"))
    #expect(!world.kernel.commands.contains(.pairDevice))
  }

  @Test(
    "A phone that pairs while pairing is closed by hand gets no bond", arguments: [true, false])
  func closedMeanwhile(isAsked: Bool) async throws {
    try await world.start { $0.io = isAsked ? .displayYesNo : .noInputNoOutput }
    try await world.until(.advertising)
    world.phone.consent = .accepts(after: .seconds(3))
    world.phone.connect(to: world.adapter)
    await world.pass(.seconds(2))
    #expect(world.story.contains("pairing") == isAsked)
    try await world.closePairing()
    #expect(world.last(.pairingFailed) == .pairingFailed(reason: "\(PairingFailure.windowClosed)"))
    await world.pass(.seconds(30))
    #expect(world.daemon?.phoneReports == [] && world.last(.paired) == nil)
    #expect(world.adapter.keyedPeers == [] && world.adapter.connections.isEmpty)
  }

  @Test(
    "Ending an opening refuses the phone that pairs under it, unless the options let it pair",
    arguments: [PairingWindow.Rule.always, .firstPhone])
  func openingEnded(pairable: PairingWindow.Rule) async throws {
    try await world.bond { $0.pairable = pairable }
    let opened = try await world.call(ControlMethods.openPairing, PairingParameters(seconds: 60))
    let stranger = world.stranger()
    stranger.consent = .accepts(after: .seconds(3))
    stranger.connect(to: world.adapter)
    await world.pass(.seconds(2))
    _ = try await world.call(
      ControlMethods.closePairing, ClosingParameters(opening: opened.opening))
    await world.pass(.seconds(30))
    #expect(world.daemon?.phoneReports.count == (pairable == .always ? 2 : 1))
  }

  @Test("A phone that waits while pairing is closed pairs once it is opened")
  func openedLate() async throws {
    try await world.begin(.onAir)
    try await world.closePairing()
    world.phone.connect(to: world.adapter)
    await world.pass(.seconds(5))
    try await world.openPairing(seconds: 60)
    try await world.until(.subscribed)
    #expect(world.daemon?.phoneReports.count == 1)
  }

  @Test("A key that is not kept is removed from the kernel before the kept ones are loaded again")
  func discardedKey() async throws {
    try await world.begin(.paired)
    let other = world.stranger { $0.isSecureConnections = false }
    try await world.openPairing(seconds: 60)
    await world.pass(.seconds(1))
    let mark = world.kernel.commands.count
    #expect(other.connect(to: world.adapter))
    try await world.until(.pairingFailed)
    await world.pass(.seconds(5))
    let commands = world.kernel.commands[mark...]
    let removal = try #require(commands.lastIndex(of: .unpairDevice))
    let load = try #require(commands.firstIndex(of: .loadLongTermKeys))
    #expect(removal < load)
    #expect(world.adapter.keyedPeers == [world.phone.kind.identity])
    #expect(other.connection == nil && world.phone.connection != nil)
  }
}
