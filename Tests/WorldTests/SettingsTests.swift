// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Mgmt
import Testing
import VirtualKernel
import VirtualPhone

@testable import Daemon

@Suite("Settings that are read again", .inWorld)
struct ReloadTests: InWorld {
  /// Starts a daemon with a file of settings, and connects the phone, which pairs.
  private func meet(_ settings: String = "") async throws {
    try await world.serve(settings: settings)
    await world.pass(.seconds(5))
  }

  @Test("A board that has its phone does not let a stranger in until it is started again")
  func pairable() async throws {
    try await meet()
    world.reload("pairable = true")
    try await world.phoneLeaves()
    try await world.refusesStranger()
    #expect(world.daemon?.phoneReports.count == 1)
    try await world.stop()
    try await world.start(settings: "pairable = true")
    try await world.until(.advertising)
    #expect(world.stranger().connect(to: world.adapter))
    try await world.until(.paired)
  }

  @Test("What the board can show and take stays what the kernel was told, when replugged too")
  func capability() async throws {
    try await world.start(settings: "")
    world.reload("io = 'yesno'")
    await world.replugLater()
    try await world.until(.ready)
    await world.pass(.seconds(1))
    try await world.phoneComes()
    // Nobody is asked to compare a number.
    #expect(world.last(.pairing) == .pairing(PairingQuestion(.justWorks)))
  }

  @Test("Advertising next to a phone that does not share is decided when it connects")
  func quirks() async throws {
    try world.phoneDoes(.authorize(false))
    try await meet("[quirks]\nsharing-advertisement = 'off'")
    await world.pass(.seconds(60))
    world.reload("[quirks]\nsharing-advertisement = 'connectable'")
    // What is on the air is decided again.
    try await world.openPairing(seconds: 5)
    await world.pass(.seconds(60))
    #expect(!world.adapter.isVisible)
    try await world.phoneLeaves()
    await world.phoneConnects()
    await world.pass(.seconds(60))
    #expect(world.adapter.isOnAir)
  }

  @Test("Immediate settings apply to existing and to new notifications")
  func live() async throws {
    try await meet()
    func add(_ uid: NotificationUID, _ title: String) async throws {
      try world.phoneDoes(.add(.message(from: title, "Hello"), uid: uid))
      await world.pass(.seconds(5))
    }
    world.reload("fetch = 'title'")
    try await add(101, "Mum")
    #expect(world.told() == ["added Mum"])
    #expect(world.lastReport?.attributes.message == nil)
    world.reload(
      """
      grace = 10
      fetch = 'title'
      [[hook]]
      event = 'notification'
      run = '/bin/buzz'
      [[rule]]
      title = '^Mum'
      show = false
      """)
    #expect(world.told() == ["added Mum", "removed Mum"])
    let runs = world.platform.programs.runs.count
    try await add(102, "Dad")
    #expect(world.platform.programs.runs.count == runs + 1)
    #expect(world.told().last == "added Dad" && world.lastReport?.attributes.message == nil)
    try await world.phoneLeaves()
    await world.pass(.seconds(9))
    #expect(world.daemon?.phoneBook.phones.first?.notifications.ledger.count != 0)
    await world.pass(.seconds(2))
    #expect(world.daemon?.phoneBook.phones.first?.notifications.ledger.count == 0)
  }

  @Test("A link that begins after it is measured by the new assumptions")
  func encryptionPause() async throws {
    try await meet()
    try await world.phoneLeaves()
    world.reload("[quirks]\nencrypt-pause = '1'")
    let impostor = world.impostor()
    await world.pass(.seconds(1))
    #expect(impostor.connect(to: world.adapter))
    await world.pass(.milliseconds(5_900))
    #expect(impostor.connection != nil)
    await world.pass(.milliseconds(200))
    #expect(impostor.connection == nil)
  }

  @Test("Settings with which the daemon would not start are refused, and the old ones stay whole")
  func refused() async throws {
    try await meet()
    world.reload("fetch = 'none'\nrequire-mitm = true")
    #expect(
      world.log.last?.contains(
        "keeping the old settings: --require-mitm: the board can neither show a number nor "
          + "take one; set --io display, keyboard or yesno") == true)
    #expect(world.daemon?.rules.selection.attributes.isEmpty == false)
  }
}
