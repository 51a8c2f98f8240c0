// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Control
import EventLoop
import GAP
import GATT
import Mgmt
import System
import Wire

/// A link over the air: mgmt's events about the phone, the kernel's ATT channel, and the pairing
/// machine.
///
///     announced ──▶ attached ──▶ secured ──▶ ending ──▶ over
///                      └───────▶ refused ──────┘
///
/// mgmt may report a phone before or after its ATT channel is accepted. Every input goes through
/// `handle`, which runs the pairing machine, performs the action, and sets the one timer.
@LoopActor final class RadioLink: Link {
  /// An input to `handle`.
  enum Input {
    /// An mgmt event about the phone.
    case event(MgmtEvent)
    /// The phone's ATT channel was accepted.
    case channel(any ATTChannel)
    /// The reply to Pair Device.
    case pairCompleted(MgmtStatus)
    /// The user has opened pairing.
    case windowOpened
    /// The session waits for encryption.
    case secure(CheckedContinuation<Bool, Never>)
    /// The phone has refused a request of the session for lack of security.
    case securityRefused
    /// `deadline` has passed.
    case time
    /// The ATT channel has ended.
    case channelClosed(ChannelEnd)
    /// The controller's answer to a request for connection parameters.
    case parameters(ControllerLinks.Answer)
    /// The adapter was blocked or changed. A link of which nothing, or half of the end, was heard so far will
    /// hear no more; the channel of any other tells when it ends.
    case adapterLost
    /// The adapter is gone, and all links with it.
    case adapterGone
    /// The board ends the link, for this reason.
    case end(String)
  }

  /// The life of a link.
  private enum Life {
    /// mgmt has reported the phone, and its ATT channel has not arrived. Pair Device has to wait
    /// for it: before L2CAP is up the kernel accepts the command but sends nothing to the phone.
    case announced(pairDevice: MgmtCommand?)
    /// The ATT channel is there, and the link is not encrypted yet.
    case attached(Attachment)
    /// Encrypted with a key that is kept.
    case secured(Attachment)
    /// Pairing has failed: the phone is not served.
    case refused(Attachment)
    /// One of the kernel's two reports of the end has come, and the other is awaited.
    case ending(Attachment, Ending)
    case over
  }

  /// The ATT channel and what belongs to it.
  private struct Attachment {
    let channel: any ATTChannel
    /// The controller's handle of the link.
    let handle: UInt16?
    /// Those that wait for encryption, and when the channel is asked again: no event reports
    /// encryption with a stored key (docs/kernel.md, “BT_SECURITY”).
    var waiters: [CheckedContinuation<Bool, Never>] = []
    var poll: Poll?
    /// Decides on the connection parameters; nil until the link is secured.
    var tuner: LinkTuner?
    /// Whether the link was ever encrypted with a key that is kept.
    var wasSecured = false
  }

  private struct Poll {
    var due: Instant
    var pause = Duration.milliseconds(10)
    static let longest = Duration.milliseconds(500)
  }

  /// The kernel reports an end twice, in either order: by an error of the channel and by an event.
  private enum Ending {
    /// mgmt's event has come, with its reason. The channel is about to end, and is waited for until then.
    case announced(DisconnectReason, until: Instant)
    /// The channel has ended. The event with the reason is awaited until then.
    case channelClosed(until: Instant)
    /// The channel has ended for this reason because pairing has failed. mgmt tells why, by the reply to
    /// Pair Device or by Authentication Failed, but the daemon may read that later than the channel's
    /// error. It is awaited until then.
    case unexplained(String, until: Instant)
  }

  let adapter: String?
  let history: LinkHistory
  /// The profile that was on the air when the phone connected.
  let profile: AdvertisingProfile?
  var onPacket: (ArraySlice<UInt8>) -> Void = { _ in } {
    didSet { attachment?.channel.onPacket = history.recording(onPacket) }
  }
  var onEnd: (String) -> Void = { _ in }
  var onWaitChange: () -> Void = {}

  private let owner: Adapter
  private var machine: PairingMachine
  private var life: Life
  private var timer: (id: TimerID, due: Instant)?

  /// A link with a phone that has just connected.
  init(_ owner: Adapter, _ peer: DeviceAddress, profile: AdvertisingProfile?) {
    self.owner = owner
    self.profile = profile
    adapter = owner.name
    history = owner.radio.supervisor.timeline.begin(adapter: owner.name, phone: peer.address)
    machine = PairingMachine(
      peer: peer, bond: owner.bond(with: peer), admission: owner.admission(of: nil),
      policy: owner.policy, at: owner.scheduler.now)
    life = .announced(pairDevice: machine.pairDevice)
    setTimer()
  }

