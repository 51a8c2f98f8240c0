// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Capture
import Control
import EventLoop
import GAP
import GATT
import Mgmt
import System
import Wire

/// A link over the air: performs its machine's decisions, on the kernel's ATT channel and through its adapter. Only
/// the machine holds its state (`LinkMachine.State`); while that is secured, the tuner decides about connection parameters.
@LoopActor final class RadioLink: Link {
  let adapter: String?
  let history: LinkHistory
  /// When the phone connected.
  let began: Instant
  /// The profile that was on the air then.
  let profile: AdvertisingProfile?
  var onPacket: (ArraySlice<UInt8>) -> Void = { _ in } {
    didSet { channel?.onPacket = history.recording(onPacket) }
  }
  var onChange: (LinkChange) -> Void = { _ in } { didSet { tell() } }

  private let owner: Adapter
  /// Its state.
  private(set) var machine: LinkMachine
  /// The ATT channel, from its arrival to the end of the link, and the controller's handle of the link.
  private var channel: (any ATTChannel)?
  private(set) var hasSubscribed = false
  private(set) var connectionHandle: UInt16?
  private lazy var timer = Deadline(owner.scheduler) { [weak self] in self?.handle(.time) }
  private lazy var pollTimer = Deadline(owner.scheduler) { [weak self] in self?.perform(.poll) }
  /// How long after the next poll another one follows.
  private var pollPause = Duration.milliseconds(10)
  /// From the moment when the link is secured.
  private var tuner: LinkTuner? { didSet { setTunerTimer() } }
  private lazy var tunerTimer = Deadline(owner.scheduler) { [weak self] in
    self?.tune { $0.timePassed(to: $1) }
  }
  /// Callers whose requests the phone has refused for lack of security.
  private var waiters: [CheckedContinuation<Bool, Never>] = []

  /// A link with a phone that has just connected.
  init(
    _ owner: Adapter, _ peer: DeviceAddress, _ policy: PairingPolicy, _ history: LinkHistory,
    profile: AdvertisingProfile?
  ) {
    self.owner = owner
    self.history = history
    self.profile = profile
    adapter = owner.name
    began = owner.scheduler.now
    machine = LinkMachine(peer: peer, policy: policy, at: began)
    setTimers()
  }

  // MARK: State

  /// The phone's address: its identity address once that is known.
  var peer: DeviceAddress { machine.peer }
  var phone: DeviceAddress? { machine.peer }
  var isBonded: Bool { owner.keys.ring[peer] != nil }
  var isUpAndSecured: Bool { machine.wasSecured && isUp }
  var wasSecured: Bool { machine.wasSecured }
  /// Whether its ATT channel has arrived.
  var isAttached: Bool { channel != nil }
  /// Whether its ATT channel is open. The kernel knows that before it sends an event.
  var isUp: Bool { channel?.security() != nil }

  /// Whether a Device Disconnected that names the phone may be about this link.
  var mayHaveEnded: Bool {
    switch machine.state {
    case .ending(.announced, _, _), .over: false
    default: !isUp
    }
  }

  var security: LinkSecurity {
    guard let found = channel?.security(), found.isEncrypted else { return .none }
    return LinkSecurity(encrypted: true, authenticated: found.isAuthenticated, keySize: found.keySize, bonded: isBonded)
  }

  /// The pairing's question to the board's user; nil if there is none.
  var question: PairingQuestion? {
    guard let pairing = machine.pairing, case .asking(let prompt) = pairing.turn else { return nil }
    return PairingQuestion(
      prompt.method, passkey: prompt.number, seconds: Int((pairing.answerDue - now).components.seconds))
  }

  var wait: Wait? {
    let wait: Wait
    switch machine.state {
    case .secured, .ending, .over: return nil
    case .announced: wait = .channel
    case .closedOut: wait = owner.admission(of: self) == .busy ? .anotherPairs : .closedOut
    case .expected, .awaited: wait = .encryption
    case .asked: wait = .securityRequest(phone: peer.address)
    case .refused(let failure, _): wait = .pairingFailed(failure)
    case .pairing(let pairing): wait = pairing.turn.wait
    }
    return owner.keys.ring.staleBonds.suspicions[peer].map { .oneSided($0, phone: peer.address) } ?? wait
  }

  // MARK: Called by the session

  func send(_ pdu: [UInt8]) {
    history.att(pdu[...], isSent: true)
    channel?.send(pdu)
  }

  func raiseSecurity() async -> Bool {
    guard machine.isUndecided else { return false }
    return await withCheckedContinuation {
      waiters.append($0)
      handle(.securityWanted)
    }
  }

  var isLastChance: Bool { !hasSubscribed && owner.keys.ring.isOnLastChance(peer) }

  func subscribed() {
    hasSubscribed = true
    owner.keys.count(peer, hasSubscribed: true)
  }

  func work(backlog: Int) { tune { $0.work(backlog: backlog, at: $1) } }

  func condition() async -> LinkReport {
    var report = LinkReport()
    guard let connectionHandle else { return report }
    let parameters = owner.controller?.parameters(of: connectionHandle)
    (report.interval, report.latency) = (parameters?.minimumMilliseconds, parameters?.latency)
    report.timeout = parameters?.timeoutMilliseconds
    let pause = owner.parameterPatience.pause(of: peer, at: now)
    report.parametersPause = pause.map { Int($0.components.seconds) }
    let strength = try? await owner.mgmt.getSignalStrength(peer, index: owner.index)
    report.rssi = strength.map { Int($0) }
    return report
  }

  func end(_ reason: String) { handle(.end(reason)) }

  // MARK: Inputs and actions

