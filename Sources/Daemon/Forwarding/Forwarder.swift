// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import JSON
import System
import Wire

/// Sends the daemon's notifications to the destinations of the settings: a client of the control socket, with a queue and a
/// program for each destination.
///
///     daemon ── events ──▶ Forwarder ── a queue for each [[forward]] ──▶ Delivery (Apprise, in a program of its own)
@LoopActor final class Forwarder {
  private let program: String
  private let files: StateFiles
  /// The file of what was handled; nil: nothing is remembered.
  private let path: String?
  private var saved: ForwardRecord?
  private let say: (String, LogLevel) -> Void
  private let daemon: DaemonLink
  private var lanes: [Lane]
  /// The run of the daemon whose events the queues have seen.
  private var life: String?
  /// What the phones are called.
  private var names: [Address: String] = [:]
  /// What the daemon knows of the destinations.
  private var reported: [ForwardReport] = []
  private lazy var settling = Deadline(Loop.shared) { [weak self] in self?.settle() }

  /// A destination with its queue.
  private struct Lane {
    var queue: ForwardQueue
    var delivery: Delivery?
    var retry: Deadline
    /// Its `why` is the failure that was logged, so that it is logged once.
    var report: ForwardReport
  }

  /// - Parameters:
  ///   - record: what a former one has handled in this run of the program; nil: there was none.
  ///   - paths: the daemon's sockets.
  ///   - program: the path of the program that sends.
  ///   - directory: where it notes what was handled; nil: nowhere.
  init(
    _ targets: [ForwardTarget], after record: ForwardRecord? = nil, paths: [String],
    program: String, directory: String?, say: @escaping (String, LogLevel) -> Void
  ) {
    (self.program, self.say) = (program, say)
    files = StateFiles { say("can't record what was sent: \($0)", .warning) }
    path = directory.map { "\($0)/forwarded.json" }
    daemon = DaemonLink(paths: paths)
    lanes = []
    let record = record ?? path.flatMap(files.read).flatMap { ForwardRecord(json: $0) }
    (saved, life) = (record, record?.life)
    for (place, target) in targets.enumerated() {
      let retry = Deadline(Loop.shared) { [weak self] in self?.send(place) }
      let former = record?.former(of: target, among: targets)
      lanes.append(
        Lane(
          queue: ForwardQueue(target, seen: former?.seq ?? record?.seen ?? 0, calls: former?.calls ?? [:]),
          retry: retry, report: target.report))
    }
    daemon.onUp = { [weak self] in self?.connected() }
    daemon.onDown = { [weak self] in if $1 { self?.say("the daemon: \($0)", .warning) } }
    daemon.onEvent = { [weak self] in self?.received($0) }
  }

  func start() { daemon.open() }

  /// Ends, at once: what was not delivered is sent by the next run, or by the next one in this run.
  ///
  /// - Returns: what was handled; nil if nothing is known of it.
  func stop() -> ForwardRecord? {
    daemon.close()
    settle()
    return record ?? saved
  }

  // MARK: The daemon

  private static let pauses = RetryPauses(longest: .seconds(300)) { Double.random(in: 0...1) }

  private func connected() {
    reported = []
    daemon.call(ControlMethods.status, NoParameters()) { [weak self] in self?.welcomed($0) }
  }

  private func welcomed(_ response: JSONValue) {
    let status = StatusReport(json: response["result"] ?? .null)
    note(status)
    guard let life = status?.life else {
      return say("the daemon is an older version: upgrade ancsd", .error)
    }
    let known = self.life
    let oldest = known.flatMap { _ in lanes.map(\.queue.handled).min() }
    if let known, known != life { for place in lanes.indices { lanes[place].queue.restarted() } }
    self.life = life
    daemon.call(
      ControlMethods.subscribe,
      Subscription(
        events: [.notification, .connected], since: oldest, life: known,
        maxAge: Int(clamping: longestAge.components.seconds))
    ) { [weak self] response in
      guard let why = response["error"]?["message"]?.string else { return }
      self?.say("the daemon sends no events: \(why)", .error)
    }
    settle()
  }

  private func note(_ status: StatusReport?) {
    for phone in status?.phones ?? [] { names[phone.phone] = phone.name }
  }

