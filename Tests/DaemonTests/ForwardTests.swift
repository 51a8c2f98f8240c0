// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import JSON
import Testing
import Wire

@testable import Daemon

@Suite("Forwarding: what is sent to whom, and when")
struct ForwardTests {
  private static let pauses = RetryPauses(longest: .seconds(300)) { 0.5 }
  private static let noon = TimeOfDay(WallTime(seconds: 43_200), zoneOffset: 0)

  private func target(_ text: String = "") throws -> ForwardTarget {
    let file = SettingsFile(Array("[[forward]]\nto = 'ntfy://ha.lan/board'\n\(text)".utf8))
    #expect(file.faults.isEmpty)
    return try #require(file.forwards.first?.value)
  }

  private func event(
    _ seq: UInt64, _ title: String = "Mum", category: Category = .social,
    flags: EventFlags = [], change: NotificationChange = .added
  ) -> NumberedEvent {
    var attributes = NotificationAttributes()
    attributes[.appIdentifier] = "com.apple.MobileSMS"
    attributes[.title] = title
    attributes[.message] = "Are you coming?"
    let report = NotificationReport(
      NotificationEvent(change, NotificationUID(rawValue: UInt32(seq)), category: category, flags: flags),
      attributes: attributes, app: "Messages")
    return NumberedEvent(seq: seq, time: WallTime(seconds: 0), Event(.notification(report)))
  }

  /// A queue takes an event at noon.
  ///
  /// - Returns: how many others are lost.
  @discardableResult private func take(
    _ event: NumberedEvent, _ queue: inout ForwardQueue, at now: Instant = .zero
  ) -> Int { queue.take(event, phone: nil, time: Self.noon, at: now) }

  private func titles(_ queue: inout ForwardQueue, at now: Instant = .zero) -> [String] {
    queue.next(at: now)?.map(\.title) ?? []
  }

  /// The first so many of the messages that are being sent are delivered; the next one fails.
  @discardableResult private func finish(
    _ queue: inout ForwardQueue, delivered: Int, at now: Instant
  ) -> Int {
    for _ in 0..<delivered { queue.delivered(at: now) }
    return queue.finished(at: now, Self.pauses)
  }

  /// What the other levels allow, the interop suite's cases `forward-day` and `forward-killed` have.
  @Test("Where the content is none, only the phone is named")
  func noContent() throws {
    var queue = ForwardQueue(try target("content = 'none'"))
    #expect(queue.take(event(1), phone: "Anna’s", time: Self.noon, at: .zero) == 0)
    let messages = queue.next(at: .zero)
    let message = try #require(messages?.first)
    #expect(message.title == "ancsd" && message.body == "A notification on Anna’s")
  }

  @Test(
    "Only what is new, selected, and not in the quiet hours is sent",
    arguments: [
      ("", "12:00", true), ("app = 'com.apple.*'", "12:00", true), ("app = 'x'", "12:00", false),
      ("title = '^Mum$'", "12:00", true), ("quiet = '22:00-07:00'", "06:59", false),
      ("quiet = '22:00-07:00'", "07:00", true),
    ])
  func selected(settings: String, time: String, isSent: Bool) throws {
    var queue = ForwardQueue(try target(settings))
    let time = try #require(TimeOfDay(time))
    for other in [
      event(1, flags: .preExisting), event(2, change: .modified), event(3, change: .removed),
    ] { _ = queue.take(other, phone: nil, time: time, at: .zero) }
    #expect(queue.count == 0)
    _ = queue.take(event(4), phone: nil, time: time, at: .zero)
    #expect(queue.count == (isSent ? 1 : 0))
    #expect(queue.handled == (isSent ? 3 : 4))
  }

  @Test("A failure is followed by growing pauses and single attempts; what was delivered is not repeated")
  func failures() throws {
    var queue = ForwardQueue(try target())
    for seq: UInt64 in 1...3 { take(event(seq), &queue) }
    #expect(titles(&queue).count == 3)
    #expect(queue.next(at: .zero) == nil)
    #expect(finish(&queue, delivered: 1, at: .zero) == 1)
    #expect(queue.handled == 1)
    var now = Instant.zero
    for seconds in [1, 2, 4, 8] {
      #expect(queue.deadline == now + .seconds(seconds))
      #expect(queue.next(at: now) == nil)
      now = now + .seconds(seconds)
      #expect(queue.next(at: now)?.count == 1)
      _ = finish(&queue, delivered: 0, at: now)
    }
    now = now + .seconds(16)
    #expect(queue.next(at: now)?.count == 1)
    #expect(finish(&queue, delivered: 1, at: now) == 0)
    #expect(queue.next(at: now)?.count == 1)
    _ = finish(&queue, delivered: 1, at: now)
    #expect(queue.count == 0 && queue.handled == 3 && queue.deadline == nil)
    // The same events again, as after a new connection.
    take(event(3), &queue, at: now)
    #expect(queue.count == 0)
  }

