// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import TestLoop
import Testing

@testable import VirtualPhone
import Wire

@Suite("Virtual phone: the script")
struct DayTests {
  static var contents: [NotificationContents] {
    (VirtualDay.before + VirtualDay.moments.map(\.command)).compactMap {
      if case .add(let contents, _) = $0 { contents } else { nil }
    }
  }

  @Test("Every app of the script has a name")
  func apps() throws {
    let phone = VirtualPhone(scheduler: HandClock())
    for contents in Self.contents {
      let app = try #require(contents[.appIdentifier])
      #expect(phone.provider.apps[app] != nil, "\(app)")
    }
  }

  @Test("The script begins with the first session, has every category, takes a quarter of a minute, and breaks no rule")
  func play() throws {
    try Bench.run { loop, bench in
      bench.phone.play(once: true)
      await bench.pass(.seconds(60))
      #expect(bench.phone.notifications.count == 3)
      try await bench.subscribeNotifications()
      let began = loop.clock.now
      try await bench.subscribeMedia()
      while !bench.events.contains(.dayEnded) { await bench.pass(.milliseconds(100)) }
      let took = loop.clock.now - began
      #expect((.seconds(15)...Duration.seconds(20)).contains(took))
      #expect(bench.source.filter { $0.flags.contains(.preExisting) }.count == 3)
      #expect(Set(bench.source.map(\.change)) == [.added, .modified, .removed])
      #expect(Set(bench.source.map(\.category.rawValue)) == Set(0..<12))
      #expect(bench.violations == [])
      #expect(bench.phone.player.state == .paused)
      let count = bench.source.count
      await bench.pass(.seconds(3600))
      #expect(bench.source.count == count)
    }
  }

  @Test("The repeated part runs for days without filling the phone")
  func afterwards() throws {
    try Bench.run { _, bench in
      bench.phone.play(once: false)
      try await bench.subscribeNotifications()
      await bench.pass(.seconds(86_400))
      #expect(bench.events.filter { $0 == .dayEnded }.count == 1)
      #expect(bench.source.count > 1000)
      #expect(bench.phone.notifications.count <= 24)
      bench.phone.stopPlaying()
      let count = bench.source.count
      await bench.pass(.seconds(600))
      #expect(bench.source.count == count)
    }
  }
}
