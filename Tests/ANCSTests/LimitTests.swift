// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import TestLoop
import Testing
import Wire

@testable import ANCS

@Suite("ANCS: the limits of what is kept of a phone")
struct LimitTests {
  private static func event(_ uid: UInt32, _ change: NotificationChange = .added)
    -> NotificationEvent
  {
    NotificationEvent(change, NotificationUID(rawValue: uid))
  }

  /// A report with a message of so many bytes.
  private static func report(_ uid: UInt32, message length: Int) -> NotificationReport {
    var report = NotificationReport(event(uid))
    report.attributes[.message] = String(repeating: "x", count: length)
    return report
  }

  @Test("Beyond the most notifications the oldest give way")
  func count() {
    var active = ActiveNotifications()
    let most = UInt32(NotificationLimits.notifications)
    for uid in 1...most { active.update(Self.event(uid)) }
    #expect(active.count == Int(most) && !active.isIncomplete)
    for uid in most + 1...most + 10 { active.update(Self.event(uid)) }
    #expect(active.count == Int(most) && active.isIncomplete)
    #expect(active[10] == nil && active[11] != nil && active[.init(rawValue: most + 10)] != nil)
  }

  @Test("Beyond the most bytes the oldest give way, and what is kept never has more")
  func bytes() {
    var active = ActiveNotifications()
    for uid in UInt32(1)...1_000 {
      active.update(Self.event(uid))
      active.update(Self.report(uid, message: 65_535))
      #expect(active.size <= NotificationLimits.bytes)
    }
    #expect(active.isIncomplete)
    #expect((200..<260).contains(active.count))
    #expect(active.all.map(\.event.uid.rawValue) == Array(UInt32(1_001 - active.count)...1_000))
  }

  @Test("Usual notifications all fit, up to the number of them that a phone shows")
  func usual() {
    var active = ActiveNotifications()
    for uid in UInt32(1)...5_000 {
      active.update(Self.event(uid))
      active.update(Self.report(uid, message: 1_024))
    }
    #expect(active.count == 5_000 && !active.isIncomplete)
  }

  @Test("The count of bytes is that of what is there, whatever has happened")
  func counted() {
    var random = SeededGenerator(seed: 12)
    var active = ActiveNotifications()
    for _ in 0..<20_000 {
      let uid = UInt32.random(in: 0..<200, using: &random)
      let length = Int.random(in: 0..<300, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: active.update(Self.event(uid, .removed))
      case 1: active.update(Self.report(uid, message: length))
      case 2:
        active.merge(Self.report(uid, message: length).attributes, of: .init(rawValue: uid))
      default: active.update(Self.event(uid, .modified))
      }
    }
    #expect(active.size == active.all.reduce(0) { $0 + $1.size })
    #expect(active.count == active.all.count)
    active.removeAll()
    #expect(active.size == 0 && active.count == 0)
  }

  @Test("A list goes on behind any number, with what is still there")
  func pages() {
    var active = ActiveNotifications()
    for uid in UInt32(1)...100 { active.update(Self.event(uid)) }
    for uid in UInt32(1)...100 where uid % 3 == 0 { active.update(Self.event(uid, .removed)) }
    let all = active.arrived(after: 0).map { $0 }
    #expect(all.map(\.report.event.uid.rawValue) == (1...100).filter { $0 % 3 != 0 })
    for (place, entry) in all.enumerated() {
      #expect(
        active.arrived(after: entry.number).map(\.number) == all[(place + 1)...].map(\.number))
    }
    // A number is not used again, so that nobody goes on in the wrong place.
    active.removeAll()
    active.update(Self.event(1))
    #expect(active.arrived(after: all.last?.number ?? 0).map(\.number) == [101])
  }

  @Test("An app's identifier, a date and labels that are too long are cut, and the rest is there")
  func cut() throws {
    try TestLoop.run { loop in
      let session = try Session(loop.clock)
      session.phone.fragment = 400
      session.phone.notifications[1] = [
        0: String(repeating: "a", count: 5_000), 1: "Title", 3: "Text", 4: "4",
        5: String(repeating: "2", count: 60_000), 6: String(repeating: "é", count: 70),
        7: String(repeating: "n", count: 65_000),
      ]
      try await session.begin(loop)
      session.phone.notify(.added, 1, .social, [.positiveAction, .negativeAction])
      await loop.sleep(for: .seconds(30))
      let report = try #require(session.reports.first)
      #expect(report.failure == nil)
      #expect(report.attributes.appIdentifier == String(repeating: "a", count: 256))
      #expect(report.attributes.title == "Title" && report.attributes.message == "Text")
      #expect(report.attributes[.date] == String(repeating: "2", count: 16))
      #expect(report.attributes.date == nil)
      #expect(report.attributes.positiveActionLabel == String(repeating: "é", count: 32))
      #expect(report.attributes.negativeActionLabel?.utf8.count == 64)
      // What comes next is not confused by it.
      session.phone.notifications[2] = [0: "app", 1: "Next"]
      session.phone.notify(.added, 2)
      await loop.sleep(for: .seconds(5))
      #expect(session.told.last?.hasPrefix("added 2 Next") == true)
    }
  }

  @Test("An app's name that is too long is cut")
  func appName() throws {
    try TestLoop.run { loop in
      let session = try Session(loop.clock, ConsumerSettings(AttributeSelection([.appIdentifier])))
      session.phone.fragment = 400
      session.phone.notifications[1] = [0: "app"]
      session.phone.apps["app"] = String(repeating: "x", count: 3_000)
      try await session.begin(loop)
      session.phone.notify(.added, 1)
      await loop.sleep(for: .seconds(5))
      #expect(session.reports.first?.app == String(repeating: "x", count: 256))
    }
  }

  @Test("That notifications were forgotten is said once")
  func said() throws {
    try TestLoop.run { loop in
      let session = try Session(loop.clock, ConsumerSettings(.none))
      var said = 0
      session.consumer.onForgotten = { said += 1 }
      try await session.begin(loop)
      for uid in 0..<UInt32(NotificationLimits.notifications) { session.phone.notify(.added, uid) }
      #expect(said == 0)
      for uid in UInt32(100_000)..<100_010 { session.phone.notify(.added, uid) }
      #expect(said == 1)
      #expect(session.consumer.active.count == NotificationLimits.notifications)
    }
  }

  @Test("A user's request that nobody waits for any more is not sent")
  func cancelled() throws {
    try TestLoop.run { loop in
      let session = try Session(loop.clock, ConsumerSettings(.none))
      session.phone.notifications[1] = [1: "Hello"]
      try await session.begin(loop)
      await loop.sleep(for: .seconds(5))
      let before = session.phone.commands.count
      let gone = Cancellation()
      let requests = (0..<50).map { _ in
        loop.start { try await session.consumer.act(1, .positive, gone) }
      }
      let stays = loop.start { try await session.consumer.act(1, .negative, Cancellation()) }
      await loop.settle()
      gone.cancel()
      await loop.sleep(for: .seconds(5))
      #expect(requests.dropFirst().allSatisfy { $0.failure as? FetchFailure == .cancelled })
      #expect(stays.failure == nil)
      // The first was under way.
      #expect(
        session.phone.commands[before...]
          == [.performNotificationAction(1, .positive), .performNotificationAction(1, .negative)])
      let late = loop.start { try await session.consumer.act(1, .positive, gone) }
      await loop.sleep(for: .seconds(1))
      #expect(late.failure as? FetchFailure == .cancelled)
    }
  }
}
