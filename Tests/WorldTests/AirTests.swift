// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import GAP
import Mgmt
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("The board is on the air when a phone is to come, and only then", .inWorld)
struct AirTests: InWorld {
  private static let advertising: [MgmtOpcode] = [
    .addAdvertising, .addExtendedAdvertisingParameters, .addExtendedAdvertisingData,
  ]

  @Test(
    "Commands that fail while nobody is connected are tried again until the board is on the air")
  func failedAdvertising() async throws {
    try await world.begin(.phoneLeft)
    await world.pass(.seconds(29))
    #expect(world.adapter.isOnAir)
    // The change to the slow pace fails.
    for opcode in Self.advertising { world.kernel.refusals[opcode] = .authenticationFailed }
    await world.pass(.seconds(20))
    #expect(!world.adapter.isOnAir && world.wait == "silent")
    // mgmt's status for a time-out is Authentication Failed.
    guard case .error("advertising", _, let message, _)? = world.last(.error),
      message.contains("did not respond in time")
    else { return _ = Issue.record("\(world.events)") }
    #expect(world.story.count { $0 == "error" } == 1)
    world.kernel.refusals = [:]
    await world.pass(.seconds(30))
    #expect(world.adapter.isOnAir && world.wait == "bonded-phone")
  }

  @Test(
    "An adapter is found though the event that tells of it was lost, named or not",
    arguments: [true, false])
  func lostIndexAdded(isNamed: Bool) async throws {
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

  @Test("A command that succeeds after its timeout causes a new setup of the adapter")
  func carriedOutLate() async throws {
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

  @Test(
    "What the kernel can't tell at the start is asked for again",
    arguments: [MgmtOpcode.readCommands, .readIndexList])
  func askedAgain(opcode: MgmtOpcode) async throws {
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

  @Test("Nobody else can connect while the only bonded phone is connected")
  func besideOnlyPhone() async throws {
    try await world.begin(.paired)
    let stranger = world.stranger()
    for _ in 0..<60 {
      await world.pass(.seconds(5))
      #expect(!stranger.connect(to: world.adapter))
    }
    try await world.phoneLeaves()
    await world.pass(.seconds(1))
    #expect(world.adapter.isOnAir)
  }

  @Test("Another bonded phone can connect in addition, and is advertised to after it disconnects")
  func twoPhones() async throws {
    try await world.begin(.paired)
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

  @Test(
    "Where the newer commands fail, or the controller cannot tell its transmit power, the intervals are the same",
    arguments: [true, false])
  func plainAdvertising(tellsPower: Bool) async throws {
    world.useAdapter { $0.tellsPower = tellsPower }
    if tellsPower { world.kernel.refusals[.addExtendedAdvertisingParameters] = .failed }
    try await world.begin(.phoneLeft)
    await world.pass(.seconds(1))
    #expect(world.adapter.isOnAir && world.adapter.advertisingInterval == 32)
    await world.pass(.seconds(60))
    #expect(world.adapter.isOnAir && world.adapter.advertisingInterval == 244)
    #expect(world.last(.error) == nil)
  }

  @Test(
    "Beside a phone that does not share yet the solicitation stays on the air, whatever was before",
    arguments: SharingAdvertisement.allCases)
  func untilShared(_ advertisement: SharingAdvertisement) async throws {
    try world.phoneDoes(.authorize(false))
    try await world.serve {
      $0.advertise = .hid
      $0.quirks.sharingAdvertisement = advertisement
    }
    await world.pass(.seconds(60))
    #expect(world.wait == "forbidden")
    #expect(world.adapter.isVisible == (advertisement != .off))
    #expect(world.adapter.isOnAir == (advertisement == .connectable))
    if advertisement != .off {
      let solicitation = UUID.notificationCenter.littleEndian
      #expect(world.adapter.advertisement?.starts(with: [0x11, 0x15] + solicitation) == true)
      #expect(world.adapter.advertisingInterval == 244)
    }
    try world.phoneDoes(.authorize(true))
    await world.pass(.seconds(120))
    #expect(world.wait == "news" && !world.adapter.isVisible)
    // Nothing goes on the air for the moment that a returning phone takes to respond.
    try await world.phoneLeaves()
    await world.pass(.seconds(1))
    let before = world.kernel.commands.count { $0 == .addExtendedAdvertisingParameters }
    #expect(world.phone.connect(to: world.adapter))
    await world.pass(.seconds(60))
    #expect(world.kernel.commands.count { $0 == .addExtendedAdvertisingParameters } == before)
  }

  @Test("`connected` says which profile was on the air", arguments: [0, 1, 2, 3, 4, 5, 6])
  func profile(turn: Int) async throws {
    try await world.begin(.onAir)
    await world.pass(AdvertisingProfile.turn * turn + .seconds(1))
    world.phone.connect(to: world.adapter)
    try await world.until(.connected)
    let all = AdvertisingProfile.allCases
    let profile = all[turn % all.count]
    #expect(world.last(.connected) == .connected(encrypted: false, bonded: false, profile: profile))
  }

  @Test("Whoever opens pairing by hand has the board advertise fast again")
  func openedByHand() async throws {
    try await world.begin(.onAir)
    await world.pass(.seconds(301))
    #expect(world.adapter.advertisingInterval == 244)
    try await world.openPairing(seconds: 60)
    await world.pass(.seconds(1))
    #expect(world.adapter.advertisingInterval == 32)
  }

  @Test("After a hardware error the board is back on the air within two seconds")
  func hardwareError() async throws {
    try await world.begin(.phoneLeft)
    await world.pass(.seconds(1))
    world.kernel.failHardware(of: world.adapter)
    await world.pass(.seconds(2))
    #expect(world.adapter.isOnAir, "\(world.story)")
    try await world.phoneConnectsEncrypted()
  }
}

@Suite("An adapter vanishes without a word, and another one may take its number", .inWorld)
struct VanishedAdapterTests: InWorld {
  /// What the adapter is in when it vanishes.
  enum Moment: String, CaseIterable { case blocked, beingSetUp, serving }

  private func vanish(_ moment: Moment) async throws {
    try await world.bond()
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
    try await vanish(moment)
    world.kernel.unanswered = []
    await world.pass(.seconds(60))
    #expect(world.wait == "no-adapter", "\(world.wait ?? "")")
    world.replug()
    try await world.until(.ready)
    try await world.phoneConnectsEncrypted()
  }

  @Test("The other one gets its own name, address and bonds", arguments: Moment.allCases)
  func exchanged(_ moment: Moment) async throws {
    try await vanish(moment)
    world.kernel.unanswered = []
    let other = world.kernel.plug(.init { $0.address = Address(0x001A_7DDA_7199) })
    await world.pass(.seconds(60))
    guard case .ready(let address, _, _, _)? = world.last(.ready) else { return }
    #expect(address == other.kind.address)
    #expect(other.keyedPeers == [] && other.isOnAir)
    #expect(world.wait == "first-phone")
  }
}
