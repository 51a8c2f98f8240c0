// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import GATT
import TestLoop
import Testing

@Suite("ANCS: a session with a phone")
struct ConsumerTests {
  private let titles = ConsumerSettings(AttributeSelection([.title]))
  private let apps = ConsumerSettings(AttributeSelection([.appIdentifier, .title, .date]))

  @Test("A refused subscription is tried again a few times")
  func insist() throws {
    try Session.run { loop, session in
      var refusals = 0
      session.phone.refuseSubscription = { _ in
        refusals += 1
        return refusals < 3 ? 0x0E : nil
      }
      try await session.consumer.subscribe()
      #expect(session.phone.log.count == 4)
      session.phone.refuseSubscription = { _ in 0x0E }
      let hopeless = loop.start { try await session.consumer.subscribe() }
      await loop.sleep(for: .seconds(60))
      #expect((hopeless.failure as? ATTFailure)?.code == .unlikelyError)
    }
  }

  @Test("A session that can't be subscribed to leaves nothing in memory")
  func freed() throws {
    try TestLoop.run { loop in
      let phone = StubPhone(loop.clock)
      phone.refuseSubscription = { _ in 0x0E }
      var consumer = NotificationConsumer(phone.client, StubPhone.service)
      weak let left = consumer
      try #require(left != nil)
      let subscribing = loop.start { [consumer] in try await consumer?.subscribe() }
      consumer = nil
      await loop.sleep(for: .seconds(60))
      #expect(subscribing.failure != nil)
      #expect(left == nil)
    }
  }

  @Test(
    "The response is assembled from any fragments, before or after the Write Response",
    arguments: [1, 3, 20, 500], [true, false])
  func fragments(length: Int, isDataFirst: Bool) throws {
    try Session.serve(titles) { loop, session in
      let phone = session.phone
      phone.fragment = length
      phone.react = { [unowned phone] command in
        guard isDataFirst, case .response(let values) = phone.usual(command) else { return nil }
        return .responseFirst(values)
      }
      phone.add(1, [1: String(repeating: "x", count: 100)])
      await loop.sleep(for: .milliseconds(500))
      #expect(session.reports.first?.attributes.title?.count == 100)
      #expect(session.dropped == 0)
    }
  }

  @Test("A Data Source that falls silent fails its notification only, and late bytes do no harm")
  func silence() throws {
    try Session.serve(titles) { loop, session in
      let phone = session.phone
      phone.react = { [unowned phone] command in
        guard case .getNotificationAttributes(let uid, _) = command,
          case .response(let values) = phone.usual(command)
        else { return nil }
        // The rest of the first response arrives during the second command.
        let late = uid == 2 ? [Array("one one".utf8)] : []
        return .response(uid == 1 ? [values[0]] : late + values)
      }
      for (uid, title) in [(UInt32(1), "one one one one one"), (2, "two"), (3, "three")] {
        phone.add(uid, [1: title])
      }
      await loop.sleep(for: .seconds(9))
      #expect(session.told == [])
      await loop.sleep(for: .seconds(2))
      #expect(session.told == ["added 1 (the phone did not respond in time)", "added 2 two", "added 3 three"])
      #expect(session.dropped == 1)
    }
  }

  @Test("Each fragment extends the timeout by ten seconds, up to a limit")
  func dribble() throws {
    try Session.serve(titles) { loop, session in
      let phone = session.phone
      phone.react = { $0.notification == 1 ? .response([]) : nil }
      phone.add(1, [1: "twelve bytes"])
      phone.add(2, [1: "t"])
      let response = DataSourceResponse(
        .notification(1), [.init(id: 1, value: Array("twelve bytes".utf8))])
      for byte in response.encoded.dropLast(8) {
        await loop.sleep(for: .seconds(9))
        phone.notifyData([byte])
      }
      #expect(session.told.isEmpty)
      await loop.sleep(for: .seconds(30))
      #expect(session.told == ["added 1 (the phone did not respond in time)", "added 2 t"])
    }
  }

  @Test(
    "An app whose id does not fit into a write is asked for in parts; if the phone refuses that, the reason is given",
    arguments: [true, false])
  func longIdentifier(takesLongWrites: Bool) throws {
    try Session.serve(ConsumerSettings(AttributeSelection([.appIdentifier]))) { loop, session in
      let phone = session.phone
      let app = "com.example.an-app-with-a-long-id"
      phone.apps = [app: "Long"]
      phone.takesLongWrites = takesLongWrites
      for uid in UInt32(1)...2 { phone.add(uid, [0: app]) }
      await loop.sleep(for: .seconds(1))
      let reason = " (the app's name was not fetched: Request Not Supported)"
      let name = takesLongWrites ? "Long" : app + reason
      #expect(session.told == ["added 1 @\(name)", "added 2 @\(name)"])
    }
  }

