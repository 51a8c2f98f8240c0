// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Testing
import VirtualKernel
import Wire

@testable import Board

@Suite("As a service: what the service manager hears", .inWorld)
struct ServiceTests: InWorld {
  /// Has a service manager start the daemon.
  private func manage(watchdog: Duration? = nil) -> VirtualServiceManager {
    let manager = VirtualServiceManager(watchdog: watchdog)
    world.platform.serviceManager = manager
    return manager
  }

  @Test("Ready once the sockets are open, although the kernel has not replied yet")
  func ready() async throws {
    let manager = manage()
    world.kernel.unanswered = [.readCommands]
    world.launch()
    #expect(manager.count("READY=1") == 0)
    await world.pass(.seconds(1))
    #expect(manager.count("READY=1") == 1)
    #expect(world.platform.acceptClient != nil)
  }

  @Test("The status names the next step, from the radio to the notifications, and the end, once")
  func status() async throws {
    let manager = manage()
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

  @Test("A daemon that can't serve is never ready, and reports that it is stopping")
  func neverReady() async throws {
    let manager = manage()
    world.kernel.startBluetoothDaemon()
    world.launch()
    _ = try? await world.exit()
    #expect(manager.count("READY=1") == 0 && manager.told.last == "STOPPING=1")
  }

  @Test("A watchdog hears twice within its time that the daemon lives")
  func watchdog() async throws {
    let manager = manage(watchdog: .seconds(60))
    try await world.start()
    let before = manager.count("WATCHDOG=1")
    await world.pass(.seconds(600))
    #expect((19...21).contains(manager.count("WATCHDOG=1") - before))
  }

  @Test("Without a watchdog an hour of peace costs no datagram")
  func quiet() async throws {
    let manager = manage()
    try await world.serve { $0.io = .noInputNoOutput }
    await world.pass(.seconds(60))
    let before = manager.told.count
    await world.pass(.seconds(3_600))
    #expect(manager.told.count == before)
  }
}
