// SPDX-License-Identifier: GPL-3.0-or-later
import TestLoop
import Testing
import Wire

@testable import ANCS

/// A ledger, and what clients were told.
struct Telling {
  var ledger = NotificationLedger()
  var now = Instant.zero
  var grace: Duration = .seconds(60)
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
        log.append(
          words + (report.isRepeat ? " repeat" : "") + (report.isStale ? " stale" : ""))
      case .act(let rule, let report): log.append("act \(rule) on \(report.event.uid)")
      }
    }
  }

  mutating func announce(_ uid: UInt32, _ flags: EventFlags = []) {
    ledger.announced(Self.event(uid, .added, flags), at: now)
    note()
  }

  mutating func settle(
    _ report: NotificationReport, _ judgement: Judgement? = nil, failed: Bool = false,
    onlyIfChanged: Bool = false
  ) {
    ledger.settle(
      Self.fetch(report, judgement, failed: failed, onlyIfChanged: onlyIfChanged), at: now)
    note()
  }

  static func fetch(
    _ report: NotificationReport, _ judgement: Judgement?, failed: Bool = false,
    onlyIfChanged: Bool = false
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

  mutating func begin() { ledger.sessionBegan(at: now, keeping: grace) }
  mutating func end() { ledger.sessionEnded(at: now, keeping: grace) }

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

  @Test("What comes in and out of hiding is added and removed, and a rule acts on it once")
  func hiding() {
    var telling = Self.telling()
    telling.tell(Telling.report(1, "Spam"), Judgement(.hidden))
    telling.tell(Telling.report(1, "Mum"), Judgement(.usual, rule: 4))
    telling.tell(Telling.report(1, "Mum (2)"), Judgement(.usual, rule: 4))
    telling.tell(Telling.report(1, "Spam"), Judgement(.hidden, rule: 5))
    telling.tell(Telling.report(1, "Spam (2)"), Judgement(.hidden, rule: 5))
    telling.tell(Telling.report(1, "Dad"), Judgement(.usual, rule: 4))
    telling.tell(Telling.report(1, "Spam"), Judgement(.hidden))
    telling.remove(1)
    #expect(
      telling.log == [
        "added 1 Mum", "act 4 on 1", "modified 1 Mum (2)", "removed 1 Mum (2)", "added 1 Dad",
        "removed 1 Dad",
      ])
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
      Judgement(
        known.title == "Mum" ? .hidden : known.title == "Dad" ? .urgent : .usual, rule: 1,
        isFinal: true)
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

  @Test("What new rules can't decide without more of it is fetched, and stays as it is meanwhile")
  func undecided() {
    var telling = Self.telling(Telling.report(1, "Mum"))
    telling.tell(Telling.report(2, "Spam"), Judgement(.hidden))
    telling.judge { _, known in Judgement(isFinal: known.has(.message)) }
    #expect(telling.log == ["added 1 Mum", "fetch 1", "fetch 2"])
    #expect(telling.told == ["1 Mum"])
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
      telling.log == [
        "removed 1 Mum stale", "added 1 News repeat", "removed 2 News stale", "added 2 Mum repeat",
      ])
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
        "added 1 Mum", "act 1 on 1", "added 2 Mum", "act 1 on 2", "removed 1 Mum stale",
        "removed 2 Mum stale",
      ])
    var restarted = Telling()
    restarted.ledger = NotificationLedger(seen: telling.ledger.seen)
    for var telling in [telling, restarted] {
      telling.log = []
      telling.begin()
      telling.tell(Telling.report(9, "Mum"), acting)
      telling.tell(Telling.report(10, "Dad"), acting)
      telling.tell(Telling.report(9, "Mum (2)"), acting)
      #expect(
        telling.log == [
          "added 9 Mum repeat", "added 10 Dad", "act 1 on 10", "modified 9 Mum (2)",
        ])
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

  @Test(
    "Without a time of grace everything is removed with the session, or once it starts over")
  func withoutGrace() {
    var telling = Self.telling(Telling.report(1, "Mum"))
    telling.grace = .zero
    telling.takeBreak()
    telling.pass(.seconds(60))
    #expect(telling.log == ["removed 1 Mum stale"] && telling.ledger.count == 0)
    telling.tell(Telling.report(1, "Mum"))
    telling.begin()
    telling.pass(.zero)
    #expect(
      telling.log == ["removed 1 Mum stale", "added 1 Mum repeat", "removed 1 Mum stale"])
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
