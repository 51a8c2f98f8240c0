// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import Mgmt
import TestLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

/// A phone that counts links without a subscription, and stays away after three (`PhoneRules.strikes`).
@Suite("World: the phone's patience")
struct PatienceTests {
  /// The two have met, and the phone has gone out of range.
  @LoopActor private static func meet(_ world: World) async throws {
    try await world.meet()
    try await world.until(.battery)
    await world.pass(.seconds(5))
    try await world.phoneLeaves(silently: true)
    await world.pass(.seconds(1))
  }

  /// The phone hears none of the board's requests, which have even opcodes below 0x1E.
  @LoopActor static func dropRequests(_ world: World) {
    world.phone.transform = { pdu, toPhone in
      toPhone && pdu.first.map { $0 % 2 == 0 && $0 < 0x1E } == true ? nil : pdu
    }
  }

  /// After they have met, the board leaves the phone twice, because it is slow to encrypt.
  @LoopActor static func meetAndLeaveTwice(_ world: World) async throws {
    try await meet(world)
    world.phone.encryptsAfter = .seconds(25)
    world.phone.heedsRequests = false
    for _ in 0..<2 {
      #expect(world.phone.connect(to: world.adapter))
      try await world.until(.disconnected)
      await world.pass(.seconds(1))
    }
  }

