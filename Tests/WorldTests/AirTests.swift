// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Testing
import VirtualKernel
import Wire

@testable import Daemon

@Suite("The board is on the air when a phone is to come, and only then")
struct AirTests {
  private static let advertising: [MgmtOpcode] = [
    .addAdvertising, .addExtendedAdvertisingParameters, .addExtendedAdvertisingData,
  ]

  @Test(
    "Commands that fail while nobody is connected are tried again until the board is on the air")
  func failedAdvertising() async throws {
    try await inWorld { world in
      try await Bonds.make(world)
      world.phone.leave()
      try await world.until(.disconnected)
      await world.pass(.seconds(29))
      #expect(world.adapter.isOnAir)
      // The change to the slow pace fails.
      for opcode in Self.advertising {
        world.kernel.refusals[opcode] = .authenticationFailed
      }
      await world.pass(.seconds(20))
      #expect(!world.adapter.isOnAir && world.wait == "silent")
      guard case .error("advertising", _, let message)? = world.last(.error) else {
        Issue.record("\(world.story)")
        return
      }
      // mgmt's status for a time-out is Authentication Failed.
      #expect(message.contains("did not answer in time"), "\(message)")
      #expect(world.story.filter { $0 == "error" }.count == 1)
      world.kernel.refusals = [:]
      await world.pass(.seconds(30))
      #expect(world.adapter.isOnAir && world.wait == "bonded-phone")
    }
  }

  @Test("Nobody can connect beside the only bonded phone, until that has gone")
  func besideOnlyPhone() async throws {
    try await inWorld { world in
      try await Bonds.make(world)
      var kind = Handset.Kind()
      kind.identity = DeviceAddress(Address(0xC0AA_BBCC_DDEE), .random)
      kind.privateAddress = nil
      let stranger = Handset(kind, scheduler: world.clock)
      for _ in 0..<60 {
        await world.pass(.seconds(5))
        #expect(!stranger.connect(to: world.adapter))
      }
      world.phone.leave()
      try await world.until(.disconnected)
      await world.pass(.seconds(1))
      #expect(world.adapter.isOnAir)
    }
  }

  @Test("Another bonded phone can connect beside the first, and is waited for when it has gone")
  func twoPhones() async throws {
    try await inWorld { world in
      try await Bonds.make(world)
      var kind = Handset.Kind()
      kind.identity = DeviceAddress(Address(0xC0AA_BBCC_DDEE), .random)
      kind.privateAddress = nil
      let second = Handset(kind, scheduler: world.clock)
      _ = try await world.call(ControlMethods.openPairing, PairingParameters(seconds: 60))
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
      try await Bonds.make(world)
      world.phone.leave()
      try await world.until(.disconnected)
      await world.pass(.seconds(1))
      #expect(world.adapter.isOnAir && world.adapter.advertisingInterval == 32)
      await world.pass(.seconds(60))
      #expect(world.adapter.isOnAir && world.adapter.advertisingInterval == 244)
      #expect(world.last(.error) == nil)
    }
  }

  @Test("After a hardware error the board is back on the air within two seconds")
  func hardwareError() async throws {
    try await inWorld { world in
      try await Bonds.make(world)
      world.phone.leave()
      try await world.until(.disconnected)
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
    switch moment {
    case .blocked:
      try await Bonds.make(world)
      world.kernel.block(world.adapter, .soft)
    case .beingSetUp:
      try await Bonds.make(world)
      world.kernel.unanswered = [.setPowered]
      world.kernel.failHardware(of: world.adapter)
    case .serving: try await Bonds.make(world)
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
      var kind = VirtualAdapter.Kind()
      kind.address = Address(0x001A_7DDA_7199)
      let other = world.kernel.plug(kind)
      await world.pass(.seconds(60))
      guard case .ready(let address, _, _)? = world.last(.ready) else { return }
      #expect(address == kind.address)
      #expect(other.keyedPeers == [] && other.isOnAir)
      #expect(world.wait == "first-phone")
    }
  }
}
