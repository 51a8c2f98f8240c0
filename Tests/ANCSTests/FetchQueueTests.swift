// SPDX-License-Identifier: GPL-3.0-or-later
import TestLoop
import Testing
import Wire

@testable import ANCS

/// The queue and the ledger with a phone that answers everything, and what is told in order.
private struct Fetching {
  var queue = FetchQueue(AttributeSelection("title") ?? .none)
  var ledger = NotificationLedger()
  var now = Instant.zero
  /// `added 3`, `request 7`, …
  var log: [String] = []

  mutating func event(_ change: NotificationChange, _ uid: UInt32, _ flags: EventFlags = []) {
    let event = NotificationEvent(change, .init(rawValue: uid), flags: flags)
    if change == .removed {
      queue.remove(event.uid, at: now)
      ledger.removed(event)
    } else {
      let wasFetched = ledger.announced(event, at: now)
      queue.add(
        event.uid, isPreExisting: flags.contains(.preExisting), wasFetched: wasFetched, at: now)
    }
    note()
  }

  mutating func settle(_ fetched: Fetch?) {
    guard let fetched else { return }
    ledger.settle(fetched, at: now)
    note()
  }

  private mutating func note() {
    while let output = ledger.nextOutput() {
      guard case .tell(let report) = output else { continue }
      var words = "\(report.event.change) \(report.event.uid)"
      if report.event.change != .removed {
        if let app = report.app { words += " \(app)" }
        if let failure = report.failure { words += " (\(failure))" }
      }
      log.append(words)
    }
  }

  mutating func next() -> FetchQueue.Step? {
    queue.next(at: now) { [ledger] in ledger.event(of: $0) }
  }

  /// Performs the next step; `during` happens while the phone is busy.
  mutating func step(app: String? = nil, during: (inout Fetching) -> Void = { _ in }) -> Bool {
    guard let step = next() else { return false }
    switch step {
    case .nothing(let fetched): settle(fetched)
    case .request(let number):
      log.append("request \(number)")
      queue.finishedRequest()
    case .ask(.getAppAttributes(let app, _)):
      log.append("ask \(app)")
      during(&self)
      settle(queue.finished(appName: app == "nameless" ? nil : app.uppercased(), at: now))
    case .ask:
      during(&self)
      let values = app.map { [DataSourceResponse.Attribute(id: 0, value: Array($0.utf8))] } ?? []
      settle(
        queue.finished(
          attributes: NotificationAttributes(
            DataSourceResponse(.notification(0), values), requested: []), at: now))
    }
    return true
  }

  mutating func drain() { while step() {} }
}

@Suite("ANCS: the order of fetching")
struct FetchQueueTests {
  /// The steps and what is told of one notification that a rule is asked about.
  private static func judged(
    _ phone: [NotificationAttributeID: String], _ judge: @escaping NotificationJudge
  ) -> [String] {
    var queue = FetchQueue(.all)
    var log: [String] = []
    func note(_ fetched: Fetch?) {
      guard let report = fetched?.report else { return }
      log.append("tell \(report.app ?? "-") \(report.attributes.title ?? "-")")
    }
    queue.add(1, isPreExisting: false, wasFetched: false, at: .zero)
    while let step = queue.next(
      at: .zero, judge: judge, event: { NotificationEvent(.added, $0) })
    {
      switch step {
      case .nothing(let fetched): note(fetched)
      case .request, .ask(.performNotificationAction): break
      case .ask(.getAppAttributes(let app, _)):
        log.append("name of \(app)")
        note(queue.finished(appName: "Mail", at: .zero, judge: judge))
      case .ask(.getNotificationAttributes(_, let wanted)):
        log.append(wanted.map { $0.id.name ?? "" }.joined(separator: ","))
        let values = wanted.compactMap { request in
          phone[request.id].map {
            DataSourceResponse.Attribute(id: request.id.rawValue, value: Array($0.utf8))
          }
        }
        note(
          queue.finished(
            attributes: NotificationAttributes(
              DataSourceResponse(.notification(1), values), requested: wanted), at: .zero,
            judge: judge))
      }
    }
    return log
  }

  @Test("The text of a hidden app is never asked for, and neither is its name")
  func hidden() {
    let log = Self.judged([.appIdentifier: "com.spam", .title: "Buy"]) { _, known in
      Judgement(
        wanted: known.appIdentifier == "com.spam" ? nil : AttributeSelection([.appIdentifier]))
    }
    #expect(log == ["app", "tell com.spam -"])
  }

  @Test("Attributes after the app's identifier are fetched in addition, and none twice")
  func inTwoSteps() {
    let log = Self.judged([.appIdentifier: "com.mail", .title: "Hello"]) { _, known in
      Judgement(
        wanted: AttributeSelection(
          known.appIdentifier == nil ? [.appIdentifier] : [.appIdentifier, .title, .date]))
    }
    #expect(log == ["app", "title,date", "name of com.mail", "tell Mail Hello"])
  }