  private var now: Instant { owner.scheduler.now }

  /// The phone's ATT channel was accepted.
  func attach(_ channel: any ATTChannel) {
    self.channel = channel
    connectionHandle = channel.connectionHandle()
    channel.onClose = { [weak self] in self?.channelClosed($0) }
    handle(.attached)
  }

  /// The kernel has one error for different keys and for all reasons that it has no error for (docs/kernel.md, “Read
  /// errors”); the controller's event, which comes before, tells them apart.
  private func channelClosed(_ error: Errno?) {
    var end = ChannelEnd(error)
    if end == .keysDiffer, let connectionHandle,
      let reason = owner.controller?.end(of: connectionHandle), reason != ControllerError.micFailure
    {
      end = .other(ControllerError.name(reason))
    }
    handle(.channelClosed(end))
  }

  /// Handles an input: performs the machine's actions, and sets the timer.
  func handle(_ input: LinkMachine.Input) {
    if case .over = machine.state { return }
    history.input(input)
    let heldPhone = machine.holdsPhone
    perform(machine.handle(input, under: owner.terms(for: self), at: now))
    setTimers()
    if !machine.isUndecided {
      let waiting = waiters
      waiters = []
      for waiter in waiting { waiter.resume(returning: machine.isSecured) }
    }
    onChange(.wait)
    owner.updateWait()
    owner.radio.pairingMayBeOver()
    if isAttached, machine.holdsPhone != heldPhone { owner.presenceChanged() }
  }

  private func perform(_ actions: [LinkMachine.Action]) {
    for action in actions { perform(action) }
  }

  private func perform(_ action: LinkMachine.Action) {
    switch action {
    case .poll: handle(.polled(channel?.security()))
    case .receive(let event): handle(.event(event))
    case .requestSecurity: requestSecurity()
    case .pair(let command):
      history.step(.smp, "Pair Device", "sent")
      owner.send(command, on: self) { self.handle(.pairCompleted($0)) }
    case .send(let command): owner.send(command, on: self)
    case .ask: ask(question ?? PairingQuestion(.justWorks))
    case .typed(let digits):
      owner.linkLog.info("\(owner.name): \(digits) digits are typed on the phone")
    case .save(let bond, let isNew): owner.save(bond, isNew: isNew)
    case .discardKeys: owner.keys.discard(peer)
    case .restoreKeys: owner.keys.load()
    case .withholdKey: owner.keys.withhold(peer)
    case .void(let address): owner.keys.void(address)
    case .identified:
      history.identified(peer.address)
      onChange(.identified(peer))
    case .failed(let failure):
      owner.publish(.pairingFailed(reason: "\(failure)"), phone: peer)
      if !machine.isSecured { history.step(.link, "refused") }
    case .unencrypted: owner.unencrypted(self)
    case .secured:
      history.step(.link, "encrypted")
      tuner = tuner ?? LinkTuner(at: now)
      tell()
      owner.secured(peer)
    case .otherEnded: owner.presenceChanged()
    case .over(let end): finish(end)
    }
  }

  /// Notifies the session of changes that it has to act on.
  private func tell() {
    switch machine.state {
    case .secured(let secured): onChange(.secured(isNew: secured.isNew))
    case .over(let end): onChange(.ended(end.reason))
    default: break
    }
  }

  private func ask(_ question: PairingQuestion) {
    if question.method != .display, question.seconds != nil {
      owner.radio.desk.asked(by: peer.address, at: now)
    }
    owner.publish(.pairing(question), phone: peer)
  }

  private func requestSecurity() {
    owner.linkLog.info(
      "\(owner.name): \(peer) has not encrypted by itself: sent a Security Request")
    do {
      try channel?.requestSecurity()
    } catch { owner.linkLog.info("\(owner.name): \(error)") }
  }

  /// The controller has replied to a request for connection parameters.
  func controllerReplied(_ error: UInt8, _ isRefusal: Bool) {
    let status = "status 0x" + [error].hex
    guard isRefusal else {
      history.step(.link, "LE Connection Update Complete", status)
      return tune { $0.updated(status: error, at: $1) }
    }
    history.step(.link, "LE Connection Update", "the controller refused it: \(status)")
    tuner?.refused()
    owner.parametersRefused(error)
  }

  /// Requests the connection parameters that the tuner wants after this.
  private func tune(_ tell: (inout LinkTuner, Instant) -> ConnectionParameters?) {
    guard machine.wasSecured, var tuner else { return }
    if let wanted = tell(&tuner, now) {
      let isAsked = connectionHandle.map { owner.request(wanted, of: peer, on: $0) } ?? false
      if !isAsked { tuner.refused() }
    }
    self.tuner = tuner
  }

  private func finish(_ end: LinkEnd) {
    tuner = nil
    history.end(end.reason)
    tell()
    onChange = { _ in }
    owner.ended(self, end)
    if let channel { owner.radio.close(channel) }
    channel = nil
  }

  private func setTimers() {
    timer.due = machine.deadline
    setTunerTimer()
    guard let longest = machine.pollPause else { return pollTimer.due = nil }
    guard pollTimer.due == nil else { return }
    pollTimer.due = now + pollPause
    pollPause = min(pollPause + pollPause, longest)
  }

  private func setTunerTimer() { tunerTimer.due = machine.isSecured ? tuner?.deadline : nil }
}

extension Pairing.Turn {
  fileprivate var wait: Wait {
    switch self {
    case .phone, .kernel, .keys, .identity: .confirmationThere
    case .asking(.consent): .consentHere
    case .asking(.comparison): .confirmationHere
    case .asking(.entry): .entryHere
    case .asking(.display): .entryThere
    }
  }
}
