// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import JSON
import Patterns
import System
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Rules on a phone's notifications", .inWorld)
struct RulesInForceTests: InWorld {
  private static func contents(_ category: Category, _ title: String) -> NotificationContents {
    NotificationContents(category, app: "com.apple.MobileSMS", title: title, negative: "Clear")
  }

  private nonisolated static func rule(
    _ conditions: (inout Rule.Conditions) -> Void, _ outcome: (inout Rule.Outcome) -> Void
  ) -> Rule {
    var rule = Rule(name: "rule")
    conditions(&rule.conditions)
    outcome(&rule.outcome)
    return rule
  }

  /// The command in a PDU to the phone, if it is a write of the Control Point.
  private static func command(in pdu: [UInt8]) -> ControlPointCommand? {
    guard pdu.count > 3, [0x12, 0x52].contains(pdu[0]) else { return nil }
    return try? ControlPointCommand(decoding: Array(pdu[3...]))
  }

  @Test(
    "A hidden app's text is never asked of the phone, and nobody is told of it, wherever its rule stands",
    arguments: [
      [],
      [
        rule({ $0.title = try? TextPattern("^Buy$") }, { $0.display = .urgent }),
        rule({ $0.message = try? TextPattern("message") }, { $0.display = .urgent }),
      ],
    ])
  func hidden(behind others: [Rule]) async throws {
    let rules = others + [Self.rule({ $0.apps = [Glob("com.spam.*")] }, { $0.display = .hidden })]
    var asked: [ControlPointCommand] = []
    world.phone.hears { if let command = Self.command(in: $0) { asked.append(command) } }
    try await world.serve { $0.rules = rules }
    try world.phoneDoes(
      .add(.message(from: "Buy", app: "com.spam.One", "The message"), uid: 1),
      .add(.message(from: "Mum", "The message"), uid: 2))
    try await world.until(.notification)
    await world.pass(.seconds(5))
    #expect(world.told() == ["added Mum"])
    let spam = asked.filter {
      if case .getNotificationAttributes(1, let wanted) = $0 { wanted.count > 1 } else { false }
    }
    #expect(spam.isEmpty)
    #expect(!asked.contains(.getAppAttributes(appIdentifier: "com.spam.One", [.displayName])))
    #expect(try await world.notifications().count == 1)
    try world.phoneDoes(.remove(1), .remove(2))
    await world.pass(.seconds(5))
    #expect(world.told() == ["added Mum", "removed Mum"])
  }

  @Test(
    "A rule about a phone holds for what it brings to its first session",
    arguments: ["iPhone", nil])
  func ofPhone(name: String?) async throws {
    world.phone.keyOrder = .longTermFirst
    try world.phoneDoes(.add(Self.contents(.social, "Old"), uid: 1))
    let selector = PhoneSelector(name ?? "\(world.phone.kind.identity.address)")
    try await world.serve {
      $0.rules = [Self.rule({ $0.phone = selector }, { $0.display = .hidden })]
    }
    try world.phoneDoes(.add(Self.contents(.social, "New"), uid: 2))
    await world.pass(.seconds(10))
    #expect(world.told() == [])
  }

  @Test("A spam caller is declined, once, and a program is run for an urgent message")
  func acting() async throws {
    var actions: [NotificationUID] = []
    world.phone.phone.onEvent = { event in
      if case .action(let uid, .negative) = event { actions.append(uid) }
    }
    try await world.serve {
      $0.rules = [
        Self.rule(
          {
            $0.categories = [.incomingCall]
            $0.title = try? TextPattern("^\\+49 666")
          },
          {
            $0.display = .hidden
            $0.action = .negative
          }),
        // What the phone makes of a call that was declined.
        Self.rule({ $0.categories = [.missedCall] }, { $0.display = .hidden }),
        Self.rule(
          { $0.title = try? TextPattern("mum") },
          {
            $0.display = .urgent
            $0.program = ["/bin/buzz", "loud"]
          }),
      ]
    }
    try world.phoneDoes(
      .add(Self.contents(.incomingCall, "+49 666 12345"), uid: 5),
      .add(.message(from: "Mum"), uid: 6))
    try await world.until(.notification)
    await world.pass(.seconds(5))
    #expect(actions == [5])
    #expect(world.told() == ["added Mum"])
    #expect(world.lastReport?.display == .urgent)
    let run = try #require(world.platform.programs.runs.first)
    #expect(run.arguments == ["/bin/buzz", "loud"])
    #expect(run.event?["urgent"] == true)
    let published = world.daemon?.feed.recent.events(since: 0).last {
      $0.event.name == .notification
    }
    #expect(run.event?["seq"]?.int == published.map { Int64($0.seq) })
  }

  @Test("The end of a link cuts off a rule's action, which is no error of its own")
  func cutOff() async throws {
    world.phone.transform = { pdu, toPhone in
      guard toPhone, case .performNotificationAction? = Self.command(in: pdu) else { return pdu }
      _ = world.clock.schedule(after: .milliseconds(10)) { world.phone.goOutOfRange() }
      return nil
    }
    try await world.serve {
      $0.rules = [Self.rule({ $0.categories = [.incomingCall] }, { $0.action = .negative })]
    }
    try world.phoneDoes(.add(Self.contents(.incomingCall, "Spam"), uid: 5))
    try await world.until(.disconnected)
    await world.pass(.seconds(1))
    #expect(!world.story.contains("error"), "\(world.story)")
  }

