// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import TestLoop
import Testing

@Suite("ANCS: dead sessions")
struct WatchingTests {
  private let titles = ConsumerSettings(AttributeSelection([.title]))

  @Test("A response proves access only if it is about a notification, or where the settings say so")
  func proof() throws {
    var trusting = titles
    trusting.timing.responsesProve = true
    for settings in [titles, trusting] {
      try Session.serve(settings) { loop, session in
        session.phone.apps = ["mail": "Mail"]
        await loop.sleep(for: .seconds(60))
        let name = try await session.consumer.name(of: "mail")
        #expect(name == "Mail")
        let isTrusting = settings.timing.responsesProve
        #expect(session.log.last?.hasSuffix("granted") == isTrusting)
        session.phone.add(1, [1: "t"])
        await loop.sleep(for: .seconds(1))
        #expect(session.log.filter { $0 == "authorization granted" }.count == 1)
      }
    }
  }

  @Test(
    "Pre-existing counts for ten seconds after a subscription, or for another time: later it is news",
    arguments: [(10, 9, true), (10, 11, false), (30, 29, true), (1, 2, false)])
  func newsIsNews(limit: Int, seconds: Int, isOld: Bool) throws {
    var settings = titles
    settings.timing.preExisting = .seconds(limit)
    try Session.serve(settings) { loop, session in
      var incoming: [NotificationEvent] = []
      session.consumer.onIncoming = { incoming.append($0) }
      await loop.sleep(for: .seconds(seconds))
      session.phone.add(1, [1: "t"], .social, [.preExisting, .silent])
      await loop.sleep(for: .seconds(1))
      #expect(incoming.map(\.flags) == [isOld ? [.preExisting, .silent] : .silent])
      #expect(session.ledger[1]?.event.flags == incoming.first?.flags)
    }
  }

