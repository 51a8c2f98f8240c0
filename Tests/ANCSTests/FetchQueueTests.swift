// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import TestLoop
import Testing
import Wire

@testable import ANCS

/// The queue and the ledger with a phone that answers everything, and what is published in order.
private struct Fetching {
  var queue = FetchQueue()
  var ledger = NotificationLedger()
  /// Whether the phone allows access.
  var mayFetch = true
  var now = Instant.zero
  /// `added 3`, `request 7`, …
  var log: [String] = []

  init(_ selection: AttributeSelection = AttributeSelection([.title]), announcing uids: UInt32...) {
    ledger.rulesChanged(selection.judge, at: .zero)
    for uid in uids { event(.added, uid) }
  }

  mutating func event(_ change: NotificationChange, _ uid: UInt32, _ flags: EventFlags = []) {
    let event = NotificationEvent(change, .init(rawValue: uid), flags: flags)
    if change == .removed {
      queue.removed(event, &ledger, at: now)
    } else {
      queue.announced(event, &ledger, at: now)
    }
    note()
  }

  /// A user's request, which is an action on a notification of this number.
  mutating func request(_ number: UInt32) {
    queue.add(.init(.performNotificationAction(.init(rawValue: number), .positive)) { _ in })
  }

  mutating func next() -> ControlPointCommand? {
    let command = queue.next(&ledger, mayFetch: mayFetch, at: now)
    note()
    return command
  }

  mutating func finish(_ outcome: ControlPoint.Outcome) {
    switch outcome.evidence(onProbe: queue.sentProbe) {
    case .responded: mayFetch = true
    case .refused: mayFetch = false
    case .gone, .unclear, nil: break
    }
    queue.finished(outcome, &ledger, at: now)
    note()
  }

  /// The next command fails.
  mutating func fail(_ failure: FetchFailure) {
    _ = next()
    finish(.failure(failure))
  }

  /// The response to the command in progress.
  mutating func finish(
    _ subject: DataSourceResponse.Subject, _ values: [NotificationAttributeID: String]
  ) {
    let attributes = values.map {
      DataSourceResponse.Attribute(id: $0.rawValue, value: Array($1.utf8))
    }
    finish(.success(DataSourceResponse(subject, attributes)))
  }

  private mutating func note() {
    while let output = ledger.nextOutput() {
      guard case .publish(let report) = output else { continue }
      var words = "\(report.event.change) \(report.event.uid)"
      if report.event.change != .removed {
        if let app = report.app { words += " \(app)" }
        if let failure = report.failure { words += " (\(failure))" }
      }
      log.append(words)
    }
  }

  /// Performs the next command; `during` happens while the phone is busy.
  mutating func step(app: String? = nil, during: (inout Fetching) -> Void = { _ in }) -> Bool {
    guard let command = next() else { return false }
    switch command {
    case .performNotificationAction(let uid, _):
      log.append("request \(uid)")
      finish(.success(nil))
    case .getAppAttributes(let app, _):
      log.append("ask \(app)")
      during(&self)
      if app == "nameless" {
        finish(.failure(.refused(ErrorCode(0xA2))))
      } else {
        finish(.app(identifier: app), [.init(rawValue: 0): app.uppercased()])
      }
    case .getNotificationAttributes(let uid, _):
      during(&self)
      finish(.notification(uid), app.map { [.appIdentifier: $0] } ?? [:])
    }
    return true
  }

  mutating func drain() { while step() {} }
}

extension [ControlPointCommand.AttributeRequest] {
  /// Requests for these attributes.
  fileprivate static func of(_ attributes: Set<NotificationAttributeID>) -> Self {
    AttributeSelection(attributes).requests(for: [])
  }
}

@Suite("ANCS: the order of fetching")
struct FetchQueueTests {
  /// The commands about one notification that a rule is asked about, and what became of it.
  private static func judged(
    _ phone: [NotificationAttributeID: String], _ judge: @escaping NotificationJudge
  ) -> [String] {
    var fetching = Fetching()
    fetching.ledger.rulesChanged(judge, at: .zero)
    fetching.event(.added, 1)
    var log: [String] = []
    while let command = fetching.next() {
      switch command {
      case .performNotificationAction: break
      case .getAppAttributes(let app, _):
        log.append("name of \(app)")
        fetching.finish(.app(identifier: app), [.init(rawValue: 0): "Mail"])
      case .getNotificationAttributes(let uid, let wanted):
        log.append(wanted.map { $0.id.name ?? "" }.joined(separator: ","))
        fetching.finish(
          .notification(uid), phone.filter { id, _ in wanted.contains { $0.id == id } })
      }
    }
    if let report = fetching.ledger[1] {
      log.append("\(report.display) \(report.app ?? "-") \(report.attributes.title ?? "-")")
    }
    return log
  }

