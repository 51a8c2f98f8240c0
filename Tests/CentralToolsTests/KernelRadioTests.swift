// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import OnLoop
import Testing
import VirtualKernel
import Wire

@testable import CentralTools

@Suite("ancsd gatt: the adapter", .onLoop)
@LoopActor struct KernelRadioTests {
  private let kernel = VirtualKernel(scheduler: Loop.shared)
  private let adapter: VirtualAdapter
  private let radio: KernelRadio

  init() {
    radio = KernelRadio { [kernel] () async throws(Failure) in
      let (socket, mgmt) = (kernel.openManagement(), MgmtClient(scheduler: Loop.shared))
      mgmt.send = { socket.send($0) ? nil : "malformed" }
      socket.receive = { [weak mgmt] in mgmt?.receive($0) }
      return try await CentralAdapter.open(nil, mgmt) { socket.close() }
    }
    adapter = kernel.plug()
  }

  private func scan() async throws(Failure) { try await radio.scan { _ in } }

  /// Begins to scan, and waits until the adapter is being switched on.
  private func begin() async -> Task<Void, any Error> {
    let switching = Mailbox<Void>()
    kernel.commandFate = { command in
      if command == .setPowered { switching.post(()) }
      return .arrives
    }
    let scan = Task { @LoopActor in try await self.scan() }
    _ = await switching.next()
    return scan
  }

  @Test("An adapter that is left while it is being switched on is switched off again")
  func leftEarly() async throws {
    let scan = await begin()
    radio.stopScan()
    await radio.restoreAdapter()
    _ = await scan.result
    await Loop.shared.sleep(for: .milliseconds(20))
    #expect(!adapter.settings.contains(.powered))
  }

  @Test("A scan that is stopped while its adapter is switched on does not begin")
  func stoppedEarly() async throws {
    let scan = await begin()
    radio.stopScan()
    try await scan.value
    #expect(!kernel.commands.contains(.startDiscovery))
    await radio.restoreAdapter()
  }

  @Test("An adapter that was unplugged and has come back is switched on again, and restored in the end")
  func pluggedAgain() async {
    // The virtual kernel knows no scans.
    await #expect(throws: Failure.self) { try await scan() }
    kernel.unplug(adapter)
    await Loop.shared.sleep(for: .milliseconds(100))
    let other = kernel.plug()
    await #expect(throws: Failure.self) { try await scan() }
    #expect(other.settings.contains(.powered))
    await radio.restoreAdapter()
    #expect(!other.settings.contains(.powered))
  }
}