  // MARK: State

  /// The phone's address: its identity address once that is known.
  var peer: DeviceAddress { machine.peer }
  var phone: DeviceAddress? { machine.peer }
  var isBonded: Bool { owner.isBonded(machine.peer) }
  /// Whether its ATT channel has arrived.
  var isAttached: Bool { attachment != nil }

  /// Whether the phone is gone, so that its next connection is a new link.
  var isEnding: Bool {
    switch life {
    case .ending, .over: true
    case .announced, .attached, .secured, .refused: false
    }
  }

  /// Whether its channel has ended, and mgmt's event of that has not come.
  var awaitsDisconnected: Bool {
    switch life {
    case .ending(_, .channelClosed), .ending(_, .unexplained): true
    case .ending(_, .announced), .announced, .attached, .secured, .refused, .over: false
    }
  }

  var security: LinkSecurity {
    guard let now = attachment?.channel.security(), now.level >= .medium else { return .none }
    return LinkSecurity(
      encrypted: true, authenticated: now.level >= .high, keySize: now.keySize, bonded: isBonded)
  }

  /// What the pairing asks somebody at the board to do; nil: nothing.
  var question: PairingQuestion? {
    guard case .pairing(_, let turn) = machine.state else { return nil }
    func seconds(_ until: Instant) -> Int { Int((until - now).components.seconds) }
    return switch turn {
    case .phone, .kernel, .keys: nil
    case .typing(let number, let until):
      PairingQuestion(.display, passkey: number, seconds: seconds(until))
    case .comparison(let number, let until):
      PairingQuestion(.confirm, passkey: number, seconds: seconds(until))
    case .consent(let until): PairingQuestion(.justWorks, seconds: seconds(until))
    case .passkey(let until): PairingQuestion(.entry, seconds: seconds(until))
    }
  }

  /// Whether an event is about this link.
  func concerns(_ event: MgmtEvent) -> Bool { machine.concerns(event) }

  /// Whether it is this phone's turn to pair: one at a time.
  var isPairing: Bool { if case .pairing = machine.state { true } else { false } }

  /// Whether its phone may not pair for now.
  var isHeldUp: Bool { if case .closedOut = machine.state { true } else { false } }

  /// Whether a pairing is under way on it or has just failed.
  var hasPaired: Bool { machine.hasPaired }

  var wait: Wait? {
    switch life {
    case .secured, .ending, .over: return nil
    case .announced, .attached, .refused: break
    }
    if let bond = owner.suspicion(of: peer) {
      return .phone(.oneSided(bond, phone: peer.address))
    }
    return switch machine.state {
    case .failed(let failure, _): .security(.pairingFailed(failure))
    case .closedOut(.busy, _): .security(.anotherPairs)
    case .closedOut: .security(.closedOut)
    case .asked: .security(.securityRequest(phone: peer.address))
    case .pairing(_, .phone), .pairing(_, .kernel), .pairing(_, .keys):
      .security(.confirmationThere)
    case .pairing(_, .typing): .security(.entryThere)
    case .pairing(_, .comparison): .security(.confirmationHere)
    case .pairing(_, .consent): .security(.consentHere)
    case .pairing(_, .passkey): .security(.entryHere)
    case .expected, .secured: .security(.encryption)
    }
  }

  /// How many links in the name of this phone were refused and have not ended.
  private var twins = 0

  private var attachment: Attachment? {
    switch life {
    case .attached(let attachment), .secured(let attachment), .refused(let attachment),
      .ending(let attachment, _):
      attachment
    case .announced, .over: nil
    }
  }

  // MARK: Called by the session

  func send(_ pdu: [UInt8]) {
    history.att(pdu[...], isSent: true)
    attachment?.channel.send(pdu)
  }

  func secure() async -> Bool { await withCheckedContinuation { handle(.secure($0)) } }

  func raiseSecurity() async -> Bool {
    guard !security.encrypted, isAttached else { return false }
    handle(.securityRefused)
    return await secure()
  }

  func work(backlog: Int) {
    tune { $0.work(backlog: backlog, at: $1) }
    setTimer()
  }

  func condition() async -> LinkCondition {
    guard let handle = connectionHandle else { return LinkCondition() }
    let parameters = owner.controller?.parameters(of: handle)
    let rssi = try? await owner.mgmt.getSignalStrength(peer, index: owner.index)
    return LinkCondition(rssi: rssi.map { Int($0) }, parameters: parameters)
  }

