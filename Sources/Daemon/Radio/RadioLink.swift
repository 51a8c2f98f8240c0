// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Control
import EventLoop
import GATT
import Mgmt
import System
import Wire

/// A link over the air: what mgmt tells of the phone, the kernel's ATT channel, and the pairing rules.
///
///     announced ──▶ attached ──▶ secured ──▶ ending ──▶ over
///                      └───────▶ refused ──────┘
///
/// mgmt may tell of a phone before its ATT channel is accepted, or after. Everything that happens to a
/// link goes through `handle`, which runs the pairing rules, does what they say, and sets the one timer.
@LoopActor final class RadioLink: Link {
  /// Something that happens to a link.
  enum Input {
    /// The kernel tells something about the phone.
    case event(MgmtEvent)
    /// The phone's ATT channel was accepted.
    case channel(any ATTChannel)
    /// The answer to Pair Device.
    case pairCompleted(MgmtStatus)
    /// Pairing was opened by hand.
    case windowOpened
    /// The session waits for encryption.
    case secure(CheckedContinuation<Bool, Never>)
    /// The session was refused something for want of security.
    case securityRefused
    /// The time of `deadline` has come.
    case time
    /// The ATT channel has ended.
    case channelClosed(ChannelEnd)
    /// The adapter is gone.
    case adapterLost
    /// This side ends the link.
    case end(String)
  }

  /// The life of a link.
  private enum Life {
    /// mgmt has told of the phone, whose ATT channel has not arrived. Pair Device has to wait for it:
    /// before the L2CAP side is up the kernel takes the command and asks the phone nothing.
    case announced(pairDevice: MgmtCommand?)
    /// The ATT channel is there, and the pairing rules have not decided yet.
    case attached(Attachment)
    /// Encrypted with a key that is kept.
    case secured(Attachment)
    /// Not to be served.
    case refused(Attachment)
    /// One of the kernel's two words for the end has come, and the other is waited for.
    case ending(Attachment, Ending, wasSecured: Bool)
    case over
  }

  /// The ATT channel and what belongs to it.
  private struct Attachment {
    let channel: any ATTChannel
    /// The controller's handle of the link.
    let handle: UInt16?
    /// The sessions that wait for encryption, and when the channel is asked for it again: no event tells
    /// of encryption with a stored key (docs/kernel.md, “BT_SECURITY”).
    var waiters: [CheckedContinuation<Bool, Never>] = []
    var poll: Poll?
    var tuning: LinkTuning?
  }

  private struct Poll {
    var due: Instant
    var pause = Duration.milliseconds(10)
    static let longest = Duration.milliseconds(500)
  }

  /// The kernel tells of an end twice, in either order: by the channel's error and by an event.
  private enum Ending {
    /// mgmt's event has come: its reason. The channel ends in a moment.
    case announced(String)
    /// The channel has ended. The event has its reason, if one comes by then.
    case channelClosed(until: Instant)
  }

  let adapter: String?
  var onPacket: ([UInt8]) -> Void = { _ in } { didSet { attachment?.channel.onPacket = onPacket } }
  var onEnd: (String) -> Void = { _ in }
  var onWaitChange: () -> Void = {}

  private let owner: Adapter
  private var machine: PairingMachine
  private var life: Life
  private var timer: TimerID?

  /// A link with a phone that has just connected.
  init(_ owner: Adapter, _ peer: DeviceAddress, isBonded: Bool) {
    self.owner = owner
    adapter = owner.name
    machine = PairingMachine(
      peer: peer, isBonded: isBonded, isWindowOpen: owner.isPairable, policy: owner.policy,
      at: owner.scheduler.now)
    if case .pairing = machine.state {
      life = .announced(pairDevice: machine.pairDevice)
    } else {
      life = .announced(pairDevice: nil)
    }
    setTimer()
  }

  // MARK: What others may know

