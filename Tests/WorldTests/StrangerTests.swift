// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import GATT
import Mgmt
import System
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Who may pair, and when", .inWorld)
struct AdmissionTests: InWorld {
  @Test(
    "A board takes its first phone within half an hour, then only by hand, also if it advertises the same",
    arguments: [nil, AdvertisingProfile.solicit])
  func halfAnHour(advertise: AdvertisingProfile?) async throws {
    try await world.start { $0.advertise = advertise }
    await world.pass(PairingWindow.firstPhoneTime + .seconds(1))
    #expect(world.wait == "nobody")
    #expect(world.last(.advertising) == .advertising(pairable: false))
    try await world.refusesStranger()
    try await world.openPairing(seconds: 60)
    await world.pass(.seconds(1))
    try await world.phoneComes()
  }

  @Test("What was opened by hand closes behind the phone that has paired")
  func onePhone() async throws {
    try await world.begin(.paired)
    try await world.openPairing()
    await world.strangerComes()
    try await world.until(.paired)
    await world.pass(.seconds(5))
    #expect(world.pairable == [false])
    let third = world.stranger {
      $0.identity = DeviceAddress(Address(0xC099_9999_9999), .random)
      $0.privateAddress = Address(0x4A99_9999_9999)
    }
    third.connect(to: world.adapter)
    await world.pass(.seconds(20))
    #expect(world.daemon?.phoneReports.count == 2)
  }

  /// What became of the file of a board's only bond.
  enum Misfortune: CaseIterable { case damaged, truncated, empty, later, unreadable, unlisted }

