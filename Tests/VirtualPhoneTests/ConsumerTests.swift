// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import GAP
import GATT
import TestLoop
import Testing
import VirtualPhone
import Wire

/// A consumer at the other end of a phone's link, and what it reported.
final class Consumer {
  let bench: Bench
  var settings = ConsumerSettings()
  private(set) var session: NotificationConsumer?
  private(set) var reports: [NotificationReport] = []
  private(set) var incoming: [NotificationEvent] = []
  private(set) var authorization: [Authorization] = []
  private(set) var stale: [String] = []
  private(set) var dropped: [String] = []
  private let notifications: PhoneNotifications

  init(_ bench: Bench) {
    self.bench = bench
    notifications = PhoneNotifications(keeping: .zero, bench.bearer.scheduler)
    notifications.onPublish = { [unowned self] in reports.append($0) }
  }

  /// Begins a session, which runs beside the test.
  func begin(_ loop: isolated TestLoop) async throws {
    if bench.bearer.mtu != bench.bearer.receiveMTU { try await bench.bearer.exchangeMTU() }
    let service = try #require(try await bench.client.locate(.notificationCenter))
    let session = try #require(
      NotificationConsumer(bench.client, service, settings: settings, notifications: notifications))
    session.onIncoming = { [unowned self] in incoming.append($0) }
    session.onAuthorization = { [unowned self] in authorization.append($0) }
    session.onStale = { [unowned self] in stale.append($0) }
    session.onDropped = { [unowned self] in dropped.append($1) }
    self.session = session
    try await session.subscribe()
    loop.start { try await session.run() }
  }

  /// Ends the session.
  func end() {
    guard let session else { return }
    session.end()
    self.session = nil
  }

  /// Lets time pass until there are this many reports, for an hour at most.
  func wait(for count: Int) async {
    for _ in 0..<36_000 where reports.count < count { await bench.pass(.milliseconds(100)) }
  }

  func forgetReports() { reports = [] }
}

@Suite("Consumer and virtual phone, end to end")
struct ConsumerTests {
  static func numbered(_ count: Int) -> PhoneCommand {
    .burst(
      count,
      NotificationContents(
        .social, app: "com.apple.MobileSMS", title: "Number", subtitle: "subtitle",
        message: "message 🍰", negative: "Clear"))
  }

  static func run(
    mtu: Int = 185, _ body: @escaping @Sendable (isolated TestLoop, Consumer) async throws -> Void
  ) throws {
    try TestLoop.run { loop in
      var configuration = VirtualPhone.Configuration()
      configuration.receiveMTU = max(mtu, 185)
      let consumer = Consumer(Bench(loop, mtu: mtu, configuration))
      try await body(loop, consumer)
      consumer.end()
      #expect(consumer.bench.violations == [])
    }
  }

  @Test("Five hundred notifications at once arrive in order, complete, and none is lost")
  func burst() throws {
    try Self.run { loop, consumer in
      try await consumer.begin(loop)
      try consumer.bench.phone.perform(Self.numbered(500))
      await consumer.wait(for: 500)
      #expect(consumer.reports.map(\.event.uid.rawValue) == Array(1...500))
      #expect(consumer.reports.map(\.attributes.title) == (1...500).map { "Number \($0)" })
      #expect(consumer.reports.allSatisfy { $0.app == "Messages" && $0.failure == nil })
      #expect(consumer.reports.allSatisfy { $0.attributes.message == "message 🍰" })
      let commands = consumer.bench.events.count {
        if case .controlPoint = $0 { true } else { false }
      }
      #expect(commands == 501, "an app's name is asked for once")
    }
  }