  @Test("A phone that omits requested attributes is not asked forever")
  func unanswered() {
    let log = Self.judged([:]) { _, _ in Judgement(wanted: .of([.appIdentifier])) }
    #expect(log == ["app", "usual - -"])
  }

  @Test("What is hidden at once costs no request")
  func hiddenAtOnce() {
    #expect(Self.judged([:]) { _, _ in Judgement(.hidden) } == ["hidden - -"])
  }

  @Test("Rules that are through with a notification are not asked again, unless they change")
  func judgedOnce() {
    var asked = 0
    let first = Self.judged([.appIdentifier: "com.mail", .title: "Hello"]) { _, known in
      asked += 1
      return Judgement(
        wanted: .of(known.appIdentifier == nil ? [.appIdentifier] : [.title]),
        isFinal: known.appIdentifier != nil)
    }
    #expect(first == ["app", "title", "name of com.mail", "usual Mail Hello"])
    #expect(asked == 2)

    var fetching = Fetching()
    fetching.ledger.rulesChanged({ _, _ in Judgement(wanted: .of([.title]), isFinal: true) }, at: .zero)
    fetching.event(.added, 1)
    _ = fetching.next()
    fetching.ledger.rulesChanged({ _, _ in Judgement(.hidden, isFinal: true) }, at: .zero)
    fetching.finish(.notification(1), [:])
    #expect(fetching.ledger[1]?.display == .hidden)
  }

  @Test("Rules that change while the app's name is fetched have what they ask for fetched, too")
  func rulesChangedLate() {
    var fetching = Fetching()
    fetching.ledger.rulesChanged(
      { _, known in
        Judgement(
          wanted: .of([.appIdentifier]), isFinal: known.appIdentifier != nil)
      }, at: .zero)
    fetching.event(.added, 1)
    func wanted() -> [NotificationAttributeID] {
      guard case .getNotificationAttributes(_, let wanted) = fetching.next() else { return [] }
      return wanted.map(\.id)
    }
    #expect(wanted() == [.appIdentifier])
    fetching.finish(.notification(1), [.appIdentifier: "com.mail"])
    #expect(wanted() == [])
    fetching.ledger.rulesChanged(
      { _, known in
        Judgement(known.title == "Spam" ? .hidden : .usual, wanted: .of([.title]), isFinal: known.title != nil)
      }, at: .zero)
    fetching.finish(.app(identifier: "com.mail"), [.init(rawValue: 0): "Mail"])
    #expect(wanted() == [.title])
    fetching.finish(.notification(1), [.title: "Spam"])
    #expect(fetching.ledger[1]?.display == .hidden && fetching.ledger[1]?.app == "Mail")
  }

  /// What happens before anything is fetched, and while the first notification is, and what is published.
  struct Course: CustomTestStringConvertible {
    let testDescription: String
    fileprivate var selection = AttributeSelection([.title])
    fileprivate var events: [Event]
    fileprivate var duringFirst: [Event] = []
    let published: [String]

    fileprivate typealias Event = (NotificationChange, UInt32, EventFlags)
  }

  static let courses = [
    Course(
      testDescription: "new ones come before pre-existing ones, each in the phone's order",
      events: [(.added, 1, .preExisting), (.added, 2, .preExisting), (.added, 11, []), (.added, 12, [])],
      published: ["added 11", "added 12", "added 1", "added 2"]),
    Course(
      testDescription: "without attributes to fetch, the order is the same", selection: .none,
      events: [(.added, 1, .preExisting), (.added, 2, [])], published: ["added 2", "added 1"]),
    Course(
      testDescription: "one that is removed while it waits is not fetched, and was never there",
      events: [(.added, 1, []), (.added, 2, []), (.removed, 1, [])], published: ["added 2"]),
    Course(
      testDescription: "one that changes while it waits is fetched once, as added",
      events: [(.added, 1, []), (.added, 2, []), (.modified, 1, []), (.modified, 1, [])],
      published: ["added 1", "added 2"]),
    Course(
      testDescription: "a pre-existing one that changes moves to the new ones",
      events: [(.added, 1, .preExisting), (.added, 2, .preExisting), (.modified, 2, []), (.modified, 2, .preExisting)],
      published: ["added 2", "added 1"]),
    Course(
      testDescription: "one that is removed while it is fetched is not reported",
      events: [(.added, 1, [])], duringFirst: [(.removed, 1, [])], published: []),
    Course(
      testDescription: "one that is removed and added again while it is fetched is fetched again",
      events: [(.added, 1, [])], duringFirst: [(.removed, 1, []), (.added, 1, [])], published: ["added 1"]),
  ]

