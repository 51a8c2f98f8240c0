// SPDX-License-Identifier: GPL-3.0-or-later
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

@Suite("A phone pairs with the board", .inWorld)
struct PairingTests: InWorld {
  /// What is to happen from the phone's connection on.
  private static let success = [
    "connected", "pairing", "paired", "subscribed", "battery", "media", "time", "authorization",
  ]

  /// How a board with this capability pairs with a phone with that one (Vol 3 Part H, 2.3.5.1).
  nonisolated static let capabilities: [(IOCapability, IOCapability, PairingMethod)] = [
    (.noInputNoOutput, .keyboardDisplay, .justWorks), (.displayOnly, .keyboardDisplay, .display),
    (.displayOnly, .displayYesNo, .justWorks), (.keyboardOnly, .keyboardDisplay, .entry),
    (.displayYesNo, .keyboardDisplay, .confirm), (.displayYesNo, .keyboardOnly, .display),
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
  func methods(_ board: IOCapability, _ phone: IOCapability, _ method: PairingMethod) async throws {
    world.usePhone { $0.capability = phone }
    try await world.begin(.onAir) { $0.radio.io = board }
    try await succeeds { try await world.answer() }
    #expect(world.last(.pairing)?.question?.method == method)
    let key = try #require(world.daemon?.phoneReports.first?.key)
    #expect(key.isSecureConnections)
    #expect(key.isAuthenticated == (method != .justWorks))
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

  @Test("The ATT channel may come before or after the kernel tells of the phone", arguments: [-40, -1, 0, 1, 40, 900])
  func channelDelay(milliseconds: Int64) async throws {
    try await world.begin(.onAir)
    world.phone.channelDelay = .milliseconds(milliseconds)
    try await succeeds()
    #expect(world.kernel.commands.filter { $0 == .pairDevice }.count == 1)
    try await world.phoneReturnsEncrypted()
  }
}

@Suite("Pairing fails", .inWorld)
struct FailedPairingTests: InWorld {
  /// Something that goes wrong, and what the daemon says of it.
  struct Failing: CustomStringConvertible {
    let description: String
    var act: @LoopActor @Sendable (World) async throws -> Void
    var reason: String
  }

  nonisolated static let failures: [Failing] = [
    .init(
      description: "the phone's user refuses, and the channel's end is read first",
      act: { world in
        world.phone.consent = .refuses(after: .seconds(2))
        world.phone.isRefusalReadLate = true
      }, reason: "the phone refused"),
    .init(
      description: "nobody looks at the phone", act: { $0.phone.consent = .ignores },
      reason: "the phone did not respond"),
    .init(
      description: "the phone leaves, as mgmt says first",
      act: { world in
        (world.phone.endsWithEventFirst, world.phone.consent) = (true, .ignores)
        await world.pass(.seconds(5))
        world.phone.leave()
      }, reason: "the connection was lost during pairing"),
  ]

  @Test("It is logged once, with the reason, and nothing is kept", arguments: failures)
  func fails(_ failure: Failing) async throws {
    try await world.begin(.onAir)
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

  @Test("A phone that pairs while pairing is closed by hand gets no bond", arguments: [true, false])
  func closedMeanwhile(isAsked: Bool) async throws {
    try await world.begin(.onAir) { $0.radio.io = isAsked ? .displayYesNo : .noInputNoOutput }
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
    try await world.begin(.paired) { $0.radio.pairable = pairable }
    let opened = try await world.call(ControlMethods.openPairing, PairingParameters(seconds: 60))
    let stranger = world.stranger()
    stranger.consent = .accepts(after: .seconds(3))
    stranger.connect(to: world.adapter)
    await world.pass(.seconds(2))
    _ = try await world.call(ControlMethods.closePairing, ClosingParameters(opening: opened.opening))
    await world.pass(.seconds(30))
    #expect(world.daemon?.phoneReports.count == (pairable == .always ? 2 : 1))
  }

  @Test(
    "Pairing that was opened twice is open until both openings have ended, by hand or by their time",
    arguments: [[0, 1], [1, 0]])
  func openedTwice(order: [Int]) async throws {
    try await world.begin(.phoneLeft)
    let adapter = try #require(world.daemon?.radio?.sortedAdapters.first)
    var openings: [Int?] = []
    for _ in 0..<2 {
      openings.append(try await world.call(ControlMethods.openPairing, PairingParameters(seconds: 60)).opening)
    }
    for place in order {
      #expect(adapter.isPairable)
      _ = try await world.call(ControlMethods.closePairing, ClosingParameters(opening: openings[place]))
    }
    #expect(!adapter.isPairable)
    try await world.openPairing(seconds: 60)
    try await world.openPairing(seconds: 5)
    await world.pass(.seconds(10))
    #expect(adapter.isPairable)
    // One phone ends both.
    await world.strangerComes()
    try await world.until(.paired)
    #expect(!adapter.isPairable)
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
}

@Suite("Who may pair, and when", .inWorld)
struct AdmissionTests: InWorld {
  @Test(
    "A board takes its first phone within half an hour, then only by hand, also if it advertises the same",
    arguments: [nil, AdvertisingProfile.solicit])
  func halfAnHour(advertise: AdvertisingProfile?) async throws {
    try await world.start { $0.radio.advertise = advertise }
    await world.pass(PairingWindow.firstPhoneTime + .seconds(1))
    #expect(world.wait == "nobody")
    #expect(world.last(.advertising) == .advertising(pairable: false))
    try await world.refusesStranger()
    try await world.openPairing(seconds: 60)
    await world.pass(.seconds(1))
    try await world.phoneComes()
  }

  /// What became of the file of a board's only bond, or of its address.
  enum Misfortune: CaseIterable { case damaged, empty, later, unreadable, unlisted }

  private func strike(_ misfortune: Misfortune, _ isMeant: @escaping @Sendable (String) -> Bool) {
    let disk = world.platform.disk
    switch misfortune {
    case .damaged: disk.damage(#"{"version":1,"phone":"x"}"#, where: isMeant)
    case .empty: disk.damage("", where: isMeant)
    case .later: disk.damage(#"{"version":2,"keys":[]}"#, where: isMeant)
    case .unreadable: disk.failReads(.inputOutput, where: isMeant)
    case .unlisted:
      let folder = disk.paths.first(where: isMeant).flatMap { Files.parent(of: $0) }
      disk.failReads(.permissionDenied) { $0 == folder }
    }
  }

  @Test("A board whose bond can't be used stays closed and says so", arguments: Misfortune.allCases)
  func unusableBond(_ misfortune: Misfortune) async throws {
    try await world.begin(.paired)
    try await world.stop()
    strike(misfortune, World.isBond)
    for _ in 0..<2 {  // also when a damaged file was set aside before
      try await world.start()
      await world.pass(.seconds(1))
      #expect(world.wait == "bonds-unusable")
      try await world.refusesStranger()
      try await world.stop()
    }
    let isSetAside = world.platform.disk.paths.contains { $0.contains(".bond.json.bad") }
    #expect(isSetAside == [.damaged, .empty].contains(misfortune))
    try await world.start()
    try await world.openPairing(seconds: 60)
    world.phone.forget(world.adapter)
    await world.phoneConnects()
    try await world.until(.paired)
  }

  @Test(
    "A board whose address is lost stays closed, since its bonds are with that",
    arguments: [Misfortune.damaged, .later, .unreadable])
  func lostAddress(_ misfortune: Misfortune) async throws {
    try await world.begin(.phoneLeft) { $0.radio.address = .static }
    try await world.stop()
    let isAddress = { @Sendable (path: String) in path.hasSuffix("/static-address.json") }
    strike(misfortune, isAddress)
    let before = world.platform.disk.content(where: isAddress)
    for _ in 0..<2 {
      try await world.start { $0.radio.address = .static }
      await world.pass(.seconds(1))
      #expect(world.wait == "bonds-unusable")
      try await world.stop()
    }
    #expect(misfortune == .damaged || world.platform.disk.content(where: isAddress) == before)
  }

  @Test("What was closed by hand stays closed when the adapter is plugged in again")
  func closedOverReplug() async throws {
    try await world.begin(.onAir)
    try await world.closePairing()
    await world.replugLater()
    await world.pass(.seconds(5))
    #expect(world.pairable == [false])
  }

  @Test("A bond that the options don't allow is kept, not used, and keeps the board closed until it is forgotten")
  func policyOfStoredBonds() async throws {
    world.usePhone { $0.isSecureConnections = false }
    try await world.begin(.paired) { $0.radio.allowLegacy = true }
    #expect(world.daemon?.phoneReports.first?.key?.isSecureConnections == false)
    try await world.stop()
    try await world.start()
    await world.pass(.seconds(1))
    #expect(world.adapter.keyedPeers == [] && world.bondFiles.count == 1)
    #expect(world.wait == "bonds-unusable")
    try await world.forgetPhone()
    await world.pass(.seconds(1))
    #expect(world.wait == "first-phone")
    await world.strangerComes()
    try await world.until(.paired)
  }

  @Test("With --require-mitm a phone that can't show or take a number is refused, and the next one pairs")
  func requireAuthentication() async throws {
    try await world.start {
      $0.radio.requiresAuthentication = true
      $0.radio.io = .displayYesNo
    }
    await world.strangerComes { $0.capability = .noInputNoOutput }
    let reason = try await world.pairingFailure()
    #expect(reason.contains("--require-mitm"))
    await world.pass(.seconds(20))
    #expect(world.adapter.keyedPeers == [])
    #expect(world.phone.connect(to: world.adapter))
    try await world.answer()
    try await world.until(.subscribed)
  }
}

@Suite("Pairing questions, and the pairing that an answer belongs to", .inWorld)
struct PairingAnswerTests: InWorld {
  @Test("An answer to one phone's question is not taken for another's")
  func misdirected() async throws {
    try await world.start { $0.radio.io = .displayYesNo }
    await world.phoneConnects()
    try await world.until(.pairing)
    world.phone.leave()
    await world.pass(.seconds(1))
    let other = world.stranger()
    other.shownPasskey = 161_803
    #expect(other.connect(to: world.adapter))
    try await world.until(.pairing)
    func yes(_ phone: Handset, _ passkey: UInt32? = nil) -> PairingResponse {
      PairingResponse(
        accept: true, passkey: passkey.map { Passkey(value: $0) }, phone: PhoneSelector("\(phone.address.address)"))
    }
    for response in [PairingResponse(accept: true), yes(world.phone), yes(other, 271_828)] {
      await #expect(throws: RPCError.self, "\(response)") { try await world.respond(response) }
    }
    await world.pass(.seconds(5))
    #expect(world.daemon?.phoneReports == [])
    // It asks again, shortly after the first one has.
    other.leave()
    await world.pass(.seconds(1))
    #expect(other.connect(to: world.adapter))
    try await world.until(.pairing)
    await #expect(throws: RPCError.self) { try await world.respond(PairingResponse(accept: true)) }
    try await world.respond(yes(other, 161_803))
    try await world.until(.subscribed)
    #expect(world.daemon?.phoneReports.map(\.phone) == [other.kind.identity.address])
  }

  @Test("A yes without the number that the phone shows is no answer, and does not end the pairing")
  func withoutNumber() async throws {
    try await world.meet { $0.radio.io = .keyboardOnly }
    #expect(try await world.question().method == .entry)
    await #expect(throws: RPCError.self) { try await world.respond(PairingResponse(accept: true)) }
    let passkey = Passkey(value: world.phone.shownPasskey)
    try await world.respond(PairingResponse(accept: true, passkey: passkey))
    try await world.until(.subscribed)
  }

  @Test("A stranger who comes and goes does not take the question from the terminal")
  func bystander() async throws {
    world.platform.isInteractive = true
    try await world.meet {
      $0.radio.io = .displayYesNo
      $0.radio.pairable = .always
    }
    try await world.until(.pairing)
    #expect(world.platform.type != nil)
    let other = await world.strangerComes()
    await world.pass(.seconds(12))
    #expect(other.connection == nil)
    #expect(world.platform.type != nil)
    world.platform.type?("y")
    try await world.until(.paired)
    #expect(world.platform.type == nil)
  }

  @Test("A phone that can show no number pairs only if somebody agrees", arguments: [true, false])
  func consent(agrees: Bool) async throws {
    world.usePhone { $0.capability = .noInputNoOutput }
    try await world.meet { $0.radio.io = .displayYesNo }
    #expect(try await world.question() == PairingQuestion(.justWorks, seconds: 30))
    await world.pass(.seconds(5))
    #expect(world.daemon?.phoneReports == [])
    try await world.respond(PairingResponse(accept: agrees))
    try await world.until(agrees ? .paired : .pairingFailed)
    #expect(world.daemon?.phoneReports.count == (agrees ? 1 : 0))
  }

  @Test(
    "One phone pairs at a time: the next one's turn comes when the first is done, also on another adapter",
    arguments: [false, true])
  func oneAtATime(hasTwoAdapters: Bool) async throws {
    let second = hasTwoAdapters ? world.plugSecond() : world.adapter
    try await world.start {
      $0.radio.io = .displayYesNo
      $0.radio.pairable = .always
    }
    await world.phoneConnects(after: .seconds(5))
    try await world.until(.pairing)
    let other = world.stranger()
    #expect(other.connect(to: second))
    await world.pass(.seconds(2))
    #expect(world.story.filter { $0 == "pairing" }.count == 1)
    // The first is declined.
    try await world.respond(PairingResponse(accept: false))
    try await world.answer()
    try await world.until(.subscribed)
    #expect(world.daemon?.phoneReports.map(\.phone) == [other.kind.identity.address])
  }

  @Test("A phone that waited for its turn is told why it has none where pairing closes behind the first")
  func latecomer() async throws {
    try await world.meet { $0.radio.io = .displayYesNo }
    try await world.until(.pairing)
    await world.strangerComes()
    await world.pass(.seconds(2))
    #expect(world.wait == "another-pairs")
    try await world.respond(PairingResponse(accept: true))
    try await world.until(.subscribed)
    #expect(try await world.status().links.contains { $0.waiting.wait == "closed-out" })
    let end = try await world.until(.disconnected).content
    #expect(end == .disconnected(reason: "pairing is closed for unknown phones"))
  }
}

@Suite("A number that somebody has to confirm", .inWorld)
struct TerminalTests: InWorld {
  /// A daemon on a terminal, with a phone that shows a number.
  private func ask() async throws {
    world.platform.isInteractive = true
    try await world.begin(.onAir)
    #expect(world.platform.type == nil)
    world.phone.connect(to: world.adapter)
    let number = Passkey(value: world.phone.shownPasskey)
    let question = try await world.question()
    #expect(question == PairingQuestion(.confirm, passkey: number, seconds: 30))
  }

  @Test(
    "The daemon's own terminal asks, and takes y or n",
    arguments: [(["y"], true), (["what", "", "YES"], true), (["n"], false)])
  func typed(lines: [String], isPaired: Bool) async throws {
    try await ask()
    await world.pass(.seconds(12))
    for line in lines {
      let type = try #require(world.platform.type)
      type(line)
      await world.pass(.seconds(1))
    }
    try await world.until(isPaired ? .paired : .pairingFailed)
    #expect(world.platform.type == nil)
    #expect(world.daemon?.phoneReports.count == (isPaired ? 1 : 0))
  }

  @Test("A pending question is sent to clients that open pairing, with the remaining time")
  func pending() async throws {
    try await ask()
    await world.pass(.seconds(8))
    // Where nothing can be typed, it can still be answered.
    world.platform.type?(nil)
    let report = try await world.call(ControlMethods.openPairing, PairingParameters(seconds: 60))
    let number = Passkey(value: world.phone.shownPasskey)
    #expect(report.phone == world.phone.address.address)
    #expect(report.question == PairingQuestion(.confirm, passkey: number, seconds: 22))
    try await world.respond(PairingResponse(accept: true))
    try await world.until(.paired)
    let later = try await world.call(ControlMethods.openPairing, PairingParameters(seconds: 60))
    #expect(later.question == nil)
  }
}
