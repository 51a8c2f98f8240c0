// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import TestLoop
import Testing
import Wire

@testable import ANCS

/// A ledger, and what clients were told.
struct Telling {
  var ledger = NotificationLedger()
  var now = Instant.zero
  /// `added 1 Mum`, `act 3 on 1`, …
  var log: [String] = []

  static func event(
    _ uid: UInt32, _ change: NotificationChange = .added, _ flags: EventFlags = []
  ) -> NotificationEvent {
    NotificationEvent(change, .init(rawValue: uid), flags: flags)
  }

  static func report(
    _ uid: UInt32, _ title: String, app: String = "a.b", date: String? = "20261121T070000"
  ) -> NotificationReport {
    var attributes = NotificationAttributes()
    attributes[.appIdentifier] = app
    attributes[.title] = title
    if let date { attributes.fetchedDate = CivilTime(notificationDate: Array(date.utf8)) }
    return NotificationReport(event(uid), attributes: attributes)
  }

  mutating func note() {
    while let output = ledger.nextOutput() {
      switch output {
      case .publish(let report):
        let words = "\(report.event.change) \(report.event.uid) \(report.attributes.title ?? "-")"
        log.append(words + (report.isRepeat ? " repeat" : "") + (report.isStale ? " stale" : ""))
      case .act(let rule, let report): log.append("act \(rule) on \(report.event.uid)")
      }
    }
  }

  mutating func announce(_ uid: UInt32, _ flags: EventFlags = []) {
    ledger.announced(Self.event(uid, .added, flags), at: now)
    note()
  }

  mutating func settle(
    _ report: NotificationReport, _ judgement: Judgement? = nil, failed: Bool = false, onlyIfChanged: Bool = false
  ) {
    ledger.settle(Self.fetch(report, judgement, failed: failed, onlyIfChanged: onlyIfChanged), at: now)
    note()
  }

  static func fetch(
    _ report: NotificationReport, _ judgement: Judgement?, failed: Bool = false, onlyIfChanged: Bool = false
  ) -> Fetch {
    var fetch = Fetch(report, .init(onlyIfChanged: onlyIfChanged))
    fetch.judge(by: NotificationRules { _, _ in judgement ?? Judgement(isFinal: true) })
    fetch.hasFailed = failed
    return fetch
  }

  /// A notification that is announced and settled at once.
  mutating func tell(_ report: NotificationReport, _ judgement: Judgement? = nil) {
    announce(report.event.uid.rawValue)
    settle(report, judgement)
  }

  /// A notification that is announced and could not be fetched.
  mutating func fail(_ uid: UInt32) {
    announce(uid)
    settle(NotificationReport(Self.event(uid), failure: .timedOut), failed: true)
  }

  mutating func remove(_ uid: UInt32) {
    ledger.removed(Self.event(uid, .removed))
    note()
  }

  mutating func pass(_ duration: Duration) {
    now = now + duration
    ledger.pass(to: now)
    note()
  }

  /// The rules change, and what is to be fetched then is noted.
  mutating func judge(_ judge: @escaping NotificationJudge) {
    while ledger.nextFetch(at: now) != nil {}
    ledger.rulesChanged(judge, at: now)
    note()
    while let fetch = ledger.nextFetch(at: now) { log.append("fetch \(fetch.uid)") }
  }

  mutating func begin() { ledger.sessionBegan(at: now, keeping: .seconds(60)) }
  mutating func end() { ledger.sessionEnded(at: now, keeping: .seconds(60)) }

  /// Ends the session, and forgets what was told up to then.
  mutating func takeBreak() {
    end()
    begin()
    log = []
  }

  var told: [String] {
    ledger.published().map { "\($0.report.event.uid) \($0.report.attributes.title ?? "-")" }
  }
}

@Suite("ANCS: events to clients")
struct LedgerTests {
  private static func telling(_ reports: NotificationReport...) -> Telling {
    var telling = Telling()
    telling.begin()
    for report in reports { telling.tell(report) }
    return telling
  }

  @Test(
    "What could not be fetched is told with what was known, and a rule acts on it once it is met")
  func failed() {
    var telling = Self.telling()
    telling.fail(1)
    telling.tell(Telling.report(1, "Mum"), Judgement(.usual, rule: 0))
    telling.fail(1)
    #expect(telling.log == ["added 1 -", "modified 1 Mum", "act 0 on 1", "modified 1 Mum"])
    telling.log = []
    telling.tell(Telling.report(2, "Spam"), Judgement(.hidden))
    telling.fail(2)
    #expect(telling.log == [])
  }