  @Test("The last state of each notification is reported, in its turn", arguments: courses)
  func order(course: Course) {
    var fetching = Fetching(course.selection)
    for (change, uid, flags) in course.events { fetching.event(change, uid, flags) }
    _ = fetching.step { fetching in
      for (change, uid, flags) in course.duringFirst { fetching.event(change, uid, flags) }
    }
    fetching.drain()
    #expect(fetching.log == course.published)
    #expect(fetching.ledger.lanes.count == 0)
  }

  @Test("A notification that changes while it is fetched is fetched again")
  func modifiedFetching() {
    var fetching = Fetching(announcing: 1, 2)
    _ = fetching.step(app: "") { $0.event(.modified, 1) }
    fetching.drain()
    #expect(fetching.log == ["added 1 ", "added 2", "modified 1"])
  }

  @Test("A change during a fetch that its response already contains is reported once")
  func modifiedFetchingSame() {
    var fetching = Fetching(announcing: 1)
    _ = fetching.step(app: "") { $0.event(.modified, 1) }
    _ = fetching.step(app: "") { $0.event(.modified, 1) }
    fetching.now = fetching.now + .seconds(1)
    _ = fetching.step(app: "")
    #expect(fetching.log == ["added 1 "])
    #expect(fetching.ledger.lanes.count == 0)
    // The same again later is a change.
    fetching.now = fetching.now + .seconds(10)
    fetching.event(.modified, 1)
    _ = fetching.step(app: "")
    #expect(fetching.log == ["added 1 ", "modified 1 "])
  }