  @Test(
    "Every size of a fragment, at small MTUs and large ones",
    arguments: [(23, 1), (23, 20), (24, 2), (64, 3), (185, 1), (185, 181), (185, 182), (517, 514)])
  func fragments(mtu: Int, size: Int) throws {
    try Self.run(mtu: mtu) { loop, consumer in
      let phone = consumer.bench.phone
      try phone.perform(.fragments(ofAtMost: size))
      try await consumer.begin(loop)
      var long = NotificationContents(.email, app: "com.apple.mobilemail", title: "T")
      for length in [0, 1, 100, 142, 143, 144, 1023, 1024, 1025, 3000] {
        long[.message] = String(repeating: "x", count: length)
        try phone.perform(.add(long))
      }
      await consumer.wait(for: 10)
      let lengths = consumer.reports.map { $0.attributes.message?.utf8.count }
      #expect(lengths == [0, 1, 100, 142, 143, 144, 1023, 1024, 1024, 1024])
      #expect(
        consumer.reports.map { !$0.attributes.truncated.isEmpty }.suffix(3) == [false, true, true])
      #expect(consumer.reports.allSatisfy { $0.app == "Mail" })
      #expect(consumer.dropped == [])
    }
  }

  @Test("Only a character that the maximum length cuts is lost")
  func halfCharacters() throws {
    let text = "aä€🍰"
    for maximum in UInt16(1)...10 {
      try Self.run { loop, consumer in
        consumer.settings.selection.maximumLengths[.message] = maximum
        try await consumer.begin(loop)
        try consumer.bench.phone.perform(
          .add(NotificationContents(.social, app: "com.apple.MobileSMS", message: text)))
        await consumer.wait(for: 1)
        let whole = consumer.reports.first?.attributes.message ?? ""
        #expect(text.hasPrefix(whole) && whole.utf8.count > Int(maximum) - 4)
        #expect(consumer.reports.first?.attributes.truncated == (maximum < 10 ? [.message] : []))
      }
    }
  }

  @Test("A response that is missing or cut off fails its notification after ten seconds")
  func silence() throws {
    try Self.run { loop, consumer in
      try await consumer.begin(loop)
      try consumer.bench.phone.perform(Self.numbered(1))
      await consumer.wait(for: 1)
      try consumer.bench.phone.perform(.silence(1))
      try consumer.bench.phone.perform(.cutResponses(1))
      let start = loop.clock.now
      try consumer.bench.phone.perform(Self.numbered(5))
      await consumer.wait(for: 6)
      #expect((.seconds(20)..<Duration.seconds(22)).contains(loop.clock.now - start))
      #expect(consumer.reports.map(\.event.uid.rawValue) == Array(1...6))
      let late = FetchFailure.timedOut.description
      #expect(consumer.reports.map(\.failure) == [nil, late, late, nil, nil, nil])
    }
  }

  @Test("The rest of an abandoned response is not mistaken for another")
  func lateResponse() throws {
    try TestLoop.run { loop in
      let consumer = Consumer(Bench(loop))
      let phone = consumer.bench.phone
      try await consumer.begin(loop)
      try phone.perform(.pace(response: .seconds(11), fragment: .zero))
      try phone.perform(Self.numbered(3))
      await consumer.wait(for: 1)
      try phone.perform(.pace(response: .zero, fragment: .zero))
      await consumer.wait(for: 3)
      #expect(consumer.reports.map(\.failure) == [FetchFailure.timedOut.description, nil, nil])
      #expect(consumer.reports.last?.attributes.title == "Number 3")
      consumer.end()
    }
  }

  @Test("A refusal fails its notification", arguments: [0xA0, 0xA1, 0xA2, 0xA3, 0x0E])
  func refusals(code: UInt8) throws {
    try Self.run { loop, consumer in
      try await consumer.begin(loop)
      try consumer.bench.phone.perform(.failCommands(code: code, count: 2))
      try consumer.bench.phone.perform(Self.numbered(4))
      await consumer.wait(for: 4)
      // What may pass is asked for once more.
      let refused = code == 0x0E ? nil : FetchFailure.refused(ErrorCode(code)).description
      #expect(consumer.reports.prefix(4).map(\.failure) == [refused, refused, nil, nil])
    }
  }

  @Test("What is refused while sharing is off arrives once it is on")
  func authorization() throws {
    try Self.run { loop, consumer in
      let phone = consumer.bench.phone
      try phone.perform(.authorize(false))
      try phone.perform(Self.numbered(3))
      try await consumer.begin(loop)
      await consumer.bench.pass(.seconds(60))
      #expect(consumer.authorization == [.refused])
      #expect(consumer.reports.isEmpty)
      try phone.perform(.authorize(true))
      try phone.perform(Self.numbered(1))
      await consumer.wait(for: 4)
      #expect(consumer.authorization == [.refused, .granted])
      #expect(consumer.reports.map(\.event.uid.rawValue) == [4, 1, 2, 3])
      try phone.perform(.authorize(false))
      #expect(consumer.reports.allSatisfy { $0.failure == nil })
    }
  }

  @Test("Actions are performed, or refused if the notification has none")
  func actions() throws {
    try Self.run { loop, consumer in
      let phone = consumer.bench.phone
      try await consumer.begin(loop)
      try phone.perform(
        .add(
          NotificationContents(
            .incomingCall, app: "com.apple.mobilephone", title: "Ada", positive: "Answer",
            negative: "Decline"), uid: 5))
      try phone.perform(.add(NotificationContents(.news, app: "com.apple.news"), uid: 6))
      await consumer.wait(for: 2)
      #expect(consumer.reports.first?.attributes.date == nil)
      #expect(consumer.reports.first?.attributes.positiveActionLabel == "Answer")
      let session = try #require(consumer.session)
      try await session.act(5, .negative)
      await consumer.wait(for: 4)
      #expect(consumer.reports.last?.event.category == .missedCall)
      #expect(consumer.reports.last?.attributes.title == "Ada")
      let refused = loop.start { try await session.act(6, .negative) }
      let gone = loop.start { try await session.act(5, .positive) }
      await consumer.bench.pass(.seconds(1))
      #expect(refused.failure as? FetchFailure == .refused(ErrorCode(0xA3)))
      #expect(gone.failure as? FetchFailure == .refused(ErrorCode(0xA2)))
    }
  }

  @Test("The service is removed and returns at other handles, and nothing is lost")
  func comingAndGoing() throws {
    try Self.run { loop, consumer in
      let phone = consumer.bench.phone
      try await consumer.bench.subscribeChanges()
      try await consumer.begin(loop)
      try phone.perform(Self.numbered(50))
      for round in 0..<6 {
        await consumer.wait(for: 5)
        try phone.perform(.unpublish(.ancs))
        await consumer.bench.pass()
        #expect(consumer.bench.changes.count == 1 + 2 * round)
        consumer.end()
        try phone.perform(.publish(.ancs, freshHandles: round.isMultiple(of: 2)))
        consumer.forgetReports()
        try await consumer.begin(loop)
      }
      await consumer.wait(for: 50)
      #expect(consumer.reports.map(\.event.uid.rawValue) == Array(1...50))
      #expect(consumer.reports.prefix(5).allSatisfy { $0.isRepeat })
    }
  }

  @Test("Twenty reconnections: notifications arrive each time, as repeats")
  func reconnecting() throws {
    try Self.run { loop, consumer in
      try consumer.bench.phone.perform(Self.numbered(3))
      for round in 0..<20 {
        try await consumer.begin(loop)
        await consumer.wait(for: 3)
        #expect(consumer.reports.map(\.event.uid.rawValue) == [1, 2, 3])
        #expect(consumer.reports.allSatisfy { $0.isRepeat == (round > 0) && $0.failure == nil })
        #expect(consumer.reports.allSatisfy { $0.event.flags.contains(.preExisting) })
        if round.isMultiple(of: 3) {
          try consumer.bench.phone.perform(Self.numbered(1))
          try consumer.bench.phone.perform(
            .remove(NotificationUID(rawValue: UInt32(4 + round / 3))))
        }
        consumer.bench.link.drop()
        await consumer.bench.pass()
        consumer.end()
        consumer.forgetReports()
        #expect(consumer.bench.reconnect())
      }
    }
  }

  @Test("Subscriptions that the phone forgot are written again within a day")
  func watchdog() throws {
    try Self.run { loop, consumer in
      let phone = consumer.bench.phone
      try await consumer.begin(loop)
      await consumer.bench.pass(.seconds(2))
      try phone.perform(.forgetSubscriptions(.ancs))
      try phone.perform(Self.numbered(1))
      await consumer.bench.pass(.seconds(6 * 3600 + 60))
      #expect(consumer.reports.map(\.event.uid) == [1])
      #expect(consumer.reports.first?.attributes.title == "Number 1")
    }
  }

  @Test("The script is reported from start to end")
  func day() throws {
    try Self.run { loop, consumer in
      consumer.bench.phone.play(once: true)
      try await consumer.begin(loop)
      while !consumer.bench.events.contains(.dayEnded) { await consumer.bench.pass(.seconds(1)) }
      await consumer.bench.pass(.seconds(1))
      let reports = consumer.reports
      #expect(reports.allSatisfy { $0.failure == nil })
      let added = reports.filter { $0.event.change == .added }
      #expect(Set(added.map(\.event.category.rawValue)) == Set(0..<12))
      let letter = try #require(reports.first { $0.attributes.truncated == [.message] })
      #expect(letter.attributes.message?.contains("\u{FFFD}") == false)
      #expect(letter.attributes.messageSize ?? 0 > 2048)
      let calls = reports.filter { $0.event.category == .incomingCall }
      #expect(calls.map(\.event.change) == [.added, .removed, .added, .removed])
      let named = added.compactMap { report in report.app.map { !$0.contains(".") } }
      #expect(named == Array(repeating: true, count: added.count))
      #expect(consumer.dropped == [])
    }
  }
}
