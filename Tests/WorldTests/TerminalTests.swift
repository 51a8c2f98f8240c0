// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Testing
import VirtualKernel
import Wire

@testable import Board
@testable import Daemon

@Suite("A number that somebody has to confirm")
struct TerminalTests {
  /// A daemon on a terminal, with a phone that shows a number.
  @LoopActor private static func ask(_ world: World) async throws {
    world.platform.isInteractive = true
    try await world.start()
    await world.pass(.seconds(1))
    world.phone.connect(to: world.adapter)
    guard case .pairing(let question) = try await world.until(.pairing).content else { return }
    #expect(
      question
        == PairingQuestion(
          .confirm, passkey: Passkey(value: world.phone.shownPasskey), seconds: 30))
  }

  @Test(
    "The daemon's own terminal asks, and takes y or n",
    arguments: [(["y"], true), (["what", "", "YES"], true), (["n"], false)])
  func typed(lines: [String], isPaired: Bool) async throws {
    try await inWorld { world in
      try await Self.ask(world)
      await world.pass(.seconds(12))
      for line in lines {
        let type = try #require(world.platform.type)
        type(line)
        await world.pass(.seconds(1))
      }
      try await world.until(isPaired ? .paired : .pairingFailed)
      #expect(world.platform.type == nil)
      #expect(world.daemon?.phoneReports.count == (isPaired ? 1 : 0))
    }
  }

  @Test("The terminal is read only while a question is open")
  func quiet() async throws {
    try await inWorld { world in
      world.platform.isInteractive = true
      try await world.start { $0.io = .noInputNoOutput }
      await world.pass(.seconds(1))
      try await world.phoneComes()
      #expect(world.platform.type == nil)
    }
  }

  @Test("A pending question is sent to clients that open pairing, with the remaining time")
  func pending() async throws {
    try await inWorld { world in
      try await Self.ask(world)
      await world.pass(.seconds(8))
      // Where nothing can be typed, it can still be answered.
      world.platform.type?(nil)
      let report = try await world.call(
        ControlMethods.openPairing, PairingParameters(seconds: 60))
      let number = Passkey(value: world.phone.shownPasskey)
      #expect(report.phone == world.phone.address.address)
      #expect(report.question == PairingQuestion(.confirm, passkey: number, seconds: 22))
      _ = try await world.call(ControlMethods.respondToPairing, PairingResponse(accept: true))
      try await world.until(.paired)
      let later = try await world.call(ControlMethods.openPairing, PairingParameters(seconds: 60))
      #expect(later.question == nil)
    }
  }
}
