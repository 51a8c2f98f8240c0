// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import JSON
import Mgmt
import System
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Bonds, and keys that change while the kernel is told of them", .inWorld)
struct BondTests: InWorld {
  @Test("Nothing of a session is left in memory when its link is over")
  func released() async throws {
    try await world.begin(.paired)
    weak let session = world.daemon?.sessions.first
    weak let client = session?.client
    weak let bearer = session?.bearer
    weak let consumer = session?.services.active(NotificationConsumer.self)
    #expect(client != nil && bearer != nil && consumer != nil)
    try await world.phoneLeaves()
    await world.pass(.seconds(60))
    #expect(session == nil && client == nil && bearer == nil && consumer == nil)
  }

  @Test("The key of a phone that pairs meanwhile is not lost")
  func paired() async throws {
    try await world.begin(.phoneLeft)
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

  @Test("The key of a phone that is forgotten while the adapter is set up does not come back")
  func forgotten() async throws {
    try await world.begin(.phoneLeft)
    try await world.stop()
    world.kernel.commandFate = { $0 == .setLowEnergy ? .late(.seconds(2)) : .arrives }
    world.launch()
    await world.pass(.seconds(1))
    try await world.forgetPhone()
    try await world.until(.ready)
    await world.pass(.seconds(1))
    #expect(world.adapter.keyedPeers == [])
  }
}

@Suite("One side has lost the bond", .inWorld)
struct OneSidedBondTests: InWorld {
  /// A bonded phone forgets the board, and connects again while pairing is open; its person takes the time to read.
  private func comesBackToPair() async throws {
    try await world.begin(.phoneLeft)
    world.phone.forget(world.adapter)
    world.phone.consent = .accepts(after: .seconds(18))
    try await world.openPairing(seconds: 60)
    await world.phoneConnects()
  }

  @Test("The phone: while pairing is open it pairs again, and the bond is replaced", arguments: [false, true])
  func lostByPhonePairsAgain(kernelHasBug: Bool) async throws {
    world.useAdapter { $0.failsToPairAnew = kernelHasBug }
    try await comesBackToPair()
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
    try await world.phoneReturnsEncrypted()
  }

  @Test(
    "A kernel that can't pair again has the phone's old key again once pairing is closed, by hand or by its end",
    arguments: [true, false])
  func keyComesBack(byHand: Bool) async throws {
    world.useAdapter { $0.failsToPairAnew = true }
    try await comesBackToPair()
    try await world.until(.pairingFailed)
    await world.pass(.seconds(1))
    #expect(world.adapter.keyedPeers == [])
    if byHand { try await world.closePairing() }
    await world.pass(byHand ? .seconds(1) : .seconds(60))
    #expect(world.adapter.keyedPeers == [world.phone.kind.identity])
    #expect(world.daemon?.phoneReports.count == 1)
  }

  @Test("Neither, but the keys differ: the next link says it too")
  func keysDiffer() async throws {
    try await world.begin(.phoneLeft)
    world.phone.spoilKey(of: world.adapter)
    await world.phoneFlutters()
    // The phone has given up until then.
    try world.phoneDoes(.tap)
    world.phone.encryptsAfter = nil
    await world.phoneConnects()
    await world.pass(.seconds(1))
    #expect(try await world.status().links.map(\.waiting.wait) == ["keys-differ"])
  }
}

@Suite("What is kept of a bonded phone, and when the disk has to wait for it", .inWorld)
struct SightingTests: InWorld {
  @Test(
    "Keys are saved when a phone pairs; what was learned of it once it is quiet, and at its end")
  func quiet() async throws {
    let disk = world.platform.disk
    try await world.meet()
    try await world.until(.paired)
    #expect(disk.takeSaved() == ["bond"])
    try await world.until(.subscribed)
    await world.pass(.seconds(30))
    #expect(disk.takeSaved() == [])
    await world.pass(.seconds(60))
    #expect(disk.takeSaved() == ["cache"])
    for _ in 1...2 {
      try await world.phoneLeaves()
      await world.pass(.seconds(1))
      #expect(disk.takeSaved() == ["cache"])
      try await world.phoneComes()
      await world.pass(.seconds(600))
      #expect(disk.takeSaved() == [])
    }
  }

  private func memory() throws -> JSONValue {
    let bytes = try #require(world.platform.disk.content { $0.hasSuffix(".cache.json") })
    return try JSONValue(parsing: bytes)
  }