  @Test("What its destination will never take is over, and delays nothing")
  func refused() throws {
    var queue = ForwardQueue(try target())
    for seq: UInt64 in 1...3 { take(event(seq), &queue) }
    #expect(titles(&queue).count == 3)
    finish(&queue, delivered: 0, at: .zero)
    #expect(queue.next(at: .zero + .seconds(1))?.count == 1)
    queue.refused()
    #expect(finish(&queue, delivered: 0, at: .zero + .seconds(1)) == 0)
    #expect(queue.handled == 1 && queue.next(at: .zero + .seconds(1))?.count == 2)
  }

  @Test("What is too old or too much is given up, and counted")
  func lost() throws {
    var queue = ForwardQueue(try target("max-age = 60"))
    var lost = 0
    for seq in 1...UInt64(ForwardQueue.capacity + 5) { lost += take(event(seq), &queue) }
    #expect(lost == 5)
    #expect(queue.dropExpired(at: .zero + .seconds(59)) == 0)
    #expect(queue.next(at: .zero)?.count == ForwardQueue.batch)
    #expect(queue.dropExpired(at: .zero + .seconds(60)) == 0, "what is being sent may arrive yet")
    _ = finish(&queue, delivered: 0, at: .zero + .seconds(60))
    #expect(queue.dropExpired(at: .zero + .seconds(60)) == ForwardQueue.capacity)
    #expect(queue.handled == UInt64(ForwardQueue.capacity + 5))
  }

  @Test("A call passes what waits, and its end becomes one message with it")
  func calls() throws {
    var queue = ForwardQueue(try target("content = 'title'"))
    take(event(1, "Mum"), &queue)
    #expect(titles(&queue) == ["Mum – Messages"])
    take(event(2, "Dad"), &queue)
    take(event(3, "Grace", category: .incomingCall), &queue)
    take(event(4, "Anna", category: .incomingCall), &queue)
    take(event(5, "Grace", category: .missedCall), &queue)
    _ = finish(&queue, delivered: 1, at: .zero)
    let next = queue.next(at: .zero)
    #expect(next?.map(\.body) == ["Missed call", "Incoming call", "New notification"])
    _ = finish(&queue, delivered: 2, at: .zero)
    take(event(6, "Anna", category: .missedCall), &queue)
    #expect(titles(&queue, at: .zero + .seconds(1)) == ["Dad – Messages"])
  }

  @Test("A call is not lost in a full queue: the oldest of the others is")
  func callInFullQueue() throws {
    var queue = ForwardQueue(try target("content = 'title'"))
    for seq in 1...UInt64(ForwardQueue.capacity) { take(event(seq, "\(seq)"), &queue) }
    #expect(titles(&queue).count == ForwardQueue.batch)
    let call = event(600, "Grace", category: .incomingCall)
    #expect(take(call, &queue) == 1)
    finish(&queue, delivered: ForwardQueue.batch, at: .zero)
    #expect(titles(&queue).prefix(2) == ["Grace – Messages", "22 – Messages"])
  }

  @Test(
    "A call that is missed while its first message is sent makes one message, whether that arrives or fails",
    arguments: [true, false])
  func missedMeanwhile(isDelivered: Bool) throws {
    var queue = ForwardQueue(try target("content = 'title'"))
    take(event(1, "Grace", category: .incomingCall), &queue)
    #expect(titles(&queue).count == 1)
    take(event(2, "Grace", category: .missedCall), &queue)
    finish(&queue, delivered: isDelivered ? 1 : 0, at: .zero)
    let next = queue.next(at: .zero + .seconds(60))
    #expect(next?.map(\.body) == (isDelivered ? nil : ["Missed call"]))
    #expect(queue.handled == (isDelivered ? 2 : 1))
  }

  @Test("Who calls again soon is announced again, whatever became of the first call")
  func again() throws {
    var queue = ForwardQueue(try target("content = 'title'"))
    for seq in [1, 3] as [UInt64] {
      take(event(seq, "Grace", category: .incomingCall), &queue)
      #expect(queue.next(at: .zero)?.map(\.body) == ["Incoming call"])
      finish(&queue, delivered: 1, at: .zero)
      take(event(seq + 1, "Grace", category: .missedCall), &queue)
      #expect(queue.count == 0)
    }
    // While the message about a call is sent, that call has ended and another one comes.
    take(event(5, "Grace", category: .incomingCall), &queue)
    _ = queue.next(at: .zero)
    take(event(6, "Grace", category: .missedCall), &queue)
    take(event(7, "Grace", category: .incomingCall), &queue)
    finish(&queue, delivered: 1, at: .zero)
    #expect(queue.next(at: .zero)?.map(\.body) == ["Incoming call"])
  }

