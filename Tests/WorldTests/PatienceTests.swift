// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Mgmt
import TestLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

/// A phone that counts links without a subscription, and stays away after three (`PhoneRules.strikes`).
@Suite("World: the phone's patience", .inWorld)
struct PatienceTests: InWorld {
  /// The two have met, and the phone has gone out of range.
  private func meet() async throws {
    try await world.meet()
    try await world.until(.battery)
    await world.pass(.seconds(5))
    try await world.phoneLeaves(silently: true)
    await world.pass(.seconds(1))
  }

  /// After they have met, the board leaves the phone twice, because it is slow to encrypt.
  func meetAndLeaveTwice() async throws {
    try await meet()
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
    if !hasNotifications { try world.phoneDoes(.unpublish(.ancs)) }
    try await meet()
    var requests: [[UInt8]] = []
    world.phone.hears { pdu in
      // Requests have even opcodes below 0x1E; Exchange MTU was sent before encryption.
      if pdu[0] % 2 == 0, (4..<0x1E).contains(pdu[0]) { requests.append(pdu) }
    }
    try await world.phoneComes()
    #expect(
      // Without ANCS the handles are not remembered, so it is the first after discovery.
      requests.first { hasNotifications || $0.first == 0x12 }
        == (hasNotifications ? [0x12, 0x1F, 0, 1, 0] : [0x12, 0x2B, 0, 1, 0]))
  }

  @Test(
    "A phone that is slow to encrypt is not left a third time, and does not give up",
    arguments: [false, true])
  func slowToEncrypt(atLast: Bool) async throws {
    try await meetAndLeaveTwice()
    #expect(world.phone.phone.strikes == 2)
    #expect(world.phone.connect(to: world.adapter))
    await world.pass(.seconds(20))
    #expect(world.phone.connection != nil)
    if !atLast {
      // The person carries it away: that is the third.
      world.phone.goOutOfRange()
      await world.pass(.seconds(5))
      #expect(world.phone.phone.hasGivenUp)
      try world.phoneDoes(.tap)
      world.phone.encryptsAfter = .milliseconds(20)
      await world.phoneConnects()
    }
    try await world.until(.subscribed)
    #expect(world.phone.phone.strikes == 0)
  }

  @Test(
    "Nor if the board counted the first two before it was started again, or lost its power",
    arguments: [false, true])
  func countedBefore(isCut: Bool) async throws {
    try await meetAndLeaveTwice()
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

  @Test("However often the daemon is restarted while the phone connects, it subscribes first")
  func restarts() async throws {
    try await meet()
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

  @Test("A phone that never answers is not waited for longer than an exit may take")
  func exitInTime() async throws {
    try await meet()
    world.dropRequests()
    #expect(world.phone.connect(to: world.adapter))
    await world.pass(.milliseconds(200))
    let start = world.clock.now
    try await world.stop()
    #expect(world.clock.now - start < .seconds(5))
  }

  @Test("Requests that are never answered do not end a third link from this side")
  func timeouts() async throws {
    try await meet()
    world.dropRequests()
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
    try world.phoneDoes(.tap)
    await world.pass(.seconds(1))
    try await world.phoneComes()
  }

  @Test(
    "An older phone responds without permission: that is not known until something is announced")
  func unproven() async throws {
    world.phone.phone.rules.respondsUnshared = true
    try world.phoneDoes(.authorize(false))
    try await world.meet()
    await world.pass(.seconds(60))
    #expect(world.last(.authorization) == .authorization(.unknown(until: .notification)))
    #expect(
      try await world.status().links.first?.waiting.why?.contains("Share System Notifications")
        == true)
    try world.phoneDoes(.authorize(true))
    try world.phoneDoes(.add(NotificationContents(.email, app: "a", title: "t")))
    await world.pass(.seconds(5))
    #expect(world.last(.authorization) == .authorization(.granted))
  }

  /// What happens to a board again and again.
  enum Calamity: CaseIterable { case crash, adapterTaken, adapterSwitchedOff }

  @Test(
    "A board to which something happens again and again, each time at another moment of its set-up, is not given up",
    arguments: Calamity.allCases)
  func again(_ calamity: Calamity) async throws {
    try await meet()
    world.onTurn = {
      if world.phone.connection == nil, world.adapter.isOnAir {
        world.phone.connect(to: world.adapter)
      }
    }
    for round in 1...15 {
      await world.pass(.milliseconds(round * 87))
      switch calamity {
      case .crash:
        world.phone.goOutOfRange()
        world.cutPower()
      case .adapterTaken: world.unplug()
      case .adapterSwitchedOff: world.adapter.powerOff()
      }
      await world.pass(.seconds(3))
      if calamity == .crash { world.launch() }
      if calamity == .adapterTaken { world.replug() }
      #expect(!world.phone.phone.hasGivenUp, "round \(round): \(world.story.suffix(12))")
    }
    await world.pass(.seconds(30))
    #expect(world.wait == "news" && world.phone.phone.strikes == 0)
    world.onTurn = {}
  }

  @Test("Pairing that is opened, used and closed beside the phone costs it no subscription")
  func pairingBeside() async throws {
    try await meet()
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