  @Test(
    "A refusal or a wrong response fails its own notification only, and what may pass is asked for again",
    arguments: [
      (.refuse(0xA2), "Invalid Parameter", false), (.refuse(0x0E), "Unlikely Error", true),
      (.response([[7]]), "the phone sent the response to another command (7)", true),
      (.response([[0, 9, 0, 0, 0]]), "the phone sent the response for notification 9 instead of 1", true),
      (.response([[0, 1, 0, 0, 0, 3]]), "the phone sent attribute 3 where another was requested", true),
      (
        .response([[0, 1, 0, 0, 0, 1, 0xFF, 0xFF]]),
        "the phone sent attribute 1 of 65535 bytes where at most 256 were requested", true
      ),
    ] as [(StubPhone.Reaction, String, Bool)])
  func failures(reaction: StubPhone.Reaction, reason: String, mayPass: Bool) throws {
    try Session.serve(titles) { loop, session in
      session.phone.react = { $0.notification == 1 ? reaction : nil }
      session.phone.notify(.added, 1)
      session.phone.add(2, [1: "two"])
      await loop.sleep(for: .milliseconds(100))
      // What may pass is asked for once more, behind the others.
      let failed = "added 1 (\(reason))"
      #expect(session.told == (mayPass ? ["added 2 two", failed] : [failed, "added 2 two"]))
    }
  }

  @Test("A missing app name is requested again, after growing pauses")
  func nameAgain() throws {
    try Session.serve(apps) { loop, session in
      session.phone.notifications = [1: [0: "mail", 1: "t"]]
      session.phone.react = { $0.isAboutApp ? .refuse(0x0E) : nil }
      for _ in 0..<3600 {
        session.phone.notify(.added, 1)
        await loop.sleep(for: .seconds(1))
      }
      #expect((5...12).contains(session.phone.commands.count(where: \.isAboutApp)))
      #expect(session.told.last?.contains("@mail (the app's name was not fetched") == true)
      session.phone.react = { _ in nil }
      session.phone.apps = ["mail": "Mail"]
      await loop.sleep(for: .seconds(3600))
      session.phone.notify(.added, 1)
      await loop.sleep(for: .seconds(1))
      #expect(session.told.last == "modified 1 t @Mail")
    }
  }

  @Test("A repeated request for a name delays nothing else")
  func nameInBackground() throws {
    try Session.serve(apps) { loop, session in
      session.phone.react = { $0.isAboutApp ? .response([]) : nil }
      session.phone.add(1, [0: "mail", 1: "t1"])
      await loop.sleep(for: .seconds(3600))
      let before = session.told.count
      for uid in UInt32(2)...50 { session.phone.add(uid, [0: "mail", 1: "t\(uid)"]) }
      await loop.sleep(for: .seconds(1))
      #expect(session.told.count - before >= 48)
    }
  }

  @Test("New rules that show thousands of hidden notifications report each of them")
  func thousandsShown() throws {
    try Session.serve(ConsumerSettings(.none)) { loop, session in
      session.notifications.rulesChanged { _, _ in Judgement(.hidden, isFinal: true) }
      for uid in UInt32(1)...16_000 { session.phone.notify(.added, uid) }
      #expect(session.told == [])
      session.notifications.rulesChanged(AttributeSelection.none.judge)
      #expect(session.told == (1...16_000).map { "added \($0)" })
    }
  }

  @Test("A phone without Control Point and Data Source still reports notifications")
  func onlyNotificationSource() throws {
    try TestLoop.run { loop in
      let phone = StubPhone(loop.clock)
      var service = StubPhone.service
      service.characteristics = [service.characteristics[1]]
      let consumer = try #require(NotificationConsumer(phone.client, service))
      var told: [NotificationChange] = []
      consumer.notifications.onPublish = { told.append($0.event.change) }
      try await consumer.subscribe()
      loop.start { try await consumer.run() }
      phone.notify(.added, 1)
      await loop.sleep(for: .seconds(3600))
      #expect(told == [.added])
      #expect(phone.commands.isEmpty)
      let get = loop.start { try await consumer.get(1) }
      await loop.settle()
      #expect(get.failure as? FetchFailure == .unsupported)
      service.characteristics[0].cccd = nil
      #expect(NotificationConsumer(phone.client, service) == nil, "nobody can subscribe to it")
    }
  }
}