  @Test("New rules remove what they hide, change what they make urgent, and have the rest fetched")
  func rules() {
    var telling = Self.telling(Telling.report(1, "Mum"), Telling.report(2, "Dad"))
    telling.tell(Telling.report(3, "Spam"), Judgement(.hidden))
    telling.announce(4)
    telling.log = []
    telling.judge { _, known in
      Judgement(known.title == "Mum" ? .hidden : known.title == "Dad" ? .urgent : .usual, rule: 1, isFinal: true)
    }
    #expect(telling.log == ["removed 1 Mum", "modified 2 Dad", "fetch 3"])
    #expect(telling.told == ["2 Dad"])
    telling.remove(1)
    telling.end()
    telling.log = []
    telling.judge { _, _ in Judgement(.hidden, isFinal: true) }
    telling.pass(.seconds(60))
    #expect(telling.log == ["removed 2 Dad stale"])
  }

  @Test("New rules leave it to the next fetch whether a rule acts on what could not be fetched")
  func rulesAfterFailure() {
    var telling = Self.telling()
    telling.fail(1)
    telling.judge { _, _ in Judgement(.urgent, isFinal: true) }
    telling.tell(Telling.report(1, "Mum"), Judgement(.urgent, rule: 2))
    #expect(telling.log == ["added 1 -", "modified 1 -", "modified 1 Mum", "act 2 on 1"])
  }

  // MARK: Over a break

  @Test("The same contents are the same notification; another UID is removed afterwards")
  func sameContents() {
    var telling = Self.telling(Telling.report(1, "Mum"), Telling.report(2, "Dad"))
    telling.takeBreak()
    #expect(telling.ledger.published().allSatisfy { $0.report.isStale })
    telling.tell(Telling.report(1, "Mum"))
    telling.tell(Telling.report(7, "Dad"))
    telling.pass(.seconds(60))
    #expect(telling.log == ["added 1 Mum repeat", "added 7 Dad repeat", "removed 2 Dad stale"])
    #expect(telling.told == ["1 Mum", "7 Dad"])
  }

  @Test("What changed while the phone was away is no removal, and no change either")
  func changed() {
    var telling = Self.telling(Telling.report(1, "Mum"))
    telling.takeBreak()
    telling.tell(Telling.report(1, "Mum (2)"))
    telling.pass(.seconds(60))
    #expect(telling.log == ["added 1 Mum (2)"])
  }

