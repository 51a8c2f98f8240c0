// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import GAP
import Mgmt
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("The board is on the air when a phone is to come, and only then")
struct AirTests {
  private static let advertising: [MgmtOpcode] = [
    .addAdvertising, .addExtendedAdvertisingParameters, .addExtendedAdvertisingData,
  ]

  @Test(
    "Commands that fail while nobody is connected are tried again until the board is on the air")
  func failedAdvertising() async throws {
    try await inWorld(after: .phoneLeft) { world in
      await world.pass(.seconds(29))
      #expect(world.adapter.isOnAir)
      // The change to the slow pace fails.
      for opcode in Self.advertising {
        world.kernel.refusals[opcode] = .authenticationFailed
      }
      await world.pass(.seconds(20))
      #expect(!world.adapter.isOnAir && world.wait == "silent")
      guard case .error("advertising", _, let message, _)? = world.last(.error) else {
        Issue.record("\(world.story)")
        return
      }
      // mgmt's status for a time-out is Authentication Failed.
      #expect(message.contains("did not respond in time"), "\(message)")
      #expect(world.story.filter { $0 == "error" }.count == 1)
      world.kernel.refusals = [:]
      await world.pass(.seconds(30))
      #expect(world.adapter.isOnAir && world.wait == "bonded-phone")
    }
  }

  @Test(
    "An adapter is found though the event that tells of it was lost, named or not",
    arguments: [true, false])
  func lostIndexAdded(isNamed: Bool) async throws {
    try await inWorld { world in
      try await world.start { if isNamed { $0.adapters = [AdapterChoice(ControllerIndex(0))] } }
      try await world.until(.advertising)
      world.unplug()
      let told = try await world.until(.error)
      await world.pass(.seconds(3))
      #expect("\(told)".contains("hci0 was removed; plug it in again to continue"))
      #expect(world.wait == "no-adapter" && world.story.filter { $0 == "error" }.count == 1)
      world.kernel.packetFate = { code, _ in code == 0x0004 ? .lost : .arrives }
      world.replug()
      await world.pass(.seconds(40))
      #expect(world.adapter.isOnAir)
    }
  }

  @Test("A command that succeeds after its timeout causes a new setup of the adapter")
  func carriedOutLate() async throws {
    try await inWorld { world in
      try await world.start()
      world.kernel.commandFate = { $0 == .setPowered ? .late(.seconds(200)) : .arrives }
      await world.replugLater()
      await world.pass(.seconds(20))
      world.kernel.commandFate = { _ in .arrives }
      await world.pass(.seconds(60))
      #expect(world.adapter.isOnAir)
      // Now it is switched off, by a command of minutes ago.
      await world.pass(.seconds(300))
      #expect(world.adapter.isOnAir)
      #expect(world.events.contains { "\($0.content)".contains("long after it timed out") })
    }
  }

  @Test(
    "What the kernel can't tell at the start is asked for again",
    arguments: [MgmtOpcode.readCommands, .readIndexList])
  func askedAgain(opcode: MgmtOpcode) async throws {
    try await inWorld { world in
      for fate in [Fate<MgmtStatus>.fails(.failed), .lost] {
        var isFirst = true
        world.kernel.commandFate = { sent in
          guard sent == opcode, isFirst else { return .arrives }
          isFirst = false
          return fate
        }
        try await world.start()
        #expect(!isFirst)
        try await world.stop()
      }
    }
  }

  @Test("Nobody else can connect while the only bonded phone is connected")
  func besideOnlyPhone() async throws {
    try await inWorld(after: .paired) { world in
      let stranger = world.stranger()
      for _ in 0..<60 {
        await world.pass(.seconds(5))
        #expect(!stranger.connect(to: world.adapter))
      }
      try await world.phoneLeaves()
      await world.pass(.seconds(1))
      #expect(world.adapter.isOnAir)
    }
  }

  @Test("Another bonded phone can connect in addition, and is advertised to after it disconnects")
  func twoPhones() async throws {
    try await inWorld(after: .paired) { world in
      let second = world.stranger()
      try await world.openPairing(seconds: 60)
      await world.pass(.seconds(1))
      #expect(second.connect(to: world.adapter))
      try await world.until(.paired)
      await world.pass(.seconds(120))
      #expect(!world.adapter.isOnAir)
      second.leave()
      await world.pass(.seconds(2))
      #expect(world.adapter.isOnAir)
      #expect(second.connect(to: world.adapter))
    }
  }

  @Test("Where the newer commands fail, Add Advertising is used, with the same intervals")
  func plainAdvertising() async throws {
    try await inWorld { world in
      world.kernel.refusals[.addExtendedAdvertisingParameters] = .failed
      try await Bonds.makeAndLeave(world)
      await world.pass(.seconds(1))
      #expect(world.adapter.isOnAir && world.adapter.advertisingInterval == 32)
      await world.pass(.seconds(60))
      #expect(world.adapter.isOnAir && world.adapter.advertisingInterval == 244)
      #expect(world.last(.error) == nil)
    }
  }

