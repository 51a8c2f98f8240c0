// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import System
import Testing
import VirtualKernel

@testable import Board
@testable import Daemon

@Suite("The kernel leaves something out, and the daemon neither hangs nor gives up", .inWorld)
struct EndTests: InWorld {
  /// When the kernel stops answering.
  enum Moment: CaseIterable {
    case start, firstCommand, setUp, advertising, serving

    @LoopActor func come(_ world: World) async throws {
      switch self {
      case .start: world.kernel.unanswered = [.readCommands]
      case .firstCommand: world.kernel.unanswered = [.readControllerInformation]
      case .setUp: world.kernel.unanswered = [.setPowered, .setLowEnergy]
      case .advertising: world.kernel.unanswered = [.addExtendedAdvertisingParameters]
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

  @Test(
    "An adapter whose first command fails is tried again after 1, 2, 4 … 30 s",
    arguments: [false, true])
  func firstCommand(isNamed: Bool) async throws {
    world.kernel.refusals[.readControllerInformation] = .busy
    world.launch { if isNamed { $0.adapters = [AdapterChoice(ControllerIndex(0))] } }
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

  @Test("An adapter unplugged before that is abandoned, and its successor is tried once")
  func unplugged() async throws {
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
  }

  @Test(
    "A link whose end is reported by half, or not at all, ends with its adapter",
    arguments: [true, false])
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
    world.launch { $0.source = source }
    let failure = await #expect(throws: Failure.self) { try await world.exit() }
    #expect(failure?.status == refusal.status && failure?.line.contains(refusal.remedy) == true)
    #expect(world.platform.disk.writes == 0)
  }
}