  func end(_ reason: String) { handle(.end(reason)) }

  // MARK: Inputs

  /// Handles an input: runs the pairing machine, performs its action, and sets the timer.
  func handle(_ input: Input) {
    if case .over = life {
      if case .secure(let waiter) = input { waiter.resume(returning: false) }
      return
    }
    history.input(input)
    switch input {
    case .event(let event): handle(event)
    case .channel(let channel): attach(channel)
    case .pairCompleted(let status):
      // The reply to a pairing that the end of the link has cut off is the same as to one that the
      // phone never answered (docs/kernel.md, “Pair Device”).
      if case .ending(_, .announced(let reason, _)) = life, [.remote, .timeout].contains(reason) {
        break
      }
      perform(machine.pairCompleted(status, at: now))
    case .windowOpened: if let command = machine.windowOpened() { owner.pair(command, on: self) }
    case .secure(let waiter): wait(waiter)
    case .securityRefused: requestSecurity()
    case .time: timePassed()
    case .channelClosed(let end): channelClosed(end)
    case .parameters(.updated(let status)): tune { $0.updated(status: status, at: $1) }
    case .parameters(.refused(let status)):
      tune { tuner, _ in
        tuner.refused()
        return nil
      }
      owner.parametersRefused(status)
    case .adapterLost:
      switch life {
      case .announced, .ending: finish(Self.adapterGone, byUs: true)
      case .attached, .secured, .refused, .over: break
      }
    case .adapterGone: finish(Self.adapterGone, byUs: true)
    case .end(let reason):
      owner.send(.disconnect(peer), about: peer)
      finish(reason, byUs: true)
    }
    if case .ending(_, .unexplained(let reason, _)) = life, !isPairing {
      finish(reason, byUs: false)
    }
    setTimer()
    onWaitChange()
    owner.updateWait()
    owner.pairingMayBeOver()
  }

  private var now: Instant { owner.scheduler.now }

  private func handle(_ event: MgmtEvent) {
    let admission = owner.admission(of: self)
    switch event {
    case .newLongTermKey(let key, let store):
      perform(machine.longTermKey(key, store: store, admission: admission, at: now))
    case .newIdentityResolvingKey(let key, _, let store):
      let former = peer
      let isTaken = owner.bond(with: key.peer) != nil
      perform(machine.identityResolvingKey(key, store: store, isTaken: isTaken, at: now))
      history.phone = peer.address
      if case .failed(.identityTaken, _) = machine.state { owner.identified(former) }
      if peer != former { owner.identified(former) }
    case .userConfirmRequest(_, let hint, let number):
      perform(
        machine.userConfirmRequest(hint: hint, number: number, admission: admission, at: now))
    case .userPasskeyRequest:
      perform(machine.userPasskeyRequest(admission: admission, at: now))
    case .passkeyNotify(_, let passkey, let entered):
      perform(machine.passkeyNotify(passkey, entered: entered, admission: admission, at: now))
    case .authenticationFailed(_, let status):
      perform(machine.authenticationFailed(status, at: now))
    case .deviceDisconnected(_, let reason): disconnected(reason)
    default: break
    }
  }

  /// Passes on the board user's answer to `question`.
  func respond(accept: Bool, passkey: Passkey?) {
    let action = machine.enter(accept ? passkey : nil, at: now) ?? machine.confirm(accept, at: now)
    switch action {
    case nil: return
    // The `pairing` event was published when the question came.
    case .accept(let command)?: owner.send(command, about: peer)
    case let action?: perform(action)
    }
    setTimer()
    onWaitChange()
    owner.pairingMayBeOver()
  }

  // MARK: Actions of the pairing machine

  private func perform(_ action: PairingMachine.KeyAction) {
    switch action {
    case .nothing: break
    case .save(let bond, let isNew):
      owner.save(bond, isNew: isNew)
      secured()
    case .discard(let failure):
      if let failure { fail(failure) }
      owner.discardKeys(of: peer)
    case .failed(let failure): fail(failure)
    case .withhold(let failure):
      owner.withholdKey(of: peer)
      fail(failure)
    }
  }

