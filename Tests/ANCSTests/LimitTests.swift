// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import TestLoop
import Testing
import Wire

@testable import ANCS

@Suite("ANCS: memory limits per phone")
struct LimitTests {
  /// A report with a message of so many bytes.
  private static func report(_ uid: UInt32, message length: Int) -> NotificationReport {
    var report = NotificationReport(Telling.event(uid))
    report.attributes[.message] = String(repeating: "x", count: length)
    return report
  }

  /// A notification that is announced and settled at once.
  private static func tell(
    _ uid: UInt32, message length: Int = 0, _ ledger: inout NotificationLedger
  ) {
    ledger.announced(Telling.event(uid), at: .zero)
    ledger.settle(Fetch(report(uid, message: length), .init()), at: .zero)
  }

  private static func uids(_ ledger: NotificationLedger) -> [UInt32] {
    ledger.published().map(\.report.event.uid.rawValue)
  }

  @Test(
    "Beyond the most notifications the oldest give way, and whoever was told of them hears of it")
  func count() {
    var ledger = NotificationLedger()
    let most = UInt32(NotificationLimits.notifications)
    for uid in 1...most - 1 { Self.tell(uid, &ledger) }
    ledger.announced(Telling.event(most), at: .zero)
    #expect(ledger.count == Int(most) && !ledger.isIncomplete)
    while ledger.nextOutput() != nil {}
    for uid in most + 1...most + 10 { ledger.announced(Telling.event(uid), at: .zero) }
    #expect(ledger.count == Int(most) && ledger.isIncomplete)
    #expect(ledger.event(of: 10) == nil && ledger.event(of: 11) != nil)
    var removed: [UInt32] = []
    while let output = ledger.nextOutput() {
      if case .publish(let report) = output, report.event.change == .removed {
        removed.append(report.event.uid.rawValue)
      }
    }
    #expect(removed == Array(1...10))
  }

  @Test("Beyond the byte limit the oldest are dropped, and the limit is never exceeded")
  func bytes() {
    var ledger = NotificationLedger()
    for uid in UInt32(1)...1_000 {
      Self.tell(uid, message: 65_535, &ledger)
      #expect(ledger.size <= NotificationLimits.bytes)
    }
    #expect(ledger.isIncomplete)
    #expect((200..<260).contains(ledger.count))
    #expect(Self.uids(ledger) == Array(UInt32(1_001 - ledger.count)...1_000))
  }

  @Test("What is forgotten of an earlier session leaves all that waits in this one waiting")
  func keptWaiting() {
    var ledger = NotificationLedger()
    ledger.sessionBegan(at: .zero, keeping: .seconds(60))
    Self.tell(1, &ledger)
    ledger.announced(Telling.event(1, .modified), at: .zero)
    ledger.sessionEnded(at: .zero, keeping: .seconds(60))
    ledger.sessionBegan(at: .zero, keeping: .seconds(60))
    let most = UInt32(NotificationLimits.notifications)
    for uid in 1...most { ledger.announced(Telling.event(100 + uid), at: .zero) }
    #expect(ledger.isIncomplete && ledger.lanes.count == Int(most))
    var fetched = 0
    while ledger.nextFetch(at: .zero) != nil { fetched += 1 }
    #expect(fetched == Int(most))
  }

  @Test("Usual notifications all fit, up to the number of them that a phone shows")
  func usual() {
    var ledger = NotificationLedger()
    for uid in UInt32(1)...5_000 { Self.tell(uid, message: 1_024, &ledger) }
    #expect(ledger.count == 5_000 && !ledger.isIncomplete)
  }

  @Test("A list continues after any number with whatever remains, even across a break")
  func pages() {
    var ledger = NotificationLedger()
    ledger.sessionBegan(at: .zero, keeping: .zero)
    for uid in UInt32(1)...100 { Self.tell(uid, message: Int(uid), &ledger) }
    for uid in UInt32(1)...100 where uid % 3 == 0 { ledger.removed(Telling.event(uid, .removed)) }
    let all = ledger.published().map { $0 }
    #expect(all.map(\.report.event.uid.rawValue) == (1...100).filter { $0 % 3 != 0 })
    for (place, entry) in all.enumerated() {
      #expect(
        ledger.published(after: entry.number).map(\.number) == all[(place + 1)...].map(\.number))
    }
    // What is told again keeps its number, and what is new gets one that none has had.
    ledger.sessionEnded(at: .zero, keeping: .seconds(60))
    ledger.sessionBegan(at: .zero, keeping: .seconds(60))
    for uid in [100, 1, 7, 200] as [UInt32] { Self.tell(uid, message: Int(uid), &ledger) }
    #expect(
      ledger.published().map(\.number) == all.map(\.number) + [
        ledger.published().map(\.number).max()
      ])
    #expect(ledger.published().count { !$0.report.isStale } == 4)
    ledger.clear()
    Self.tell(1, &ledger)
    #expect(ledger.published(after: all.last?.number ?? 0).map(\.report.event.uid) == [1])
  }

  @Test(
    "An app's identifier and name, date and labels that are too long are truncated, and the rest is kept"
  )
  func cut() throws {
    try Session.serve { loop, session in
      session.phone.fragment = 400
      session.phone.notifications[1] = [
        0: String(repeating: "a", count: 5_000), 1: "Title", 3: "Text", 4: "4",
        5: String(repeating: "2", count: 60_000), 6: String(repeating: "é", count: 70),
        7: String(repeating: "n", count: 65_000),
      ]
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
      session.phone.apps["app"] = String(repeating: "x", count: 3_000)
      session.phone.add(2, [0: "app", 1: "Next"])
      await loop.sleep(for: .seconds(5))
      #expect(session.told.last == "added 2 Next @" + String(repeating: "x", count: 256))
    }
  }

  @Test("A user's request without a waiting client is not sent")
  func cancelled() throws {
    try Session.serve(ConsumerSettings(.none)) { loop, session in
      session.phone.notifications[1] = [1: "Hello"]
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
