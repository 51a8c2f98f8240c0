// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Companion
import Control
import TestLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Clocks, and lives of the daemon", .inWorld)
struct ClockTests: InWorld {
  @Test("Once the phone's zone is known, dates are given in UTC too, even after a restart")
  func zone() async throws {
    let tokyo = LocalTimeInformation(timeZone: 36, daylightSaving: 0)
    let noon = CivilTime(secondsSince1970: 1_795_276_800)
    try world.phoneDoes(.time(noon, zone: tokyo))
    try await world.bond()
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

  @Test("Each life of the daemon has its name, in ready and in status")
  func lives() async throws {
    var lives: [String] = []
    for _ in 0..<2 {
      try await world.start()
      let status = try await world.status()
      let life = try #require(status.life)
      guard case .ready(_, _, _, life)? = world.last(.ready) else {
        return _ = Issue.record("\(world.events)")
      }
      lives.append(life)
      #expect(status.seq.map { $0 >= 1 } == true)
      try await world.stop()
    }
    #expect(Set(lives).count == 2 && !lives.contains(""))
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
      if day % 30 == 7 {
        world.platform.wallTimeShift = day.isMultiple(of: 2) ? -1_700_000_000 : 0
      }
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