  @Test("A phone that omits requested attributes is not asked forever")
  func unanswered() {
    let log = Self.judged([:]) { _, _ in Judgement(wanted: AttributeSelection([.appIdentifier])) }
    #expect(log == ["app", "tell - -"])
  }

  @Test("What is hidden at once costs no request")
  func hiddenAtOnce() {
    #expect(Self.judged([:]) { _, _ in Judgement(.hidden) } == ["tell - -"])
  }

  @Test("Rules that are through with a notification are not asked again, unless they change")
  func judgedOnce() {
    var asked = 0
    let first = Self.judged([.appIdentifier: "com.mail", .title: "Hello"]) { _, known in
      asked += 1
      return Judgement(
        wanted: AttributeSelection(known.appIdentifier == nil ? [.appIdentifier] : [.title]),
        isFinal: known.appIdentifier != nil)
    }
    #expect(first == ["app", "title", "name of com.mail", "tell Mail Hello"])
    #expect(asked == 2)

    var queue = FetchQueue(.all)
    queue.add(1, isPreExisting: false, wasFetched: false, at: .zero)
    let (shown, hidden): (NotificationJudge, NotificationJudge) = (
      { _, _ in Judgement(wanted: AttributeSelection([.title]), isFinal: true) },
      { _, _ in Judgement(.hidden, isFinal: true) }
    )
    _ = queue.next(at: .zero, judge: shown) { NotificationEvent(.added, $0) }
    queue.rulesChanged()
    let fetch = queue.finished(attributes: .init(), at: .zero, judge: hidden)
    #expect(fetch?.report.standing == .hidden)
  }

  @Test("Rules that change while the app's name is fetched have what they ask for fetched, too")
  func rulesChangedLate() {
    var queue = FetchQueue(.all)
    queue.add(1, isPreExisting: false, wasFetched: false, at: .zero)
    let before: NotificationJudge = { _, known in
      Judgement(wanted: AttributeSelection([.appIdentifier]), isFinal: known.appIdentifier != nil)
    }
    let after: NotificationJudge = { _, known in
      Judgement(
        known.title == "Spam" ? .hidden : .usual, wanted: AttributeSelection([.title]),
        isFinal: known.title != nil)
    }
    func next(_ judge: @escaping NotificationJudge) -> [NotificationAttributeID] {
      let step = queue.next(at: .zero, judge: judge) { NotificationEvent(.added, $0) }
      guard case .ask(.getNotificationAttributes(_, let wanted)) = step else { return [] }
      return wanted.map(\.id)
    }
    func response(_ id: NotificationAttributeID, _ text: String) -> NotificationAttributes {
      var attributes = NotificationAttributes()
      attributes[id] = text
      return attributes
    }
    #expect(next(before) == [.appIdentifier])
    let app = response(.appIdentifier, "com.mail")
    #expect(queue.finished(attributes: app, at: .zero, judge: before) == nil)
    #expect(next(before) == [])
    queue.rulesChanged()
    #expect(queue.finished(appName: "Mail", at: .zero, judge: after) == nil)
    #expect(next(after) == [.title])
    let fetch = queue.finished(attributes: response(.title, "Spam"), at: .zero, judge: after)
    #expect(fetch?.report.standing == .hidden && fetch?.report.app == "Mail")
  }

