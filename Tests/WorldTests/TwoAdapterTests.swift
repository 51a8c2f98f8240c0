// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("World: who may pair with a board of two adapters, of which one may be absent")
struct TwoAdapterTests {
  @LoopActor static func plugSecond(into world: World) -> VirtualAdapter {
    var kind = world.adapter.kind
    kind.address = Address(0x0000_5E00_5377)
    return world.kernel.plug(kind)
  }

  @LoopActor private static func pairable(_ world: World) -> [Bool] {
    world.daemon?.radio?.sortedAdapters.map(\.report.isPairable) ?? []
  }

  /// Pairing is closed by hand, and the phone is forgotten while its adapter is absent.
  @LoopActor private static func closeAndForgetWhileAbsent(_ world: World) async throws {
    try await world.closePairing()
    world.unplug()
    await world.pass(.seconds(1))
    try await ForgettingTests.forget(world)
    world.replug()
    await world.pass(.seconds(5))
  }

  @Test(
    "What was opened and closed again while the adapter was absent is closed",
    arguments: [false, true])
  func closedWhileAbsent(isItsOwn: Bool) async throws {
    try await inWorld(after: .phoneLeft) { world in
      let opened = try await world.call(
        ControlMethods.openPairing, PairingParameters(seconds: nil))
      world.unplug()
      await world.pass(.seconds(1))
      _ = try await world.call(
        ControlMethods.closePairing,
        isItsOwn ? ClosingParameters(opening: opened.opening) : ClosingParameters())
      world.replug()
      await world.pass(.seconds(5))
      #expect(Self.pairable(world) == [false])
    }
  }

  @Test("An adapter that is plugged in while pairing is open is open, too, and a phone closes it")
  func pluggedIntoOpenBoard() async throws {
    try await inWorld(after: .phoneLeft) { world in
      try await world.openPairing()
      let second = Self.plugSecond(into: world)
      await world.pass(.seconds(5))
      #expect(Self.pairable(world) == [true, true])
      let other = world.stranger()
      #expect(other.connect(to: second))
      try await world.until(.paired)
      await world.pass(.seconds(5))
      #expect(Self.pairable(world) == [false, false])
    }
  }

  @Test("Forgetting one of two phones of an absent adapter opens nothing")
  func oneOfAbsent() async throws {
    try await inWorld(after: .phoneLeft) { world in
      try await world.openPairing()
      await world.pass(.seconds(1))
      let other = world.stranger()
      #expect(other.connect(to: world.adapter))
      try await world.until(.paired)
      await world.pass(.seconds(5))
      try await Self.closeAndForgetWhileAbsent(world)
      #expect(Self.pairable(world) == [false])
    }
  }

  @Test("Forgetting the last phone opens the board, also if its adapter is absent")
  func lastOfAbsent() async throws {
    try await inWorld(after: .phoneLeft) { world in
      try await Self.closeAndForgetWhileAbsent(world)
      #expect(Self.pairable(world) == [true])
    }
  }
}
