// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import Fleet
import MQTT
import System
import Wire

/// A board's end at its broker: connects again and again, and sends what waits in the outbox as fast as the broker
/// acknowledges it. It tells the daemon of the connection when that changes, and of its counters now and then.
@LoopActor final class BrokerLink {
  /// Called when the broker has accepted a connection.
  var onUp: () -> Void = {}
  /// Called when a connection is over.
  var onDown: () -> Void = {}
  /// Called when publications were sent or acknowledged.
  var onMoved: () -> Void = {}
  /// Called with a publication that the broker has processed, and whether it may have kept it.
  var onProcessed: (Publication, _ isKept: Bool) -> Void = { _, _ in }
  /// Called with each message that does not come late.
  var onMessage: (IncomingMessage) -> Void = { _ in }
  /// Called once, when it has left the broker.
  var onGone: () -> Void = {}

  /// What the daemon is told.
  var report = BridgeReport()
  /// What it knows; nil: nothing.
  private var known: BridgeReport?
  private lazy var counters = Deadline(Loop.shared) { [weak self] in self?.sendReport() }
  private let control: DaemonLink
  private let plan: BridgePlan
  /// From the settings, except the will, which the broker may limit.
  private var identity: BrokerIdentity
  private var machine: BrokerMachine
  private var connection: BrokerConnection?
  private(set) var outbox: Outbox
  /// The unanswered subscriptions are over: what was sent before them is late.
  private var isSubscribed = false
  private lazy var timer = Deadline(Loop.shared) { [weak self] in
    guard let self else { return }
    perform(machine.timeUp(now: Loop.shared.now))
    pump()
  }
  private var hasConnected = false
  /// What the log says already about publications that are too long.
  private var toldLengths: Set<String> = []

  /// The maximum number of topics to log as too long.
  private static let mostRefusals = 16
  /// The minimum interval between reports of counters.
  private static let reportInterval = Duration.seconds(5)

  init(_ plan: BridgePlan, _ control: DaemonLink, position: Position?) {
    self.plan = plan
    self.control = control
    identity = plan.identity
    outbox = Outbox(position: position)
    machine = BrokerMachine(now: Loop.shared.now, clientID: plan.identity.clientID) {
      Double.random(in: 0...1)
    }
    report.broker = "\(plan.identity.address)"
    report.client = plan.identity.clientID
    report.user = plan.identity.user
    report.version = Program.build
    report.topics = plan.topics.root
    report.since = .now
  }

  func start() { perform([]) }

  /// Sends DISCONNECT, and calls `onGone`.
  func leave() { perform(machine.leave(now: Loop.shared.now)) }

  /// Does not wait any longer for the end.
  func abandon() { perform(machine.timeUp(now: .init(nanoseconds: .max))) }

  // MARK: Publications

  /// Whether the broker has accepted the connection.
  var isUp: Bool { machine.isConnected }

  /// Whether everything was acknowledged, or can't be.
  var isDone: Bool { outbox.unacknowledged == 0 || !isUp }

  /// Publishes, if there is a connection; a new one begins with all states anyway.
  ///
  /// - Parameter position: of the event whose consequences these are.
  func publish(_ publications: [Publication], of position: Position? = nil) {
    guard isUp else { return }
    outbox.add(publications, at: Loop.shared.now)
    if let position { outbox.handled(position) }
    pump()
  }

  // MARK: The connection

  private func perform(_ actions: [BrokerMachine.Action]) {
    for action in actions {
      switch action {
      case .connect: connect()
      case .drop: drop()
      case .disconnect: connection?.disconnect()
      case .say(let why): say(why)
      case .finish: onGone()
      }
    }
    setTimer()
    tellState()
  }

  private func connect() {
    let connection = BrokerConnection(identity) { [weak self] in self?.heard($0) }
    self.connection = connection
    connection.open()
  }

  private func drop() {
    connection?.close()
    connection = nil
    isSubscribed = false
    onDown()
  }

  private func lost(_ why: String) { perform(machine.lost(why, now: Loop.shared.now)) }

  private func heard(_ input: BrokerConnection.Input) {
    let now = Loop.shared.now
    switch input {
    case .accepted(let limits):
      perform(machine.accepted(now: now))
      accepted(limits)
    case .refused(let why): perform(machine.refused(why, now: now))
    case .takenOver: perform(machine.takenOver(now: now))
    case .closed: perform(machine.closed(now: now))
    case .willRefused(let retains):
      if retains { identity.willQuality = 0 } else { identity.willIsRetained = false }
      lost("the broker refuses this will: trying another")
    case .lost(let why): lost(why)
    case .acknowledged(let number, let reason): acknowledged(number, reason)
    case .message(let message):
      if isSubscribed { onMessage(message) }
    case .subscribed: isSubscribed = true
    case .subscriptionRefused(let filter, let reason): refused(.subscribing(filter), filter, reason)
    }
  }