  private func received(_ object: JSONObject) {
    guard let event = try? NumberedEvent(reading: .object(object)) else { return }
    if event.event.name == .connected {
      daemon.call(ControlMethods.status, NoParameters()) { [weak self] response in
        self?.note(StatusReport(json: response["result"] ?? .null))
      }
    }
    let time = TimeOfDay(event.time, zoneOffset: event.time.zoneOffset)
    let phone = event.event.phone.flatMap { names[$0] }
    let age = age(of: event)
    for place in lanes.indices {
      let lost = lanes[place].queue.take(event, phone: phone, time: time, age: age, at: Loop.shared.now)
      lose(lost, place, "its queue is full")
      send(place)
    }
    settling.limit(to: Loop.shared.now + .seconds(1))
  }

  /// How long ago an event happened. The daemon sends none that are older than the longest `max-age`, by a clock that
  /// nobody sets; so an age beyond that shows that the board's time was set meanwhile.
  private func age(of event: NumberedEvent) -> Duration {
    let seconds = WallTime.now.seconds - event.time.seconds
    return (0...longestAge.components.seconds).contains(seconds) ? .seconds(seconds) : .zero
  }

  /// The longest `max-age` of all destinations.
  private var longestAge: Duration { lanes.map(\.queue.target.maxAge).max() ?? .zero }

  // MARK: The destinations

  private func send(_ place: Int) {
    let now = Loop.shared.now
    lose(lanes[place].queue.dropExpired(at: now), place, "too old (max-age)")
    guard lanes[place].delivery == nil else { return }
    let target = lanes[place].queue.target
    if let messages = lanes[place].queue.next(at: now) {
      lanes[place].delivery = Delivery(
        messages, to: target, by: program, onOutcome: { [weak self] in self?.settled(place, $0) },
        onEnd: { [weak self] in self?.ended(place, $0) })
    }
    lanes[place].retry.due = lanes[place].queue.deadline
  }

  /// - Parameter refusal: why the destination will never take a message; nil if it was delivered.
  private func settled(_ place: Int, _ refusal: String?) {
    let report = lanes[place].report
    lanes[place].report.why = refusal
    if let refusal {
      lanes[place].queue.refused()
      lanes[place].report.lost += 1
      if report.why != refusal {
        say("\(report.shown): \(refusal); not sent again: if no message arrives, check its URL", .error)
      }
    } else {
      lanes[place].queue.delivered(at: Loop.shared.now)
      lanes[place].report.sent += 1
      if report.why != nil { say("\(report.shown): delivering again", .notice) }
    }
    settling.limit(to: Loop.shared.now + .seconds(1))
  }

  /// - Parameter why: why some messages have neither been delivered nor refused; nil if all have.
  private func ended(_ place: Int, _ why: String?) {
    lanes[place].delivery = nil
    let failures = lanes[place].queue.finished(at: Loop.shared.now, Self.pauses)
    if failures > 0, let why {
      let report = lanes[place].report
      if report.why != why { say("\(report.shown): \(why); trying again", .warning) }
      lanes[place].report.why = why
    }
    settling.limit(to: Loop.shared.now + .seconds(1))
    send(place)
  }

  private func lose(_ count: Int, _ place: Int, _ why: String) {
    guard count > 0 else { return }
    lanes[place].report.lost += UInt64(count)
    say("\(lanes[place].report.shown): lost \(count.counted("message")): \(why)", .error)
  }

  /// Notes what was handled, and tells the daemon what has changed.
  private func settle() {
    let reports = lanes.map { lane in
      var report = lane.report
      report.waiting = lane.queue.count
      return report
    }
    if reports != reported, daemon.isUp {
      reported = reports
      daemon.call(ControlMethods.reportForwards, Page(reports)) { _ in }
    }
    // The numbers are those of one run of the daemon.
    if let path, let record, record != saved, files.write(record.json, to: path, isOfThisBoot: true) {
      saved = record
    }
  }

  /// What was handled; nil before the daemon's first response.
  private var record: ForwardRecord? {
    life.map { life in
      ForwardRecord(
        life: life, seen: lanes.map(\.queue.handled).max() ?? 0,
        handled: lanes.map {
          .init(
            name: $0.queue.target.name, destination: $0.queue.target.digest, seq: $0.queue.handled,
            calls: $0.queue.calls)
        })
    }
  }
}

