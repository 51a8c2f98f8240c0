// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import Fleet
import JSON
import MQTT
import System
import Wire

/// Connects a board's control socket to a broker, until `leave` is called.
///
///     daemon ──status, lists, events──▶ mirror ──▶ outbox ──▶ broker
///     daemon ◀──calls── desk ◀────────── requests ─────────── broker
///
/// Fleet makes the decisions; this module has the sockets, the clock and the files.
@LoopActor final class Bridge {
  private let plan: BridgePlan
  private let memory: BridgeMemory

  private let broker: BrokerLink
  /// For status, lists and requests.
  private let control: DaemonLink
  /// For events: read as fast as the broker acknowledges them.
  private let events: DaemonLink
  private var mirror: BoardMirror
  private var desk = RequestDesk()
  /// Another broker, at which an earlier run has left retained messages.
  private let formerBroker: BrokerAddress?
  private var stage = Stage.running

  /// The next status request to the daemon.
  private lazy var refresh = Deadline(Loop.shared) { [weak self] in self?.askStatus() }
  private lazy var settling = Deadline(Loop.shared) { [weak self] in
    self?.publish { $0.settle(at: .now) }
  }
  /// Until everything is published for Home Assistant, which has started.
  private lazy var greeting = Deadline(Loop.shared) { [weak self] in
    self?.mirror.begin()
    self?.askStatus()
  }
  /// Until Home Assistant has forgotten devices.
  private lazy var forgetting = Deadline(Loop.shared) { [weak self] in
    self?.publish { $0.forgotten() }
  }
  /// Until it leaves the broker, whatever that has acknowledged.
  private lazy var leaving = Deadline(Loop.shared) { [weak self] in self?.leaveBroker() }
  /// For the requests under way.
  private lazy var patience: Deadline = .init(Loop.shared) { [weak self] in
    guard let self else { return }
    publish(desk.timeUp(now: Loop.shared.now))
    patience.due = desk.deadline
  }

  private enum Stage {
    case running
    /// The last publications are on their way; `removals` returns the next ones, nil if the program exits. `waits`: until Home
    /// Assistant has forgotten devices of which the next bridge tells it by other topics.
    case leaving(removals: ((inout BoardMirror) -> [Publication])?, waits: Bool)
    case left
  }

  private var isRunning: Bool { if case .running = stage { true } else { false } }

  /// How long the last publications may take to be acknowledged, and Home Assistant to forget devices.
  private static let removalTime = Duration.seconds(2)
  /// How long each publication that removes something before another bridge comes may take to be acknowledged.
  private static let slowestRemoval = Duration.seconds(10)
  /// The delay between an event and a status request, since several events often arrive together.
  private static let refreshPause = Duration.milliseconds(100)
  /// The delay between an event and publishing counters and calls, which many events change at once.
  private static let settlingPause = Duration.milliseconds(50)
  /// The interval of status requests while a phone is connected, for its signal strength.
  private static let refreshInterval = Duration.seconds(300)
  /// The same while a phone that has come back announces its notifications.
  private static let completionInterval = Duration.seconds(5)
  /// The delay before a state is published again for which the broker had no space.
  private static let spaceInterval = Duration.seconds(60)

  /// - Parameter onGone: called once, after `leave` has finished.
  init(_ plan: BridgePlan, _ memory: BridgeMemory, paths: [String], onGone: @escaping () -> Void) {
    self.plan = plan
    self.memory = memory
    let record = memory.readBoard()
    let earlier = memory.readRetained()
    let isSameBroker = earlier?.broker.isSameBroker(as: plan.identity.address) ?? true
    mirror = BoardMirror(
      plan.topics, plan.policy, names: PhoneNames(given: plan.phones, records: record.phones),
      board: BoardIdentity(id: record.id, model: Hardware.model),
      retained: isSameBroker ? earlier?.topics ?? [] : [], newID: BridgeMemory.newID)
    formerBroker = isSameBroker ? nil : earlier?.broker
    control = DaemonLink(paths: paths)
    events = DaemonLink(paths: paths)
    broker = BrokerLink(plan, control, position: memory.readPosition())
    memory.position = { [weak broker] in broker?.outbox.lastAcknowledged }
    broker.onGone = { [control] in
      control.close()
      onGone()
    }
  }

