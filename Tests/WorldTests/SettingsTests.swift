// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import Mgmt
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Settings that are read again")
struct ReloadTests {
  /// Starts a daemon with a file of settings, and connects the phone, which pairs.
  @LoopActor private func meet(_ world: World, _ settings: String = "") async throws {
    try await world.serve(settings: settings)
    await world.pass(.seconds(5))
  }

  @Test("A board that has its phone does not let a stranger in until it is started again")
  func pairable() async throws {
    try await inWorld { world in
      try await meet(world)
      world.reload("pairable = true")
      try await world.phoneLeaves()
      try await AdmissionTests.refuses(world)
      #expect(world.daemon?.phoneReports.count == 1)
      try await world.stop()
      try await world.start(settings: "pairable = true")
      try await world.until(.advertising)
      #expect(world.stranger().connect(to: world.adapter))
      try await world.until(.paired)
    }
  }

  @Test("A phone that can only pair in the legacy way is refused until the daemon is started again")
  func legacy() async throws {
    try await inWorld(.init { $0.isSecureConnections = false }) { world in
      try await world.start(settings: "")
      world.reload("allow-legacy = true")
      await world.pass(.seconds(1))
      #expect(world.phone.connect(to: world.adapter))
      try await world.until(.pairingFailed)
      await world.pass(.seconds(30))
      world.phone.forget(world.adapter)
      try await world.stop()
      try await meet(world, "allow-legacy = true")
    }
  }

  @Test("A bond that was good at the start is good to the end, and so is a new one of its kind")
  func authentication() async throws {
    try await inWorld { world in
      try await meet(world, "pairable = true")
      world.reload("pairable = true\nrequire-mitm = true\nio = 'yesno'")
      try await Bonds.returnsEncrypted(world)
      #expect(world.stranger().connect(to: world.adapter))
      try await world.until(.paired)
    }
  }

  @Test(
    "What the board can show and take stays what the kernel was told, when replugged too")
  func capability() async throws {
    try await inWorld { world in
      try await world.start(settings: "")
      world.reload("io = 'yesno'")
      await world.replugLater()
      try await world.until(.ready)
      await world.pass(.seconds(1))
      try await world.phoneComes()
      // Nobody is asked to compare a number.
      #expect(world.last(.pairing) == .pairing(PairingQuestion(.justWorks)))
    }
  }

  @Test("The adapter in use stays the same, and returns when it is plugged in again")
  func adapter() async throws {
    try await inWorld { world in
      try await meet(world, "adapter = 'hci0'")
      world.reload("adapter = 'hci7'")
      await world.replugLater()
      try await world.until(.ready)
      await world.pass(.seconds(60))
      let adapters = try await world.status().adapters
      #expect(adapters.map(\.adapter) == ["hci0"])
    }
  }

  @Test("The board keeps its address, under which its bonds are")
  func address() async throws {
    try await inWorld { world in
      try await meet(world)
      world.reload("address = 'static'")
      world.phone.leave()
      await world.replugLater()
      try await world.until(.advertising)
      try await Bonds.connectsEncrypted(world)
    }
  }

  @Test("Advertising next to a phone that does not share is decided when it connects")
  func quirks() async throws {
    try await inWorld { world in
      try world.phone.phone.perform(.authorize(false))
      try await meet(world, "[quirks]\nsharing-advertisement = 'off'")
      await world.pass(.seconds(60))
      world.reload("[quirks]\nsharing-advertisement = 'connectable'")
      // What is on the air is decided again.
      try await world.openPairing(seconds: 5)
      await world.pass(.seconds(60))
      #expect(!world.adapter.isVisible)
      try await world.phoneLeaves()
      await world.pass(.seconds(1))
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.seconds(60))
      #expect(world.adapter.isOnAir)
    }
  }

  @Test("Immediate settings apply to existing and to new notifications")
  func live() async throws {
    try await inWorld { world in
      try await meet(world)
      @LoopActor func add(_ uid: NotificationUID, _ title: String) async throws {
        try world.phone.phone.perform(
          .add(NotificationContents(.social, app: "com.apple.MobileSMS", title: title), uid: uid))
        await world.pass(.seconds(5))
      }
      world.reload("fetch = 'title'")
      try await add(101, "Mum")
      guard case .notification(let short)? = world.last(.notification) else { return }
      #expect(short.attributes.title == "Mum" && short.attributes.message == nil)
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
      guard case .notification(let gone)? = world.last(.notification) else { return }
      #expect(gone.event.change == .removed && gone.attributes.title == "Mum")
      let runs = world.platform.programs.runs.count
      try await add(102, "Dad")
      #expect(world.platform.programs.runs.count == runs + 1)
      guard case .notification(let told)? = world.last(.notification) else { return }
      #expect(told.attributes.title == "Dad" && told.attributes.message == nil)
      try await world.phoneLeaves()
      await world.pass(.seconds(9))
      #expect(world.daemon?.phoneBook.phones.first?.notifications.ledger.count != 0)
      await world.pass(.seconds(2))
      #expect(world.daemon?.phoneBook.phones.first?.notifications.ledger.count == 0)
    }
  }

  @Test("A link that begins after it is measured by the new assumptions")
  func encryptionPause() async throws {
    try await inWorld { world in
      try await meet(world)
      try await world.phoneLeaves()
      world.reload("[quirks]\nencrypt-pause = '1'")
      let impostor = LinkTests.impostor(world)
      await world.pass(.seconds(1))
      #expect(impostor.connect(to: world.adapter))
      await world.pass(.milliseconds(5_900))
      #expect(impostor.connection != nil)
      await world.pass(.milliseconds(200))
      #expect(impostor.connection == nil)
    }
  }

  @Test("Settings with which the daemon would not start are refused, and the old ones stay whole")
  func refused() async throws {
    try await inWorld { world in
      try await meet(world)
      world.reload("fetch = 'none'\nrequire-mitm = true")
      #expect(
        world.log.last?.contains(
          "keeping the old settings: --require-mitm: the board can neither show a number nor "
            + "take one; set --io display, keyboard or yesno") == true)
      #expect(world.daemon?.rules.selection.attributes.isEmpty == false)
    }
  }
}
