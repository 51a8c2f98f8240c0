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

@Suite("Who may pair, and when")
struct AdmissionTests {
  @LoopActor static func refuses(_ world: World) async throws {
    let stranger = await world.strangerComes()
    await world.pass(.seconds(30))
    #expect(world.adapter.keyedPeers.isDisjoint(with: [stranger.kind.identity]))
    #expect(!world.story.contains("paired") || world.daemon?.phoneReports.count ?? 0 <= 1)
  }

  @Test("A board takes its first phone within half an hour, then only by hand")
  func halfAnHour() async throws {
    try await inWorld { world in
      try await world.start()
      await world.pass(PairingWindow.firstPhoneTime + .seconds(1))
      #expect(world.wait == "nobody")
      #expect(world.last(.advertising) == .advertising(pairable: false))
      try await Self.refuses(world)
      try await world.openPairing(seconds: 60)
      await world.pass(.seconds(1))
      try await world.phoneComes()
    }
  }

  @Test("What was opened by hand closes behind the phone that has paired")
  func onePhone() async throws {
    try await inWorld(after: .paired) { world in
      try await world.openPairing()
      await world.strangerComes()
      try await world.until(.paired)
      await world.pass(.seconds(5))
      #expect(world.daemon?.radio?.sortedAdapters.first?.isPairable == false)
      let third = world.stranger {
        $0.identity = DeviceAddress(Address(0xC099_9999_9999), .random)
        $0.privateAddress = Address(0x4A99_9999_9999)
      }
      third.connect(to: world.adapter)
      await world.pass(.seconds(20))
      #expect(world.daemon?.phoneReports.count == 2)
    }
  }

  /// What became of the file of a board's only bond.
  enum Misfortune: CaseIterable { case damaged, truncated, empty, later, unreadable, unlisted }