  func start() {
    say(plan.sentence)
    if let formerBroker {
      say("\(formerBroker) keeps what this board has published there: remove it with mosquitto_sub --remove-retained")
    }
    control.onUp = { [weak self] in self?.daemonCame() }
    control.onDown = { [weak self] in self?.daemonLeft($0, isNews: $1) }
    events.onUp = { [weak self] in self?.askAll { self?.subscribe() } }
    events.onDown = { [weak self] in if $1 { self?.eventsEnded($0) } }
    events.onEvent = { [weak self] in self?.received($0) }
    broker.onUp = { [weak self] in self?.brokerCame() }
    broker.onDown = { [weak self] in
      self?.events.close()
      self?.desk.dropAll()
    }
    broker.onMoved = { [weak self] in self?.moved() }
    broker.onProcessed = { [weak self] in self?.processed($0, isKept: $1) }
    broker.onMessage = { [weak self] in self?.received($0) }
    control.open()
    lookForUpdate()
    broker.start()
  }

  /// apt loads its lists once a day.
  private func lookForUpdate() {
    mirror.latestVersion = PackageLists.latestVersion(of: "ancsd")
    _ = Loop.shared.schedule(after: .seconds(86_400)) { [weak self] in self?.lookForUpdate() }
  }

  /// The process was stopped, and goes on.
  func wasStopped() { broker.wasStopped() }

  // MARK: The end

  /// Publishes the last state, and calls `onGone`.
  ///
  /// - Parameter next: the next bridge's plan. Removes everything from the broker that the next bridge does not publish.
  func leave(for next: BridgePlan? = nil) {
    guard isRunning else {
      leaveBroker()
      return broker.abandon()
    }
    events.close()
    let successor = next.flatMap { self.successor(by: $0) }
    let removals = next == nil ? nil : { (mirror: inout BoardMirror) in mirror.removals(for: successor) }
    let last = learning { $0.goOffline("ancsd-mqtt has exited", at: .now) }
    let first = removals?(&mirror) ?? []
    let waits = broker.isUp && successor != nil && first.contains(where: \.isOfDevice)
    stage = .leaving(removals: removals, waits: waits)
    broker.publish(last + first)
    let isMoving = removals != nil && broker.isUp
    leaving.due = Loop.shared.now + (isMoving ? Self.slowestRemoval : Self.removalTime)
    leaveSoon()
  }

  /// Leaves the broker once it has acknowledged everything.
  private func leaveSoon() {
    guard case .leaving(let removals, let waits) = stage, broker.isDone else { return }
    let rest = broker.isUp ? removals?(&mirror) ?? [] : []
    guard rest.isEmpty else { return broker.publish(rest) }
    guard waits else { return leaveBroker() }
    let end = Loop.shared.now + Self.removalTime
    leaving.due = leaving.due.map { min($0, end) } ?? end
  }

  private func leaveBroker() {
    if case .left = stage { return }
    stage = .left
    memory.flush()
    saveRetained()
    broker.leave()
  }

  /// Who tells of the same phones by other settings; nil if that is with another broker.
  private func successor(by next: BridgePlan) -> BoardMirror? {
    guard next.identity.address.isSameBroker(as: plan.identity.address) else { return nil }
    let names = PhoneNames(given: next.phones, records: Array(mirror.names.records.values))
    return BoardMirror(next.topics, next.policy, names: names, newID: BridgeMemory.newID)
  }

  // MARK: The broker

