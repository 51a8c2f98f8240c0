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
  /// The last event that happened before this program subscribed.
  private var earlier: UInt64 = 0

  private var timer: TimerID?
  /// The next status request to the daemon.
  private var refresh: (timer: TimerID, at: Instant)?
  private var settling: TimerID?
  private var reporting: TimerID?
  private var report = BridgeReport()
  private var toldReport: BridgeReport?
  private var isLeaving = false
  private var hasLeft = false

  /// How long the last publications may take to be acknowledged.
  private static let removalTime = Duration.seconds(2)
  /// The delay between an event and a status request, since several events often arrive together.
  private static let refreshPause = Duration.milliseconds(100)
  /// The delay between an event and publishing counters and calls, which many events change at once.
  private static let settlingPause = Duration.milliseconds(50)
  /// The interval of status requests while a phone is connected, for its signal strength.
  private static let refreshInterval = Duration.seconds(300)
  /// The maximum number of refused topics to report.
  private static let mostRefusals = 16
  /// The minimum interval between reports of counters to the daemon.
  private static let reportInterval = Duration.seconds(5)

  init(
    _ plan: BridgePlan, _ memory: BridgeMemory, paths: [String], say: @escaping (String) -> Void,
    onGone: @escaping () -> Void
  ) {
    self.plan = plan
    identity = plan.identity
    self.memory = memory
    self.say = say
    self.onGone = onGone
    let names = PhoneNames(given: plan.phones, found: memory.readNames())
    let earlier = memory.readRetained()
    let isSameBroker = earlier?.broker.isSameBroker(as: plan.identity.address) ?? true
    mirror = BoardMirror(
      plan.topics, plan.policy, names: names, retained: isSameBroker ? earlier?.topics ?? [] : [])
    formerBroker = isSameBroker ? nil : earlier?.broker
    outbox = Outbox(position: memory.readPosition())
    machine = BrokerMachine(now: Loop.shared.now, clientID: plan.identity.clientID) {
      Double.random(in: 0...1)
    }
    control = DaemonLink(paths: paths)
    events = DaemonLink(paths: paths)
    report.broker = "\(plan.identity.address)"
    report.client = plan.identity.clientID
    report.user = plan.identity.user
    report.version = Program.version
    report.topics = plan.topics.root
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
    perform([])
  }

  /// Publishes the last state, and calls `onGone`.
  ///
  /// - Parameter next: the next bridge's plan. Removes everything from the broker that the next bridge does not publish.
  func leave(for next: BridgePlan? = nil) {
    guard !isLeaving else {
      leaveBroker()
      return perform(machine.timeUp(now: .init(nanoseconds: .max)))
    }
    isLeaving = true
    events.close()
    let removals = next.map { mirror.removals(for: heir(by: $0)) } ?? []
    outbox.add(mirror.lastState("ancsd-mqtt has exited") + removals)
    pump()
    // A broker with a small window gets the rest as it acknowledges.
    if outbox.unacknowledged == 0 || machine.limits == nil { return leaveBroker() }
    _ = Loop.shared.schedule(after: Self.removalTime) { [weak self] in self?.leaveBroker() }
  }

  private func leaveBroker() {
    guard !hasLeft else { return }
    hasLeft = true
    memory.note(outbox.position)
    memory.flush()
    saveRetained()
    perform(machine.leave(now: Loop.shared.now))
  }

  /// Who tells of the same phones by other settings; nil if that is with another broker.
  private func heir(by next: BridgePlan) -> BoardMirror? {
    guard next.identity.address.isSameBroker(as: plan.identity.address) else { return nil }
    let names = PhoneNames(given: next.phones, found: mirror.names.found)
    return BoardMirror(next.topics, next.policy, names: names)
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
    case .subscribed: break
    case .subscriptionRefused(let filter, let reason): refused(.subscribing(filter), filter, reason)
    }
  }

  /// The broker refuses something to this board.
  private func refused(_ attempt: ReasonCode.Attempt, _ topic: String, _ reason: ReasonCode) {
    // Whoever asks for something names topics, too.
    let shown = topic.printable
    guard report.refused.count < Self.mostRefusals, !report.refused.contains(shown) else { return }
    report.refused.append(shown)
    say(reason.sentence(attempt, as: plan.identity.name))
    tellState()
  }

  private func accepted(_ limits: BrokerLimits) {
    guard !isLeaving else { return leaveBroker() }
    say("connected to \(plan.identity.address)")
    if !limits.retains {
      say("the broker does not retain messages: each state is published only once")
    }
    identity.willIsRetained = limits.retains
    identity.willQuality = limits.quality
    report.refused = []
    mirror.begin()
    outbox.begin(receiveMaximum: limits.receiveMaximum)
    connection?.subscribe(plan.topics.requestFilters)
    if let discovery = plan.policy.discovery {
      connection?.subscribe(["\(discovery)/status"], noLocal: false)
    }
    if control.isUp {
      events.open()
    } else {
      publish(mirror.daemonLeft("the daemon is not running"))
    }
  }

  private func acknowledged(_ number: UInt16, _ reason: ReasonCode) {
    guard let publication = outbox.acknowledged(number) else { return }
    finished(publication)
    if reason.isRefusal {
      let topic = publication.topic
      refused(publication.isRemoval ? .removing(topic) : .publishing(topic), topic, reason)
    }
    machine.awaits(outbox.isAwaiting, hasMoved: true, now: Loop.shared.now)
    memory.note(outbox.position)
    pump()
    tellState()
    if isLeaving, outbox.unacknowledged == 0 { leaveBroker() }
  }

  private func publish(_ publications: [Publication]) {
    guard machine.limits != nil, !isLeaving else { return }
    if publications.contains(where: { $0.kind == .state }) { saveRetained() }
    outbox.add(publications)
    pump()
  }

  /// The broker has processed a publication.
  private func finished(_ publication: Publication) {
    report.sent += 1
    guard publication.isRemoval else { return }
    let isFirst = mirror.retained.contains(publication.topic)
    mirror.removed(publication.topic)
    if !outbox.isFull { saveRetained() }
    guard isFirst, !isLeaving, mirror.isStateOfOther(publication.topic) else { return }
    // If the run with the other settings was killed, the broker still publishes its will.
    _ = Loop.shared.schedule(after: BrokerConnection.longestWill) { [weak self] in
      self?.publish([publication])
    }
  }

  private func saveRetained() { memory.saveRetained(mirror.retained, at: plan.identity.address) }

  /// Sends queued messages up to the window, and reads events only while none are queued.
  private func pump() {
    guard let connection, machine.limits != nil else { return }
    while let publication = outbox.next() {
      send(publication, on: connection)
      guard machine.limits != nil else { return }
    }
    machine.awaits(outbox.isAwaiting, now: Loop.shared.now)
    events.isPaused = outbox.isFull
    setTimer()
  }

  private func send(_ publication: Publication, on connection: BrokerConnection) {
    switch connection.publish(publication) {
    case .awaited(let number): outbox.sent(publication, as: number)
    case .done: finished(publication)
    case .failed: break
    case .tooLong:
      let shorter = publication.shortened()
      let instead: String
      switch (shorter, publication.kind) {
      case (nil, _): instead = ": not sent"
      case (_, .response): instead = ": the response says so"
      case (_, _): instead = ": sent without a text"
      }
      say(
        "\(publication.topic): \(publication.payload.count) bytes exceed the broker's limit\(instead)"
      )
      if let shorter { send(shorter, on: connection) }
    }
  }

  // MARK: The daemon

  private func daemonCame() {
    toldReport = nil
    tellState()
    if machine.limits != nil { events.open() }
  }

  private func daemonLeft(_ why: String) {
    say(why)
    events.close()
    publish(desk.daemonLeft() + mirror.daemonLeft(why))
  }

  /// It was paused for too long, the daemon has too many clients, or it has exited, which `control` reports.
  private func eventsEnded(_ why: String) {
    Loop.shared.later { [weak self] in
      if let self, control.isUp { say("the daemon sends no events: \(why)") }
    }
  }

  /// Requests the daemon's whole state, and then the events since.
  private func synchronise() {
    askStatus { [weak self] status in
      guard let self else { return }
      earlier = status.seq ?? 0
      list(after: nil, [])
    }
  }

  private func askStatus(publishesAll: Bool = false, then: @escaping (StatusReport) -> Void) {
    control.call(ControlMethods.status, NoParameters()) { [weak self] response in
      guard let self, machine.limits != nil else { return }
      guard let status = response["result"].flatMap({ StatusReport(json: $0) }) else {
        return say("unexpected status from the daemon: is it a different version?")
      }
      publish(learning { $0.update(status, publishesAll: publishesAll) })
      for phone in mirror.silentPlayers { askMedia(of: phone) }
      if !status.links.isEmpty { scheduleRefresh(after: Self.refreshInterval) }
      then(status)
    }
  }

  private func askMedia(of phone: Address?) {
    let selector = phone.map { PhoneSelector($0.description) }
    control.call(ControlMethods.getMedia, PhoneParameters(phone: selector)) {
      [weak self] response in
      guard let self, let media = response["result"]?.object else { return }
      publish(mirror.media(media, of: phone))
    }
  }

  private func list(after: String?, _ before: [JSONObject]) {
    var query = NotificationQuery()
    query.after = after
    control.call(ControlMethods.listNotifications, query) { [weak self] response in
      guard let self, machine.limits != nil else { return }
      let page = response["result"]?["notifications"]?.array?.compactMap(\.object) ?? []
      if let next = response["result"]?["next"]?.string, !page.isEmpty {
        return list(after: next, before + page)
      }
      publish(mirror.list(before + page))
      subscribe()
    }
  }

  private func subscribe() {
    let position = outbox.seen
    let names = Set(EventName.allCases).subtracting([.incoming])
    let subscription = Subscription(
      events: names, since: position?.seq ?? 0, life: position?.life ?? mirror.life)
    events.call(ControlMethods.subscribe, subscription) { _ in }
    events.isPaused = outbox.isFull
  }

  private func received(_ event: JSONObject) {
    guard machine.limits != nil, let seq = event["seq"]?.int.flatMap({ UInt64(exactly: $0) })
    else { return }
    // A bridge that has seen no event has lost none.
    if outbox.seen == nil, event["event"] == "lost" { return }
    let digest = plan.digestKey.map { key in { KeyedDigest.of($0, key: key) } }
    let (publications, consequence) = learning {
      $0.event(event, isEarlier: seq <= earlier, now: .now, digest: digest)
    }
    outbox.add(publications)
    if let life = mirror.life { outbox.passed(Position(life: life, seq: seq)) }
    if !outbox.isAwaiting { memory.note(outbox.position) }
    pump()
    switch consequence {
    case .asksStatus: scheduleRefresh(after: Self.refreshPause)
    case .settles: scheduleSettling()
    case .nothing: break
    }
  }

  /// Updates the mirror, and saves the names that it assigned to phones.
  private func learning<Value>(_ change: (inout BoardMirror) -> Value) -> Value {
    let found = mirror.names.found
    defer { if mirror.names.found != found { memory.saveNames(mirror.names.found) } }
    return change(&mirror)
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
      self?.askStatus { _ in }
    }
    refresh = (timer, time)
  }

  private func scheduleSettling() {
    guard settling == nil else { return }
    settling = Loop.shared.schedule(after: Self.settlingPause) { [weak self] in
      guard let self else { return }
      settling = nil
      publish(mirror.settle())
    }
  }

  // MARK: Requests

  private func received(_ message: IncomingMessage) {
    if let discovery = plan.policy.discovery, message.topic == "\(discovery)/status" {
      guard message.payload == Array("online".utf8) else { return }
      // Spreads the requests of several boards.
      let pause = Duration.milliseconds(Int64.random(in: 0...10_000))
      _ = Loop.shared.schedule(after: pause) { [weak self] in
        self?.askStatus(publishesAll: true) { _ in }
      }
      return
    }
    guard outbox.hasSpaceForResponse else { return }
    let outcome = desk.receive(message, mirror, now: Loop.shared.now)
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
    guard let deadline = [machine.deadline, desk.deadline].compactMap({ $0 }).min() else { return }
    timer = Loop.shared.schedule(at: deadline) { [weak self] in self?.timeUp() }
  }

  private func timeUp() {
    timer = nil
    let now = Loop.shared.now
    publish(desk.timeUp(now: now))
    perform(machine.timeUp(now: now))
  }

  // MARK: The report

  /// Reports this program's state to the daemon when it changes, and counters now and then.
  private func tellState() {
    let state = machine.reported
    if report.state != state.state {
      report.state = state.state
      report.since = .now
    }
    report.why = state.why
    report.waiting = outbox.unacknowledged
    var comparable = toldReport
    comparable?.waiting = report.waiting
    comparable?.sent = report.sent
    if comparable != report { return sendReport() }
    guard toldReport != report, reporting == nil else { return }
    reporting = Loop.shared.schedule(after: Self.reportInterval) { [weak self] in
      self?.reporting = nil
      self?.sendReport()
    }
  }

  private func sendReport() {
    guard control.isUp else { return }
    toldReport = report
    control.call(ControlMethods.reportBridge, report) { _ in }
  }
}

extension BrokerMachine {
  /// The state in a report.
  fileprivate var reported: (state: BridgeReport.State, why: String?) {
    switch state {
    case .connecting(_, _, let why): (.connecting, why)
    case .connected, .leaving, .gone: (.connected, nil)
    case .waiting(_, let failures, let why): (failures == 0 ? .connecting : .waiting, why)
    case .refused(let why, _): (.refused, why)
    }
  }
}