  private func perform(_ action: PairingMachine.QuestionAction) {
    switch action {
    case .accept(let command):
      owner.publish(.pairing(PairingQuestion(.justWorks)), phone: peer)
      owner.send(command, about: peer)
    case .askToConfirm, .askForConsent, .askForPasskey, .show:
      guard let question else { break }
      if question.method != .display { owner.radio.asked(by: peer.address) }
      owner.publish(.pairing(question), phone: peer)
    case .typed(let digits):
      owner.linkLog.info("\(owner.name): \(digits) digits are typed on the phone")
    case .refuse(let command, let failure):
      owner.send(command, about: peer)
      if let failure { fail(failure) }
    }
  }

  private func fail(_ failure: PairingFailure) {
    owner.publish(.pairingFailed(reason: "\(failure)"), phone: peer)
    // A secured link that asked to pair again stays secured.
    if case .attached(let attachment) = life { decide(attachment, isSecured: false) }
  }

  private func secured() {
    switch life {
    case .attached(let attachment), .refused(let attachment): decide(attachment, isSecured: true)
    case .announced, .secured, .ending, .over: break
    }
    owner.secured(peer)
  }

  /// Serves the link or refuses it, and tells those who wait for that.
  private func decide(_ attachment: Attachment, isSecured: Bool) {
    var attachment = attachment
    let waiters = attachment.waiters
    attachment.waiters = []
    attachment.poll = nil
    if isSecured {
      attachment.wasSecured = true
      attachment.tuner = attachment.tuner ?? LinkTuner(at: now)
    }
    history.step(.link, isSecured ? "encrypted" : "refused")
    life = isSecured ? .secured(attachment) : .refused(attachment)
    for waiter in waiters { waiter.resume(returning: isSecured) }
  }

  // MARK: The ATT channel

  private func attach(_ channel: any ATTChannel) {
    guard case .announced(let pairDevice) = life else { return owner.radio.close(channel) }
    let attachment = Attachment(channel: channel, handle: channel.connectionHandle())
    channel.onClose = { [weak self] in self?.handle(.channelClosed(ChannelEnd($0))) }
    switch machine.state {
    case .failed: decide(attachment, isSecured: false)
    case .secured: decide(attachment, isSecured: true)
    // A phone that is not allowed to pair may still do so if pairing is opened in time.
    case .closedOut, .expected, .asked, .pairing: life = .attached(attachment)
    }
    if let pairDevice { owner.pair(pairDevice, on: self) }
  }

  private func wait(_ waiter: CheckedContinuation<Bool, Never>) {
    switch life {
    case .secured: waiter.resume(returning: true)
    case .announced, .refused, .ending, .over: waiter.resume(returning: false)
    case .attached(var attachment):
      attachment.waiters.append(waiter)
      attachment.poll = Poll(due: now)
      life = .attached(attachment)
      look()
    }
  }

  /// Asks the channel whether it is encrypted, at growing intervals.
  private func look() {
    guard case .attached(var attachment) = life, var poll = attachment.poll, now >= poll.due
    else { return }
    let security = security
    if security.encrypted,
      machine.encrypted(
        isAuthenticated: security.authenticated, keySize: Int(security.keySize))
    {
      return secured()
    }
    poll.due = now + poll.pause
    poll.pause = min(poll.pause + poll.pause, Poll.longest)
    attachment.poll = poll
    life = .attached(attachment)
  }

  private func requestSecurity() {
    guard let attachment else { return }
    if case .secured = life { life = .attached(attachment) }
    guard isBonded else { return }
    do {
      try attachment.channel.requestSecurity(.medium)
    } catch {
      owner.linkLog.info("\(owner.name): \(error)")
    }
  }

  // MARK: Connection parameters

  /// The connection handle, while the ATT channel is there.
  var connectionHandle: UInt16? { attachment?.handle }

  /// Tells the tuner something, and asks the phone for what it wants then.
  private func tune(_ tell: (inout LinkTuner, Instant) -> ConnectionParameters?) {
    guard case .secured(var attachment) = life, var tuner = attachment.tuner,
      let handle = connectionHandle, let controller = owner.controller
    else { return }
    if let wanted = tell(&tuner, now), !controller.request(wanted, on: handle) { tuner.refused() }
    attachment.tuner = tuner
    life = .secured(attachment)
  }

  // MARK: Time

  private var deadline: Instant? {
    if case .over = life { return nil }
    var deadlines = [machine.deadline]
    switch life {
    case .attached(let attachment): deadlines.append(attachment.poll?.due)
    // Without the controller the tuner is not run.
    case .secured(let attachment) where owner.controller != nil:
      deadlines.append(attachment.tuner?.deadline)
    case .ending(_, .channelClosed(let until)), .ending(_, .announced(_, let until)),
      .ending(_, .unexplained(_, let until)):
      deadlines.append(until)
    case .announced, .secured, .refused, .over: break
    }
    return deadlines.compactMap { $0 }.min()
  }