  @Test("Exchanged UIDs are reported in a consistent order")
  func exchanged() {
    var telling = Self.telling(Telling.report(1, "Mum"), Telling.report(2, "News", app: "c.d"))
    telling.takeBreak()
    telling.tell(Telling.report(1, "News", app: "c.d"))
    telling.tell(Telling.report(2, "Mum"))
    #expect(
      telling.log == ["removed 1 Mum stale", "added 1 News repeat", "removed 2 News stale", "added 2 Mum repeat"])
  }

  @Test("A rule that acts on a notification does not act on its repeat, after any break or restart")
  func repeatActs() {
    let acting = Judgement(.usual, rule: 1)
    var telling = Self.telling()
    telling.tell(Telling.report(1, "Mum"), acting)
    telling.tell(Telling.report(2, "Mum"), acting)
    telling.end()
    telling.pass(.seconds(60))
    #expect(
      telling.log == [
        "added 1 Mum", "act 1 on 1", "added 2 Mum", "act 1 on 2", "removed 1 Mum stale", "removed 2 Mum stale",
      ])
    var restarted = Telling()
    restarted.ledger = NotificationLedger(seen: telling.ledger.seen)
    for var telling in [telling, restarted] {
      telling.log = []
      telling.begin()
      telling.tell(Telling.report(9, "Mum"), acting)
      telling.tell(Telling.report(10, "Dad"), acting)
      telling.tell(Telling.report(9, "Mum (2)"), acting)
      #expect(telling.log == ["added 9 Mum repeat", "added 10 Dad", "act 1 on 10", "modified 9 Mum (2)"])
    }
  }

  @Test("A UID that the phone uses again for something else is new to rules")
  func reusedUID() {
    let acting = Judgement(.usual, rule: 1)
    for date in [nil, "20261121T070000"] {
      var telling = Self.telling()
      telling.tell(Telling.report(1, "Mum", date: date), acting)
      telling.tell(Telling.report(2, "Ann", date: date), acting)
      telling.takeBreak()
      telling.tell(Telling.report(1, "Dad", date: date), acting)
      telling.tell(Telling.report(2, "Ann", date: date), acting)
      #expect(telling.log == ["added 1 Dad", "act 1 on 1", "added 2 Ann repeat"])
    }
  }

  @Test("A stale notification is known by its UID, until there is another one")
  func knownStale() {
    var telling = Self.telling(Telling.report(1, "Mum"))
    telling.takeBreak()
    #expect(telling.ledger[1] == nil && telling.ledger.known(1)?.attributes.title == "Mum")
    telling.tell(Telling.report(1, "News", app: "c.d"))
    #expect(telling.ledger.known(1)?.attributes.title == "News")
    #expect(telling.ledger.known(2) == nil)
  }

  @Test("Without a date, the UID, the category and the title tell")
  func withoutDate() {
    var telling = Self.telling(
      Telling.report(1, "Mum", date: nil), Telling.report(2, "Mum", date: nil))
    telling.takeBreak()
    telling.tell(Telling.report(2, "Mum", date: nil))
    telling.pass(.seconds(5))
    #expect(telling.log == ["added 2 Mum repeat", "removed 1 Mum stale"])
  }

  @Test("What is hidden over a break acts once, and what it hides is removed")
  func hiddenOverBreak() {
    var telling = Self.telling(Telling.report(1, "Mum"))
    telling.tell(Telling.report(2, "Spam"), Judgement(.hidden, rule: 3))
    #expect(telling.log == ["added 1 Mum", "act 3 on 2"])
    telling.takeBreak()
    telling.tell(Telling.report(2, "Spam"), Judgement(.hidden, rule: 3))
    telling.tell(Telling.report(5, "Mum"), Judgement(.hidden))
    telling.pass(.seconds(60))
    #expect(telling.log == ["removed 1 Mum stale"])
  }

  @Test(
    "What is not told again is removed once the phone has told all and is silent, or in the end")
  func silence() {
    var telling = Self.telling(Telling.report(1, "Mum"))
    #expect(telling.ledger.deadline == nil)
    telling.takeBreak()
    telling.announce(2, .preExisting)
    telling.pass(.seconds(59))
    #expect(telling.log == [])
    telling.settle(Telling.report(2, "Dad"))
    telling.pass(.milliseconds(999))
    #expect(telling.log == ["added 2 Dad"])
    telling.pass(.milliseconds(1))
    #expect(telling.log == ["added 2 Dad", "removed 1 Mum stale"])
    telling.takeBreak()
    telling.pass(.seconds(4))
    telling.announce(3, .preExisting)
    telling.remove(3)
    telling.pass(.milliseconds(4_999))
    #expect(telling.log == [])
    telling.pass(.milliseconds(1))
    #expect(telling.log == ["removed 2 Dad stale"])
  }

  @Test("A phone that comes and goes leaves nothing that grows")
  func returns() {
    var telling = Telling()
    for _ in 0..<200 {
      telling.begin()
      for uid in UInt32(1)...50 { telling.tell(Telling.report(uid, "title \(uid)")) }
      telling.end()
    }
    let places = Mirror(reflecting: telling.ledger).descendant("order") as? any Collection
    #expect(telling.ledger.count == 50 && (50...200).contains(places?.count ?? 0))
  }

  // MARK: Whatever happens

  /// What a client makes of what it is told.
  private struct Client {
    var known: [NotificationUID: String] = [:]
    var faults: [String] = []

    mutating func hear(_ report: NotificationReport) {
      let uid = report.event.uid
      switch report.event.change {
      case .added: break
      case .modified where known[uid] == nil: faults.append("modified \(uid) before added")
      case .removed where known[uid] == nil: faults.append("removed \(uid), never told")
      default: break
      }
      known[uid] = report.event.change == .removed ? nil : report.attributes.title ?? "-"
    }
  }

  /// What happens to a ledger.
  private struct Fate {
    var random = SeededGenerator(seed: 21)
    var now = Instant.zero
    var hides: Set<String> = []

    func judge(_ event: NotificationEvent, _ known: NotificationAttributes) -> Judgement {
      Judgement(hides.contains(known.title ?? "") ? .hidden : .usual, rule: 0, isFinal: true)
    }

    mutating func strike(_ ledger: inout NotificationLedger) {
      let uid = UInt32.random(in: 0..<12, using: &random)
      let title = ["Mum", "Dad", "Spam", "Ad", "News"].randomElement(using: &random) ?? ""
      let report = Telling.report(uid, title, date: uid % 3 == 0 ? nil : "20261121T070000")
      switch Int.random(in: 0..<42, using: &random) {
      case 40: ledger.sessionEnded(at: now, keeping: .zero)
      case 41: ledger.clear()
      case 0: ledger.sessionEnded(at: now, keeping: .seconds(60))
      case 1: ledger.sessionBegan(at: now, keeping: .seconds(60))
      case 2:
        hides = Set(["Spam", "Ad"].filter { _ in Bool.random(using: &random) })
        ledger.rulesChanged(judge, at: now)
      case 3...10: ledger.removed(Telling.event(uid, .removed))
      case 11...15:
        let empty = NotificationReport(Telling.event(uid), failure: .timedOut)
        let judgement = judge(empty.event, empty.attributes)
        ledger.settle(Telling.fetch(empty, judgement, failed: true), at: now)
      case 16...25:
        let onlyIfChanged = Bool.random(using: &random)
        let judgement = judge(report.event, report.attributes)
        ledger.settle(Telling.fetch(report, judgement, onlyIfChanged: onlyIfChanged), at: now)
      case 26...28:
        now = now + .seconds(Int64.random(in: 0..<20, using: &random))
        ledger.pass(to: now)
      default: ledger.announced(report.event, at: now)
      }
    }
  }

  @Test("In any order of inputs clients know what the list has, and rules act on each once")
  func anything() {
    var fate = Fate()
    var ledger = NotificationLedger()
    var client = Client()
    var acts: [UInt64: Int] = [:]
    for step in 0..<10_000 where client.faults.isEmpty {
      fate.strike(&ledger)
      while let output = ledger.nextOutput() {
        switch output {
        case .publish(let report): client.hear(report)
        case .act(_, let report):
          let told = ledger.published().first { $0.report.event.uid == report.event.uid }
          if let told { acts[told.number, default: 0] += 1 }
        }
      }
      let listed = ledger.published().map {
        ($0.report.event.uid, $0.report.attributes.title ?? "-")
      }
      if client.known != Dictionary(listed, uniquingKeysWith: { $1 }) {
        client.faults.append("step \(step): \(client.known) is not \(listed)")
      }
      if listed.count != Set(listed.map(\.0)).count { client.faults.append("twice: \(listed)") }
      let numbers = ledger.published().map(\.number)
      if numbers != numbers.sorted() { client.faults.append("out of order: \(numbers)") }
    }
    #expect(client.faults == [])
    #expect(acts.count > 200 && acts.values.allSatisfy { $0 == 1 })
    ledger.clear()
    #expect(ledger.size == 0 && ledger.count == 0)
  }
}

