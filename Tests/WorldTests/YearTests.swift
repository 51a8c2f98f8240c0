// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import TestLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Years without a restart")
struct YearTests {
  /// The phone's UIDs pass their largest value, the board's clock is set back and forth, and sleeps.
  @Test("A year of days on which the phone leaves, returns and brings something")
  func year() async throws {
    try await inWorld(after: .paired) { world in
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
        _ = try world.phone.phone.perform(
          .add(NotificationContents(.email, app: "com.apple.mobilemail", title: title), uid: uid))
        try await world.until("the news of \(title)") {
          guard case .notification(let report)? = world.last(.notification) else { return false }
          return report.attributes.title == title && report.failure == nil
        }
        _ = try world.phone.phone.perform(.remove(uid))
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
}
