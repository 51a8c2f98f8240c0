// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Fleet
import JSON
import Wire

/// The messages for one destination: what waits, what is being sent, and when to try again. Without a clock or a process.
///
///     take(event) ──▶ waiting ── next() ──▶ being sent ──┬─ delivered() or refused(), each
///                        ▲                               │
///                        └───────── after a pause ───────┴─ finished()
struct ForwardQueue {
  let target: ForwardTarget
  private var waiting: [ForwardMessage] = []
  private var state = State.ready
  /// How many attempts have failed in a row.
  private var failures = 0
  /// The last event of the daemon's run that was considered.
  private var seen: UInt64
  /// The calls that were sent, each until when a missed one is the same.
  private(set) var calls: [ForwardMessage.Call: Instant]

  private enum State {
    case ready
    /// The first `count` of those that wait, less those that were delivered or refused meanwhile.
    case sending(count: Int)
    case pausing(until: Instant)
  }

  /// How many messages wait at most.
  static let capacity = 500
  /// How many are sent at once.
  static let batch = 20
  /// How long after a call a missed one is the same.
  private static let callTime = Duration.seconds(120)

  /// - Parameters:
  ///   - seen: the last event that was handled before.
  ///   - calls: the calls that were sent before.
  init(_ target: ForwardTarget, seen: UInt64 = 0, calls: [ForwardMessage.Call: Instant] = [:]) {
    (self.target, self.seen, self.calls) = (target, seen, calls)
  }

  /// The last event that is handled, with all before it.
  var handled: UInt64 { waiting.compactMap(\.seq).min().map { min(seen, $0 &- 1) } ?? seen }

  /// When to try again; nil: nothing waits, or it is being sent.
  var deadline: Instant? {
    if case .pausing(let until) = state, !waiting.isEmpty { until } else { nil }
  }

  /// How many messages wait, or are being sent.
  var count: Int { waiting.count }

  /// Another run of the daemon counts its events from the first.
  mutating func restarted() {
    seen = 0
    for place in waiting.indices { waiting[place].seq = nil }
  }

  private var inFlight: Int { if case .sending(let count) = state { count } else { 0 } }

  /// Adds what an event says.
  ///
  /// - Parameters:
  ///   - phone: what its phone is called.
  ///   - time: the board's time of day.
  ///   - age: how long ago it happened.
  /// - Returns: how many older messages were given up for it.
  mutating func take(
    _ event: NumberedEvent, phone: String?, time: TimeOfDay, age: Duration = .zero, at now: Instant
  ) -> Int {
    guard event.seq > seen else { return 0 }
    seen = event.seq
    guard case .notification(let report) = event.event.content, wants(report, event, phone, time)
    else { return 0 }
    let message = ForwardMessage(
      event, report, phone: phone, target.content, at: now + (.zero - age))
    guard let call = message.call else {
      waiting.append(message)
      return shorten()
    }
    if message.isMissed, let end = calls[call], now < end { return 0 }
    if let place = waiting.indices.dropFirst(inFlight).first(where: { waiting[$0].call == call }) {
      waiting[place] = message
      return 0
    }
    // A call does not wait behind what came before it.
    let place = waiting.indices.dropFirst(inFlight).first { waiting[$0].call == nil }
    waiting.insert(message, at: place ?? waiting.endIndex)
    return shorten()
  }

  private func wants(
    _ report: NotificationReport, _ event: NumberedEvent, _ phone: String?, _ time: TimeOfDay
  ) -> Bool {
    guard report.event.change == .added, !report.isRepeat,
      !report.event.flags.contains(.preExisting)
    else { return false }
    if let quiet = target.quiet, report.display != .urgent, quiet.contains(time) { return false }
    let facts = RuleFacts(
      event: report.event, attributes: report.attributes, phone: (event.event.phone, phone), time: time)
    return target.conditions.obstacle(for: facts) == nil
  }

  private mutating func shorten() -> Int {
    guard waiting.count > Self.capacity else { return 0 }
    let others = waiting.indices.dropFirst(inFlight)
    waiting.remove(at: others.first { waiting[$0].call == nil } ?? inFlight)
    return 1
  }

  /// Gives up what is too old.
  ///
  /// - Returns: how many messages.
  mutating func dropExpired(at now: Instant) -> Int {
    guard case .sending = state else {
      let before = waiting.count
      waiting.removeAll { now - $0.came >= target.maxAge }
      return before - waiting.count
    }
    return 0
  }