  /// The phone, by its identity once that is known.
  var peer: DeviceAddress { machine.peer }
  var phone: DeviceAddress? { machine.peer }
  var isBonded: Bool { owner.isBonded(machine.peer) }
  /// Whether its ATT channel has arrived.
  var isAttached: Bool { attachment != nil }

  /// Whether the phone is gone, so that the next connection of this phone is another link.
  var isEnding: Bool {
    switch life {
    case .ending, .over: true
    case .announced, .attached, .secured, .refused: false
    }
  }

  var security: LinkSecurity {
    guard let now = attachment?.channel.security(), now.level >= .medium else { return .none }
    return LinkSecurity(
      encrypted: true, authenticated: now.level >= .high, keySize: now.keySize, bonded: isBonded)
  }

  /// Whether an event is about this link.
  func concerns(_ event: MgmtEvent) -> Bool { machine.concerns(event) }

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
    case .closedOut: .security(.closedOut)
    case .asked: .security(.securityRequest(phone: peer.address))
    case .pairing(_, .phone): .security(.confirmationThere)
    case .pairing(_, .typing): .security(.entryThere)
    case .pairing(_, .comparison): .security(.confirmationHere)
    case .pairing(_, .passkey): .security(.entryHere)
    case .expected, .secured: .security(.encryption)
    }
  }

  private var attachment: Attachment? {
    switch life {
    case .attached(let attachment), .secured(let attachment), .refused(let attachment),
      .ending(let attachment, _, _):
      attachment
    case .announced, .over: nil
    }
  }

  // MARK: What a session does

  func send(_ pdu: [UInt8]) { attachment?.channel.send(pdu) }

  func secure() async -> Bool { await withCheckedContinuation { handle(.secure($0)) } }

  func raiseSecurity() async -> Bool {
    guard !security.encrypted, isAttached else { return false }
    handle(.securityRefused)
    return await secure()
  }

  func work(backlog: Int) {
    guard case .secured(var attachment) = life, let handle = attachment.handle,
      let controller = owner.controller
    else { return }
    if attachment.tuning == nil {
      attachment.tuning = controller.tune(handle)
      life = .secured(attachment)
    }
    attachment.tuning?.work(backlog: backlog)
  }

  func condition() async -> LinkCondition {
    guard let handle = attachment?.handle else { return LinkCondition() }
    let parameters = owner.controller?.parameters(of: handle)
    let known = try? await owner.mgmt.getConnectionInformation(peer, index: owner.index)
    return LinkCondition(rssi: known?.rssi.map { Int($0) }, parameters: parameters)
  }

  func end(_ reason: String) { handle(.end(reason)) }

  // MARK: Everything that happens

  /// Takes something that happens, and does what follows from it.
  func handle(_ input: Input) {
    if case .over = life {
      if case .secure(let waiter) = input { waiter.resume(returning: false) }
      return
    }
    switch input {
    case .event(let event): handle(event)
    case .channel(let channel): attach(channel)
    case .pairCompleted(let status): perform(machine.pairCompleted(status, at: now))
    case .windowOpened: if let command = machine.windowOpened() { owner.pair(command, on: self) }
    case .secure(let waiter): wait(waiter)
    case .securityRefused: requestSecurity()
    case .time: timePassed()
    case .channelClosed(let end): channelClosed(end)
    case .adapterLost: if case .announced = life { finish("the adapter went away", byUs: true) }
    case .end(let reason):
      owner.send(.disconnect(peer), about: peer)
      finish(reason, byUs: true)
    }
    setTimer()
    onWaitChange()
    owner.updateWait()
  }

  private var now: Instant { owner.scheduler.now }

  private func handle(_ event: MgmtEvent) {
    let isOpen = owner.isPairable
    switch event {
    case .newLongTermKey(let key, let store):
      perform(machine.longTermKey(key, store: store, isWindowOpen: isOpen, at: now))
    case .newIdentityResolvingKey(let key, _, let store):
      let former = peer
      perform(machine.identityResolvingKey(key, store: store))
      if peer != former { owner.identified(former) }
    case .userConfirmRequest(_, let hint, let number):
      perform(machine.userConfirmRequest(hint: hint, number: number, isWindowOpen: isOpen, at: now))
    case .userPasskeyRequest: perform(machine.userPasskeyRequest(isWindowOpen: isOpen, at: now))
    case .passkeyNotify(_, let passkey, let entered):
      perform(machine.passkeyNotify(passkey, entered: entered, isWindowOpen: isOpen, at: now))
    case .authenticationFailed(_, let status):
      if let failure = machine.authenticationFailed(status, at: now) { fail(failure) }
    case .deviceDisconnected(_, let reason): disconnected("\(reason)")
    default: break
    }
  }

  /// Somebody at the board answers what pairing asked; false where nothing was asked.
  func respond(accept: Bool, passkey: Passkey?) -> Bool {
    let action = machine.enter(accept ? passkey : nil, at: now) ?? machine.confirm(accept, at: now)
    switch action {
    case nil: return false
    // That the phone pairs by a method that asks was reported when it asked.
    case .accept(let command)?: owner.send(command, about: peer)
    case let action?: perform(action)
    }
    setTimer()
    onWaitChange()
    return true
  }

  // MARK: The pairing rules

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
    }
  }

  private func perform(_ action: PairingMachine.QuestionAction) {
    switch action {
    case .accept(let command):
      owner.publish(.pairing(.justWorks, passkey: nil), phone: peer)
      owner.send(command, about: peer)
    case .askToConfirm(let number): owner.publish(.pairing(.confirm, passkey: number), phone: peer)
    case .askForPasskey: owner.publish(.pairing(.entry, passkey: nil), phone: peer)
    case .show(let number): owner.publish(.pairing(.display, passkey: number), phone: peer)
    case .typed(let digits):
      owner.log.info("\(owner.name): \(digits) digits are typed on the phone")
    case .refuse(let command, let failure):
      owner.send(command, about: peer)
      if let failure { fail(failure) }
    }
  }

  private func fail(_ failure: PairingFailure) {
    owner.publish(.pairingFailed(reason: "\(failure)"), phone: peer)
    // A secured link that asked to pair again stays secured.
    if case .attached(let attachment) = life { refuse(attachment) }
  }

  private func secured() {
    switch life {
    case .attached(var attachment), .refused(var attachment):
      let waiters = attachment.waiters
      attachment.waiters = []
      attachment.poll = nil
      life = .secured(attachment)
      for waiter in waiters { waiter.resume(returning: true) }
    case .announced, .secured, .ending, .over: break
    }
    owner.secured(peer)
  }

  private func refuse(_ attachment: Attachment) {
    var attachment = attachment
    let waiters = attachment.waiters
    attachment.waiters = []
    attachment.poll = nil
    life = .refused(attachment)
    for waiter in waiters { waiter.resume(returning: false) }
  }

  // MARK: The ATT channel

  private func attach(_ channel: any ATTChannel) {
    guard case .announced(let pairDevice) = life else { return channel.close() }
    let attachment = Attachment(channel: channel, handle: channel.connectionHandle())
    channel.onClose = { [weak self] in self?.handle(.channelClosed(ChannelEnd($0))) }
    switch machine.state {
    case .failed: life = .refused(attachment)
    case .secured: life = .secured(attachment)
    // A phone that is closed out may still pair, should pairing be opened in time.
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

  /// Asks the channel whether it is encrypted, with growing pauses.
  private func look() {
    guard case .attached(var attachment) = life, var poll = attachment.poll, now >= poll.due
    else { return }
    if security.encrypted, machine.encrypted() { return secured() }
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
      owner.log.info("\(owner.name): \(error)")
    }
  }

  // MARK: Time

  private var deadline: Instant? {
    var deadlines = [machine.deadline]
    switch life {
    case .attached(let attachment): deadlines.append(attachment.poll?.due)
    case .ending(_, .channelClosed(let until), _): deadlines.append(until)
    case .announced, .secured, .refused, .ending, .over: break
    }
    return deadlines.compactMap { $0 }.min()
  }

  private func setTimer() {
    if let timer { owner.scheduler.cancel(timer) }
    timer = nil
    if case .over = life { return }
    guard let deadline else { return }
    timer = owner.scheduler.schedule(at: deadline) { [weak self] in
      self?.timer = nil
      self?.handle(.time)
    }
  }

  private func timePassed() {
    if case .ending(_, .channelClosed(let until), _) = life, now >= until {
      return finish("\(DisconnectReason.remote)", byUs: false)
    }
    look()
    switch machine.timePassed(to: now) {
    case .nothing: break
    case .requestSecurity:
      owner.log.info("\(owner.name): \(peer) has not encrypted by itself: it is asked to")
      requestSecurity()
    case .disconnect(.windowClosed): end("pairing is closed for unknown phones")
    case .disconnect(let failure): end("pairing failed: \(failure)")
    }
  }

  // MARK: The end

  /// How long the kernel's event may come after the end of the channel.
  private static let linger = Duration.milliseconds(100)

  /// mgmt says that the phone is gone, and why.
  private func disconnected(_ reason: String) {
    switch life {
    case .announced, .ending, .over: finish(reason, byUs: false)
    case .attached(let attachment), .refused(let attachment):
      life = .ending(attachment, .announced(reason), wasSecured: false)
    case .secured(let attachment): life = .ending(attachment, .announced(reason), wasSecured: true)
    }
  }

  private func channelClosed(_ end: ChannelEnd) {
    if let reason = Self.reason(end) { return finish(reason, byUs: false, end) }
    let until = now + Self.linger
    switch life {
    case .announced, .over: break
    case .ending(_, .announced(let reason), _): finish(reason, byUs: false)
    case .ending(_, .channelClosed, _): break
    case .attached(let attachment), .refused(let attachment):
      life = .ending(attachment, .channelClosed(until: until), wasSecured: false)
    case .secured(let attachment):
      life = .ending(attachment, .channelClosed(until: until), wasSecured: true)
    }
  }

  /// - Parameters:
  ///   - byUs: whether this side has ended the link, or the adapter went away.
  ///   - end: how the channel has ended, where that says more.
  private func finish(_ reason: String, byUs: Bool, _ end: ChannelEnd = .disconnected) {
    guard case let last = life, !isOver else { return }
    let attachment = attachment
    life = .over
    setTimer()
    if let handle = attachment?.handle { owner.controller?.forget(handle) }
    for waiter in attachment?.waiters ?? [] { waiter.resume(returning: false) }
    let report = onEnd
    onEnd = { _ in }
    report(reason)
    let wasSecured =
      switch last {
      case .secured: true
      case .ending(_, _, let wasSecured): wasSecured
      case .announced, .attached, .refused, .over: false
      }
    owner.ended(
      self, wasSecured: wasSecured, pairingFailure: machine.disconnected(),
      end: .init(byUs: byUs || end == .adapterGone, keysDiffer: end == .keysDiffer))
    attachment?.channel.close()
    if attachment?.channel.isLeftOpen == true {
      owner.log.notice(
        "\(owner.name): \(peer) never sent a byte: its socket is left open, because this kernel would "
          + "not survive closing it; a newer kernel does")
    }
  }

  private var isOver: Bool { if case .over = life { true } else { false } }

  /// What the channel's error says that the kernel's event does not, by the HCI reason where it is one
  /// (docs/kernel.md, “Read errors”); nil for an ordinary end.
  private static func reason(_ end: ChannelEnd) -> String? {
    switch end {
    case .disconnected: nil
    case .authenticationFailed: "Authentication Failure"
    case .keysDiffer: "Connection Terminated due to MIC Failure"
    case .adapterGone: "the adapter went away"
    case .timedOut: "Connection Timeout"
    case .other(let errno): "\(errno)"
    }
  }
}