@Suite("ANCS: memory limits per phone")
struct LimitTests {
  /// A report with a message of so many bytes.
  private static func report(_ uid: UInt32, message length: Int) -> NotificationReport {
    var report = NotificationReport(Telling.event(uid))
    report.attributes[.message] = String(repeating: "x", count: length)
    return report
  }

  /// A notification that is announced and settled at once.
  private static func tell(_ uid: UInt32, message length: Int = 0, _ ledger: inout NotificationLedger) {
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
      #expect(ledger.published(after: entry.number).map(\.number) == all[(place + 1)...].map(\.number))
    }
    // What is told again keeps its number, and what is new gets one that none has had.
    ledger.sessionEnded(at: .zero, keeping: .seconds(60))
    ledger.sessionBegan(at: .zero, keeping: .seconds(60))
    for uid in [100, 1, 7, 200] as [UInt32] { Self.tell(uid, message: Int(uid), &ledger) }
    #expect(ledger.published().map(\.number) == all.map(\.number) + [ledger.published().map(\.number).max()])
    #expect(ledger.published().count { !$0.report.isStale } == 4)
    ledger.clear()
    Self.tell(1, &ledger)
    #expect(ledger.published(after: all.last?.number ?? 0).map(\.report.event.uid) == [1])
  }

  @Test("An app's identifier and name, date and labels that are too long are truncated, and the rest is kept")
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
      let gone = Cancellation()
      let requests = (0..<3).map { _ in loop.start { try await session.consumer.act(1, .positive, gone) } }
      let stays = loop.start { try await session.consumer.act(1, .negative, Cancellation()) }
      await loop.settle()
      gone.cancel()
      let late = loop.start { try await session.consumer.act(1, .positive, gone) }
      await loop.sleep(for: .seconds(5))
      for request in requests.dropFirst() + [late] { #expect(request.failure as? FetchFailure == .cancelled) }
      #expect(stays.failure == nil)
      // The first was under way.
      #expect(
        session.phone.commands.filter { $0 != .probe }
          == [.performNotificationAction(1, .positive), .performNotificationAction(1, .negative)])
    }
  }
}