/// What was handled, so that the next run neither repeats nor leaves out anything.
struct ForwardRecord: JSONObjectCodable, Hashable {
  /// The run of the daemon.
  var life = ""
  /// The last event that any destination has handled.
  var seen: UInt64 = 0
  /// The last event that each has handled.
  var handled: [Handled] = []

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("life", &life)
    try json.required("seen", &seen)
    try json.list("handled", &handled)
  }

  /// What was handled for a destination, which may have another number since, or another URL; nil if it is new.
  ///
  /// - Parameter targets: all destinations.
  func former(of target: ForwardTarget, among targets: [ForwardTarget]) -> Handled? {
    let same = handled.filter { $0.destination == target.digest }
    let named = handled.filter { one in
      one.name == target.name && !targets.contains { $0.digest == one.destination }
    }
    return same.first { $0.name == target.name } ?? (same.isEmpty ? named : same).min { $0.seq < $1.seq }
  }

  struct Handled: JSONObjectCodable, Hashable {
    /// The destination's name.
    var name = ""
    /// Its digest; nil if an earlier version has written the file.
    var destination: String?
    var seq: UInt64 = 0
    /// The calls that were sent, which no file has: they name the callers.
    var calls: [ForwardMessage.Call: Instant] = [:]

    mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
      try json.required("name", &name)
      try json.optional("destination", &destination)
      try json.required("seq", &seq)
    }
  }
}

/// One run of the program that sends messages to a destination (packaging/deliver). It reads lines of JSON from its
/// standard input, the destination and then the messages, and writes a line for each message: `ok`, `refused: ` and why the
/// destination will never take it, or why it failed, after which the rest is not tried.
@LoopActor final class Delivery {
  /// How many messages were neither delivered nor refused yet.
  private var left: Int
  /// Why the next one was not, as far as the program has said.
  private var why: String?
  private var child: ChildProcess?
  private let onOutcome: (_ refusal: String?) -> Void
  private var onEnd: ((String?) -> Void)?
  private lazy var patience = Deadline(Loop.shared) { [weak self] in
    self?.end(because: "no response within \(Self.patienceTime.components.seconds) s")
  }

  /// How long a message may take.
  private static let patienceTime = Duration.seconds(60)
  private static let environment = ["PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent"]

  /// Starts it. `onOutcome` is called for each message that is delivered or refused, in order. `onEnd` is called once, later,
  /// with why the others were not; not if this is released earlier, which ends the program.
  init(
    _ messages: [ForwardMessage], to target: ForwardTarget, by program: String,
    onOutcome: @escaping (_ refusal: String?) -> Void, onEnd: @escaping (String?) -> Void
  ) {
    (left, self.onOutcome, self.onEnd) = (messages.count, onOutcome, onEnd)
    patience.due = Loop.shared.now + Self.patienceTime
    do throws(ForwardFault) {
      let url = try target.url()
      let head = JSONValue.object(["to": .string(url)]).json + [UInt8(ascii: "\n")]
      child = try start(program, input: head + messages.flatMap(\.line))
    } catch {
      // The owner has this object before it ends.
      Loop.shared.later { [weak self] in self?.end(because: error.why) }
    }
  }

  private func start(_ program: String, input: [UInt8]) throws(ForwardFault) -> ChildProcess {
    do throws(SystemError) {
      let child = try ChildProcess([program], environment: Self.environment, input: input, lineLimit: 4_096)
      child.onLine = { [weak self] in self?.heard($0) }
      child.onEnd = { [weak self] in self?.ended($0) }
      return child
    } catch {
      throw ForwardFault(
        why: error.errno == .noSuchFile ? "\(program) does not exist: install the package ancsd-forward" : "\(error)")
    }
  }

  private func heard(_ line: [UInt8]) {
    patience.due = Loop.shared.now + Self.patienceTime
    let text = String(decoding: line, as: UTF8.self)
    let isRefused = text.hasPrefix("refused: ")
    guard text == "ok" || isRefused else { return why = text }
    why = nil
    if left > 0 {
      left -= 1
      onOutcome(isRefused ? text : nil)
    }
  }

  private func ended(_ end: ProcessEnd) {
    self.end(because: left == 0 ? nil : why ?? "the program that sends it \(end)")
  }

  private func end(because why: String?) {
    guard let onEnd else { return }
    self.onEnd = nil
    patience.due = nil
    child = nil
    onEnd(why)
  }
}
