// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import OnLoop
import System
import TestLoop
import Testing
import VirtualKernel
import Wire

@testable import Bluetooth
@testable import Board
@testable import Daemon

/// Somebody who wants the phone connected: brings it back whenever the board is on the air, and where
/// nothing comes of that, forgets the board on the phone and tries again.
@LoopActor
final class Person {
  private let world: World
  private var secondsInVain = 0
  private var isGone = false

  init(_ world: World) {
    self.world = world
    act()
  }

  func leave() { isGone = true }

  private func act() {
    guard !isGone else { return }
    secondsInVain = isServed ? 0 : secondsInVain + 1
    if secondsInVain % 40 == 39 {
      world.phone.leave()
      world.phone.forget(world.adapter)
    }
    if world.phone.connection == nil { world.phone.connect(to: world.adapter) }
    _ = world.clock.schedule(after: .seconds(1)) { [weak self] in self?.act() }
  }

  private var isServed: Bool { world.daemon?.sessions.contains { $0.wasSubscribed } ?? false }
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

  /// Something that takes the adapter away for a while.
  enum Trouble: String, CaseIterable {
    case unplugged, blockedBySoftware, blockedBySwitch, bluetoothd, stopped

    @LoopActor func strike(_ world: World) async throws {
      switch self {
      case .unplugged: world.unplug()
      case .blockedBySoftware: world.kernel.block(world.adapter, .soft)
      case .blockedBySwitch: world.kernel.block(world.adapter, .hard)
      case .bluetoothd: world.kernel.startBluetoothDaemon()
      case .stopped: try await world.stop()
      }
    }

    @LoopActor func end(_ world: World) {
      switch self {
      case .unplugged: world.replug()
      case .blockedBySoftware, .blockedBySwitch: world.kernel.block(world.adapter, nil)
      case .bluetoothd: world.kernel.stopBluetoothDaemon()
      case .stopped: world.launch { $0.pairable = .always }
      }
    }

    /// What the board waits for meanwhile.
    var wait: String? {
      switch self {
      case .unplugged: "no-adapter"
      case .blockedBySoftware: "blocked"
      case .blockedBySwitch: "blocked-by-switch"
      case .bluetoothd: "bluetoothd"
      case .stopped: nil
      }
    }
  }

  /// So many turns of the clock after the daemon was started. After some 115 of them the phone is
  /// subscribed to, and after 165 nothing is left to do.
  nonisolated static let steps = Array(stride(from: 0, to: 170, by: 4))

  @Test(
    "The board says what it waits for, and serves the phone again", arguments: Trouble.allCases,
    steps)
  func recovers(_ trouble: Trouble, step: Int) async throws {
    world.launch { $0.pairable = .always }
    let person = Person(world)
    defer { person.leave() }
    for _ in 0..<step {
      await idle()
      _ = world.clock.turn()
    }
    await idle()
    try await trouble.strike(world)
    await world.pass(.seconds(20))
    if let wait = trouble.wait {
      let waits = try await world.status().waits
      #expect(waits.map(\.wait).contains(wait), "\(world.story)")
    }
    #expect(trouble == .bluetoothd || world.adapter.connections.isEmpty)
    let mark = world.events.count
    trouble.end(world)
    try await world.until("served again") { world.story(since: mark).contains("subscribed") }
    #expect(world.daemon?.phoneReports.count == 1)
  }
}