  /// What to send now, which is told with `delivered` or `refused` for each and then `finished`; nil if nothing is.
  mutating func next(at now: Instant) -> [ForwardMessage]? {
    guard !waiting.isEmpty else { return nil }
    switch state {
    case .ready: break
    case .pausing(let until): if until > now { return nil }
    case .sending: return nil
    }
    let count = min(waiting.count, failures == 0 ? Self.batch : 1)
    state = .sending(count: count)
    return Array(waiting[..<count])
  }

  /// The first of the messages that are being sent was delivered.
  mutating func delivered(at now: Instant) {
    guard let message = takeFirst(), let call = message.call, !message.isMissed else { return }
    calls = calls.filter { now < $0.value }
    calls[call] = now + Self.callTime
    // It may have been missed meanwhile.
    waiting.removeAll { $0.call == call && $0.isMissed }
  }

  /// The destination will never take the first of the messages that are being sent.
  mutating func refused() { takeFirst() }

  @discardableResult private mutating func takeFirst() -> ForwardMessage? {
    guard inFlight > 0 else { return nil }
    (state, failures) = (.sending(count: inFlight - 1), 0)
    return waiting.removeFirst()
  }

  /// Nothing is being sent anymore: what was neither delivered nor refused has failed.
  ///
  /// - Parameter pauses: how long to wait after a failure.
  /// - Returns: how many attempts have failed in a row.
  @discardableResult mutating func finished(at now: Instant, _ pauses: RetryPauses) -> Int {
    let failed = inFlight
    guard failed > 0 else {
      state = .ready
      return 0
    }
    // A call's other notification, which has come meanwhile, replaces it.
    let calls = Set(waiting[failed...].compactMap { $0.call })
    waiting = waiting[..<failed].filter { $0.call.map { !calls.contains($0) } ?? true } + waiting[failed...]
    failures += 1
    state = .pausing(until: now + pauses.pause(after: failures))
    return failures
  }
}

/// What is sent about a notification: no more of it than `content` allows.
struct ForwardMessage: Hashable, Sendable {
  private(set) var title: String
  private(set) var body: String
  /// The call that it is about; nil for other notifications.
  private(set) var call: Call?
  /// Whether it says that the call was missed.
  private(set) var isMissed = false
  /// The event of the daemon's run that it is about; nil if that run has ended.
  var seq: UInt64?
  /// When it happened.
  let came: Instant

  /// A call, as both of its notifications (it comes, it was missed) name it.
  struct Call: Hashable, Sendable {
    var phone: Address?
    var caller: String?
  }

  init(title: String, body: String) { (self.title, self.body, came) = (title, body, .zero) }

  /// - Parameter phone: what the phone is called, if that is known.
  init(_ event: NumberedEvent, _ report: NotificationReport, phone: String?, _ level: ContentLevel, at now: Instant) {
    (seq, came) = (event.seq, now)
    let category = report.event.category
    if category == .incomingCall || category == .missedCall {
      call = Call(phone: event.event.phone, caller: report.attributes.title)
      isMissed = category == .missedCall
    }
    let kind = Self.kinds[category] ?? "New notification"
    let app = report.app ?? report.attributes.appIdentifier ?? "Notification"
    let heading = report.attributes.title.flatMap { $0.isEmpty ? nil : $0 }
    let texts = [report.attributes.subtitle, level == .full ? report.attributes.message : nil]
    let shown = texts.compactMap { $0 }.filter { !$0.isEmpty }
    switch level {
    case .none: (title, body) = ("ancsd", "A notification on \(phone ?? "the phone")")
    case .app: (title, body) = (app, kind)
    case .title, .full:
      title = heading.map { "\($0) – \(app)" } ?? app
      body = shown.isEmpty ? kind : shown.joined(separator: "\n")
    }
    // Nothing that ends or hides what follows in a terminal, a log or a mail.
    (title, body) = (title.printable, body.printableLines)
  }

  private static let kinds: [Category: String] = [
    .incomingCall: "Incoming call", .missedCall: "Missed call", .voicemail: "Voicemail",
  ]

  /// For the program that sends it.
  var line: [UInt8] {
    JSONValue.object(["title": .string(title), "body": .string(body)]).json + [UInt8(ascii: "\n")]
  }
}