  private func brokerCame() {
    guard isRunning else { return leaveBroker() }
    mirror.begin()
    if control.isUp {
      events.open()
    } else {
      publish(withoutDaemon())
    }
  }

  /// Publishes what the mirror makes of a change.
  private func publish(_ change: (inout BoardMirror) -> [Publication]) { publish(learning(change)) }

  private func publish(_ publications: [Publication]) {
    guard broker.isUp, isRunning else { return }
    if publications.contains(where: \.isState) { saveRetained() }
    broker.publish(publications)
  }

  /// Events are read only while none are queued.
  private func moved() {
    let pause = broker.outbox.isFull ? nil : events.pausedSince.map { Loop.shared.now - $0 }
    if let pause, pause >= .seconds(plan.policy.expiry) {
      // What waits there is too old by now. The daemon leaves it out, and says how much that is.
      events.close()
      events.open()
    }
    events.isPaused = broker.outbox.isFull
    leaveSoon()
  }

  /// The broker has processed a publication.
  private func processed(_ publication: Publication, isKept: Bool) {
    // A broker with a small window gets the rest as it acknowledges.
    if case .leaving(_?, _) = stage { leaving.due = Loop.shared.now + Self.slowestRemoval }
    if publication.isEvent { memory.moved() }
    guard isKept else {
      // A bridge that leaves does not try again: what it could not remove is left to the next one.
      guard isRunning else { return }
      mirror.notKept(publication.topic)
      return scheduleRefresh(after: Self.spaceInterval)
    }
    guard publication.isRemoval else { return }
    let isFirst = mirror.retained.contains(publication.topic)
    mirror.removed(publication.topic)
    if !broker.outbox.isFull { saveRetained() }
    guard isFirst, isRunning else { return }
    forgetting.due = Loop.shared.now + Self.removalTime
    guard mirror.isStateOfOther(publication.topic) else { return }
    // If the run with the other settings was killed, the broker still publishes its will.
    _ = Loop.shared.schedule(after: BrokerConnection.longestWill) { [weak self] in
      self?.publish([publication])
    }
  }

  private func saveRetained() { memory.saveRetained(mirror.retained, at: plan.identity.address) }

  // MARK: The daemon

  private func daemonCame() {
    broker.daemonCame()
    if broker.isUp { events.open() }
  }

  private func daemonLeft(_ why: String, isNews: Bool) {
    if isNews { say(why) }
    // Without `control`, nobody subscribes.
    events.close()
    publish(desk.daemonLeft() + withoutDaemon())
  }

  private func withoutDaemon() -> [Publication] {
    learning { $0.goOffline("the daemon is not reachable", at: .now) }
  }

  /// It was paused for too long, the daemon has too many clients, or it has exited, which `control` reports.
  private func eventsEnded(_ why: String) {
    Loop.shared.later { [weak self] in
      if let self, control.isUp { say("the daemon sends no events: \(why)") }
    }
  }

  /// Requests the daemon's status, then what plays and its notifications.
  private func askAll(then: @escaping () -> Void = {}) {
    askStatus { [weak self] in
      guard let self else { return }
      list(after: nil, [], asOf: mirror.seq, then: then)
    }
  }

  /// - Parameter then: what to request next that has to be as new; nil: nothing.
  private func askStatus(then: (() -> Void)? = nil) {
    control.call(ControlMethods.status, NoParameters()) { [weak self] response in
      guard let self, broker.isUp else { return }
      guard let status = response["result"].flatMap({ StatusReport(json: $0) }) else {
        return say("unexpected status from the daemon: is it a different version?")
      }
      publish { $0.update(status, at: .now) }
      for phone in mirror.players(silentOnly: then == nil) { askMedia(of: phone) }
      if mirror.isIncomplete(at: .now) {
        scheduleRefresh(after: Self.completionInterval)
      } else if !status.links.isEmpty {
        scheduleRefresh(after: Self.refreshInterval)
      }
      then?()
    }
  }