  @Test("When it was last here, and its name, are beside the keys, and go with them")
  func beside() async throws {
    try await world.serve()
    await world.pass(.seconds(60))
    try await world.phoneLeaves()
    let first = try #require(try memory()["last_seen"]?.int)
    await world.pass(.seconds(3_600))
    try await world.phoneComes()
    await world.pass(.seconds(60))
    try await world.phoneLeaves()
    #expect(try #require(try memory()["last_seen"]?.int) >= first + 3_600)
    try await world.stop()
    try await world.start()
    let name = try #require(try memory()["name"]?.string)
    #expect(world.daemon?.phoneReports.first?.name == name)
    let files = { world.platform.disk.paths.filter { $0.contains("cache") || $0.contains("bond") } }
    #expect(files().count == 2)
    try await world.forgetPhone()
    #expect(files().isEmpty)
  }
}

@Suite("A bond belongs to its phone", .inWorld)
struct BondOwnerTests: InWorld {
  @Test("A bond that could not be saved outlives an unplugged adapter, and is saved once there is room")
  func savedLater() async throws {
    try await world.bondOnFullDisk()
    await world.replugLater()
    try await world.until(.advertising)
    try await world.phoneConnectsEncrypted()
    await world.pass(.seconds(300))
    #expect(world.bondKeys == nil)
    world.platform.disk.fail(nil)
    await world.pass(.seconds(70))
    #expect(world.bondKeys != nil)
  }

  @Test("Bonds that can't be read at the start are used once they can")
  func readLater() async throws {
    try await world.begin(.phoneLeft)
    try await world.stop()
    for prevents: @Sendable (String) -> Bool in [World.isBond, { !$0.contains("json") }] {
      world.platform.disk.failReads(.inputOutput, where: prevents)
      try await world.start()
      #expect(world.daemon?.phoneReports.isEmpty == true)
      await world.pass(.seconds(20))
      world.platform.disk.fail(nil)
      await world.pass(.seconds(40))
      #expect(world.daemon?.phoneReports.count == 1)
      #expect(world.adapter.keyedPeers.count == 1)
      try await world.phoneConnectsEncrypted()
      world.phone.leave()
      try await world.stop()
    }
  }

  @Test(
    "A kernel that takes short packets has the keys of the phones that were here last, and the log says whose it lacks",
    arguments: [(1_028, 28), (65_535, 41)])
  func manyPhones(packetLimit: Int, held: Int) async throws {
    try await world.begin(.phoneLeft)
    let store = try #require(world.daemon).bonds
    let adapter = world.adapter.address.address
    let key = try #require(store.bonds(of: adapter).usable.first?.longTermKeys.first)
    for number in 0..<40 as Range<UInt8> {
      // Its address is before or behind the phone's.
      var entry = key.entry
      (entry[0], entry[4]) = (number, number < 20 ? 0 : 0xFF)
      let copy = try LongTermKey(entry: entry)
      try store.save(Bond(identity: copy.peer, longTermKeys: [copy]), of: adapter)
    }
    try await world.stop()
    world.kernel.packetLimit = packetLimit
    try await world.start { $0.live.logLevel = .warning }
    #expect(world.adapter.keyedPeers.count == held)
    #expect(world.log.count { $0.contains("ancsd forget") } == (held == 41 ? 0 : 1), "\(world.log)")
    await world.pass(.seconds(1))
    try await world.phoneConnectsEncrypted()
    // One that pairs now is among them, too.
    let stranger = try await world.strangerPairs()
    #expect(world.adapter.keyedPeers.contains(stranger.kind.identity))
    try await world.phoneReturnsEncrypted()
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
    let other = try await world.strangerPairs {
      $0.identity = DeviceAddress(world.phone.kind.identity.address, .public)
    }
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

  @Test("A phone that pairs again while the kernel is waited for keeps that bond")
  func pairsMeanwhile() async throws {
    try await world.begin(.paired)
    try await world.openPairing()
    // The kernel replies to Unpair Device once the link has ended, which takes until the supervision timeout.
    world.kernel.packetFate = { code, packet in
      code == 1 && packet[6] == 0x1B ? .late(.seconds(6)) : .arrives
    }
    let forgetting = Loop.start { try? await world.forgetPhone() }
    try await world.until(.disconnected)
    world.phone.forget(world.adapter)
    await world.phoneConnects()
    try await world.until(.paired)
    await forgetting.value
    await world.pass(.seconds(10))
    #expect(world.daemon?.phoneReports.count == 1 && world.bondFiles.count == 1)
    #expect(world.daemon?.phoneBook.phones.count == 1)
    try await world.phoneReturnsEncrypted()
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

  @Test("What was opened and closed again while the adapter was absent is closed", arguments: [false, true])
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
    try await world.strangerPairs()
    try await closeAndForgetWhileAbsent()
    #expect(world.pairable == [false])
  }

  @Test("Forgetting the last phone opens the board, also if its adapter is absent")
  func lastOfAbsent() async throws {
    try await world.begin(.phoneLeft)
    try await closeAndForgetWhileAbsent()
    #expect(world.pairable == [true])
    #expect(world.bondFiles.isEmpty && world.adapter.keyedPeers == [])
  }
}
