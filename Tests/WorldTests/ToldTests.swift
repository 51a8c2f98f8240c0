// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import Patterns
import System
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Clients know exactly what was sent to them")
struct ToldTests {
  private static func contents(
    _ title: String, app: String = "com.apple.MobileSMS"
  ) -> NotificationContents {
    NotificationContents(.social, app: app, title: title, message: "The text", negative: "Clear")
  }

  /// A rule about notifications with this title.
  private static func rule(
    title: String, _ outcome: (inout Rule.Outcome) -> Void = { $0.display = .hidden }
  ) throws -> Rule {
    var rule = Rule(name: "rule")
    rule.conditions.title = try TextPattern(title)
    outcome(&rule.outcome)
    return rule
  }

  private static func rule(app: String) -> Rule {
    var rule = Rule(name: "rule")
    rule.conditions.apps = [Glob(app)]
    rule.outcome.display = .hidden
    return rule
  }

  /// What was published: `added 1 Mum`.
  @LoopActor private static func told(_ world: World) -> [String] {
    world.events.compactMap { event in
      guard case .notification(let report) = event.content else { return nil }
      let words = "\(report.event.change) \(report.event.uid) \(report.attributes.title ?? "-")"
      return words + (report.isRepeat ? " repeat" : "") + (report.failure.map { " (\($0))" } ?? "")
    }
  }

  @LoopActor private static func listed(_ world: World) async throws -> [String] {
    try await world.notifications()
      .map { "\($0.report.event.uid) \($0.report.attributes.title ?? "-")" }
  }

  /// Has the phone do something, and waits until it is told.
  @LoopActor private static func phone(_ world: World, _ commands: PhoneCommand...) async throws {
    for command in commands { try world.phone.phone.perform(command) }
    await world.pass(.seconds(5))
  }

  @LoopActor private static func begin(_ world: World, _ rules: [Rule]) async throws {
    try await world.serve { $0.rules = rules }
    await world.pass(.seconds(5))
  }

  @Test("A rule with the time of day is judged when something happens to the notification")
  func timeOfDay() async throws {
    try await inWorld { world in
      var night = Rule(name: "night")
      // The virtual board's clock begins in the morning.
      let now = TimeOfDay(world.platform.wallTime, zoneOffset: world.platform.wallTime.zoneOffset)
      let later = (now.minutes + 30) % (24 * 60)
      night.conditions.time = TimeOfDay.Span(
        "\(later / 60):\(later % 60)-\(now.minutes / 60):\(now.minutes % 60)")
      night.outcome.display = .hidden
      try await Self.begin(world, [night])
      try await Self.phone(
        world, .add(Self.contents("Mum"), uid: 1), .add(Self.contents("Dad"), uid: 2))
      await world.pass(.seconds(3600))
      #expect(Self.told(world) == ["added 1 Mum", "added 2 Dad"])
      try await Self.phone(world, .modify(1, Self.contents("Mum (2)")))
      try await Self.phone(world, .remove(1), .remove(2))
      #expect(
        Self.told(world) == ["added 1 Mum", "added 2 Dad", "removed 1 Mum", "removed 2 Dad"])
    }
  }

  @Test(
    "Notifications that a reload hides are removed, and those that it unhides are added with their texts"
  )
  func reload() async throws {
    try await inWorld { world in
      try await Self.begin(world, [Self.rule(app: "com.spam.*")])
      try await Self.phone(
        world, .add(Self.contents("Buy", app: "com.spam.One"), uid: 1),
        .add(Self.contents("Mum"), uid: 2))
      #expect(Self.told(world) == ["added 2 Mum"])
      let daemon = try #require(world.daemon)
      daemon.rules.rules = [try Self.rule(title: "^Mum")]
      daemon.phoneBook.rulesChanged()
      await world.pass(.seconds(5))
      #expect(Set(Self.told(world)) == ["added 2 Mum", "removed 2 Mum", "added 1 Buy"])
      #expect(try await Self.listed(world) == ["1 Buy"])
      try await Self.phone(world, .remove(1), .remove(2))
      #expect(Self.told(world).count == 4 && Self.told(world).last == "removed 1 Buy")
    }
  }

  @Test("What a reload hides by a text that was not fetched is removed once it is")
  func reloadByText() async throws {
    try await inWorld { world in
      let settings = "fetch = [\"app\", \"title\"]\n"
      try await world.start(settings: settings)
      try await world.until(.advertising)
      try await world.phoneComes()
      var spam = Self.contents("Ad")
      spam[.message] = "Win a prize"
      try await Self.phone(world, .add(Self.contents("Mum"), uid: 1), .add(spam, uid: 2))
      world.reload(settings + "[[rule]]\nmessage = \"prize\"\nshow = false\n")
      await world.pass(.seconds(5))
      #expect(Self.told(world) == ["added 1 Mum", "added 2 Ad", "modified 1 Mum", "removed 2 Ad"])
      #expect(try await Self.listed(world) == ["1 Mum"])
      world.reload(settings)
      await world.pass(.seconds(5))
      #expect(try await Self.listed(world) == ["1 Mum", "2 Ad"])
    }
  }

  @Test("What is removed before it was fetched was never there")
  func removedBefore() async throws {
    try await inWorld { world in
      try await Self.begin(world, [Self.rule(app: "com.spam.*")])
      try world.phone.phone.perform(.pace(response: .seconds(3), fragment: .zero))
      try world.phone.phone.perform(.add(Self.contents("Buy", app: "com.spam.One"), uid: 1))
      try world.phone.phone.perform(.add(Self.contents("Mum"), uid: 2))
      await world.pass(.seconds(1))
      #expect(try await Self.listed(world) == [])
      let client = try world.connectClient()
      client.subscribe(Subscription(events: [.notification], replay: true))
      await world.pass(.milliseconds(100))
      #expect(client.events.isEmpty)
      let status = try await world.status()
      #expect(status.links.first?.notifications == 0)
      try world.phone.phone.perform(.remove(1))
      try world.phone.phone.perform(.remove(2))
      await world.pass(.seconds(30))
      #expect(Self.told(world) == [])
    }
  }

  @Test("A phone that pairs again while its bond can't be read is one phone")
  func pairsAgainUnread() async throws {
    try await inWorld(after: .paired) { world in
      try await Self.phone(world, .add(Self.contents("Mum"), uid: 1))
      // The phone leaves with the adapter, which comes back while the disk reads no bond.
      world.platform.disk.failReads(.inputOutput) { $0.hasSuffix(".bond.json") }
      world.unplug()
      await world.pass(.seconds(1))
      world.replug()
      await world.pass(.seconds(5))
      world.phone.forget(world.adapter)
      try await world.openPairing(seconds: 60)
      try await world.phoneComes()
      await world.pass(.seconds(600))
      #expect(world.daemon?.phoneBook.phones.count == 1)
      #expect(Self.told(world) == ["added 1 Mum", "added 1 Mum repeat"])
      #expect(try await Self.listed(world) == ["1 Mum"])
    }
  }
}