  private func askMedia(of phone: Address?) {
    let selector = phone.map { PhoneSelector($0.description) }
    control.call(ControlMethods.getMedia, PhoneParameters(phone: selector)) { [weak self] response in
      guard let self, let media = response["result"]?.object else { return }
      publish(mirror.media(media, of: phone, at: .now))
    }
  }

  /// - Parameter seq: the number of the daemon's last event before it.
  private func list(after: String?, _ before: [JSONObject], asOf seq: UInt64, then: @escaping () -> Void) {
    var query = NotificationQuery()
    query.after = after
    control.call(ControlMethods.listNotifications, query) { [weak self] response in
      guard let self, broker.isUp else { return }
      let page = response["result"]?["notifications"]?.array?.compactMap(\.object) ?? []
      if let next = response["result"]?["next"]?.string, !page.isEmpty {
        return list(after: next, before + page, asOf: seq, then: then)
      }
      publish(mirror.list(before + page, asOf: seq, at: .now))
      then()
    }
  }

  private func subscribe() {
    let position = broker.outbox.lastHandled
    let subscription = Subscription(
      events: EventName.followed, since: position?.seq ?? 0, life: position?.life ?? mirror.life,
      maxAge: Int(clamping: plan.policy.expiry))
    events.call(ControlMethods.subscribe, subscription) { response in
      guard let why = response["error"]?["message"]?.string else { return }
      say("the daemon sends no events: \(why): is it an older version? upgrade ancsd")
    }
    events.isPaused = broker.outbox.isFull
  }

  private func received(_ event: JSONObject) {
    guard broker.isUp, let seq = event["seq"]?.int.flatMap({ UInt64(exactly: $0) }) else { return }
    if event["event"] == "lost" {
      // A bridge that has seen no event has lost none.
      guard broker.outbox.lastHandled != nil else { return }
      broker.report.skipped += event["count"]?.int.flatMap { UInt64(exactly: $0) } ?? 0
    }
    let digest = plan.digestKey.map { key in { keyedDigest(of: $0, key: key) } }
    let (publications, outdated) = learning { $0.event(event, at: .now, digest: digest) }
    broker.publish(publications, of: mirror.life.map { Position(life: $0, seq: seq) })
    memory.moved()
    switch outdated {
    case .everything: askAll()
    case .status: scheduleRefresh(after: Self.refreshPause)
    case .nothing: settling.limit(to: Loop.shared.now + Self.settlingPause)
    }
  }

  /// Updates the mirror, and saves what it learns about phones.
  private func learning<Value>(_ change: (inout BoardMirror) -> Value) -> Value {
    let before = mirror.names
    defer { if mirror.names != before { saveBoard() } }
    return change(&mirror)
  }

  private func saveBoard() {
    let phones = mirror.names.records.values.sorted { $0.id < $1.id }
    memory.save(BoardRecord(id: mirror.board.id, phones: phones))
  }

  private func scheduleRefresh(after pause: Duration) { refresh.limit(to: Loop.shared.now + pause) }

  // MARK: Requests

  private func received(_ message: IncomingMessage) {
    if let discovery = plan.policy.discovery, message.topic == "\(discovery)/status" {
      // Anybody may say so, and often.
      guard message.payload == Array("online".utf8), greeting.due == nil else { return }
      // Spreads the requests of several boards.
      greeting.due = Loop.shared.now + .milliseconds(Int64.random(in: 0...10_000))
      return
    }
    guard broker.outbox.hasSpaceForResponse else { return }
    let outcome = desk.receive(message, mirror, now: Loop.shared.now, time: .now)
    publish(outcome.publications)
    for (number, call) in outcome.calls {
      control.call(call) { [weak self] response in
        guard let self else { return }
        publish(desk.answered(number, response, mirror))
        patience.due = desk.deadline
      }
    }
    patience.due = desk.deadline
  }
}