  @Test("A board whose bond can't be used stays closed and says so", arguments: Misfortune.allCases)
  func unusableBond(_ misfortune: Misfortune) async throws {
    try await inWorld(after: .paired) { world in
      try await world.stop()
      let disk = world.platform.disk
      let isBond = { (path: String) in path.hasSuffix(".bond.json") }
      switch misfortune {
      case .damaged: disk.damage(#"{"version":1,"phone":"x"}"#, where: isBond)
      case .truncated: disk.damage(#"{"version":1,"#, where: isBond)
      case .empty: disk.damage("", where: isBond)
      case .later: disk.damage(#"{"version":2,"keys":[]}"#, where: isBond)
      case .unreadable: disk.failReads(.inputOutput, where: isBond)
      case .unlisted:
        let folder = disk.paths.first(where: isBond).flatMap { Files.parent(of: $0) }
        disk.failReads(.permissionDenied) { $0 == folder }
      }
      for _ in 0..<2 {  // also when a damaged file was set aside before
        try await world.start()
        await world.pass(.seconds(1))
        #expect(world.wait == "bonds-unusable")
        try await Self.refuses(world)
        try await world.stop()
      }
      let isSetAside = disk.paths.contains { $0.contains(".bond.json.bad") }
      #expect(isSetAside == ![.later, .unreadable, .unlisted].contains(misfortune))
      try await world.start()
      try await world.openPairing(seconds: 60)
      world.phone.forget(world.adapter)
      await world.pass(.seconds(1))
      #expect(world.phone.connect(to: world.adapter))
      try await world.until(.paired)
    }
  }

  @Test("A board whose address is lost stays closed, since its bonds are with that")
  func lostAddress() async throws {
    for misfortune in [Misfortune.damaged, .later, .unreadable] {
      try await inWorld { world in
        try await Bonds.make(world) { $0.address = .static }
        world.phone.leave()
        try await world.stop()
        let disk = world.platform.disk
        let isAddress = { (path: String) in path.hasSuffix("/static-address.json") }
        let before = disk.content(where: isAddress)
        switch misfortune {
        case .later: disk.damage(#"{"version":2}"#, where: isAddress)
        case .unreadable: disk.failReads(.inputOutput, where: isAddress)
        default: disk.damage("{", where: isAddress)
        }
        for _ in 0..<2 {
          try await world.start { $0.address = .static }
          await world.pass(.seconds(1))
          #expect(world.wait == "bonds-unusable", "\(misfortune)")
          try await world.stop()
        }
        let after = disk.content(where: isAddress)
        if misfortune == .unreadable { #expect(after == before) }
        if misfortune == .later { #expect(after == Array(#"{"version":2}"#.utf8)) }
      }
    }
  }

  @Test("What was closed by hand stays closed when the adapter is plugged in again")
  func closedOverReplug() async throws {
    try await inWorld { world in
      try await world.start()
      await world.pass(.seconds(1))
      try await world.closePairing()
      await world.replugLater()
      await world.pass(.seconds(5))
      #expect(world.daemon?.radio?.sortedAdapters.map(\.report.isPairable) == [false])
    }
  }

  /// Runs a test on a board with a bond of legacy pairing, which its options do not allow any more.
  private static func inWorldWithLegacyBond(
    _ test: @escaping @LoopActor (World) async throws -> Void
  ) async throws {
    try await inWorld(.init { $0.isSecureConnections = false }) { world in
      try await Bonds.make(world) { $0.allowLegacy = true }
      #expect(world.daemon?.phoneReports.first?.key?.isSecureConnections == false)
      try await world.stop()
      try await world.start()
      await world.pass(.seconds(1))
      try await test(world)
    }
  }

  @Test("A bond that the options don't allow is kept, not used, and keeps the board closed")
  func policyOfStoredBonds() async throws {
    try await Self.inWorldWithLegacyBond { world in
      #expect(world.adapter.keyedPeers == [])
      #expect(world.wait == "bonds-unusable")
      try await world.stop()
      try await world.start { $0.allowLegacy = true }
      try await Bonds.connectsEncrypted(world)
    }
  }

  @Test("Forgetting a bond that the options don't allow opens the board for a first phone")
  func forgottenByPolicy() async throws {
    try await Self.inWorldWithLegacyBond { world in
      try await ForgettingTests.forget(world)
      await world.pass(.seconds(1))
      #expect(world.wait == "first-phone")
      let other = world.stranger()
      #expect(other.connect(to: world.adapter))
      try await world.until(.paired)
    }
  }

  @Test("The board says when its time for a first phone is over, also if it advertises the same")
  func timeOver() async throws {
    try await inWorld { world in
      try await world.start { $0.advertise = .solicit }
      await world.pass(PairingWindow.firstPhoneTime + .seconds(1))
      #expect(world.wait == "nobody")
    }
  }

  @Test("--require-mitm takes a board that can show or take a number")
  func requireAuthentication() async throws {
    try await inWorld { world in
      world.launch { $0.requiresAuthentication = true }
      try await world.until("the daemon has exited") { world.end != nil }
      guard case .failure(let failure)? = world.end else { return #expect(Bool(false)) }
      #expect(failure.status == .usage && "\(failure)".contains("--io"))
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
      try await PairingTests.answer(world)
      try await world.until(.subscribed)
    }
  }
}

@Suite("Pairing questions, and the pairing that an answer belongs to")
struct PairingAnswerTests {
  /// A board on which two phones have asked, one after the other.
  @LoopActor static func twoPhonesAsk(_ world: World) async throws -> Handset {
    try await world.start { $0.io = .displayYesNo }
    await world.pass(.seconds(1))
    #expect(world.phone.connect(to: world.adapter))
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
    try await inWorld { world in
      let other = try await Self.twoPhonesAsk(world)
      let wrong = [
        PairingResponse(accept: true),
        PairingResponse(accept: true, phone: PhoneSelector("\(world.phone.address.address)")),
        PairingResponse(
          accept: true, passkey: Passkey(value: 271_828),
          phone: PhoneSelector("\(other.address.address)")),
      ]
      for response in wrong {
        await #expect(throws: RPCError.self, "\(response)") {
          try await world.respond(response)
        }
      }
      await world.pass(.seconds(5))
      #expect(world.daemon?.phoneReports == [])
      let right = PairingResponse(
        accept: true, passkey: Passkey(value: 161_803),
        phone: PhoneSelector("\(other.address.address)"))
      try await world.respond(right)
      try await world.until(.subscribed)
      #expect(world.daemon?.phoneReports.map(\.phone) == [other.kind.identity.address])
    }
  }

  @Test("An answer is not taken for the phone that asks again while another has just asked")
  func asksAgain() async throws {
    try await inWorld { world in
      let other = try await Self.twoPhonesAsk(world)
      other.leave()
      await world.pass(.seconds(1))
      #expect(other.connect(to: world.adapter))
      try await world.until(.pairing)
      await #expect(throws: RPCError.self) {
        try await world.respond(PairingResponse(accept: true))
      }
    }
  }

  @Test("A stranger who comes and goes does not take the question from the terminal")
  func bystander() async throws {
    try await inWorld { world in
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
  }

  @Test("A phone that can show no number pairs only if somebody agrees", arguments: [true, false])
  func consent(agrees: Bool) async throws {
    try await inWorld(.init { $0.capability = .noInputNoOutput }) { world in
      try await world.meet { $0.io = .displayYesNo }
      guard case .pairing(let question) = try await world.until(.pairing).content else { return }
      #expect(question.method == .justWorks && question.seconds == 30)
      await world.pass(.seconds(5))
      #expect(world.daemon?.phoneReports == [])
      try await world.respond(PairingResponse(accept: agrees))
      try await world.until(agrees ? .paired : .pairingFailed)
      #expect(world.daemon?.phoneReports.count == (agrees ? 1 : 0))
    }
  }

  @Test("A phone on another adapter has its turn when the first is done")
  func onOtherAdapter() async throws {
    try await inWorld { world in
      let second = TwoAdapterTests.plugSecond(into: world)
      try await world.start {
        $0.io = .displayYesNo
        $0.pairable = .always
      }
      await world.pass(.seconds(5))
      #expect(world.phone.connect(to: world.adapter))
      try await world.until(.pairing)
      let other = world.stranger()
      #expect(other.connect(to: second))
      await world.pass(.seconds(2))
      try await Self.pairsNext(other, world)
    }
  }

  /// While the world's phone pairs, another one comes, and waits.
  @discardableResult
  @LoopActor static func secondWaits(_ world: World) async throws -> Handset {
    try await world.until(.pairing)
    let other = await world.strangerComes()
    await world.pass(.seconds(2))
    #expect(world.wait == "another-pairs")
    return other
  }

  /// Declines the only pairing so far, and has the phone that waits pair.
  @LoopActor private static func pairsNext(_ other: Handset, _ world: World) async throws {
    #expect(world.story.filter { $0 == "pairing" }.count == 1)
    try await world.respond(PairingResponse(accept: false))
    try await PairingTests.answer(world)
    try await world.until(.subscribed)
    #expect(world.daemon?.phoneReports.map(\.phone) == [other.kind.identity.address])
  }

  @Test("One phone pairs at a time: the next one's turn comes when the first is done")
  func oneAtATime() async throws {
    try await inWorld { world in
      try await world.meet {
        $0.io = .displayYesNo
        $0.pairable = .always
      }
      try await Self.pairsNext(try await Self.secondWaits(world), world)
    }
  }
}

@Suite("Pairing that closes behind the first phone")
struct ClosedBehindTests {
  @Test("A phone that waited for its turn is told why it has none")
  func latecomer() async throws {
    try await inWorld { world in
      try await world.meet { $0.io = .displayYesNo }
      try await PairingAnswerTests.secondWaits(world)
      try await world.respond(PairingResponse(accept: true))
      try await world.until(.subscribed)
      #expect(try await world.status().links.contains { $0.waiting.wait == "closed-out" })
      let end = try await world.until(.disconnected).content
      #expect(end == .disconnected(reason: "pairing is closed for unknown phones"))
    }
  }
}

@Suite("A bond belongs to its phone")
struct BondOwnerTests {
  /// What the disk has of the phone's bond, without when it was seen.
  @LoopActor static func keys(_ world: World) -> String? {
    world.platform.disk.content { $0.hasSuffix("random-c01122334455.bond.json") }
      .map { String(decoding: $0, as: UTF8.self) }?.split(separator: "\"first_seen\"").first.map(
        String.init)
  }

  @Test("A second link in the name of a connected phone gets no session")
  func sameKind() async throws {
    try await inWorld(after: .paired) { world in
      try await world.openPairing()
      await world.strangerComes { $0 = world.phone.kind }
      await world.pass(.seconds(10))
      #expect(world.daemon?.sessions.count == 1)
      #expect(world.story.filter { $0 == "connected" }.count == 1)
    }
  }

  @Test("A bond that could not be saved is saved once there is room")
  func savedLater() async throws {
    try await inWorld { world in
      try await Bonds.makeOnFullDisk(world)
      await world.pass(.seconds(300))
      #expect(Self.keys(world) == nil)
      world.platform.disk.fail(nil)
      await world.pass(.seconds(70))
      #expect(Self.keys(world) != nil)
      try await world.stop()
      try await world.start()
      try await Bonds.connectsEncrypted(world)
    }
  }

  @Test("A bond that could not be saved outlives an unplugged adapter")
  func savedAfterReplug() async throws {
    try await inWorld { world in
      try await Bonds.makeOnFullDisk(world)
      world.unplug()
      await world.pass(.seconds(3))
      world.replug()
      try await world.until(.advertising)
      try await Bonds.connectsEncrypted(world)
      world.platform.disk.fail(nil)
      try await world.stop()
      #expect(Self.keys(world) != nil)
    }
  }

  @Test("A bond whose file could not be removed goes once the disk can be written again")
  func removedLater() async throws {
    try await inWorld(after: .paired) { world in
      world.platform.disk.fail(Errno(rawValue: 30))
      await #expect(throws: RPCError.self) { try await ForgettingTests.forget(world) }
      #expect(Self.keys(world) != nil)
      world.platform.disk.fail(nil)
      await world.pass(.seconds(70))
      #expect(Self.keys(world) == nil)
    }
  }

  @Test("Bonds that can't be read at the start are used once they can")
  func readLater() async throws {
    try await inWorld(after: .paired) { world in
      world.phone.leave()
      try await world.stop()
      for prevents in [{ $0.hasSuffix(".bond.json") }, { !$0.contains("json") }]
        as [(String) -> Bool]
      {
        world.platform.disk.failReads(.inputOutput, where: prevents)
        try await world.start()
        #expect(world.daemon?.phoneReports.isEmpty == true)
        await world.pass(.seconds(20))
        world.platform.disk.readAgain()
        await world.pass(.seconds(40))
        #expect(world.daemon?.phoneReports.count == 1)
        #expect(world.adapter.keyedPeers.count == 1)
        try await Bonds.connectsEncrypted(world)
        world.phone.leave()
        try await world.stop()
      }
    }
  }

  @Test("A phone that the kernel never finishes pairing with does not stay")
  func withoutResponse() async throws {
    try await inWorld { world in
      world.kernel.unanswered = [.pairDevice]
      try await world.meet()
      await world.pass(.seconds(600))
      #expect(world.story.contains("pairing-failed"))
      #expect(world.phone.connection == nil)
    }
  }

  @Test("A refused legacy re-pairing costs no good bond")
  func legacyAgain() async throws {
    try await inWorld(after: .phoneLeft) { world in
      try await world.openPairing()
      let before = Self.keys(world)
      // The same phone by its private address, with another Security Manager.
      let again = await world.strangerComes {
        $0 = world.phone.kind
        $0.isSecureConnections = false
      }
      again.pair()
      try await world.until(.pairingFailed)
      await world.pass(.seconds(20))
      #expect(Self.keys(world) == before && before != nil)
      try await Bonds.connectsEncrypted(world)
    }
  }

  @Test("A public and a random address of the same number are two phones")
  func addressTypes() async throws {
    try await inWorld(after: .phoneLeft) { world in
      try await world.openPairing()
      let other = await world.strangerComes {
        $0.identity = DeviceAddress(world.phone.kind.identity.address, .public)
      }
      try await world.until(.subscribed)
      #expect(world.platform.disk.paths.filter { $0.hasSuffix(".bond.json") }.count == 2)
      other.leave()
      try await world.until(.disconnected)
      try await Bonds.connectsEncrypted(world)
    }
  }

  @Test("Bonds that were filed by the address alone are found, and filed again")
  func formerNames() async throws {
    try await inWorld(after: .paired) { world in
      try await world.stop()
      world.platform.disk.rename { $0.replacing("random-c01122334455", with: "c01122334455") }
      try await world.start()
      try await Bonds.connectsEncrypted(world)
      let names = world.platform.disk.paths.compactMap { $0.split(separator: "/").last }
      #expect(names.contains("random-c01122334455.bond.json"))
      #expect(!names.contains("c01122334455.bond.json"))
      #expect(!names.contains("c01122334455.cache.json"))
    }
  }

  @Test("What a bonded address writes before it has encrypted is not kept as the bond's")
  func unencryptedWrites() async throws {
    try await inWorld(after: .phoneLeft) { world in
      let before = world.platform.disk.content { $0.hasSuffix(".cache.json") }
      let features: [UInt8] = [0x01]
      world.phone.encryptsAfter = nil
      world.phone.otherServer = { end in
        // Writes Client Supported Features of a server whose handles it knows.
        for handle in UInt16(1)...0x40 {
          let bytes = [0x52, UInt8(handle & 0xFF), UInt8(handle >> 8)] + features
          end.send(bytes)
        }
        for handle in UInt16(1)...0x40 {
          end.send([0x12, UInt8(handle & 0xFF), UInt8(handle >> 8), 0x02, 0x00])
        }
      }
      await world.pass(.seconds(1))
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.seconds(3))
      world.phone.leave()
      await world.pass(.seconds(3))
      #expect(world.platform.disk.content { $0.hasSuffix(".cache.json") } == before)
    }
  }
}

@Suite("Forgetting")
struct ForgettingTests {
  @LoopActor static func forget(_ world: World) async throws {
    let phone = PhoneSelector(world.phone.kind.identity.address.description)
    _ = try await world.call(ControlMethods.forgetPhone, PhoneParameters(phone: phone))
  }

  @Test("On an unwritable disk the phone is refused, and the remaining options are logged")
  func readOnly() async throws {
    try await inWorld(after: .paired) { world in
      world.platform.disk.fail(Errno(rawValue: 30))
      await #expect {
        try await Self.forget(world)
      } throws: { error in
        let text = (error as? RPCError)?.message ?? ""
        return text.contains("still on the disk") && text.contains("refused from now on")
      }
      await world.pass(.seconds(2))
      #expect(world.adapter.keyedPeers == [])
      #expect(world.daemon?.phoneReports == [])
      #expect(world.adapter.connections.isEmpty)
      world.platform.disk.fail(nil)
      try await Self.forget(world)
      #expect(!world.platform.disk.paths.contains { $0.hasSuffix(".bond.json") })
    }
  }

  @Test("What could not be removed from the disk is not used when the adapter is plugged in again")
  func readOnlyReplugged() async throws {
    try await inWorld(after: .paired) { world in
      world.platform.disk.fail(Errno(rawValue: 30))
      await #expect(throws: RPCError.self) { try await Self.forget(world) }
      world.unplug()
      await world.pass(.seconds(1))
      let mark = world.events.count
      world.replug()
      await world.pass(.seconds(5))
      #expect(world.story(since: mark).contains("ready"))
      #expect(world.adapter.keyedPeers == [])
      #expect(world.daemon?.phoneReports == [])
    }
  }

  @Test("Nor is one that is plugged in while it waits for the kernel")
  func pluggedInMeanwhile() async throws {
    try await inWorld(after: .paired) { world in
      world.kernel.unanswered = [.unpairDevice]
      let forgetting = Loop.start { try? await Self.forget(world) }
      await world.pass(.milliseconds(100))
      world.unplug()
      await world.pass(.milliseconds(100))
      world.replug()
      await world.pass(.seconds(30))
      await forgetting.value
      #expect(world.daemon?.phoneReports == [])
      #expect(!world.platform.disk.paths.contains { $0.hasSuffix(".bond.json") })
    }
  }

  @Test("A bond that could not be saved is forgotten, too")
  func neverSaved() async throws {
    try await inWorld { world in
      try await Bonds.makeOnFullDisk(world)
      world.platform.disk.fail(nil)
      try await Self.forget(world)
      #expect(world.daemon?.phoneReports == [])
    }
  }

  @Test("A copy of the bond by another name is removed with it")
  func copied() async throws {
    try await inWorld(after: .paired) { world in
      try await world.stop()
      world.platform.disk.rename { $0.replacing("random-c01122334455.bond", with: "copy.bond") }
      try await world.start()
      await world.pass(.seconds(1))
      try await Self.forget(world)
      #expect(!world.platform.disk.paths.contains { $0.hasSuffix(".bond.json") })
    }
  }

  @Test("It works for an adapter that is absent")
  func absent() async throws {
    try await inWorld(after: .paired) { world in
      world.unplug()
      await world.pass(.seconds(1))
      try await Self.forget(world)
      #expect(!world.platform.disk.paths.contains { $0.hasSuffix(".bond.json") })
      world.replug()
      try await world.until(.ready)
      #expect(world.adapter.keyedPeers == [])
    }
  }
}