  @Test("Of two calls in two minutes, none is sent again because it was missed")
  func twoCalls() throws {
    var queue = ForwardQueue(try target("content = 'title'"))
    for (seq, name) in [(1, "Grace"), (2, "Anna")] as [(UInt64, String)] {
      take(event(seq, name, category: .incomingCall), &queue)
    }
    #expect(queue.next(at: .zero)?.count == 2)
    finish(&queue, delivered: 2, at: .zero)
    for (seq, name) in [(3, "Grace"), (4, "Anna")] as [(UInt64, String)] {
      take(event(seq, name, category: .missedCall), &queue, at: .zero + .seconds(119))
    }
    #expect(queue.count == 0)
    take(event(5, "Grace", category: .missedCall), &queue, at: .zero + .seconds(120))
    #expect(queue.count == 1)
  }

  @Test("Where only missed calls are sent, each is")
  func onlyMissed() throws {
    var queue = ForwardQueue(try target("category = 'missed-call'"))
    for seq in 1...2 as ClosedRange<UInt64> {
      take(event(seq * 2, "Grace", category: .incomingCall), &queue)
      take(event(seq * 2 + 1, "Grace", category: .missedCall), &queue)
      #expect(queue.next(at: .zero)?.map(\.body) == ["Missed call"])
      finish(&queue, delivered: 1, at: .zero)
    }
  }

  @Test("What happened before a new connection has the age that it has")
  func age() throws {
    var queue = ForwardQueue(try target("max-age = 60"))
    for (seq, age) in [(1, 61), (2, 59)] as [(UInt64, Int)] {
      _ = queue.take(event(seq), phone: nil, time: Self.noon, age: .seconds(age), at: .zero + .seconds(10))
    }
    #expect(queue.dropExpired(at: .zero + .seconds(10)) == 1)
    #expect(queue.count == 1 && queue.dropExpired(at: .zero + .seconds(11)) == 1)
  }

  @Test("What was delivered of a batch is handled at once, and a call of it is known afterwards")
  func handedOn() throws {
    var queue = ForwardQueue(try target())
    take(event(1, category: .incomingCall), &queue)
    for seq in 2...9 as ClosedRange<UInt64> { take(event(seq), &queue) }
    #expect(queue.next(at: .zero)?.count == 9)
    for _ in 0..<3 { queue.delivered(at: .zero) }
    #expect(queue.handled == 3 && queue.count == 6)
    var next = ForwardQueue(try target(), seen: queue.handled, calls: queue.calls)
    for seq in 1...10 as ClosedRange<UInt64> {
      let event = event(seq, category: seq == 10 ? .missedCall : .social)
      _ = next.take(event, phone: nil, time: Self.noon, at: .zero + .seconds(1))
    }
    #expect(next.count == 6)
  }

  @Test(
    "What was handled for a destination is known again by its URL, or else by its name",
    arguments: [
      ("a", "1", 1), ("b", "1", 2), ("a", "3", 1), ("d", "1", nil), ("d", "3", 3), ("c", "3", 3),
      ("d", "4", nil),
    ] as [(String, String, UInt64?)])
  func former(url: String, name: String, seq: UInt64?) throws {
    func target(_ url: String, _ name: String) throws -> ForwardTarget {
      let file = SettingsFile(Array("[[forward]]\nto = 'x://\(url)'\nname = '\(name)'".utf8))
      return try #require(file.forwards.first?.value)
    }
    var record = ForwardRecord()
    for (url, seq) in [("a", 1), ("b", 2), ("c", 3)] as [(String, UInt64)] {
      record.handled.append(
        .init(name: "\(seq)", destination: try target(url, "").digest, seq: seq))
    }
    let targets = [try target("a", "2"), try target("b", "4"), try target(url, name)]
    #expect(record.former(of: targets[2], among: targets)?.seq == seq)
    let read = try #require(ForwardRecord(json: try JSONValue(parsing: record.json)))
    #expect(read.former(of: targets[2], among: targets)?.seq == seq, "a file says the same")
  }

  @Test("Another run of the daemon counts its events from the first")
  func restart() throws {
    var queue = ForwardQueue(try target(), seen: 10)
    take(event(3), &queue)
    #expect(queue.count == 0)
    queue.restarted()
    take(event(3), &queue)
    #expect(queue.count == 1)
    // What waits from the earlier run has none of the new run's numbers.
    queue.restarted()
    take(event(5), &queue)
    #expect(queue.count == 2 && queue.handled == 4)
  }
}
