// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import EventLoop
import GATT
import Mgmt
import System
import Wire

/// A link over the air: the kernel's ATT socket, and what the management protocol says of the phone on
/// it. Either may come first: the kernel tells of a phone before the socket is accepted, or after.
@LoopActor
final class RadioLink: PhoneLink {
  private unowned let board: Adapter
  /// The pairing rules of this link.
  var machine: PairingMachine {
    didSet { if machine.progress != oldValue.progress { board.waitsChanged() } }
  }
  /// Why pairing failed, if it did.
  var failure: PairingFailure?
  /// Whether a number is shown here, to be typed on the phone.
  var showsNumber = false
  /// Asks the phone to pair, once its socket is there.
  var pairing: MgmtCommand?
  let adapter: String?
  private(set) var isBonded: Bool
  private(set) var socket: ATTSocket? { didSet { board.waitsChanged() } }

  var onPacket: ([UInt8]) -> Void = { _ in } {
    didSet { socket?.packets.onPacket = onPacket }
  }
  var onEnd: (String) -> Void = { _ in }

  /// The controller's name for the link, once its socket is there.
  private var handle: UInt16?
  private var tuning: LinkTuning?

  private var waiters: [CheckedContinuation<Bool, Never>] = []
  /// Whether the link is secured, once that is decided.
  private var verdict: Bool?
  private var timer: TimerID?
  private var poll: TimerID?
  private var pollPause: Duration = .milliseconds(10)
  private var kernelReason: String?
  private(set) var closeErrno: Errno?
  /// Whether this side ended it.
  private(set) var endedHere = false
  private var isOver = false

  init(_ board: Adapter, _ peer: DeviceAddress, isBonded: Bool) {
    self.board = board
    self.isBonded = isBonded
    adapter = board.name
    machine = PairingMachine(peer: peer, policy: board.policy)
  }

  var phone: DeviceAddress? { machine.peer }

  var security: LinkSecurity {
    guard let now = socket?.security(), now.level >= .medium else { return .none }
    return LinkSecurity(
      encrypted: true, authenticated: now.level >= .high, keySize: now.keySize, bonded: isBonded)
  }

  /// The socket was accepted.
  func attach(_ socket: ATTSocket) {
    self.socket = socket
    handle = socket.connectionHandle()
    socket.packets.onClose = { [weak self] errno in self?.closed(errno) }
  }

  func send(_ pdu: [UInt8]) { socket?.packets.send(pdu) }

  func work(backlog: Int) {
    guard let handle, let controller = board.controller, !isOver else { return }
    if tuning == nil { tuning = controller.tune(handle) }
    tuning?.work(backlog: backlog)
  }

  func condition() async -> LinkCondition {
    guard let handle, !isOver else { return LinkCondition() }
    let parameters = board.controller?.parameters(of: handle)
    let known = try? await board.mgmt.getConnectionInformation(machine.peer, index: board.index)
    return LinkCondition(rssi: known?.rssi.map { Int($0) }, parameters: parameters)
  }

  // MARK: Security

  func secure() async -> Bool {
    if verdict == nil { look() }
    return await withCheckedContinuation { waiter in
      if let verdict { waiter.resume(returning: verdict) } else { waiters.append(waiter) }
    }
  }

  /// Decides whether the link is served.
  func settle(_ isSecured: Bool) {
    guard verdict != true || !isSecured else { return }
    verdict = isSecured
    board.waitsChanged()
    if isSecured { board.secured(self) }
    if let poll { Loop.shared.cancel(poll) }
    poll = nil
    let waiting = waiters
    waiters = []
    for waiter in waiting { waiter.resume(returning: isSecured) }
  }

  /// No event says that a phone has encrypted with a key of old (kernel.md), so the socket is asked, with
  /// growing pauses.
  private func look() {
    guard verdict == nil, !isOver else { return }
    if security.encrypted, machine.encrypted() { return settle(true) }
    poll = Loop.shared.schedule(after: pollPause) { [weak self] in self?.look() }
    pollPause = min(pollPause + pollPause, .milliseconds(500))
  }

  func raiseSecurity() async -> Bool {
    guard let socket, !security.encrypted, !isOver else { return false }
    verdict = nil
    pollPause = .milliseconds(10)
    if isBonded { _ = try? socket.setSecurity(.medium) }
    return await secure()
  }

  var wait: Wait? {
    if verdict == true { return nil }
    if let suspicion = board.suspicions[machine.peer] {
      return .oneSided(suspicion, phone: machine.peer.address.description)
    }
    if let failure { return .pairingFailed(failure) }
    switch machine.progress {
    case .closedOut: return .closedOut
    case .asked: return .securityRequest(phone: machine.peer.address.description)
    case .pairing: return showsNumber ? .entryThere : .confirmationThere
    case .confirming: return .confirmationHere
    case .entering: return .entryHere
    case .failed: return .unencrypted
    case .new, .expected, .secured: return verdict == false ? .unencrypted : .encryption
    }
  }

  /// The phone is bonded from now on.
  func bonded() { isBonded = true }

  /// Calls the machine when its time has come.
  func watchTime() {
    if let timer { Loop.shared.cancel(timer) }
    timer = nil
    guard let deadline = machine.deadline, !isOver else { return }
    timer = Loop.shared.schedule(at: deadline) { [weak self] in
      guard let self else { return }
      timer = nil
      board.perform(machine.timePassed(to: Loop.shared.now), on: self)
      watchTime()
    }
  }

  // MARK: The end

  func end(_ reason: String) {
    guard !isOver else { return }
    endedHere = true
    board.disconnect(self)
    finish(reason)
  }

  /// The kernel says that the phone is gone, and why.
  func disconnected(_ reason: String) {
    kernelReason = reason
    // Before the socket was accepted there is nobody else to tell.
    if socket == nil || closeErrno != nil { finish(reason) }
  }

  private func closed(_ errno: Errno?) {
    closeErrno = errno ?? .connectionReset
    let specific = Self.reason(errno)
    if let reason = specific ?? kernelReason { return finish(reason) }
    // The kernel's word for it comes a moment later, if it comes.
    _ = Loop.shared.schedule(after: .milliseconds(100)) { [weak self] in
      self?.finish("Remote User Terminated Connection")
    }
  }

  private func finish(_ reason: String) {
    guard !isOver else { return }
    isOver = true
    if let handle { board.controller?.forget(handle) }
    for timer in [timer, poll].compactMap({ $0 }) { Loop.shared.cancel(timer) }
    let wasSecured = verdict == true
    settle(false)
    let told = onEnd
    onEnd = { _ in }
    told(reason)
    board.ended(self, wasSecured: wasSecured)
    socket?.packets.close()
    if socket?.packets.isLeftOpen == true {
      board.supervisor.log.notice(
        "\(board.name): \(machine.peer) said not one byte: its socket is left open, because this kernel "
          + "would not survive closing it; a newer kernel does")
    }
  }

  /// What the socket's error says that the kernel's event does not, by the HCI reason where it is one
  /// (kernel.md, "Read errnos"); nil for an ordinary end.
  private static func reason(_ errno: Errno?) -> String? {
    switch errno {
    case .connectionReset, nil: nil
    case .permissionDenied: "Authentication Failure"
    case .notImplemented: "Connection Terminated due to MIC Failure"
    case .connectionAborted: "the adapter went away"
    case .timedOut: "Connection Timeout"
    case let other?: "\(other)"
    }
  }
}