  private func setTimer() {
    let due = deadline
    if timer?.due == due { return }
    if let timer { owner.scheduler.cancel(timer.id) }
    timer = due.map { due in
      let id = owner.scheduler.schedule(at: due) { [weak self] in
        self?.timer = nil
        self?.handle(.time)
      }
      return (id, due)
    }
  }

  private func timePassed() {
    if case .ending(_, .channelClosed(let until)) = life, now >= until {
      return finish("\(DisconnectReason.remote)", byUs: false)
    }
    if case .ending(_, .announced(let reason, let until)) = life, now >= until {
      return finish("\(reason)", byUs: false)
    }
    if case .ending(_, .unexplained(let reason, let until)) = life, now >= until {
      return finish(reason, byUs: false)
    }
    look()
    switch machine.timePassed(to: now) {
    case .nothing: break
    case .requestSecurity:
      owner.linkLog.info("\(owner.name): \(peer) has not encrypted by itself: it is asked to")
      requestSecurity()
    case .failed(let failure): fail(failure)
    case .disconnect(.windowClosed): end("pairing is closed for unknown phones")
    case .disconnect(.busy): end("another phone is pairing")
    case .disconnect(let failure): end("pairing failed: \(failure)")
    }
    tune { $0.timePassed(to: $1) }
  }

  // MARK: The end

  /// How long to wait for the kernel's event after the end of the channel.
  private static let linger = Duration.milliseconds(100)
  /// How long to wait for the end of the channel after the kernel's event.
  private static let patience = Duration.seconds(2)
  private static let adapterGone = "the adapter went away"

  /// Another link in the name of this phone was refused. When that ends, the kernel's event names this phone.
  func twinRefused() { twins += 1 }

  /// Handles mgmt's Device Disconnected.
  private func disconnected(_ reason: DisconnectReason) {
    // If it is this link that has ended all the same, its channel's end shows that.
    if twins > 0, isAttached, !isEnding {
      twins -= 1
      return
    }
    switch life {
    case .ending(_, .unexplained): break
    case .announced, .ending, .over: finish("\(reason)", byUs: false)
    case .attached(let attachment), .secured(let attachment), .refused(let attachment):
      life = .ending(attachment, .announced(reason, until: now + Self.patience))
    }
  }

  private func channelClosed(_ end: ChannelEnd) {
    let until = now + Self.linger
    if let reason = Self.reason(end) {
      guard end == .authenticationFailed, let attachment, isPairing else {
        return finish(reason, byUs: false, end)
      }
      life = .ending(attachment, .unexplained(reason, until: until))
      return
    }
    switch life {
    case .announced, .over: break
    case .ending(_, .announced(let reason, _)): finish("\(reason)", byUs: false)
    case .ending(_, .channelClosed), .ending(_, .unexplained): break
    case .attached(let attachment), .secured(let attachment), .refused(let attachment):
      life = .ending(attachment, .channelClosed(until: until))
    }
  }

  /// - Parameters:
  ///   - byUs: whether the board has ended the link, or the adapter went away.
  ///   - end: how the channel has ended, if that says more.
  private func finish(_ reason: String, byUs: Bool, _ end: ChannelEnd = .disconnected) {
    if case .over = life { return }
    let attachment = attachment
    life = .over
    history.end(reason)
    setTimer()
    if let handle = attachment?.handle { owner.controller?.forget(handle) }
    for waiter in attachment?.waiters ?? [] { waiter.resume(returning: false) }
    let report = onEnd
    onEnd = { _ in }
    report(reason)
    owner.ended(
      self, wasSecured: attachment?.wasSecured == true, failure: machine.disconnected(),
      byUs: byUs || end == .adapterGone, keysDiffer: end == .keysDiffer)
    if let attachment { owner.radio.close(attachment.channel) }
  }

  /// The reason that the channel's error gives where the kernel's event gives none or another, as
  /// the HCI error if it is one (docs/kernel.md, “Read errors”); nil for an ordinary end.
  private static func reason(_ end: ChannelEnd) -> String? {
    switch end {
    case .disconnected: nil
    case .authenticationFailed: "Authentication Failure"
    case .keysDiffer: "Connection Terminated due to MIC Failure"
    case .adapterGone: adapterGone
    case .timedOut: "Connection Timeout"
    case .other(let errno): "\(errno)"
    }
  }
}