  @Test("A rule whose expression exceeds its limit is skipped, which is logged once")
  func beyondLimit() async throws {
    try await world.serve {
      $0.logLevel = .warning
      $0.rules = [
        Self.rule({ $0.title = try? TextPattern("(a+)+$") }, { $0.display = .hidden }),
        Self.rule({ $0.title = try? TextPattern("!$") }, { $0.display = .urgent }),
      ]
    }
    let title = String(repeating: "a", count: 40) + "!"
    for uid in [1, 2] as [NotificationUID] {
      try world.phoneDoes(.add(Self.contents(.social, title), uid: uid))
    }
    await world.pass(.seconds(5))
    #expect(world.told() == ["added \(title)", "added \(title)"])
    #expect(world.lastReport?.display == .urgent)
    #expect(world.log.count { $0.contains("rule “rule” is skipped") } == 1)
  }

  @Test("A rule may have everything fetched where nothing is, and less where all is")
  func fetching() async throws {
    try await world.serve {
      $0.fetch = .none
      $0.rules = [Self.rule({ $0.categories = [.email] }, { $0.fetch = [.title] })]
    }
    try world.phoneDoes(.add(Self.contents(.email, "Letter")), .add(Self.contents(.news, "News")))
    await world.pass(.seconds(5))
    #expect(Set(world.told()) == ["added Letter", "added -"])
  }
}

@Suite("What was known survives a short break", .inWorld)
struct GraceTests: InWorld {
  private static func message(_ title: String) -> NotificationContents {
    NotificationContents(.missedCall, app: "com.apple.mobilephone", title: title, message: "Missed")
  }

  /// A world whose phone has two notifications, that were told.
  private func begin(_ change: (inout World.Options) -> Void = { _ in }) async throws {
    try await world.bond(change)
    for title in ["Mum", "Dad"] {
      try world.phoneDoes(.add(Self.message(title)))
      try await world.until(.notification)
    }
  }

  @Test(
    "Notifications that the phone announces again are repeats; the others are removed, with app and title"
  )
  func back() async throws {
    try await begin()
    let mark = world.events.count
    try await world.phoneLeaves()
    #expect(try await world.notifications().map(\.report.isStale) == [true, true])
    try world.phoneDoes(.remove(1))
    await world.pass(.seconds(30))
    try await world.phoneComes()
    await world.pass(.seconds(20))
    #expect(world.told(since: mark) == ["added Dad repeat", "removed Mum"])
    let list = try await world.notifications().map(\.report)
    #expect(list.map(\.attributes.title) == ["Dad"] && list.map(\.isStale) == [false])
    #expect(world.lastReport?.attributes.appIdentifier == "com.apple.mobilephone")
    #expect(world.lastReport?.isStale == true)
  }

  @Test("What is listed while its phone is away can be shown")
  func shownWhileAway() async throws {
    try await begin { $0.grace = .seconds(60) }
    try await world.phoneLeaves()
    let list = try await world.notifications()
    #expect(list.count == 2)
    for one in list {
      let shown = try await world.call(
        ControlMethods.getNotification, NotificationParameters(one.report.event.uid, phone: nil))
      #expect(shown == one && shown.report.isStale)
    }
  }

  @Test("Without a grace time everything is removed before the end of the link is reported")
  func none() async throws {
    try await begin { $0.grace = .zero }
    let mark = world.events.count
    try await world.phoneLeaves()
    #expect(try await world.notifications().isEmpty)
    #expect(world.told(since: mark) == ["removed Mum", "removed Dad"])
    #expect(world.story(since: mark).last == "disconnected")
  }

  @Test("Without a grace time everything is removed when ANCS goes, or its session dies")
  func noneMeanwhile() async throws {
    try await begin { $0.grace = .zero }
    var mark = world.events.count
    try world.phoneDoes(.unpublish(.ancs))
    try await world.until(.servicesChanged)
    #expect(world.told(since: mark) == ["removed Mum", "removed Dad"])
    mark = world.events.count
    try world.phoneDoes(.publish(.ancs, freshHandles: true))
    try await world.until(.subscribed)
    await world.pass(.seconds(5))
    #expect(world.told(since: mark) == ["added Mum repeat", "added Dad repeat"])
    mark = world.events.count
    try await world.moveSilently()
    #expect(world.told(since: mark) == ["removed Mum", "removed Dad"])
  }

  @Test(
    "What a phone brought is removed when it is forgotten, here or away", arguments: [true, false])
  func forgotten(isHere: Bool) async throws {
    try await begin()
    if !isHere { try await world.phoneLeaves() }
    let mark = world.events.count
    try await world.forgetPhone()
    await world.pass(.seconds(1))
    #expect(world.told(since: mark) == ["removed Mum", "removed Dad"])
    #expect(try await world.notifications().isEmpty)
    #expect(
      world.daemon?.feed.recent.events(since: 0).count { $0.event.name == .notification } == 4)
  }

  @Test("The end of the daemon removes nothing", arguments: [.zero, .seconds(120)] as [Duration])
  func exits(grace: Duration) async throws {
    try await begin { $0.grace = grace }
    let mark = world.events.count
    try await world.stop()
    #expect(world.told(since: mark) == [])
  }
}
