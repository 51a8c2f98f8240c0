// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Patterns
import System
import Testing
import VirtualKernel
import VirtualPhone

@testable import Daemon

@Suite("Clients know exactly what was sent to them", .inWorld)
struct ToldTests: InWorld {
  private static func contents(
    _ title: String, app: String = "com.apple.MobileSMS"
  ) -> NotificationContents {
    NotificationContents(.social, app: app, title: title, message: "The text", negative: "Clear")
  }

  /// A rule that hides what meets some conditions.
  private static func hiding(_ conditions: (inout Rule.Conditions) -> Void) -> Rule {
    var rule = Rule(name: "rule")
    conditions(&rule.conditions)
    rule.outcome.display = .hidden
    return rule
  }

  private static let spam = hiding { $0.apps = [Glob("com.spam.*")] }

  private func listed() async throws -> [String] {
    try await world.notifications()
      .map { "\($0.report.event.uid) \($0.report.attributes.title ?? "-")" }
  }

  /// Has the phone do something, and waits until it is told.
  private func phone(_ commands: PhoneCommand...) async throws {
    for command in commands { try world.phoneDoes(command) }
    await world.pass(.seconds(5))
  }

  private func begin(_ rules: [Rule]) async throws {
    try await world.serve { $0.rules = rules }
    await world.pass(.seconds(5))
  }

  @Test("A rule with the time of day is judged when something happens to the notification")
  func timeOfDay() async throws {
    // The virtual board's clock begins in the morning.
    let now = TimeOfDay(world.platform.wallTime, zoneOffset: world.platform.wallTime.zoneOffset)
    let later = (now.minutes + 30) % (24 * 60)
    let night = "\(later / 60):\(later % 60)-\(now.minutes / 60):\(now.minutes % 60)"
    try await begin([Self.hiding { $0.time = TimeOfDay.Span(night) }])
    try await phone(.add(Self.contents("Mum"), uid: 1), .add(Self.contents("Dad"), uid: 2))
    await world.pass(.seconds(3600))
    #expect(world.told() == ["added Mum", "added Dad"])
    try await phone(.modify(1, Self.contents("Mum (2)")))
    try await phone(.remove(1), .remove(2))
    #expect(world.told() == ["added Mum", "added Dad", "removed Mum", "removed Dad"])
  }

  @Test(
    "Notifications that a reload hides are removed, and those that it unhides are added with their texts"
  )
  func reload() async throws {
    try await begin([Self.spam])
    try await phone(
      .add(Self.contents("Buy", app: "com.spam.One"), uid: 1),
      .add(Self.contents("Mum"), uid: 2))
    #expect(world.told() == ["added Mum"])
    let daemon = try #require(world.daemon)
    daemon.rules.rules = [Self.hiding { $0.title = try? TextPattern("^Mum") }]
    daemon.phoneBook.rulesChanged()
    await world.pass(.seconds(5))
    #expect(Set(world.told()) == ["added Mum", "removed Mum", "added Buy"])
    #expect(try await listed() == ["1 Buy"])
    try await phone(.remove(1), .remove(2))
    #expect(world.told().count == 4 && world.told().last == "removed Buy")
  }

  @Test("What a reload hides by a text that was not fetched is removed once it is")
  func reloadByText() async throws {
    let settings = "fetch = [\"app\", \"title\"]\n"
    try await world.serve(settings: settings)
    var spam = Self.contents("Ad")
    spam[.message] = "Win a prize"
    try await phone(.add(Self.contents("Mum"), uid: 1), .add(spam, uid: 2))
    world.reload(settings + "[[rule]]\nmessage = \"prize\"\nshow = false\n")
    await world.pass(.seconds(5))
    #expect(world.told() == ["added Mum", "added Ad", "modified Mum", "removed Ad"])
    #expect(try await listed() == ["1 Mum"])
    world.reload(settings)
    await world.pass(.seconds(5))
    #expect(try await listed() == ["1 Mum", "2 Ad"])
  }

  @Test("What is removed before it was fetched was never there")
  func removedBefore() async throws {
    try await begin([Self.spam])
    try world.phoneDoes(.pace(response: .seconds(3), fragment: .zero))
    try world.phoneDoes(.add(Self.contents("Buy", app: "com.spam.One"), uid: 1))
    try world.phoneDoes(.add(Self.contents("Mum"), uid: 2))
    await world.pass(.seconds(1))
    #expect(try await listed() == [])
    let client = try world.connectClient()
    client.subscribe(Subscription(events: [.notification], replay: true))
    await world.pass(.milliseconds(100))
    #expect(client.events.isEmpty)
    let status = try await world.status()
    #expect(status.links.first?.notifications == 0)
    try world.phoneDoes(.remove(1))
    try world.phoneDoes(.remove(2))
    await world.pass(.seconds(30))
    #expect(world.told() == [])
  }

  @Test("A phone that pairs again while its bond can't be read is one phone")
  func pairsAgainUnread() async throws {
    try await world.begin(.paired)
    try await phone(.add(Self.contents("Mum"), uid: 1))
    // The phone leaves with the adapter, which comes back while the disk reads no bond.
    world.platform.disk.failReads(.inputOutput) { $0.hasSuffix(".bond.json") }
    await world.replugLater()
    await world.pass(.seconds(5))
    world.phone.forget(world.adapter)
    try await world.openPairing(seconds: 60)
    try await world.phoneComes()
    await world.pass(.seconds(600))
    #expect(world.daemon?.phoneBook.phones.count == 1)
    #expect(world.told() == ["added Mum", "added Mum repeat"])
    #expect(try await listed() == ["1 Mum"])
  }
}
