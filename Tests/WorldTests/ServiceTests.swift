// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Testing
import VirtualKernel
import Wire

@testable import Board
@testable import Daemon

@Suite("As a service: what the service manager hears")
struct ServiceTests {
  /// Runs a world whose daemon a service manager starts.
  private func inService(
    watchdog: Duration? = nil,
    _ body: @escaping @LoopActor (World, VirtualServiceManager) async throws -> Void
  ) async throws {
    try await inWorld { world in
      let manager = VirtualServiceManager(watchdog: watchdog)
      world.platform.serviceManager = manager
      try await body(world, manager)
    }
  }

  @Test("Ready once the sockets are open, although the kernel has not replied yet")
  func ready() async throws {
    try await inService { world, manager in
      world.kernel.unanswered = [.readCommands]
      world.launch()
      #expect(manager.count("READY=1") == 0)
      await world.pass(.seconds(1))
      #expect(manager.count("READY=1") == 1)
      #expect(world.platform.acceptClient != nil)
    }
  }

  @Test("The status names the next step, from the radio to the notifications, and the end, once")
  func status() async throws {
    try await inService { world, manager in
      try await world.serve { $0.io = .noInputNoOutput }
      await world.pass(.seconds(5))
      let states = manager.told.filter { $0.hasPrefix("STATUS=") }
      #expect(states.contains { $0.hasPrefix("STATUS=hci0: on the air, no phone is bonded") })
      let last = try #require(states.last)
      #expect(last.contains("hci0: subscribed; waiting for the first notification"))
      #expect(!states.contains { $0.contains(world.phone.kind.identity.address.description) })
      try await world.stop()
      #expect(manager.told.last == "STOPPING=1" && manager.count("STOPPING=1") == 1)
    }
  }

  @Test("A daemon that can't serve is never ready, and reports that it is stopping")
  func neverReady() async throws {
    try await inService { world, manager in
      world.kernel.startBluetoothDaemon()
      world.launch()
      try await world.until("the daemon has exited") { world.end != nil }
      #expect(manager.count("READY=1") == 0 && manager.told.last == "STOPPING=1")
    }
  }

  @Test("A watchdog hears twice within its time that the daemon lives")
  func watchdog() async throws {
    try await inService(watchdog: .seconds(60)) { world, manager in
      try await world.start()
      let before = manager.count("WATCHDOG=1")
      await world.pass(.seconds(600))
      #expect((19...21).contains(manager.count("WATCHDOG=1") - before))
    }
  }

  @Test("Without a watchdog an hour of peace costs no datagram")
  func quiet() async throws {
    try await inService { world, manager in
      try await world.serve { $0.io = .noInputNoOutput }
      await world.pass(.seconds(60))
      let before = manager.told.count
      await world.pass(.seconds(3_600))
      #expect(manager.told.count == before)
    }
  }
}