  @Test("Requests come first, but only a few in a row")
  func fairness() {
    var fetching = Fetching(announcing: 1, 2)
    for number in 1...6 as ClosedRange<UInt32> { fetching.request(number) }
    fetching.drain()
    #expect(
      fetching.log == [
        "request 1", "request 2", "request 3", "request 4", "added 1", "request 5", "request 6", "added 2",
      ])
  }

  @Test("Requests go on while all that waits has to pause")
  func requestsDuringPause() {
    var fetching = Fetching(announcing: 1)
    fetching.fail(.timedOut)
    for number in 1...6 as ClosedRange<UInt32> { fetching.request(number) }
    fetching.drain()
    #expect(fetching.log.dropFirst() == (1...6).map { "request \($0)" }[...])
    #expect(fetching.ledger.lanes.deadline == .zero + .seconds(15))
  }

  @Test("An app's name is fetched once, before the next notification; what is removed meanwhile is not told")
  func appNames() {
    var fetching = Fetching(announcing: 1, 2, 3, 4, 5, 6)
    _ = fetching.step(app: "mail")
    fetching.request(7)
    _ = fetching.step()
    _ = fetching.step()
    _ = fetching.step(app: "mail")
    _ = fetching.step(app: "nameless")
    _ = fetching.step()
    _ = fetching.step(app: "nameless")
    _ = fetching.step(app: "")
    _ = fetching.step(app: "shop")
    _ = fetching.step { $0.event(.removed, 6) }
    fetching.drain()
    #expect(
      fetching.log == [
        "request 7", "ask mail", "added 1 MAIL", "added 2 MAIL", "ask nameless",
        "added 3 nameless", "added 4 nameless", "added 5 ", "ask shop",
      ])
  }

  @Test("What is fetched again at once rests, longer each time, and then it is calm again")
  func rests() {
    var fetching = Fetching(announcing: 1)
    fetching.event(.added, 2, .preExisting)
    let restless = { (fetching: inout Fetching) in fetching.event(.modified, 1) }
    _ = fetching.step(app: "", during: restless)
    #expect(fetching.ledger.lanes.deadline == .zero)
    _ = fetching.step()
    for pause in [0, 1, 2, 4, 8, 8] as [Int64] {
      let due = fetching.now + .seconds(pause)
      if pause > 0 {
        let isResting = !fetching.step()
        #expect(isResting)
        #expect(fetching.ledger.lanes.deadline == due)
      }
      fetching.now = due
      let isDue = fetching.step(app: "", during: restless)
      #expect(isDue)
    }
    fetching.now = fetching.now + .seconds(8)
    fetching.drain()
    #expect(fetching.ledger.lanes.deadline == nil)
    fetching.now = fetching.now + .seconds(1)
    fetching.event(.modified, 1)
    let isCalm = fetching.step()
    #expect(isCalm)
    #expect(fetching.log.prefix(2) == ["added 1 ", "added 2"])
  }

  /// What a phone announces each time it answers.
  enum Restlessness: CaseIterable {
    case sameChanges, sameComesAgain, twoChangeInTurn, twoComeInTurn, everNew, everMore
  }

  @Test("Whatever a phone announces with each response, all that waits has its turn", arguments: Restlessness.allCases)
  func fair(_ restlessness: Restlessness) {
    var fetching = Fetching()
    for uid in 1...12 as ClosedRange<UInt32> { fetching.event(.added, uid, .preExisting) }
    fetching.event(.added, 100)
    var left = Set((1...12).map { "added \($0) " })
    var (responses, read) = (UInt32(0), 0)
    while !left.isEmpty, responses < 2_000 {
      fetching.now = fetching.now + .milliseconds(1)
      let isBusy = fetching.step(app: "") { fetching in
        responses += 1
        let other = 100 + responses % 2
        switch restlessness {
        case .sameChanges: fetching.event(.modified, 100)
        case .sameComesAgain:
          fetching.event(.removed, 100)
          fetching.event(.added, 100)
        case .twoChangeInTurn: fetching.event(.modified, other)
        case .twoComeInTurn:
          fetching.event(.removed, other)
          fetching.event(.added, other)
        case .everNew: fetching.event(.added, 100 + responses)
        case .everMore:
          for uid in (0..<3).map({ 200 + 3 * responses + $0 }) { fetching.event(.added, uid) }
        }
      }
      if !isBusy { fetching.now = fetching.ledger.lanes.deadline ?? fetching.now }
      for line in fetching.log[read...] { left.remove(line) }
      read = fetching.log.count
    }
    #expect(left.isEmpty)
  }

  @Test("However many a phone announces again in turn, each waits for its pause", arguments: [2, 64, 65, 400])
  func pausesOfMany(count: UInt32) {
    var fetching = Fetching()
    for uid in 0..<count { fetching.event(.added, uid) }
    fetching.drain()
    for uid in 0..<count { fetching.event(.modified, uid) }
    var (fetched, quiet): (Int, [NotificationUID]) = (0, [])
    while fetching.now < .zero + .seconds(10) {
      guard case .getNotificationAttributes(let uid, _)? = fetching.next() else {
        fetching.now = fetching.ledger.lanes.deadline ?? .zero + .seconds(10)
        continue
      }
      fetched += 1
      fetching.now = fetching.now + .milliseconds(1)
      fetching.finish(.notification(uid), [:])
      quiet.append(uid)
      // Once all were fetched, it announces them all again.
      if quiet.count == count {
        for uid in quiet { fetching.event(.modified, uid.rawValue) }
        quiet = []
      }
    }
    // At once, and after 1, 2 and 4 seconds.
    #expect(fetched > Int(count) && fetched <= 4 * Int(count), "\(fetched) fetches")
  }

  @Test("The number of app names is bounded")
  func nameBounds() {
    var names = AppNames()
    for number in 0...AppNames.capacity { names.learn("name", of: "app\(number)") }
    names.learn("", of: "app5")
    #expect(names["app0"] == .unknown)
    #expect(names["app1"] == .name("name"))
    #expect(names["app5"] == AppNames.Entry.none)
  }

  @Test("In any order of events, the last state of each notification is reported")
  func nothingLost() {
    var random = SeededGenerator(seed: 3)
    var fetching = Fetching()
    var present: Set<UInt32> = []
    for _ in 0..<30_000 {
      let uid = UInt32.random(in: 0..<40, using: &random)
      let flags: EventFlags = Bool.random(using: &random) ? .preExisting : []
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        fetching.event(.removed, uid)
        present.remove(uid)
      case 1:
        fetching.event(present.contains(uid) ? .modified : .added, uid, flags)
        present.insert(uid)
      case 2:
        fetching.request(1)
      default:
        _ = fetching.step(app: ["a", "b", "nameless", nil][Int(uid % 4)]) {
          if uid < 8, present.contains(uid) { $0.event(.modified, uid) }
        }
      }
      fetching.now = fetching.now + .milliseconds(Int64.random(in: 0..<300, using: &random))
    }
    fetching.now = fetching.now + .seconds(60)
    fetching.drain()
    #expect(Set(fetching.ledger.published().map(\.report.event.uid.rawValue)) == present)
    #expect(fetching.ledger.lanes.count == 0 && fetching.ledger.count == present.count)
  }
}
