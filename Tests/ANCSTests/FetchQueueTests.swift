// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import TestLoop
import Testing
import Wire

/// The queue with a phone that answers everything, and its reports in order.
private struct Fetching {
  var queue = FetchQueue(AttributeSelection("title") ?? .none)
  /// `added 3`, `request 7`, …
  var log: [String] = []

  mutating func event(_ change: NotificationChange, _ uid: UInt32, _ flags: EventFlags = []) {
    report(queue.received(NotificationEvent(change, .init(rawValue: uid), flags: flags)))
  }

  mutating func report(_ report: NotificationReport?) {
    guard let report else { return }
    var words = "\(report.event.change) \(report.event.uid)"
    if let app = report.app { words += " \(app)" }
    if let failure = report.failure { words += " (\(failure))" }
    log.append(words)
  }

  /// Performs the next step; `during` happens while the phone is busy.
  mutating func step(app: String? = nil, during: (inout Fetching) -> Void = { _ in }) -> Bool {
    guard let step = queue.next() else { return false }
    switch step {
    case .report(let report): self.report(report)
    case .request(let number):
      log.append("request \(number)")
      queue.finishedRequest()
    case .appName(let app):
      log.append("ask \(app)")
      during(&self)
      report(queue.finished(appName: app == "nameless" ? nil : app.uppercased()))
    case .attributes:
      during(&self)
      let values = app.map { [DataSourceResponse.Attribute(id: 0, value: Array($0.utf8))] } ?? []
      report(
        queue.finished(
          attributes: NotificationAttributes(
            DataSourceResponse(.notification(0), values), requested: [])))
    }
    return true
  }

  mutating func drain() { while step() {} }
}

@Suite("ANCS: the order of fetching")
struct FetchQueueTests {
  /// The steps and the reports of one notification whose fetching is decided on.
  private static func decided(
    _ phone: [NotificationAttributeID: String],
    _ decide: @escaping (NotificationEvent, NotificationAttributes) -> FetchDecision
  ) -> [String] {
    var queue = FetchQueue(.all)
    queue.decide = decide
    var log: [String] = []
    func note(_ report: NotificationReport?) {
      if let report { log.append("report \(report.app ?? "-") \(report.attributes.title ?? "-")") }
    }
    note(queue.received(NotificationEvent(.added, 1)))
    while let step = queue.next() {
      switch step {
      case .report(let report): note(report)
      case .request: break
      case .appName(let app):
        log.append("name of \(app)")
        note(queue.finished(appName: "Mail"))
      case .attributes(_, let wanted):
        log.append(wanted.map { $0.id.name ?? "" }.joined(separator: ","))
        let values = wanted.compactMap { request in
          phone[request.id].map {
            DataSourceResponse.Attribute(id: request.id.rawValue, value: Array($0.utf8))
          }
        }
        note(
          queue.finished(
            attributes: NotificationAttributes(
              DataSourceResponse(.notification(1), values), requested: wanted)))
      }
    }
    return log
  }

  @Test("The text of a hidden app is never asked for, and neither is its name")
  func hidden() {
    let log = Self.decided([.appIdentifier: "com.spam", .title: "Buy"]) { _, known in
      known.appIdentifier == "com.spam"
        ? .enough : .attributes(AttributeSelection([.appIdentifier]))
    }
    #expect(log == ["app", "report com.spam -"])
  }

  @Test("What is decided after the app's identifier is fetched beside it, and nothing twice")
  func inTwoSteps() {
    let log = Self.decided([.appIdentifier: "com.mail", .title: "Hello"]) { _, known in
      .attributes(
        AttributeSelection(
          known.appIdentifier == nil ? [.appIdentifier] : [.appIdentifier, .title, .date]))
    }
    #expect(log == ["app", "title,date", "name of com.mail", "report Mail Hello"])
  }

  @Test("A phone that does not tell what is asked for is not asked for ever")
  func unanswered() {
    let log = Self.decided([:]) { _, _ in .attributes(AttributeSelection([.appIdentifier])) }
    #expect(log == ["app", "report - -"])
  }

  @Test("What is hidden at once costs no request")
  func hiddenAtOnce() {
    #expect(Self.decided([:]) { _, _ in .enough } == ["report - -"])
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

  @Test("A notification removed while it waits is not fetched, and its removal is reported at once")
  func removedWaiting() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.event(.added, 2)
    fetching.event(.removed, 1)
    fetching.drain()
    #expect(fetching.log == ["removed 1", "added 2"])
    #expect(fetching.queue.count == 0)
  }

  @Test("A notification removed while it is fetched is not reported")
  func removedFetching() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    _ = fetching.step { $0.event(.removed, 1) }
    fetching.drain()
    #expect(fetching.log == ["removed 1"])
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

  @Test("A change during a fetch that is in its answer already is reported once")
  func modifiedFetchingSame() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    _ = fetching.step(app: "") { $0.event(.modified, 1) }
    _ = fetching.step(app: "") { $0.event(.modified, 1) }
    _ = fetching.step(app: "")
    #expect(fetching.log == ["added 1 "])
    #expect(fetching.queue.count == 0)
    // The same again later is a change.
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
    #expect(fetching.log == ["removed 1", "added 1"])
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
    #expect(fetching.log == ["ask mail", "removed 1", "added 2 MAIL"])
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
    guard case .attributes(1, _) = fetching.queue.next() else {
      Issue.record("the first notification is not fetched")
      return
    }
    #expect(fetching.queue.isBusy)
    #expect(fetching.queue.next() == nil)
    fetching.report(fetching.queue.failed(.timedOut))
    fetching.drain()
    #expect(fetching.log == ["added 1 (the phone did not answer in time)", "added 2"])
  }

  @Test("While the phone refuses access, everything waits in order except requests")
  func held() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.event(.added, 2)
    _ = fetching.queue.next()
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
    _ = fetching.queue.next()
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

  @Test("Notifications beyond the capacity are reported without being fetched")
  func overflow() {
    var fetching = Fetching()
    for uid in 0..<UInt32(FetchQueue.capacity) {
      fetching.event(.added, uid)
    }
    #expect(fetching.log.isEmpty)
    fetching.event(.added, 99_999)
    fetching.event(.modified, 5)
    #expect(fetching.log == ["added 99999 (too many notifications are waiting)"])
  }

  @Test("An unknown change is ignored")
  func unknownChange() {
    var fetching = Fetching()
    fetching.event(NotificationChange(rawValue: 3), 1)
    fetching.drain()
    #expect(fetching.log.isEmpty)
  }

  @Test("The end of a session forgets everything and returns the waiting requests")
  func end() {
    var fetching = Fetching()
    fetching.event(.added, 1)
    fetching.queue.learn("Mail", of: "mail")
    fetching.queue.add(3)
    #expect(fetching.queue.end() == [3])
    #expect(fetching.queue.count == 0)
    #expect(fetching.queue.names["mail"] == .unknown)
    #expect(fetching.queue.next() == nil)
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
    var lastTold: [UInt32: String] = [:]
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
        _ = fetching.step(app: ["a", "b", "nameless", nil][Int(uid % 4)])
      }
    }
    fetching.drain()
    for line in fetching.log {
      let words = line.split(separator: " ")
      if words.count > 1, let uid = UInt32(words[1]), words[0] != "request", words[0] != "ask" {
        lastTold[uid] = String(words[0])
      }
    }
    for uid in UInt32(0)..<40 where lastTold[uid] != nil {
      #expect((lastTold[uid] != "removed") == present.contains(uid))
    }
  }
}