  private func accepted(_ limits: BrokerLimits) {
    identity.willIsRetained = limits.retains
    identity.willQuality = limits.quality
    outbox.begin(receiveMaximum: limits.receiveMaximum)
    report.refused = []
    if hasConnected { report.reconnections += 1 }
    hasConnected = true
    say("connected to \(plan.identity.address)")
    if !limits.retains {
      say("the broker does not retain messages: each state is published only once")
    }
    subscribe()
    onUp()
  }

  private func subscribe() {
    isSubscribed = false
    connection?.subscribe(plan.topics.requestFilters)
    if let discovery = plan.policy.discovery {
      connection?.subscribe(["\(discovery)/status"], noLocal: false)
    }
  }

  /// The process was stopped (SIGSTOP). What was sent to it meanwhile comes before the answer to another subscription.
  func wasStopped() { if isUp { subscribe() } }

  /// The broker refuses something to this board.
  private func refused(_ attempt: ReasonCode.Attempt, _ topic: String, _ reason: ReasonCode) {
    guard report.refuse(topic) else { return }
    say(reason.sentence(attempt, as: plan.identity.name))
    tellState()
  }

  // MARK: The outbox

  private func acknowledged(_ number: UInt16, _ reason: ReasonCode) {
    let now = Loop.shared.now
    switch outbox.acknowledged(number, reason, at: now) {
    case nil: return
    case .delivered(let publication)?:
      report.sent += 1
      onProcessed(publication, true)
    case .refused(let publication)?:
      let topic = publication.topic
      refused(publication.isRemoval ? .removing(topic) : .publishing(topic), topic, reason)
      if publication.isEvent { report.skipped += 1 }
      onProcessed(publication, !reason.isLackOfSpace)
    case .postponed(let publication)?:
      refused(.publishing(publication.topic), publication.topic, reason)
    }
    machine.awaits(outbox.isAwaiting, hasMoved: true, now: now)
    pump()
    tellState()
  }

  /// Sends queued messages up to the window.
  private func pump() {
    guard let connection, isUp else { return }
    let now = Loop.shared.now
    let expired = outbox.dropExpired(at: now)
    report.skipped += expired
    while let publication = outbox.next(at: now), send(publication, on: connection) {
      guard isUp else { return }
    }
    machine.awaits(outbox.isAwaiting, now: now)
    setTimer()
    if expired > 0 { tellState() }
    onMoved()
  }

  /// Sends the outbox's next publication.
  ///
  /// - Returns: whether the next one can be sent. If not, the connection is about to end.
  private func send(_ publication: Publication, on connection: BrokerConnection) -> Bool {
    switch connection.publish(publication) {
    case .awaited(let number): outbox.sent(as: number)
    case .done:
      outbox.finishNext()
      report.sent += 1
      onProcessed(publication, true)
    case .failed:
      Loop.shared.later { [weak self, weak connection] in
        guard let self, let connection, connection === self.connection else { return }
        lost("a message could not be sent")
      }
      return false
    case .tooLong:
      let shorter = publication.shortened()
      if let shorter { outbox.replaceNext(with: shorter) } else { outbox.finishNext() }
      tooLong(publication, isShortened: shorter != nil)
    }
    return true
  }

  /// A publication exceeds the broker's limit.
  private func tooLong(_ publication: Publication, isShortened: Bool) {
    if !isShortened {
      if publication.isEvent { report.skipped += 1 }
      report.refuse(publication.topic)
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

  // MARK: Time

  private func setTimer() {
    timer.due = [machine.deadline, outbox.deadline(after: Loop.shared.now)].compactMap { $0 }.min()
  }

  // MARK: The daemon

  /// The daemon is there again, and knows nothing.
  func daemonCame() {
    known = nil
    tellState()
  }

  private func tellState() {
    if report.state != machine.reported {
      report.state = machine.reported
      report.since = .now
    }
    report.why = machine.trouble
    report.waiting = outbox.unacknowledged
    guard let known, known.withCounters(of: report) == report else { return sendReport() }
    if known != report { counters.limit(to: Loop.shared.now + Self.reportInterval) }
  }

  private func sendReport() {
    guard control.isUp else { return }
    known = report
    control.call(ControlMethods.reportBridge, report) { _ in }
  }
}

extension BridgeReport {
  fileprivate func withCounters(of other: BridgeReport) -> BridgeReport {
    var report = self
    (report.waiting, report.sent, report.skipped) = (other.waiting, other.sent, other.skipped)
    return report
  }
}

extension BrokerMachine {
  /// The state in a report.
  fileprivate var reported: BridgeReport.State {
    switch state {
    case .connecting: .connecting
    case .connected, .leaving, .gone: .connected
    case .waiting: failures == 0 ? .connecting : .waiting
    case .refused: .refused
    }
  }
}
