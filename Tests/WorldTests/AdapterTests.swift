// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import GAP
import Mgmt
import System
import Testing
import VirtualPhone
import Wire

@testable import Bluetooth
@testable import Board
@testable import Daemon
@testable import VirtualKernel

@Suite("The board is on the air when a phone is to come, and only then", .inWorld)
struct AirTests: InWorld {
  @Test("An adapter is found though the event that tells of it was lost, named or not", arguments: [true, false])
  func lostIndexAdded(isNamed: Bool) async throws {
    try await world.begin(.onAir) {
      if isNamed { $0.radio.adapters = [AdapterChoice(ControllerIndex(0))] }
    }
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

  @Test("What has failed at first is listed once while it is set up")
  func failedAtFirst() async throws {
    world.kernel.refusals[.readControllerInformation] = .failed
    world.kernel.unanswered = [.setPowered]
    world.launch()
    await world.pass(.seconds(3))
    world.kernel.refusals = [:]
    await world.pass(.seconds(10))
    #expect(try await world.status().adapters.map(\.waiting.wait) == ["setting-up"])
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
    "What the kernel can't tell at the start is asked for again", arguments: [MgmtOpcode.readCommands, .readIndexList])
  func askedAgain(opcode: MgmtOpcode) async throws {
    for fate in [Fate<MgmtStatus>.fails(.failed), .lost] {
      var fates = [fate]
      world.kernel.commandFate = { $0 == opcode ? fates.popLast() ?? .arrives : .arrives }
      try await world.start()
      #expect(fates.isEmpty)
      try await world.stop()
    }
  }

  @Test(
    "Where the newer commands fail, or the controller cannot tell its transmit power, the intervals are the same",
    arguments: [true, false])
  func plainAdvertising(tellsPower: Bool) async throws {
    world.useAdapter { $0.tellsPower = tellsPower }
    if tellsPower { world.kernel.refusals[.addExtendedAdvertisingParameters] = .failed }
    try await world.begin(.phoneLeft)
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
      $0.radio.advertise = .hid
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
}

@Suite("An adapter vanishes without a word, and another one may take its number", .inWorld)
struct VanishedAdapterTests: InWorld {
  /// What the adapter is in when it vanishes.
  enum Moment: String, CaseIterable { case blocked, beingSetUp, serving }

  @Test(
    "The other one gets its own name, address and bonds, also where it comes once the first is missed",
    arguments: Moment.allCases.map { ($0, false) } + [(.blocked, true), (.beingSetUp, true)])
  func exchanged(_ moment: Moment, isNoticed: Bool) async throws {
    try await world.begin(.paired)
    switch moment {
    case .blocked: world.kernel.block(world.adapter, .soft)
    case .beingSetUp:
      world.kernel.unanswered = [.setPowered]
      world.kernel.failHardware(of: world.adapter)
    case .serving: break
    }
    await world.pass(.seconds(3))
    world.kernel.unplug(world.adapter, tells: false)
    world.kernel.unanswered = []
    if isNoticed {
      await world.pass(.seconds(60))
      #expect(world.wait == "no-adapter")
    }
    let other = world.kernel.plug(.init { $0.address = Address(0x001A_7DDA_7199) })
    await world.pass(.seconds(60))
    guard case .ready(let address, _, _, _)? = world.last(.ready) else { return _ = Issue.record("\(world.story)") }
    #expect(address == other.kind.address)
    #expect(other.keyedPeers == [] && other.isOnAir)
    #expect(world.wait == "first-phone")
  }
}

@Suite("The board's own address on the air", .inWorld)
struct AddressTests: InWorld {
  /// An adapter as it is found, and what it has on the air.
  struct Found {
    var address: UInt64 = 0xAAAA_AAAA_AAAA
    var isUnconfigured = false
    var takesAddress = false
    var wanted = AddressKind.public
    var type = AddressType.random
  }

  @Test(
    "A placeholder gives way to a public address where the driver can set one, else to a static one, which is kept",
    arguments: [
      Found(takesAddress: true, type: .public), Found(isUnconfigured: true, takesAddress: true, type: .public),
      Found(), Found(address: 0), Found(address: 0x001A_7DDA_7113, wanted: .static),
    ])
  func kinds(_ found: Found) async throws {
    world.useAdapter {
      $0.address = Address(found.address)
      ($0.isUnconfigured, $0.takesAddress) = (found.isUnconfigured, found.takesAddress)
    }
    try await world.begin(.paired) { $0.radio.address = found.wanted }
    let address = world.adapter.address
    #expect(address.type == found.type)
    #expect(found.type == .public ? address.address.value >> 40 & 3 == 2 : address.address.value >> 46 == 3)
    try await world.stop()
    // A public address is left as it was found.
    #expect(found.wanted == .public || world.adapter.address == DeviceAddress(Address(found.address), .public))
    try await world.start { $0.radio.address = found.wanted }
    try await world.phoneConnectsEncrypted()
    #expect(world.adapter.address == address)
    #expect(try await world.status().adapters.map(\.address) == [address.address])
  }

  @Test("The phones of an adapter that another program serves stay that program's")
  func others() async throws {
    let other = world.plugSecond()
    let theirs = world.kernel.listen(at: other.address) { _ in }
    try await world.begin(.onAir) { $0.radio.adapters = [AdapterChoice(ControllerIndex(0))] }
    #expect(world.kernel.listener(at: other.address) === theirs)
    #expect(world.kernel.listener(at: world.adapter.address) !== theirs)
  }

  @Test("One that needs more than an address is reported, and served when it can be")
  func external() async throws {
    world.useAdapter { ($0.address, $0.isUnconfigured) = (Address(0), true) }
    world.launch()
    let error = try await world.until(.error)
    #expect("\(error)".contains("vendor"), "\(error)")
    await world.pass(.seconds(5))
    #expect(world.wait == "no-adapter")
  }

  @Test("Two adapters without an address have different ones")
  func two() async throws {
    world.useAdapter { $0.address = Address(0) }
    let second = world.kernel.plug(world.adapter.kind)
    try await world.start()
    await world.pass(.seconds(5))
    #expect(world.adapter.isOnAir && second.isOnAir)
    #expect(world.adapter.address != second.address)
  }

  @Test("Bonds that were kept under no address move to the one on the air")
  func adopted() async throws {
    world.useAdapter { $0.address = Address(0) }
    try await world.begin(.phoneLeft)
    try await world.stop()
    let bonds = world.bondFiles
    let folder = bonds.first?.split(separator: "/").dropLast().last ?? ""
    world.platform.disk.rename { $0.replacing(folder, with: "000000000000") }
    #expect(world.bondFiles != bonds)
    try await world.start()
    await world.pass(.seconds(1))
    try await world.phoneConnectsEncrypted()
    #expect(world.bondFiles == bonds)
  }

  @Test("Bonds that were kept under no address move to an adapter that is served")
  func adoptedByServed() async throws {
    world.useAdapter { $0.address = Address(0) }
    let second = world.kernel.plug(world.adapter.kind)
    try await world.begin(.phoneLeft) { $0.radio.adapters = [AdapterChoice(ControllerIndex(0))] }
    try await world.stop()
    let folder = world.bondFiles.first?.split(separator: "/").dropLast().last ?? ""
    world.platform.disk.rename { $0.replacing(folder, with: "000000000000") }
    try await world.start { $0.radio.adapters = [AdapterChoice(ControllerIndex(1))] }
    await world.pass(.seconds(1))
    #expect(world.daemon?.bonds.bonds(of: second.address.address).usable.count == 1, "\(world.bondFiles)")
  }
}

@Suite("Something happens on the way, at any step", .inWorld)
struct TroubleTests: InWorld {
  @Test("A board that can't listen for phones again says so, and listens once it can")
  func deaf() async throws {
    try await world.begin(.phoneLeft)
    world.platform.listenFailure = BluetoothError(SystemError("bind", .addressInUse))
    world.adapter.powerOff()
    await world.pass(.seconds(60))
    #expect(world.wait == "failing")
    let adapter = try await world.status().adapters.first
    #expect(adapter?.waiting.why?.contains("no phone can be accepted") == true)
    world.platform.listenFailure = nil
    await world.pass(.seconds(15))
    try await world.phoneConnectsEncrypted()
  }

  /// Something that happens to a board.
  struct Trouble: CustomTestStringConvertible {
    let testDescription: String
    /// What the board waits for meanwhile; nil: it does not stay so, or there is no daemon.
    var wait: String?
    let strike: @LoopActor @Sendable (World) async throws -> Void
    var end: @LoopActor @Sendable (World) -> Void = { _ in }
    /// By how many milliseconds it comes later each time.
    var step = 87
  }

  nonisolated static let troubles = [
    Trouble(testDescription: "unplugged", wait: "no-adapter", strike: { $0.unplug() }, end: { $0.replug() }),
    Trouble(
      testDescription: "blocked by software", wait: "blocked", strike: { $0.kernel.block($0.adapter, .soft) },
      end: { $0.kernel.block($0.adapter, nil) }),
    Trouble(
      testDescription: "taken by bluetoothd", wait: "bluetoothd", strike: { $0.kernel.startBluetoothDaemon() },
      end: { $0.kernel.stopBluetoothDaemon() }),
    Trouble(testDescription: "switched off", strike: { $0.adapter.powerOff() }),
    Trouble(
      testDescription: "stopped",
      strike: { world in
        try await world.stop()
        // A phone that was there has been subscribed to.
        #expect(world.phone.phone.strikes == 0, "\(world.story.suffix(12))")
      }, end: { $0.launch() }, step: 23),
    Trouble(
      testDescription: "without power",
      strike: { world in
        world.phone.goOutOfRange()
        world.cutPower()
      }, end: { $0.launch() }),
  ]

  @Test(
    "A board to which something happens again and again, at another moment of its set-up each time, is not given up",
    arguments: troubles)
  func recovers(_ trouble: Trouble) async throws {
    try await world.begin(.phoneLeft)
    world.onTurn = {
      if world.phone.connection == nil, world.adapter.isOnAir { world.phone.connect(to: world.adapter) }
    }
    for round in 1...15 {
      await world.pass(.milliseconds(round * trouble.step))
      try await trouble.strike(world)
      await world.pass(.seconds(3))
      if let wait = trouble.wait {
        #expect(try await world.status().waits.map(\.wait).contains(wait), "round \(round): \(world.story.suffix(12))")
      }
      trouble.end(world)
      #expect(!world.phone.phone.hasGivenUp, "round \(round): \(world.story.suffix(12))")
    }
    await world.pass(.seconds(30))
    #expect(world.wait == "news" && world.phone.phone.strikes == 0)
    #expect(world.daemon?.phoneReports.count == 1)
    world.onTurn = {}
  }
}

@Suite("The kernel leaves something out, and the daemon neither hangs nor gives up", .inWorld)
struct EndTests: InWorld {
  /// When the kernel stops answering.
  enum Moment: CaseIterable {
    case start, firstCommand, setUp, advertising, subscribing, serving

    @LoopActor func come(_ world: World) async throws {
      switch self {
      case .start: world.kernel.unanswered = [.readCommands]
      case .firstCommand: world.kernel.unanswered = [.readControllerInformation]
      case .setUp: world.kernel.unanswered = [.setPowered, .setLowEnergy]
      case .advertising: world.kernel.unanswered = [.addExtendedAdvertisingParameters]
      case .subscribing:
        try await world.begin(.phoneLeft)
        world.dropRequests()
        #expect(world.phone.connect(to: world.adapter))
        return await world.pass(.milliseconds(200))
      case .serving:
        try await world.serve()
        return world.kernel.unanswered = Set(VirtualAdapter.commands)
      }
      world.launch()
      await world.pass(.seconds(2))
    }
  }

  @Test(
    "The daemon exits within five seconds, whatever goes unanswered", arguments: Moment.allCases)
  func ends(at moment: Moment) async throws {
    try await moment.come(world)
    #expect(world.end == nil)
    world.daemon?.leave(.terminated)
    #expect(try await world.exit(within: .seconds(5)) == .terminated)
  }

  @Test("A daemon that is stopped before it has started changes nothing")
  func endsAtOnce() async throws {
    world.launch()
    world.daemon?.leave(.terminated)
    try await world.exit(within: .seconds(5))
    await world.pass(.seconds(20))
    #expect(world.kernel.commands.isEmpty && !world.adapter.settings.contains(.powered))
  }

  @Test("An adapter that responds in time is restored, in spite of one that does not")
  func others() async throws {
    let other = world.kernel.plug()
    try await world.start()
    world.kernel.deaf = [world.adapter.number]
    try await world.stop()
    #expect(!other.settings.contains(.powered) && world.adapter.settings.contains(.powered))
  }

  @Test("An adapter whose first command fails is tried again after 1, 2, 4 … 30 s", arguments: [false, true])
  func firstCommand(isNamed: Bool) async throws {
    world.kernel.refusals[.readControllerInformation] = .busy
    world.launch { if isNamed { $0.radio.adapters = [AdapterChoice(ControllerIndex(0))] } }
    await world.pass(.seconds(100))
    #expect(attempts == 8)
    #expect(world.story == ["error"])
    #expect(world.wait == "failing")
    let status = try await world.status()
    #expect(status.adapters.map(\.adapter) == ["hci0"])
    #expect(status.adapters.map(\.waiting.wait) == ["failing"])
    world.kernel.refusals = [:]
    try await world.until(.ready, within: .seconds(30))
    #expect(world.story.count { $0 == "error" } == 1)
  }

  /// How often an adapter was asked what it is.
  private var attempts: Int { world.kernel.commands.count { $0 == .readControllerInformation } }

  @Test("An adapter unplugged before that is abandoned and named no more, and its successor is tried once")
  func unplugged() async throws {
    let manager = VirtualServiceManager()
    world.platform.serviceManager = manager
    world.kernel.refusals[.readControllerInformation] = .busy
    world.launch()
    await world.pass(.milliseconds(100))
    world.unplug()
    await world.pass(.milliseconds(100))
    world.replug()
    await world.pass(.milliseconds(1_500))
    #expect(attempts == 3)
    world.unplug()
    await world.pass(.seconds(60))
    #expect(attempts == 3)
    #expect(world.wait == "no-adapter")
    let status = try #require(manager.told.last { $0.hasPrefix("STATUS=") })
    #expect(!status.contains("hci0"), "\(status)")
  }

  @Test("A link whose end is reported by half, or not at all, ends with its adapter", arguments: [true, false])
  func half(isReported: Bool) async throws {
    try await world.serve()
    world.kernel.losesChannelEnds = true
    if isReported {
      world.phone.leave()
      try await world.until(.disconnected, within: .seconds(5))
    } else {
      world.unplug()
      try await world.until(.disconnected, within: .seconds(1))
    }
    #expect(world.daemon?.sessions.isEmpty == true)
    #expect(world.daemon?.radio?.adapters.values.flatMap(\.links).isEmpty == true)
  }

  @Test(
    "A state directory that is not the daemon's alone is refused with what to do, also without a radio",
    arguments: [StartSettings.Source.radio, .virtualPhone, .att(path: "/phone")],
    [
      (PrivateDirectory.Fault.isTaken, Control.ExitStatus.unavailable, "stop that one"),
      (.isAnothers(1_000), .noPermission, "chown"),
      (.isBehindLink(of: 1_000), .noPermission, "name the directory itself"),
      (.isOpen(mode: 0o777), .noPermission, "chmod 700"),
    ])
  func state(
    _ source: StartSettings.Source,
    _ refusal: (fault: PrivateDirectory.Fault, status: Control.ExitStatus, remedy: String)
  ) async throws {
    world.platform.disk.refuseClaim(refusal.fault)
    world.launch { $0.start.source = source }
    let failure = await #expect(throws: Failure.self) { try await world.exit() }
    #expect(failure?.status == refusal.status && failure?.line.contains(refusal.remedy) == true)
    #expect(world.platform.disk.writes == 0)
  }
}