  @Test(
    "Beside a phone that does not share yet the solicitation stays on the air",
    arguments: SharingAdvertisement.allCases)
  func untilShared(_ advertisement: SharingAdvertisement) async throws {
    try await inWorld { world in
      try world.phone.phone.perform(.authorize(false))
      try await world.serve { $0.quirks.sharingAdvertisement = advertisement }
      await world.pass(.seconds(60))
      #expect(world.wait == "forbidden")
      #expect(world.adapter.isVisible == (advertisement != .off))
      #expect(world.adapter.isOnAir == (advertisement == .connectable))
      if advertisement != .off {
        let solicitation = UUID.notificationCenter.littleEndian
        #expect(world.adapter.advertisement?.starts(with: [0x11, 0x15] + solicitation) == true)
        #expect(world.adapter.advertisingInterval == 244)
      }
      try world.phone.phone.perform(.authorize(true))
      await world.pass(.seconds(120))
      #expect(world.wait == "news" && !world.adapter.isVisible)
      // Nothing goes on the air for the moment that a returning phone takes to respond.
      try await world.phoneLeaves()
      await world.pass(.seconds(1))
      let before = world.kernel.commands.count { $0 == .addExtendedAdvertisingParameters }
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.seconds(60))
      #expect(
        world.kernel.commands.count { $0 == .addExtendedAdvertisingParameters } == before)
    }
  }

  @Test("`connected` says which profile was on the air", arguments: [0, 1, 2, 3, 4, 5, 6])
  func profile(turn: Int) async throws {
    try await inWorld(after: .onAir) { world in
      await world.pass(AdvertisingProfile.turn * turn + .seconds(1))
      world.phone.connect(to: world.adapter)
      guard case .connected(_, _, let profile) = try await world.until(.connected).content else {
        return
      }
      let all = AdvertisingProfile.allCases
      #expect(profile == all[turn % all.count])
    }
  }

  @Test("While phones may pair: every 20 ms for five minutes, then every 152.5 ms")
  func paceWhilePairable() async throws {
    try await inWorld(after: .onAir) { world in
      await world.pass(.seconds(299))
      #expect(world.adapter.advertisingInterval == 32)
      await world.pass(.seconds(2))
      #expect(world.adapter.advertisingInterval == 244)
      // Somebody opens pairing by hand.
      try await world.openPairing(seconds: 60)
      await world.pass(.seconds(1))
      #expect(world.adapter.advertisingInterval == 32)
    }
  }

  @Test("A controller that cannot tell its transmit power advertises without")
  func withoutPower() async throws {
    try await inWorld(adapter: .init { $0.tellsPower = false }, after: .phoneLeft) { world in
      await world.pass(.seconds(60))
      #expect(world.adapter.isOnAir && world.adapter.advertisingInterval == 244)
      #expect(world.last(.error) == nil)
    }
  }

  @Test("A command that need not succeed may even be refused when it is written")
  func refusedWrites() async throws {
    try await inWorld { world in
      world.kernel.refusedWrites = [.removeAdvertising, .setDefaultSystemConfiguration]
      try await world.start()
      try await world.until(.advertising)
      #expect(world.adapter.isOnAir)
    }
  }

  @Test("After a hardware error the board is back on the air within two seconds")
  func hardwareError() async throws {
    try await inWorld(after: .phoneLeft) { world in
      await world.pass(.seconds(1))
      world.kernel.failHardware(of: world.adapter)
      await world.pass(.seconds(2))
      #expect(world.adapter.isOnAir, "\(world.story)")
      try await Bonds.connectsEncrypted(world)
    }
  }
}

@Suite("An adapter vanishes without a word, and another one may take its number")
struct VanishedAdapterTests {
  /// What the adapter is in when it vanishes.
  enum Moment: String, CaseIterable { case blocked, beingSetUp, serving }

  @LoopActor private static func vanish(_ world: World, _ moment: Moment) async throws {
    try await Bonds.make(world)
    switch moment {
    case .blocked: world.kernel.block(world.adapter, .soft)
    case .beingSetUp:
      world.kernel.unanswered = [.setPowered]
      world.kernel.failHardware(of: world.adapter)
    case .serving: break
    }
    await world.pass(.seconds(3))
    world.kernel.unplug(world.adapter, tells: false)
  }

  @Test("It is noticed", arguments: [Moment.blocked, .beingSetUp])
  func isNoticed(_ moment: Moment) async throws {
    try await inWorld { world in
      try await Self.vanish(world, moment)
      world.kernel.unanswered = []
      await world.pass(.seconds(60))
      #expect(world.wait == "no-adapter", "\(world.wait ?? "")")
      world.replug()
      try await world.until(.ready)
      try await Bonds.connectsEncrypted(world)
    }
  }

  @Test("The other one gets its own name, address and bonds", arguments: Moment.allCases)
  func exchanged(_ moment: Moment) async throws {
    try await inWorld { world in
      try await Self.vanish(world, moment)
      world.kernel.unanswered = []
      let other = world.kernel.plug(.init { $0.address = Address(0x001A_7DDA_7199) })
      await world.pass(.seconds(60))
      guard case .ready(let address, _, _, _)? = world.last(.ready) else { return }
      #expect(address == other.kind.address)
      #expect(other.keyedPeers == [] && other.isOnAir)
      #expect(world.wait == "first-phone")
    }
  }
}