  @Test("A phone that refuses access is asked again, and then everything that waited is reported")
  func authorization() throws {
    try Session.serve(titles) { loop, session in
      session.phone.react = { _ in .refuse(0x03) }
      for uid in UInt32(1)...3 { session.phone.add(uid, [1: "t\(uid)"]) }
      await loop.sleep(for: .seconds(600))
      #expect(session.log == ["authorization refused"])
      // 5, 10, 20, 40 and then every 60 seconds.
      #expect((12...16).contains(session.phone.commands.count))
      session.phone.react = { _ in nil }
      await loop.sleep(for: .seconds(61))
      #expect(
        session.log == ["authorization refused", "authorization granted", "added 1 t1", "added 2 t2", "added 3 t3"])
      session.phone.react = { _ in .refuse(0x03) }
      session.phone.notify(.added, 3)
      await loop.sleep(for: .seconds(1))
      #expect(session.log.last == "authorization refused")
    }
  }

  @Test("An event from a phone that refused brings the next attempt forward, but not to the same moment")
  func newsWhileRefused() throws {
    try Session.serve(titles) { loop, session in
      session.phone.react = { _ in .refuse(0x03) }
      await loop.sleep(for: .seconds(200))
      let before = session.phone.commands.count
      for uid in UInt32(0)..<1000 {
        session.phone.notify(.added, uid)
        await loop.sleep(for: .milliseconds(10))
      }
      #expect((1...3).contains(session.phone.commands.count - before))
    }
  }

  @Test("A silent phone is probed at once, and every fifteen minutes; a good session is left alone")
  func probing() throws {
    try Session.serve(titles) { loop, session in
      await loop.sleep(for: .seconds(60))
      #expect(session.log == ["authorization unknown until a notification"])
      #expect(session.phone.commands == [.probe])
      #expect(loop.clock.scheduled == 1, "it wakes up for anything but the next probe")
      await loop.sleep(for: .seconds(3540))
      #expect(session.phone.commands.count { $0 == .probe } == 4)
      #expect(session.phone.log.count == 2)
      #expect(session.stale == 0)
    }
  }

  @Test("A phone that forgot the session is subscribed to again, its Notification Source first, and reported as stale")
  func forgotten() throws {
    try Session.serve(titles) { loop, session in
      session.phone.add(1, [1: "t"])
      await loop.sleep(for: .seconds(10))
      var isForgotten = true
      session.phone.react = { command in
        guard command == .probe, isForgotten else { return nil }
        isForgotten = false
        return .refuse(0xA0)
      }
      await loop.sleep(for: .seconds(900))
      #expect(session.log == ["authorization granted", "added 1 t", "stale", "removed 1 t"])
      #expect(session.ledger.count == 0)
      #expect(session.phone.log == ["41 = 0100", "44 = 0100", "41 = 0000", "44 = 0000", "41 = 0100", "44 = 0100"])
      session.phone.notify(.added, 1, .social, .preExisting)
      await loop.sleep(for: .seconds(1))
      #expect(session.told.last == "added 1 t")
    }
  }

  @Test("Requests that wait while the session starts over fail: a UID may be another notification's in the new one")
  func requestsWhileForgotten() throws {
    try Session.serve(titles) { loop, session in
      session.phone.add(1, [1: "t"])
      await loop.sleep(for: .milliseconds(899_900))
      session.phone.react = { $0 == .probe ? .refuse(0xA0) : nil }
      var requests: [Started<Void>] = []
      let sent = session.phone.bearer.requestsSent
      while session.phone.bearer.requestsSent == sent { await loop.sleep(for: .microseconds(300)) }
      requests.append(loop.start { try await session.consumer.act(1, .negative) })
      #expect(session.phone.commands.last != .probe)
      while session.phone.log.count == 2 { await loop.sleep(for: .microseconds(300)) }
      #expect(session.phone.commands.last == .probe)
      requests.append(loop.start { try await session.consumer.act(1, .negative) })
      await loop.sleep(for: .seconds(1))
      #expect(session.stale == 1 && session.phone.commands.last == .probe)
      for request in requests {
        let failure = try #require(request.failure)
        #expect("\(failure)".contains("list them again"))
      }
      session.phone.notify(.added, 1, .social, .preExisting)
      await loop.sleep(for: .seconds(1))
      try await session.consumer.act(1, .negative)
    }
  }

  @Test("A service that ends while it is subscribed to again is not written to: where it was, there may be another one")
  func endedWhileForgotten() throws {
    try Session.serve(titles) { loop, session in
      session.phone.add(1, [1: "t"])
      await loop.sleep(for: .milliseconds(899_900))
      session.phone.react = { $0 == .probe ? .refuse(0xA0) : nil }
      while session.phone.log.count == 2 { await loop.sleep(for: .microseconds(300)) }
      session.consumer.end()
      await loop.sleep(for: .seconds(1))
      #expect(session.phone.log == ["41 = 0100", "44 = 0100", "41 = 0000", "44 = 0000"])
    }
  }

  @Test("A phone that responds slowly to a probe is stale; one that never responds ends the link")
  func slowProbe() throws {
    try Session.serve(titles) { loop, session in
      await loop.sleep(for: .seconds(10))
      session.phone.react = { $0 == .probe ? .ignore : nil }
      await loop.sleep(for: .seconds(896))
      #expect(session.stale == 0)
      await loop.sleep(for: .seconds(6))
      #expect(session.stale == 1)
      await loop.sleep(for: .seconds(40))
      #expect(session.serving?.failure as? ATTFailure == .timedOut(.writeRequest))
      #expect(session.stale == 1)
    }
  }

  @Test("Where the MTU has room, the first probe is for the name of an app")
  func probeByName() throws {
    try Session.run(titles) { loop, session in
      session.phone.apps = ["com.apple.MobileSMS": "Messages"]
      session.phone.bearer.receive(PDU.exchangeMTURequest(clientMTU: 185).encoded)
      try await session.begin(loop)
      await loop.sleep(for: .seconds(2))
      #expect(
        session.phone.commands == [
          .getAppAttributes(appIdentifier: "com.apple.MobileSMS", [.displayName])
        ])
      #expect(session.log == ["authorization unknown until a notification"])
      #expect(try await session.consumer.name(of: "com.apple.MobileSMS") == "Messages")
      #expect(session.phone.commands.count == 1)
    }
  }

  @Test(
    "A session is dead after two probes without a response, or when its Control Point is gone",
    arguments: [(0xA0, 906), (0x0E, 906), (0x01, 901), (0x12, 901)] as [(UInt8, Int64)])
  func dead(code: UInt8, after seconds: Int64) throws {
    try Session.serve(titles) { loop, session in
      await loop.sleep(for: .seconds(10))
      session.phone.react = { _ in .refuse(code) }
      await loop.sleep(for: .seconds(seconds - 11))
      #expect(session.deaths.isEmpty)
      await loop.sleep(for: .seconds(2))
      #expect(session.deaths.count == 1)
      #expect(session.serving?.result != nil)
      #expect(session.serving?.failure == nil)
      await loop.sleep(for: .seconds(3600))
      #expect(session.deaths.count == 1)
      #expect(loop.clock.scheduled == 0)
    }
  }

  @Test("A response that does not come is followed by a probe at once, and later asked for again")
  func doubt() throws {
    try Session.serve(titles) { loop, session in
      await loop.sleep(for: .seconds(60))
      session.phone.react = { $0 == .probe ? nil : .response([]) }
      session.phone.add(1, [1: "t"])
      await loop.sleep(for: .seconds(11))
      let wanted = session.phone.commands[1]
      #expect(session.phone.commands[2...] == [.probe])
      await loop.sleep(for: .seconds(60))
      #expect(session.phone.commands[2...] == [.probe, wanted, .probe])
      #expect(session.told == ["added 1 (the phone did not respond in time)"])
    }
  }

  @Test("An event of a reserved kind makes no notification")
  func reserved() throws {
    try Session.serve(titles) { loop, session in
      session.phone.notify(NotificationChange(rawValue: 3), 1)
      await loop.sleep(for: .seconds(1))
      #expect(session.ledger.count == 0)
      #expect(session.told == [])
      #expect(session.dropped == 1)
    }
  }

  @Test("A phone that had lost its subscriptions announces what it has; what it does not announce is removed")
  func lostSubscriptions() throws {
    try Session.serve(titles) { loop, session in
      session.phone.add(7, [1: "A"])
      await loop.sleep(for: .seconds(6 * 3600 + 5))
      #expect(session.phone.log.count == 4)
      session.phone.add(8, [1: "B"], .social, .preExisting)
      await loop.sleep(for: .seconds(10))
      #expect(session.told == ["added 7 A", "added 8 B", "removed 7 A"])
      // Only the first one starts over.
      session.phone.add(9, [1: "C"], .social, .preExisting)
      await loop.sleep(for: .seconds(10))
      #expect(session.told.last == "added 9 C" && session.ledger.count == 2)
    }
  }

  @Test("A call whose removal is lost is ended once")
  func lostCall() throws {
    try Session.serve(titles) { loop, session in
      session.phone.add(1, [1: "Mum"], .incomingCall)
      session.phone.add(2, [1: "Dad"], .incomingCall)
      await loop.sleep(for: .seconds(30))
      session.phone.notify(.removed, 2, .incomingCall)
      await loop.sleep(for: .seconds(85))
      #expect(session.told == ["added 1 Mum", "added 2 Dad", "removed 2 Dad"])
      await loop.sleep(for: .seconds(10))
      #expect(session.told.last == "removed 1 Mum")
      #expect(session.ledger.count == 0)
      // The removal came late.
      session.phone.notify(.removed, 1, .incomingCall)
      await loop.sleep(for: .seconds(300))
      #expect(session.told.count == 4)
    }
  }
}