  @Test("New notifications come before pre-existing ones, each in the phone's order")
  func order() {
    var fetching = Fetching()
    for uid in UInt32(1)...3 { fetching.event(.added, uid, .preExisting) }
    for uid in UInt32(11)...13 { fetching.event(.added, uid) }
    fetching.drain()
    #expect(
      fetching.log == ["added 11", "added 12", "added 13", "added 1", "added 2", "added 3"])
  }

  @Test("A notification removed while it waits is not fetched, and was never there")
  func removedWaiting() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.event(.added, 2)
    fetching.event(.removed, 1)
    fetching.drain()
    #expect(fetching.log == ["added 2"])
    #expect(fetching.queue.count == 0)
  }

  @Test("A notification removed while being fetched is not reported")
  func removedFetching() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    _ = fetching.step { $0.event(.removed, 1) }
    fetching.drain()
    #expect(fetching.log == [])
  }

  @Test("A notification that changes while it waits is fetched once, as added")
  func modifiedWaiting() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.event(.added, 2)
    fetching.event(.modified, 1)
    fetching.event(.modified, 1)
    fetching.drain()
    #expect(fetching.log == ["added 1", "added 2"])
  }

  @Test("A notification that changes while it is fetched is fetched again")
  func modifiedFetching() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.event(.added, 2)
    _ = fetching.step(app: "") { $0.event(.modified, 1) }
    fetching.drain()
    #expect(fetching.log == ["added 1 ", "added 2", "modified 1"])
  }

  @Test("A change during a fetch that its response already contains is reported once")
  func modifiedFetchingSame() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    _ = fetching.step(app: "") { $0.event(.modified, 1) }
    _ = fetching.step(app: "") { $0.event(.modified, 1) }
    fetching.now = fetching.now + .seconds(1)
    _ = fetching.step(app: "")
    #expect(fetching.log == ["added 1 "])
    #expect(fetching.queue.count == 0)
    // The same again later is a change.
    fetching.now = fetching.now + .seconds(10)
    fetching.event(.modified, 1)
    _ = fetching.step(app: "")
    #expect(fetching.log == ["added 1 ", "modified 1 "])
  }

  @Test("A UID that is removed and added again while it is fetched is fetched again")
  func readded() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    _ = fetching.step {
      $0.event(.removed, 1)
      $0.event(.added, 1)
    }
    fetching.drain()
    #expect(fetching.log == ["added 1"])
  }

  @Test("A pre-existing notification that changes moves to the new ones")
  func promoted() {
    var fetching = Fetching()
    fetching.event(.added, 1, .preExisting)
    fetching.event(.added, 2, .preExisting)
    fetching.event(.modified, 2)
    fetching.event(.modified, 2, .preExisting)
    fetching.drain()
    #expect(fetching.log == ["added 2", "added 1"])
  }

  @Test("Requests come first, but only a few in a row")
  func fairness() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.event(.added, 2)
    for number in 1...6 { fetching.queue.add(number) }
    fetching.drain()
    #expect(
      fetching.log == [
        "request 1", "request 2", "request 3", "request 4", "added 1", "request 5", "request 6",
        "added 2",
      ])
  }

  @Test("Requests go on while all that waits has to pause")
  func requestsDuringPause() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    _ = fetching.next()
    fetching.settle(fetching.queue.failed(.timedOut, at: fetching.now))
    for number in 1...6 { fetching.queue.add(number) }
    fetching.drain()
    #expect(fetching.log.dropFirst() == (1...6).map { "request \($0)" }[...])
    #expect(fetching.queue.nextDeadline == .zero + .seconds(15))
  }

  @Test("An app's name is fetched once, before the next notification")
  func appNames() {
    var fetching = Fetching()
    for uid in UInt32(1)...4 { fetching.event(.added, uid) }
    _ = fetching.step(app: "mail")
    fetching.queue.add(7)
    _ = fetching.step()
    _ = fetching.step()
    _ = fetching.step(app: "mail")
    _ = fetching.step(app: "nameless")
    _ = fetching.step()
    _ = fetching.step(app: "nameless")
    #expect(
      fetching.log == [
        "request 7", "ask mail", "added 1 MAIL", "added 2 MAIL", "ask nameless",
        "added 3 nameless", "added 4 nameless",
      ])
  }

  @Test("A notification removed while its app's name is fetched is not reported")
  func removedNaming() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.event(.added, 2)
    _ = fetching.step(app: "mail")
    _ = fetching.step { $0.event(.removed, 1) }
    _ = fetching.step(app: "mail")
    #expect(fetching.log == ["ask mail", "added 2 MAIL"])
  }

  @Test("The name of an empty app id is not fetched")
  func emptyApp() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    _ = fetching.step(app: "")
    fetching.drain()
    #expect(fetching.log == ["added 1 "])
  }

  @Test("One command at a time")
  func oneAtATime() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.event(.added, 2)
    guard case .ask(.getNotificationAttributes(1, _)) = fetching.next() else {
      Issue.record("the first notification is not fetched")
      return
    }
    #expect(fetching.queue.isBusy)
    #expect(fetching.next() == nil)
    fetching.settle(fetching.queue.failed(.timedOut, at: fetching.now))
    fetching.drain()
    #expect(fetching.log == ["added 1 (the phone did not respond in time)", "added 2"])
    fetching.now = fetching.now + .seconds(15)
    fetching.drain()
    #expect(fetching.log.last == "modified 1")
  }

  @Test("While the phone refuses access, everything waits in order except requests")
  func held() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.event(.added, 2)
    _ = fetching.next()
    fetching.event(.modified, 1)
    fetching.queue.refused()
    fetching.event(.added, 3)
    fetching.queue.add(9)
    fetching.drain()
    #expect(fetching.log == ["request 9"])
    fetching.queue.release()
    fetching.drain()
    #expect(fetching.log == ["request 9", "added 1", "added 2", "added 3"])
  }

  @Test("A refused notification keeps its place at the front")
  func refusedKeepsPlace() {
    var fetching = Fetching()
    for uid in UInt32(1)...3 { fetching.event(.added, uid) }
    _ = fetching.step()
    _ = fetching.next()
    fetching.queue.refused()
    fetching.queue.release()
    fetching.drain()
    #expect(fetching.log == ["added 1", "added 2", "added 3"])
  }

  @Test("Without attributes to fetch, everything is reported in order, pre-existing ones last")
  func nothingToFetch() {
    var fetching = Fetching()
    fetching.queue.selection = .none
    fetching.event(.added, 1, .preExisting)
    fetching.event(.added, 2)
    fetching.drain()
    #expect(fetching.log == ["added 2", "added 1"])
    #expect(!fetching.queue.isBusy)
  }

  @Test("Hundreds at once are all reported, in order")
  func hundreds() {
    var fetching = Fetching()
    for uid in UInt32(1)...500 { fetching.event(.added, uid) }
    fetching.drain()
    #expect(fetching.log == (1...500).map { "added \($0)" })
  }

  @Test("What is fetched again at once rests, longer each time, and then it is calm again")
  func rests() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.event(.added, 2, .preExisting)
    let restless = { (fetching: inout Fetching) in fetching.event(.modified, 1) }
    _ = fetching.step(app: "", during: restless)
    #expect(fetching.queue.nextDeadline == .zero)
    _ = fetching.step()
    for pause in [0, 1, 2, 4, 8, 8] as [Int64] {
      let due = fetching.now + .seconds(pause)
      if pause > 0 {
        let isResting = !fetching.step()
        #expect(isResting)
        #expect(fetching.queue.nextDeadline == due)
      }
      fetching.now = due
      let isDue = fetching.step(app: "", during: restless)
      #expect(isDue)
    }
    fetching.now = fetching.now + .seconds(8)
    fetching.drain()
    #expect(fetching.queue.nextDeadline == nil)
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

  @Test(
    "Whatever a phone announces with each response, all that waits has its turn",
    arguments: Restlessness.allCases)
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
      if !isBusy { fetching.now = fetching.queue.nextDeadline ?? fetching.now }
      for line in fetching.log[read...] { left.remove(line) }
      read = fetching.log.count
    }
    #expect(left.isEmpty)
  }

  @Test(
    "However many a phone announces again in turn, each waits for its pause",
    arguments: [2, 64, 65, 400])
  func pausesOfMany(count: UInt32) {
    var fetching = Fetching()
    for uid in 0..<count { fetching.event(.added, uid) }
    fetching.drain()
    for uid in 0..<count { fetching.event(.modified, uid) }
    var (fetched, quiet): (Int, [NotificationUID]) = (0, [])
    while fetching.now < .zero + .seconds(10) {
      guard case .ask(.getNotificationAttributes(let uid, _))? = fetching.next() else {
        fetching.now = fetching.queue.nextDeadline ?? .zero + .seconds(10)
        continue
      }
      fetched += 1
      fetching.now = fetching.now + .milliseconds(1)
      let response = DataSourceResponse(.notification(uid), [])
      fetching.settle(
        fetching.queue.finished(
          attributes: NotificationAttributes(response, requested: []), at: fetching.now))
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

  @Test("A retry comes after the others, and is reported once")
  func retry() {
    var fetching = Fetching()
    for uid in UInt32(1)...2 { fetching.event(.added, uid) }
    fetching.event(.added, 3, .preExisting)
    _ = fetching.next()
    fetching.settle(fetching.queue.failed(.malformed(.unexpectedData), at: .zero))
    for _ in 0..<2 { _ = fetching.step() }
    #expect(fetching.log == ["added 2", "added 3"])
    _ = fetching.next()
    fetching.event(.modified, 1)
    fetching.settle(fetching.queue.failed(.malformed(.unexpectedData), at: .zero))
    #expect(fetching.log.last == "added 1 (the phone sent unsolicited data)")
    fetching.now = fetching.now + .seconds(1)
    fetching.drain()
    #expect(fetching.log.last == "modified 1")
  }

  @Test("The end of a session forgets everything and returns the waiting requests")
  func end() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.queue.learn("Mail", of: "mail", at: .zero)
    fetching.queue.add(3)
    #expect(fetching.queue.end() == [3])
    #expect(fetching.queue.count == 0)
    #expect(fetching.queue.names["mail"] == .unknown)
    #expect(fetching.next() == nil)
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
        fetching.queue.add(1)
      default:
        _ = fetching.step(app: ["a", "b", "nameless", nil][Int(uid % 4)]) {
          if uid < 8, present.contains(uid) { $0.event(.modified, uid) }
        }
      }
      fetching.now = fetching.now + .milliseconds(Int64.random(in: 0..<300, using: &random))
    }
    fetching.now = fetching.now + .seconds(60)
    fetching.drain()
    #expect(Set(fetching.ledger.told().map(\.report.event.uid.rawValue)) == present)
    #expect(fetching.queue.count == 0 && fetching.ledger.count == present.count)
  }
}