  @Test(
    "On a return the first request after encryption subscribes, whatever else there is to ask",
    arguments: [true, false])
  func firstRequest(hasNotifications: Bool) async throws {
    try await inWorld { world in
      if !hasNotifications { try world.phone.phone.perform(.unpublish(.ancs)) }
      try await Self.meet(world)
      var requests: [[UInt8]] = []
      world.phone.transform = { pdu, toPhone in
        // Requests have even opcodes below 0x1E; Exchange MTU was sent before encryption.
        if toPhone, let opcode = pdu.first, opcode % 2 == 0, (4..<0x1E).contains(opcode) {
          requests.append(pdu)
        }
        return pdu
      }
      try await world.phoneComes()
      #expect(
        // Without ANCS the handles are not remembered, so it is the first after discovery.
        requests.first { hasNotifications || $0.first == 0x12 }
          == (hasNotifications ? [0x12, 0x1F, 0, 1, 0] : [0x12, 0x2B, 0, 1, 0]))
    }
  }

  @Test(
    "A phone that is slow to encrypt is not left a third time, and does not give up",
    arguments: [false, true])
  func slowToEncrypt(atLast: Bool) async throws {
    try await inWorld { world in
      try await Self.meetAndLeaveTwice(world)
      #expect(world.phone.phone.strikes == 2)
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.seconds(20))
      #expect(world.phone.connection != nil)
      if !atLast {
        // The person carries it away: that is the third.
        world.phone.goOutOfRange()
        await world.pass(.seconds(5))
        #expect(world.phone.phone.hasGivenUp)
        try world.phone.phone.perform(.tap)
        world.phone.encryptsAfter = .milliseconds(20)
        await world.pass(.seconds(1))
        #expect(world.phone.connect(to: world.adapter))
      }
      try await world.until(.subscribed)
      #expect(world.phone.phone.strikes == 0)
    }
  }

  @Test(
    "Nor if the board counted the first two before it was started again, or lost its power",
    arguments: [false, true])
  func countedBefore(isCut: Bool) async throws {
    try await inWorld { world in
      try await Self.meetAndLeaveTwice(world)
      if isCut { world.cutPower() } else { try await world.stop() }
      await world.pass(.seconds(2))
      try await world.start()
      try await world.until("on the air") { world.adapter.isOnAir }
      #expect(world.phone.phone.strikes == 2)
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.seconds(20))
      #expect(world.phone.connection != nil)
      if isCut {
        world.phone.goOutOfRange()
        await world.pass(.seconds(5))
        #expect(world.wait == "given-up")
      } else {
        try await world.until(.subscribed)
        #expect(world.phone.phone.strikes == 0)
      }
    }
  }

  @Test("However often the daemon is restarted while the phone connects, it subscribes first")
  func restarts() async throws {
    try await inWorld { world in
      try await Self.meet(world)
      for round in 1...6 {
        try await world.until("on the air") { world.adapter.isOnAir }
        #expect(world.phone.connect(to: world.adapter))
        await world.pass(.milliseconds(Int64(round * 60)))
        try await world.stop()
        #expect(world.phone.phone.strikes == 0, "round \(round): \(world.story.suffix(12))")
        await world.pass(.seconds(1))
        try await world.start()
      }
      #expect(!world.phone.phone.hasGivenUp)
    }
  }

  @Test("A phone that never answers is not waited for longer than an exit may take")
  func exitInTime() async throws {
    try await inWorld { world in
      try await Self.meet(world)
      Self.dropRequests(world)
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.milliseconds(200))
      let start = world.clock.now
      try await world.stop()
      #expect(world.clock.now - start < .seconds(5))
    }
  }

  @Test("Requests that are never answered do not end a third link from this side")
  func timeouts() async throws {
    try await inWorld { world in
      try await Self.meet(world)
      Self.dropRequests(world)
      for _ in 0..<2 {
        #expect(world.phone.connect(to: world.adapter))
        try await world.until(.disconnected)
        await world.pass(.seconds(1))
      }
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.seconds(300))
      #expect(world.phone.connection != nil && world.phone.phone.strikes == 2)
      #expect(try await world.status().totals?.timeouts == 3)
      world.phone.transform = { pdu, _ in pdu }
      world.phone.leave()
      try world.phone.phone.perform(.tap)
      await world.pass(.seconds(1))
      try await world.phoneComes()
    }
  }

  @Test(
    "An older phone responds without permission: that is not known until something is announced")
  func unproven() async throws {
    try await inWorld { world in
      world.phone.phone.rules.respondsUnshared = true
      try world.phone.phone.perform(.authorize(false))
      try await world.meet()
      await world.pass(.seconds(60))
      #expect(world.last(.authorization) == .authorization(.unknown(until: .notification)))
      #expect(
        try await world.status().links.first?.waiting.why?.contains("Share System Notifications")
          == true)
      try world.phone.phone.perform(.authorize(true))
      try world.phone.phone.perform(.add(NotificationContents(.email, app: "a", title: "t")))
      await world.pass(.seconds(5))
      #expect(world.last(.authorization) == .authorization(.granted))
    }
  }
  /// The phone connects whenever the board is on the air, and something happens to the board again and again, each time
  /// at another moment of its set-up.
  @LoopActor private static func connectsAlways(
    _ world: World, _ happens: (Int) async throws -> Void
  ) async throws {
    var isReturning = true
    world.onTurn = {
      if isReturning, world.phone.connection == nil, world.adapter.isOnAir {
        world.phone.connect(to: world.adapter)
      }
    }
    for round in 1...15 {
      try await happens(round)
      #expect(!world.phone.phone.hasGivenUp, "round \(round): \(world.story.suffix(12))")
    }
    await world.pass(.seconds(30))
    #expect(world.wait == "news" && world.phone.phone.strikes == 0)
    isReturning = false
  }

  @Test("A board that crashes again and again, each time at another moment, is not given up")
  func crashLoop() async throws {
    try await inWorld { world in
      try await Self.meet(world)
      try await Self.connectsAlways(world) { round in
        await world.pass(.milliseconds(round * 87))
        world.phone.goOutOfRange()
        world.cutPower()
        await world.pass(.seconds(2))
        world.launch()
      }
    }
  }

  @Test(
    "Nor is one whose adapter is taken or switched off again and again",
    arguments: [true, false])
  func adapterLost(isUnplugged: Bool) async throws {
    try await inWorld { world in
      try await Self.meet(world)
      try await Self.connectsAlways(world) { round in
        await world.pass(.milliseconds(round * 87))
        if isUnplugged { world.unplug() } else { world.adapter.powerOff() }
        await world.pass(.seconds(3))
        if isUnplugged { world.replug() }
      }
    }
  }

  @Test("Pairing that is opened, used and closed beside the phone costs it no subscription")
  func pairingBeside() async throws {
    try await inWorld { world in
      try await Self.meet(world)
      for round in 0..<8 {
        let other = world.stranger()
        other.consent = round % 2 == 0 ? .accepts(after: .seconds(1)) : .refuses(after: .seconds(1))
        #expect(world.phone.connect(to: world.adapter))
        await world.pass(.milliseconds(round * 40))
        try await world.openPairing()
        try await world.until("on the air") { world.adapter.isOnAir }
        #expect(other.connect(to: world.adapter))
        await world.pass(.milliseconds(round * 150))
        try await world.closePairing()
        await world.pass(.seconds(20))
        #expect(world.phone.phone.strikes == 0, "round \(round): \(world.story.suffix(12))")
        other.leave()
        world.phone.leave()
        await world.pass(.seconds(5))
      }
    }
  }
}