@Suite("ANCS: users' requests")
struct RequestTests {
  private let lazily = ConsumerSettings(.none)

  @Test("Attributes that were not fetched are fetched on request, and then known")
  func get() throws {
    try Session.serve(lazily) { loop, session in
      session.phone.apps = ["mail": "Mail"]
      session.phone.add(1, [0: "mail", 1: "Hello", 3: "World"])
      await loop.settle()
      #expect(session.told == ["added 1"])
      #expect(session.phone.commands.isEmpty)
      let first = try await session.consumer.get(1, [.title, .appIdentifier])
      #expect(first.attributes.title == "Hello" && first.app == "Mail")
      #expect(first.attributes.message == nil)
      let more = try await session.consumer.get(1, [.title, .message])
      #expect(more.attributes.message == "World")
      let again = try await session.consumer.get(1, [.title, .message, .appIdentifier])
      #expect(again.attributes.title == "Hello")
      #expect(session.phone.commands.count == 3)
      #expect(session.ledger[1]?.attributes.message == "World")
    }
  }

  @Test("The phone is not asked for the name of an app with an identifier longer than any")
  func longIdentifier() throws {
    try Session.serve(lazily) { loop, session in
      let name = try await session.consumer.name(of: String(repeating: "a", count: 16_000))
      #expect(name == nil && session.phone.commands.isEmpty)
    }
  }

  @Test("What could not be fetched is still missing until a user has had all of it fetched")
  func getPartOfFailed() throws {
    try Session.serve(ConsumerSettings(AttributeSelection([.title, .message]))) { loop, session in
      session.phone.react = { [unowned phone = session.phone] _ in
        phone.commands.count == 1 ? .refuse(0xA3) : nil
      }
      session.phone.add(1, [1: "Hello", 3: "World"])
      await loop.sleep(for: .seconds(1))
      #expect(session.told == ["added 1 (Action Failed)"])
      for (attribute, failure) in [(.title, "Action Failed"), (.message, nil)] as [(NotificationAttributeID, String?)] {
        let got = try await session.consumer.get(1, [attribute])
        #expect(got.attributes.has(attribute) && got.failure == failure)
        #expect(session.ledger[1]?.failure == failure)
      }
    }
  }