  @Test("A board whose bond can't be used stays closed and says so", arguments: Misfortune.allCases)
  func unusableBond(_ misfortune: Misfortune) async throws {
    try await world.begin(.paired)
    try await world.stop()
    let disk = world.platform.disk
    switch misfortune {
    case .damaged: disk.damage(#"{"version":1,"phone":"x"}"#, where: World.isBond)
    case .truncated: disk.damage(#"{"version":1,"#, where: World.isBond)
    case .empty: disk.damage("", where: World.isBond)
    case .later: disk.damage(#"{"version":2,"keys":[]}"#, where: World.isBond)
    case .unreadable: disk.failReads(.inputOutput, where: World.isBond)
    case .unlisted:
      let folder = world.bondFiles.first.flatMap { Files.parent(of: $0) }
      disk.failReads(.permissionDenied) { $0 == folder }
    }
    for _ in 0..<2 {  // also when a damaged file was set aside before
      try await world.start()
      await world.pass(.seconds(1))
      #expect(world.wait == "bonds-unusable")
      try await world.refusesStranger()
      try await world.stop()
    }
    let isSetAside = disk.paths.contains { $0.contains(".bond.json.bad") }
    #expect(isSetAside == ![.later, .unreadable, .unlisted].contains(misfortune))
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
    try await world.bond { $0.address = .static }
    world.phone.leave()
    try await world.stop()
    let disk = world.platform.disk
    let isAddress = { (path: String) in path.hasSuffix("/static-address.json") }
    switch misfortune {
    case .later: disk.damage(#"{"version":2}"#, where: isAddress)
    case .unreadable: disk.failReads(.inputOutput, where: isAddress)
    default: disk.damage("{", where: isAddress)
    }
    let before = disk.content(where: isAddress)
    for _ in 0..<2 {
      try await world.start { $0.address = .static }
      await world.pass(.seconds(1))
      #expect(world.wait == "bonds-unusable")
      try await world.stop()
    }
    #expect(misfortune == .damaged || disk.content(where: isAddress) == before)
  }

  @Test("What was closed by hand stays closed when the adapter is plugged in again")
  func closedOverReplug() async throws {
    try await world.start()
    await world.pass(.seconds(1))
    try await world.closePairing()
    await world.replugLater()
    await world.pass(.seconds(5))
    #expect(world.pairable == [false])
  }

  /// Starts a board with a bond of legacy pairing, which its options do not allow any more.
  private func startWithLegacyBond() async throws {
    world.usePhone { $0.isSecureConnections = false }
    try await world.bond { $0.allowLegacy = true }
    #expect(world.daemon?.phoneReports.first?.key?.isSecureConnections == false)
    try await world.stop()
    try await world.start()
    await world.pass(.seconds(1))
  }

  @Test("A bond that the options don't allow is kept, not used, and keeps the board closed")
  func policyOfStoredBonds() async throws {
    try await startWithLegacyBond()
    #expect(world.adapter.keyedPeers == [])
    #expect(world.wait == "bonds-unusable")
    try await world.stop()
    try await world.start { $0.allowLegacy = true }
    try await world.phoneConnectsEncrypted()
  }

  @Test("Forgetting a bond that the options don't allow opens the board for a first phone")
  func forgottenByPolicy() async throws {
    try await startWithLegacyBond()
    try await world.forgetPhone()
    await world.pass(.seconds(1))
    #expect(world.wait == "first-phone")
    await world.strangerComes()
    try await world.until(.paired)
  }

  @Test("--require-mitm takes a board that can show or take a number")
  func requireAuthentication() async throws {
    world.launch { $0.requiresAuthentication = true }
    let failure = await #expect(throws: Failure.self) { try await world.exit() }
    #expect(failure?.status == .usage && failure?.line.contains("--io") == true)
    try await world.start {
      $0.requiresAuthentication = true
      $0.io = .displayYesNo
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
  /// A board on which two phones have asked, one after the other.
  private func twoPhonesAsk() async throws -> Handset {
    try await world.start { $0.io = .displayYesNo }
    await world.phoneConnects()
    try await world.until(.pairing)
    world.phone.leave()
    await world.pass(.seconds(1))
    let other = world.stranger()
    other.shownPasskey = 161_803
    #expect(other.connect(to: world.adapter))
    try await world.until(.pairing)
    return other
  }

  @Test("An answer to one phone's question is not taken for another's")
  func misdirected() async throws {
    let other = try await twoPhonesAsk()
    func yes(_ phone: Handset, _ passkey: UInt32? = nil) -> PairingResponse {
      PairingResponse(
        accept: true, passkey: passkey.map { Passkey(value: $0) },
        phone: PhoneSelector("\(phone.address.address)"))
    }
    for response in [PairingResponse(accept: true), yes(world.phone), yes(other, 271_828)] {
      await #expect(throws: RPCError.self, "\(response)") { try await world.respond(response) }
    }
    await world.pass(.seconds(5))
    #expect(world.daemon?.phoneReports == [])
    try await world.respond(yes(other, 161_803))
    try await world.until(.subscribed)
    #expect(world.daemon?.phoneReports.map(\.phone) == [other.kind.identity.address])
  }

  @Test("An answer is not taken for the phone that asks again while another has just asked")
  func asksAgain() async throws {
    let other = try await twoPhonesAsk()
    other.leave()
    await world.pass(.seconds(1))
    #expect(other.connect(to: world.adapter))
    try await world.until(.pairing)
    await #expect(throws: RPCError.self) { try await world.respond(PairingResponse(accept: true)) }
  }

  @Test("A stranger who comes and goes does not take the question from the terminal")
  func bystander() async throws {
    world.platform.isInteractive = true
    try await world.meet {
      $0.io = .displayYesNo
      $0.pairable = .always
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
    try await world.meet { $0.io = .displayYesNo }
    #expect(try await world.question() == PairingQuestion(.justWorks, seconds: 30))
    await world.pass(.seconds(5))
    #expect(world.daemon?.phoneReports == [])
    try await world.respond(PairingResponse(accept: agrees))
    try await world.until(agrees ? .paired : .pairingFailed)
    #expect(world.daemon?.phoneReports.count == (agrees ? 1 : 0))
  }

  @Test("A phone on another adapter has its turn when the first is done")
  func onOtherAdapter() async throws {
    let second = world.plugSecond()
    try await world.start {
      $0.io = .displayYesNo
      $0.pairable = .always
    }
    await world.phoneConnects(after: .seconds(5))
    try await world.until(.pairing)
    let other = world.stranger()
    #expect(other.connect(to: second))
    await world.pass(.seconds(2))
    try await pairsNext(other)
  }

  /// While the world's phone pairs, another one comes, and waits.
  @discardableResult
  private func secondWaits() async throws -> Handset {
    try await world.until(.pairing)
    let other = await world.strangerComes()
    await world.pass(.seconds(2))
    #expect(world.wait == "another-pairs")
    return other
  }

  /// Declines the only pairing so far, and has the phone that waits pair.
  private func pairsNext(_ other: Handset) async throws {
    #expect(world.story.filter { $0 == "pairing" }.count == 1)
    try await world.respond(PairingResponse(accept: false))
    try await world.answer()
    try await world.until(.subscribed)
    #expect(world.daemon?.phoneReports.map(\.phone) == [other.kind.identity.address])
  }

  @Test("One phone pairs at a time: the next one's turn comes when the first is done")
  func oneAtATime() async throws {
    try await world.meet {
      $0.io = .displayYesNo
      $0.pairable = .always
    }
    try await pairsNext(try await secondWaits())
  }

  @Test(
    "A phone that waited for its turn is told why it has none where pairing closes behind the first"
  )
  func latecomer() async throws {
    try await world.meet { $0.io = .displayYesNo }
    try await secondWaits()
    try await world.respond(PairingResponse(accept: true))
    try await world.until(.subscribed)
    #expect(try await world.status().links.contains { $0.waiting.wait == "closed-out" })
    let end = try await world.until(.disconnected).content
    #expect(end == .disconnected(reason: "pairing is closed for unknown phones"))
  }
}

@Suite("A bond belongs to its phone", .inWorld)
struct BondOwnerTests: InWorld {
  @Test("A bond that could not be saved is saved once there is room")
  func savedLater() async throws {
    try await world.bondOnFullDisk()
    await world.pass(.seconds(300))
    #expect(world.bondKeys == nil)
    world.platform.disk.fail(nil)
    await world.pass(.seconds(70))
    #expect(world.bondKeys != nil)
    try await world.stop()
    try await world.start()
    try await world.phoneConnectsEncrypted()
  }

  @Test("A bond that could not be saved outlives an unplugged adapter")
  func savedAfterReplug() async throws {
    try await world.bondOnFullDisk()
    world.unplug()
    await world.pass(.seconds(3))
    world.replug()
    try await world.until(.advertising)
    try await world.phoneConnectsEncrypted()
    world.platform.disk.fail(nil)
    try await world.stop()
    #expect(world.bondKeys != nil)
  }

  @Test("Bonds that can't be read at the start are used once they can")
  func readLater() async throws {
    try await world.begin(.paired)
    world.phone.leave()
    try await world.stop()
    for prevents in [World.isBond, { !$0.contains("json") }] {
      world.platform.disk.failReads(.inputOutput, where: prevents)
      try await world.start()
      #expect(world.daemon?.phoneReports.isEmpty == true)
      await world.pass(.seconds(20))
      world.platform.disk.readAgain()
      await world.pass(.seconds(40))
      #expect(world.daemon?.phoneReports.count == 1)
      #expect(world.adapter.keyedPeers.count == 1)
      try await world.phoneConnectsEncrypted()
      world.phone.leave()
      try await world.stop()
    }
  }

  @Test("A refused legacy re-pairing costs no good bond")
  func legacyAgain() async throws {
    try await world.begin(.phoneLeft)
    try await world.openPairing()
    let before = world.bondKeys
    // The same phone by its private address, with another Security Manager.
    let again = await world.strangerComes {
      $0 = world.phone.kind
      $0.isSecureConnections = false
    }
    again.pair()
    try await world.until(.pairingFailed)
    await world.pass(.seconds(20))
    #expect(world.bondKeys == before && before != nil)
    try await world.phoneConnectsEncrypted()
  }

  @Test("A public and a random address of the same number are two phones")
  func addressTypes() async throws {
    try await world.begin(.phoneLeft)
    try await world.openPairing()
    let other = await world.strangerComes {
      $0.identity = DeviceAddress(world.phone.kind.identity.address, .public)
    }
    try await world.until(.subscribed)
    #expect(world.bondFiles.count == 2)
    other.leave()
    try await world.until(.disconnected)
    try await world.phoneConnectsEncrypted()
  }

  @Test("Bonds that were filed by the address alone are found, and filed again")
  func formerNames() async throws {
    try await world.begin(.paired)
    try await world.stop()
    world.platform.disk.rename { $0.replacing("random-c01122334455", with: "c01122334455") }
    try await world.start()
    try await world.phoneConnectsEncrypted()
    let names = world.platform.disk.paths.compactMap { $0.split(separator: "/").last }
    #expect(names.contains("random-c01122334455.bond.json"))
    #expect(!names.contains("c01122334455.bond.json"))
    #expect(!names.contains("c01122334455.cache.json"))
  }

  @Test("What a bonded address writes before it has encrypted is not kept as the bond's")
  func unencryptedWrites() async throws {
    try await world.begin(.phoneLeft)
    let before = world.platform.disk.content { $0.hasSuffix(".cache.json") }
    world.phone.encryptsAfter = nil
    world.phone.otherServer = { end in
      // Writes Client Supported Features and configurations of a server whose handles it knows.
      for handle in UInt8(1)...0x40 { end.send([0x52, handle, 0, 0x01]) }
      for handle in UInt8(1)...0x40 { end.send([0x12, handle, 0, 0x02, 0x00]) }
    }
    await world.phoneConnects()
    await world.pass(.seconds(3))
    world.phone.leave()
    await world.pass(.seconds(3))
    #expect(world.platform.disk.content { $0.hasSuffix(".cache.json") } == before)
  }
}

@Suite("Forgetting", .inWorld)
struct ForgettingTests: InWorld {
  @Test(
    "What can't be removed from the disk is refused and not used, and goes by hand or by itself once it can",
    arguments: [true, false])
  func readOnly(byHand: Bool) async throws {
    try await world.begin(.paired)
    world.platform.disk.fail(Errno(rawValue: 30))
    let failure = await #expect(throws: RPCError.self) { try await world.forgetPhone() }
    #expect(failure?.message.contains("still on the disk") == true)
    #expect(failure?.message.contains("refused from now on") == true)
    await world.pass(.seconds(2))
    #expect(world.adapter.keyedPeers == [] && world.daemon?.phoneReports == [])
    #expect(world.adapter.connections.isEmpty)
    await world.replugLater()
    try await world.until(.ready)
    await world.pass(.seconds(5))
    #expect(world.adapter.keyedPeers == [] && world.daemon?.phoneReports == [])
    #expect(world.bondKeys != nil)
    world.platform.disk.fail(nil)
    if byHand { try await world.forgetPhone() } else { await world.pass(.seconds(70)) }
    #expect(world.bondFiles.isEmpty)
  }

  @Test("An adapter that is plugged in while the kernel is waited for has no bond of it")
  func pluggedInMeanwhile() async throws {
    try await world.begin(.paired)
    world.kernel.unanswered = [.unpairDevice]
    let forgetting = Loop.start { try? await world.forgetPhone() }
    await world.pass(.milliseconds(100))
    world.unplug()
    await world.pass(.milliseconds(100))
    world.replug()
    await world.pass(.seconds(30))
    await forgetting.value
    #expect(world.daemon?.phoneReports == [])
    #expect(world.bondFiles.isEmpty)
  }

  @Test("A bond that could not be saved is forgotten, too")
  func neverSaved() async throws {
    try await world.bondOnFullDisk()
    world.platform.disk.fail(nil)
    try await world.forgetPhone()
    #expect(world.daemon?.phoneReports == [])
  }

  @Test("A copy of the bond by another name is removed with it")
  func copied() async throws {
    try await world.begin(.paired)
    try await world.stop()
    world.platform.disk.rename { $0.replacing("random-c01122334455.bond", with: "copy.bond") }
    try await world.start()
    await world.pass(.seconds(1))
    try await world.forgetPhone()
    #expect(world.bondFiles.isEmpty)
  }

  @Test("It works for an adapter that is absent")
  func absent() async throws {
    try await world.begin(.paired)
    world.unplug()
    await world.pass(.seconds(1))
    try await world.forgetPhone()
    #expect(world.bondFiles.isEmpty)
    world.replug()
    try await world.until(.ready)
    #expect(world.adapter.keyedPeers == [])
  }
}

@Suite("A number that somebody has to confirm", .inWorld)
struct TerminalTests: InWorld {
  /// A daemon on a terminal, with a phone that shows a number.
  private func ask() async throws {
    world.platform.isInteractive = true
    try await world.start()
    await world.pass(.seconds(1))
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

@Suite("World: who may pair with a board of two adapters, of which one may be absent", .inWorld)
struct TwoAdapterTests: InWorld {
  /// Pairing is closed by hand, and the phone is forgotten while its adapter is absent.
  private func closeAndForgetWhileAbsent() async throws {
    try await world.closePairing()
    world.unplug()
    await world.pass(.seconds(1))
    try await world.forgetPhone()
    world.replug()
    await world.pass(.seconds(5))
  }

  @Test(
    "What was opened and closed again while the adapter was absent is closed",
    arguments: [false, true])
  func closedWhileAbsent(isItsOwn: Bool) async throws {
    try await world.begin(.phoneLeft)
    let opened = try await world.call(ControlMethods.openPairing, PairingParameters(seconds: nil))
    world.unplug()
    await world.pass(.seconds(1))
    _ = try await world.call(
      ControlMethods.closePairing,
      isItsOwn ? ClosingParameters(opening: opened.opening) : ClosingParameters())
    world.replug()
    await world.pass(.seconds(5))
    #expect(world.pairable == [false])
  }

  @Test("An adapter that is plugged in while pairing is open is open, too, and a phone closes it")
  func pluggedIntoOpenBoard() async throws {
    try await world.begin(.phoneLeft)
    try await world.openPairing()
    let second = world.plugSecond()
    await world.pass(.seconds(5))
    #expect(world.pairable == [true, true])
    let other = world.stranger()
    #expect(other.connect(to: second))
    try await world.until(.paired)
    await world.pass(.seconds(5))
    #expect(world.pairable == [false, false])
  }

  @Test("Forgetting one of two phones of an absent adapter opens nothing")
  func oneOfAbsent() async throws {
    try await world.begin(.phoneLeft)
    try await world.openPairing()
    await world.pass(.seconds(1))
    let other = world.stranger()
    #expect(other.connect(to: world.adapter))
    try await world.until(.paired)
    await world.pass(.seconds(5))
    try await closeAndForgetWhileAbsent()
    #expect(world.pairable == [false])
  }

  @Test("Forgetting the last phone opens the board, also if its adapter is absent")
  func lastOfAbsent() async throws {
    try await world.begin(.phoneLeft)
    try await closeAndForgetWhileAbsent()
    #expect(world.pairable == [true])
  }
}
