// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Companion
import Control
import Mgmt
import TestLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Settings that are read again", .inWorld)
struct ReloadTests: InWorld {
  @Test("A board that has its phone does not let a stranger in until it is started again")
  func pairable() async throws {
    try await world.serve(settings: "")
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

  @Test("Advertising next to a phone that does not share is decided when it connects")
  func quirks() async throws {
    try world.phoneDoes(.authorize(false))
    try await world.serve(settings: "[quirks]\nsharing-advertisement = 'off'")
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

  @Test("A link that begins after them is measured by the new assumptions")
  func encryptionPause() async throws {
    try await world.serve(settings: "")
    try await world.phoneLeaves()
    world.reload("[quirks]\nencrypt-pause = '1'")
    let impostor = await world.impostorComes()
    await world.pass(.milliseconds(5_900))
    #expect(impostor.connection != nil)
    await world.pass(.milliseconds(200))
    #expect(impostor.connection == nil)
  }

  @Test("Immediate settings apply to existing and to new notifications")
  func live() async throws {
    try await world.serve(settings: "")
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

  @Test("Settings with which the daemon would not start are refused, and the old ones stay whole")
  func refused() async throws {
    try await world.serve(settings: "")
    world.reload("fetch = 'none'\nrequire-mitm = true")
    #expect(
      world.log.last?.contains(
        "keeping the old settings: --require-mitm: the board can neither show a number nor "
          + "take one; set --io display, keyboard or yesno") == true)
    #expect(world.daemon?.rules.selection.attributes.isEmpty == false)
  }
}

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
    try await world.serve { $0.radio.io = .noInputNoOutput }
    await world.pass(.seconds(5))
    let states = manager.told.filter { $0.hasPrefix("STATUS=") }
    #expect(states.contains { $0.hasPrefix("STATUS=hci0: on the air, no phone is bonded") })
    let last = try #require(states.last)
    #expect(last.contains("hci0: subscribed; waiting for the first notification"))
    #expect(!states.contains { $0.contains(world.phone.kind.identity.address.description) })
    try await world.stop()
    #expect(manager.told.last == "STOPPING=1" && manager.count("STOPPING=1") == 1)
  }

  @Test("A watchdog hears twice within its time that the daemon lives")
  func watchdog() async throws {
    let manager = manage(watchdog: .seconds(60))
    try await world.start()
    let before = manager.count("WATCHDOG=1")
    await world.pass(.seconds(600))
    #expect((19...21).contains(manager.count("WATCHDOG=1") - before))
  }
}

@Suite("Clocks", .inWorld)
struct ClockTests: InWorld {
  @Test("Once the phone's zone is known, dates are given in UTC too, even after a restart")
  func zone() async throws {
    let tokyo = LocalTimeInformation(timeZone: 36, daylightSaving: 0)
    let noon = CivilTime(secondsSince1970: 1_795_276_800)
    try world.phoneDoes(.time(noon, zone: tokyo))
    try await world.begin(.paired)
    // It was written at 16:00 where the phone is.
    let contents = NotificationContents(.email, app: "a", title: "Mum", date: "20261121T160000")
    try world.phoneDoes(.add(contents, uid: 7))
    let report = try await world.notification()
    #expect(report.sent?.rfc3339 == "2026-11-21T07:00:00.000Z")
    let list = try await world.call(ControlMethods.listNotifications, NotificationQuery())
    #expect(list.elements.map(\.report.sent) == [report.sent])
    try await world.stop()
    try await world.start()
    await world.phoneConnects()
    let again = try await world.notification()
    #expect(again.sent == report.sent)
  }
}

@Suite("Years without a restart", .inWorld)
struct YearTests: InWorld {
  /// The phone's UIDs pass their largest value, the board's clock is set back and forth, and sleeps.
  @Test("A year of days on which the phone leaves, returns and brings something")
  func year() async throws {
    try await world.begin(.paired)
    var timers: [Int] = []
    for day in 0..<365 {
      world.phone.leave()
      await world.pass(.seconds(8 * 3600))
      // A board without a battery begins in 1970; a network sets it right, or wrong.
      if day % 30 == 7 { world.platform.wallTimeShift = day.isMultiple(of: 2) ? -1_700_000_000 : 0 }
      if day % 50 == 9 { world.clock.skip(.seconds(3 * 24 * 3600)) }
      #expect(world.phone.connect(to: world.adapter), "on day \(day)")
      try await world.until(.subscribed)
      let uid = NotificationUID(rawValue: 0xFFFF_FF80 &+ UInt32(day))
      let title = "day \(day)"
      try world.phoneDoes(
        .add(NotificationContents(.email, app: "com.apple.mobilemail", title: title), uid: uid))
      try await world.until("the news of \(title)") {
        world.lastReport?.attributes.title == title && world.lastReport?.failure == nil
      }
      try world.phoneDoes(.remove(uid))
      await world.pass(.seconds(16 * 3600))
      timers.append(world.clock.scheduled)
    }
    #expect(world.daemon?.phoneReports.count == 1 && world.daemon?.sessions.count == 1)
    #expect(world.wait == "news")
    let early = timers.prefix(30).max() ?? 0
    #expect(timers.suffix(30).allSatisfy { $0 <= early })
    #expect(world.story.filter { $0 == "paired" }.count == 1)
    #expect(!world.story.contains("error") && !world.story.contains("stale"))
  }
}