  @Test("What a user has fetched before the phone's change was reported is reported anyway")
  func getBeforeChange() throws {
    try Session.serve(ConsumerSettings(AttributeSelection([.title]))) { loop, session in
      session.phone.react = { [unowned phone = session.phone] _ in
        phone.commands.count == 1 ? .response([]) : nil
      }
      session.phone.add(1, [1: "Hello"])
      await loop.sleep(for: .seconds(11))
      let get = loop.start { try await session.consumer.get(1, [.title]) }
      await loop.sleep(for: .seconds(30))
      #expect(get.value?.attributes.title == "Hello")
      #expect(session.told == ["added 1 (the phone did not respond in time)", "modified 1 Hello"])
    }
  }

  @Test("An action is performed, or fails with the phone's error")
  func act() throws {
    try Session.serve(lazily) { loop, session in
      session.phone.notifications = [1: [:], 2: [:]]
      session.phone.react = { $0 == .performNotificationAction(2, .negative) ? .refuse(0xA3) : nil }
      let done = loop.start { try await session.consumer.act(1, .positive) }
      let failed = loop.start { try await session.consumer.act(2, .negative) }
      let gone = loop.start { try await session.consumer.act(3, .negative) }
      await loop.sleep(for: .seconds(1))
      #expect(done.failure == nil)
      #expect(done.value != nil)
      #expect((failed.failure as? FetchFailure)?.description == "Action Failed")
      #expect((gone.failure as? FetchFailure)?.code?.rawValue == 0xA2)
      #expect(session.phone.commands.first == .performNotificationAction(1, .positive))
    }
  }

  @Test("What is listed of an earlier session is not acted on before the phone has announced it in this one")
  func actOnStale() throws {
    try Session.serve(ConsumerSettings(AttributeSelection([.title]))) { loop, session in
      for (uid, name) in [(1, "Mum"), (2, "Dad")] as [(UInt32, String)] { session.phone.add(uid, [1: name]) }
      session.phone.react = { $0 == .probe ? .refuse(0xA0) : nil }
      while session.stale == 0 { await loop.sleep(for: .seconds(1)) }
      session.phone.react = { _ in nil }
      await loop.sleep(for: .seconds(1))
      let stale = loop.start { try await session.consumer.act(2, .negative) }
      await loop.sleep(for: .seconds(1))
      #expect(stale.failure.map { "\($0)" }?.contains("list them again") == true)
      session.phone.notifications = [:]
      session.phone.add(1, [1: "Dad"], .social, .preExisting)
      await loop.sleep(for: .seconds(1))
      #expect(session.ledger[1]?.attributes.title == "Dad")
      try await session.consumer.act(1, .negative)
      #expect(!session.phone.commands.contains(.performNotificationAction(2, .negative)))
    }
  }

  @Test("A request is tried even while the phone refuses access")
  func whileRefused() throws {
    try Session.serve(lazily) { loop, session in
      session.phone.notifications = [1: [1: "Hello"]]
      session.phone.react = { _ in .refuse(0x03) }
      let refused = loop.start { try await session.consumer.get(1, [.title]) }
      await loop.sleep(for: .milliseconds(100))
      #expect((refused.failure as? FetchFailure)?.code == .writeNotPermitted)
      #expect(session.log == ["authorization refused"])
      session.phone.react = { _ in nil }
      let got = try await session.consumer.get(1, [.title])
      #expect(got.attributes.title == "Hello")
      #expect(session.log == ["authorization refused", "authorization granted"])
    }
  }

  @Test(
    "The end of a session, or of its link, fails every request, and later ones",
    arguments: [false, true])
  func end(isLinkLost: Bool) throws {
    try Session.serve(lazily) { loop, session in
      session.phone.notifications = [1: [1: "Hello"]]
      session.phone.react = { _ in isLinkLost ? .ignore : .response([]) }
      let underWay = loop.start { _ = try await session.consumer.get(1, [.title]) }
      let waiting = loop.start { try await session.consumer.act(1, .positive) }
      await loop.sleep(for: .milliseconds(100))
      if isLinkLost {
        session.phone.bearer.close(.closed("gone"))
      } else {
        session.consumer.end()
      }
      await loop.settle()
      let later = loop.start { _ = try await session.consumer.name(of: "mail") }
      await loop.settle()
      for request in [underWay, waiting, later] {
        #expect(request.failure as? FetchFailure == .ended)
      }
      #expect(session.serving?.result != nil)
      #expect(session.serving?.failure as? ATTFailure == (isLinkLost ? .closed("gone") : nil))
      session.phone.notify(.added, 5)
      #expect(session.ledger.count == 0)
      #expect(loop.clock.scheduled == 0)
    }
  }
}
