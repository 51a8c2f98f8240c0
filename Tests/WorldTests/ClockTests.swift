// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Companion
import Control
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Clocks, and lives of the daemon")
struct ClockTests {
  /// A notification that was written at 16:00 where the phone is.
  private static let contents = NotificationContents(
    .social, app: "com.apple.MobileSMS", title: "Mum", date: "20261121T160000")

  @Test("Once the phone's zone is known, dates are given in UTC too, even after a restart")
  func zone() async throws {
    try await inWorld { world in
      let tokyo = LocalTimeInformation(timeZone: 36, daylightSaving: 0)
      let noon = CivilTime(secondsSince1970: 1_795_276_800)
      try world.phone.phone.perform(.time(noon, zone: tokyo))
      try await Bonds.make(world)
      try world.phone.phone.perform(.add(Self.contents, uid: 7))
      let report = try await world.notification()
      #expect(report.sent?.rfc3339 == "2026-11-21T07:00:00.000Z")
      let list = try await world.call(ControlMethods.listNotifications, NotificationQuery())
      #expect(list.elements.map(\.report.sent) == [report.sent])
      try await world.stop()
      try await world.start()
      await world.pass(.seconds(1))
      #expect(world.phone.connect(to: world.adapter))
      let again = try await world.notification()
      #expect(again.sent == report.sent)
    }
  }

  @Test("Each life of the daemon has its name, in ready and in status")
  func lives() async throws {
    try await inWorld { world in
      var lives: [String] = []
      for _ in 0..<2 {
        try await world.start()
        guard case .ready(_, _, _, let life)? = world.last(.ready) else { return }
        lives.append(life)
        let status = try await world.status()
        #expect(status.life == life && status.seq.map { $0 >= 1 } == true)
        try await world.stop()
      }
      #expect(Set(lives).count == 2 && !lives.contains(""))
    }
  }
}
