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
  private let say: (String) -> Void
  /// Called once, after `leave` has finished.
  private let onGone: () -> Void

  /// From the settings, except the will, which the broker may limit.
  private var identity: BrokerIdentity
  private var machine: BrokerMachine
  private var connection: BrokerConnection?
  private var mirror: BoardMirror
  private var outbox: Outbox
  private var desk = RequestDesk()

  /// For status, lists and requests.
  private let control: DaemonLink
  /// For events: read as fast as the broker acknowledges them.
  private let events: DaemonLink
  /// Another broker, at which an earlier run has left retained messages.
  private let formerBroker: BrokerAddress?
  /// Whether requests count: those that were sent before this connection had subscribed are late.
  private var acceptsRequests = false

  private var timer: TimerID?
  /// The next status request to the daemon.
  private var refresh: (timer: TimerID, at: Instant)?
  private var settling: TimerID?
  private let reporter: BridgeReporter
  private var hasConnected = false
  private var stage = Stage.running
  /// What the log says already about publications that are too long.
  private var toldLengths: Set<String> = []

  private enum Stage {
    case running
    /// The last publications are on their way; `removals` returns the next ones.
    case leaving(removals: (inout BoardMirror) -> [Publication])
    case left
  }

  private var isRunning: Bool { if case .running = stage { true } else { false } }

  /// How long the last publications may take to be acknowledged.
  private static let removalTime = Duration.seconds(2)
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
  /// The maximum number of topics to log as too long.
  private static let mostRefusals = 16

  init(
    _ plan: BridgePlan, _ memory: BridgeMemory, paths: [String], say: @escaping (String) -> Void,
    onGone: @escaping () -> Void
  ) {
    self.plan = plan
    identity = plan.identity
    self.memory = memory
    self.say = say
    self.onGone = onGone
    let record = memory.readBoard()
    let names = PhoneNames(given: plan.phones, records: record.phones)
    let earlier = memory.readRetained()
    let isSameBroker = earlier?.broker.isSameBroker(as: plan.identity.address) ?? true
    mirror = BoardMirror(
      plan.topics, plan.policy, names: names,
      board: BoardIdentity(id: record.id, model: Hardware.model),
      retained: isSameBroker ? earlier?.topics ?? [] : [], newID: BridgeMemory.newID)
    formerBroker = isSameBroker ? nil : earlier?.broker
    outbox = Outbox(position: memory.readPosition())
    machine = BrokerMachine(now: Loop.shared.now, clientID: plan.identity.clientID) {
      Double.random(in: 0...1)
    }
    control = DaemonLink(paths: paths)
    events = DaemonLink(paths: paths)
    reporter = BridgeReporter(plan, control)
  }

  func start() {
    say(plan.sentence)
    if let formerBroker {
      say(
        "\(formerBroker) keeps what this board has published there: remove it with mosquitto_sub --remove-retained"
      )
    }
    control.onUp = { [weak self] in self?.daemonCame() }
    control.onDown = { [weak self] in self?.daemonLeft($0) }
    events.onUp = { [weak self] in self?.synchronise() }
    events.onDown = { [weak self] in self?.eventsEnded($0) }
    events.onEvent = { [weak self] in self?.received($0) }
    control.open()
    lookForUpdate()
    perform([])
  }

  /// apt loads its lists once a day.
  private func lookForUpdate() {
    mirror.latestVersion = PackageLists.latestVersion(of: "ancsd")
    _ = Loop.shared.schedule(after: .seconds(86_400)) { [weak self] in self?.lookForUpdate() }
  }

  /// Publishes the last state, and calls `onGone`.
  ///
  /// - Parameter next: the next bridge's plan. Removes everything from the broker that the next bridge does not publish.
  func leave(for next: BridgePlan? = nil) {
    guard isRunning else {
      leaveBroker()
      return perform(machine.timeUp(now: .init(nanoseconds: .max)))
    }
    events.close()
    let last = mirror.lastState("ancsd-mqtt has exited", at: .now)
    let removals: (inout BoardMirror) -> [Publication]
    if let next {
      let heir = heir(by: next)
      removals = { mirror in mirror.removals(for: heir) }
    } else {
      removals = { _ in [] }
    }
    outbox.add(last + removals(&mirror))
    stage = .leaving(removals: removals)
    pump()
    if outbox.unacknowledged == 0 || machine.limits == nil { return leaveBroker() }
    // A broker with a small window gets the rest as it acknowledges.
    _ = Loop.shared.schedule(after: Self.removalTime) { [weak self] in self?.leaveBroker() }
  }

  /// Leaves the broker once it has acknowledged everything.
  private func leaveSoon() {
    guard case .leaving(let removals) = stage, outbox.unacknowledged == 0 else { return }
    outbox.add(removals(&mirror))
    pump()
    if outbox.unacknowledged == 0 { leaveBroker() }
  }

  private func leaveBroker() {
    if case .left = stage { return }
    stage = .left
    memory.note(outbox.position)
    memory.flush()
    saveRetained()
    perform(machine.leave(now: Loop.shared.now))
  }

  /// Who tells of the same phones by other settings; nil if that is with another broker.
  private func heir(by next: BridgePlan) -> BoardMirror? {
    guard next.identity.address.isSameBroker(as: plan.identity.address) else { return nil }
    let names = PhoneNames(given: next.phones, records: Array(mirror.names.records.values))
    return BoardMirror(next.topics, next.policy, names: names, newID: BridgeMemory.newID)
  }

  // MARK: The broker

  private func perform(_ actions: [BrokerMachine.Action]) {
    for action in actions {
      switch action {
      case .connect: connect()
      case .drop: dropConnection()
      case .disconnect: connection?.disconnect()
      case .say(let why): say(why)
      case .finish:
        control.close()
        onGone()
      }
    }
    setTimer()
    tellState()
  }

  private func connect() {
    do throws(BrokerError) {
      let connection = try BrokerConnection(identity) { [weak self] in self?.heard($0) }
      self.connection = connection
      connection.open()
    } catch {
      perform(machine.refused(error.described(plan.identity.address), now: Loop.shared.now))
    }
  }

  private func dropConnection() {
    events.close()
    connection?.close()
    connection = nil
    desk.dropAll()
    acceptsRequests = false
    memory.note(outbox.position)
  }

  private func heard(_ input: BrokerConnection.Input) {
    let now = Loop.shared.now
    switch input {
    case .accepted(let limits):
      perform(machine.accepted(limits, now: now))
      accepted(limits)
    case .refused(let why): perform(machine.refused(why, now: now))
    case .takenOver:
      perform(machine.takenOver(now: now))
    case .closed:
      dropConnection()
      perform(machine.closed(now: now))
    case .willRefused(let retains):
      if retains { identity.willQuality = 0 } else { identity.willIsRetained = false }
      dropConnection()
      perform(machine.lost("the broker refuses this will: trying another", now: now))
    case .lost(let why):
      dropConnection()
      perform(machine.lost(why, now: now))
    case .acknowledged(let number, let reason): acknowledged(number, reason)
    case .message(let message): received(message)
    case .subscribed: acceptsRequests = true
    case .subscriptionRefused(let filter, let reason): refused(.subscribing(filter), filter, reason)
    }
  }

  /// The broker refuses something to this board.
  private func refused(_ attempt: ReasonCode.Attempt, _ topic: String, _ reason: ReasonCode) {
    guard reporter.report.refuse(topic) else { return }
    say(reason.sentence(attempt, as: plan.identity.name))
    tellState()
  }

  private func accepted(_ limits: BrokerLimits) {
    guard isRunning else { return leaveBroker() }
    say("connected to \(plan.identity.address)")
    if !limits.retains {
      say("the broker does not retain messages: each state is published only once")
    }
    identity.willIsRetained = limits.retains
    identity.willQuality = limits.quality
    reporter.report.refused = []
    if hasConnected { reporter.report.reconnections += 1 }
    hasConnected = true
    mirror.begin()
    outbox.begin(receiveMaximum: limits.receiveMaximum)
    connection?.subscribe(plan.topics.requestFilters)
    if let discovery = plan.policy.discovery {
      connection?.subscribe(["\(discovery)/status"], noLocal: false)
    }
    if control.isUp {
      events.open()
    } else {
      publish(learning { $0.daemonLeft("the daemon is not running", at: .now) })
    }
  }

  private func acknowledged(_ number: UInt16, _ reason: ReasonCode) {
    let now = Loop.shared.now
    switch outbox.acknowledged(number, reason, at: now) {
    case nil: return
    case .delivered(let publication)?:
      reporter.report.sent += 1
      finished(publication)
    case .refused(let publication)?:
      let topic = publication.topic
      refused(publication.isRemoval ? .removing(topic) : .publishing(topic), topic, reason)
      if case .event = publication.kind { reporter.report.skipped += 1 }
      if reason.isLackOfSpace {
        mirror.notKept(topic)
        scheduleRefresh(after: Self.spaceInterval)
      }
      finished(publication)
    case .postponed(let publication)?:
      refused(.publishing(publication.topic), publication.topic, reason)
    }
    machine.awaits(outbox.isAwaiting, hasMoved: true, now: now)
    memory.note(outbox.position)
    pump()
    tellState()
    leaveSoon()
  }

  private func publish(_ publications: [Publication]) {
    guard machine.limits != nil, isRunning else { return }
    if publications.contains(where: { $0.kind == .state }) { saveRetained() }
    outbox.add(publications)
    pump()
  }

  /// The broker has processed a publication.
  private func finished(_ publication: Publication) {
    guard publication.isRemoval else { return }
    let isFirst = mirror.retained.contains(publication.topic)
    mirror.removed(publication.topic)
    if !outbox.isFull { saveRetained() }
    guard isFirst, isRunning else { return }
    // What is left of a removed device can go once Home Assistant has forgotten it.
    _ = Loop.shared.schedule(after: Self.removalTime) { [weak self] in
      guard let self else { return }
      publish(mirror.leftovers())
    }
    guard mirror.isStateOfOther(publication.topic) else { return }
    // If the run with the other settings was killed, the broker still publishes its will.
    _ = Loop.shared.schedule(after: BrokerConnection.longestWill) { [weak self] in
      self?.publish([publication])
    }
  }

  private func saveRetained() { memory.saveRetained(mirror.retained, at: plan.identity.address) }

  /// Sends queued messages up to the window, and reads events only while none are queued.
  private func pump() {
    guard let connection, machine.limits != nil else { return }
    let now = Loop.shared.now
    while let publication = outbox.next(at: now), send(publication, on: connection) {
      guard machine.limits != nil else { return }
    }
    machine.awaits(outbox.isAwaiting, now: now)
    events.isPaused = outbox.isFull
    setTimer()
  }

  /// Sends the outbox's next publication.
  ///
  /// - Returns: whether the next one can be sent. If not, the connection is about to end.
  private func send(_ publication: Publication, on connection: BrokerConnection) -> Bool {
    switch connection.publish(publication) {
    case .awaited(let number): outbox.sent(as: number)
    case .done:
      outbox.dropped()
      reporter.report.sent += 1
      finished(publication)
    case .failed:
      Loop.shared.later { [weak self, weak connection] in
        guard let self, let connection, connection === self.connection else { return }
        dropConnection()
        perform(machine.lost("a message could not be sent", now: Loop.shared.now))
      }
      return false
    case .tooLong:
      let shorter = publication.shortened()
      outbox.dropped(for: shorter)
      tooLong(publication, isShortened: shorter != nil)
    }
    return true
  }

  /// A publication exceeds the broker's limit.
  private func tooLong(_ publication: Publication, isShortened: Bool) {
    if !isShortened {
      if case .event = publication.kind { reporter.report.skipped += 1 }
      reporter.report.refuse(publication.topic)
      tellState()
    }
    guard toldLengths.count < Self.mostRefusals,
      toldLengths.insert("\(publication.topic) \(isShortened)").inserted
    else { return }
    let instead =
      switch publication.kind {
      case _ where !isShortened: "not sent"
      case .response: "the response says so"
      default: "sent without a text"
      }
    say(
      "\(publication.topic): \(publication.payload.count) bytes exceed the broker's limit: \(instead); \(ReasonCode.tooLargeRemedy)"
    )
  }

  // MARK: The daemon

  private func daemonCame() {
    reporter.daemonCame()
    tellState()
    if machine.limits != nil { events.open() }
  }

  private func daemonLeft(_ why: String) {
    say(why)
    events.close()
    publish(
      desk.daemonLeft() + learning { $0.daemonLeft("the daemon is not reachable", at: .now) })
  }

  /// It was paused for too long, the daemon has too many clients, or it has exited, which `control` reports.
  private func eventsEnded(_ why: String) {
    Loop.shared.later { [weak self] in
      if let self, control.isUp { say("the daemon sends no events: \(why)") }
    }
  }

  /// Requests the daemon's whole state, and then the events since.
  private func synchronise() {
    askAll { [weak self] in self?.subscribe() }
  }

  /// Requests the daemon's status, and its notifications.
  private func askAll(then: @escaping () -> Void = {}) {
    askStatus { [weak self] in self?.list(after: nil, [], then: then) }
  }

  private func askStatus(publishesAll: Bool = false, then: @escaping () -> Void = {}) {
    control.call(ControlMethods.status, NoParameters()) { [weak self] response in
      guard let self, machine.limits != nil else { return }
      guard let status = response["result"].flatMap({ StatusReport(json: $0) }) else {
        return say("unexpected status from the daemon: is it a different version?")
      }
      publish(learning { $0.update(status, publishesAll: publishesAll, at: .now) })
      for phone in mirror.silentPlayers { askMedia(of: phone) }
      if mirror.isIncomplete(at: .now) {
        scheduleRefresh(after: Self.completionInterval)
      } else if !status.links.isEmpty {
        scheduleRefresh(after: Self.refreshInterval)
      }
      then()
    }
  }

  private func askMedia(of phone: Address?) {
    let selector = phone.map { PhoneSelector($0.description) }
    control.call(ControlMethods.getMedia, PhoneParameters(phone: selector)) {
      [weak self] response in
      guard let self, let media = response["result"]?.object else { return }
      publish(mirror.media(media, of: phone, at: .now))
    }
  }

  private func list(after: String?, _ before: [JSONObject], then: @escaping () -> Void) {
    var query = NotificationQuery()
    query.after = after
    control.call(ControlMethods.listNotifications, query) { [weak self] response in
      guard let self, machine.limits != nil else { return }
      let page = response["result"]?["notifications"]?.array?.compactMap(\.object) ?? []
      if let next = response["result"]?["next"]?.string, !page.isEmpty {
        return list(after: next, before + page, then: then)
      }
      publish(mirror.list(before + page, at: .now))
      then()
    }
  }

  private func subscribe() {
    let position = outbox.seen
    let names = Set(EventName.allCases).subtracting([.incoming])
    let subscription = Subscription(
      events: names, since: position?.seq ?? 0, life: position?.life ?? mirror.life,
      maxAge: Int(plan.maxAge))
    events.call(ControlMethods.subscribe, subscription) { [weak self] response in
      guard let why = response["error"]?["message"]?.string else { return }
      self?.say("the daemon sends no events: \(why): is it an older version? upgrade ancsd")
    }
    events.isPaused = outbox.isFull
  }

  private func received(_ event: JSONObject) {
    guard machine.limits != nil, let seq = event["seq"]?.int.flatMap({ UInt64(exactly: $0) })
    else { return }
    if event["event"] == "lost" {
      // A bridge that has seen no event has lost none.
      guard outbox.seen != nil else { return }
      reporter.report.skipped += event["count"]?.int.flatMap { UInt64(exactly: $0) } ?? 0
    }
    let digest = plan.digestKey.map { key in { KeyedDigest.of($0, key: key) } }
    let (publications, consequence) = learning { $0.event(event, at: .now, digest: digest) }
    outbox.add(publications)
    if let life = mirror.life { outbox.passed(Position(life: life, seq: seq)) }
    if !outbox.isAwaiting { memory.note(outbox.position) }
    pump()
    switch consequence {
    case .asksStatus: scheduleRefresh(after: Self.refreshPause)
    case .asksAll: askAll()
    case .settles: scheduleSettling()
    case .nothing: break
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

  private func scheduleRefresh(after pause: Duration) {
    let time = Loop.shared.now + pause
    // Do not postpone a request that is due sooner.
    if let refresh {
      guard time < refresh.at else { return }
      Loop.shared.cancel(refresh.timer)
    }
    let timer = Loop.shared.schedule(at: time) { [weak self] in
      self?.refresh = nil
      self?.askStatus()
    }
    refresh = (timer, time)
  }

  private func scheduleSettling() {
    guard settling == nil else { return }
    settling = Loop.shared.schedule(after: Self.settlingPause) { [weak self] in
      guard let self else { return }
      settling = nil
      publish(mirror.settle(at: .now))
    }
  }

  // MARK: Requests

  private func received(_ message: IncomingMessage) {
    if let discovery = plan.policy.discovery, message.topic == "\(discovery)/status" {
      guard message.payload == Array("online".utf8) else { return }
      // Spreads the requests of several boards.
      let pause = Duration.milliseconds(Int64.random(in: 0...10_000))
      _ = Loop.shared.schedule(after: pause) { [weak self] in
        self?.askStatus(publishesAll: true)
      }
      return
    }
    guard acceptsRequests, outbox.hasSpaceForResponse else { return }
    let outcome = desk.receive(message, mirror, now: Loop.shared.now, time: .now)
    publish(outcome.publications)
    for (number, call) in outcome.calls {
      control.call(call.line) { [weak self] response in
        guard let self else { return }
        publish(desk.answered(number, response, mirror))
        setTimer()
      }
    }
    setTimer()
  }

  // MARK: Time

  private func setTimer() {
    if let timer { Loop.shared.cancel(timer) }
    timer = nil
    guard
      let deadline = [machine.deadline, desk.deadline, outbox.deadline].compactMap({ $0 }).min()
    else { return }
    timer = Loop.shared.schedule(at: deadline) { [weak self] in self?.timeUp() }
  }

  private func timeUp() {
    timer = nil
    let now = Loop.shared.now
    publish(desk.timeUp(now: now))
    perform(machine.timeUp(now: now))
    pump()
  }

  private func tellState() { reporter.tell(machine, waiting: outbox.unacknowledged) }
}
