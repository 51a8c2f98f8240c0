// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import VirtualPhone
public import Wire

/// An LE connection between an adapter and a phone: the ATT channel that the kernel hands out, its
/// encryption, and pairing as far as mgmt shows it (docs/kernel.md).
public final class Connection {
  /// How the channel ended, as the error of a real socket says it (docs/kernel.md, “Read errors”).
  public enum End: Hashable, Sendable {
    case disconnected, timedOut, authenticationFailed, keysDiffer, aborted
  }

  /// How far encryption has come.
  private enum Security {
    case open
    /// The phone was asked to encrypt or to pair, and has not answered.
    case requested
    case pairing(Pairing)
    case encrypted(level: UInt8)
    case over
  }

  /// A pairing on its way.
  private struct Pairing {
    /// How the two sides authenticate each other (Core Specification Vol 3 Part H, 2.3.5.1).
    var method: PairingMethod
    /// The number that both sides show, or that is typed.
    var passkey: UInt32
    var hasConsentHere = false
    var hasConsentThere = false
  }

  let adapter: VirtualAdapter
  let handset: Handset
  /// The phone as the kernel names it: by its identity once that is known.
  public private(set) var peer: DeviceAddress
  public let handle: UInt16

  private let link: VirtualLink
  private let scheduler: any Scheduler
  private weak var channel: VirtualChannel?
  private var security = Security.open
  /// The socket that Pair Device came from, which gets the response.
  private var pairer: ManagementSocket?
  private var pairingCapability: IOCapability?

  init(_ adapter: VirtualAdapter, _ handset: Handset, scheduler: any Scheduler) {
    self.adapter = adapter
    self.handset = handset
    self.scheduler = scheduler
    peer = adapter.resolves(handset.kind) ? handset.kind.identity : handset.address
    handle = adapter.kernel.makeHandle()
    link = VirtualLink(scheduler: scheduler, delay: .milliseconds(15))
  }

  private var kernel: VirtualKernel { adapter.kernel }
  private var isOver: Bool { if case .over = security { true } else { false } }

  /// The intervals that the kernel itself has asked the phone for (docs/kernel.md, “Connection
  /// parameters”).
  public private(set) var parameterRequest: ClosedRange<UInt16>?

  /// Whether the link is encrypted.
  public var isEncrypted: Bool { if case .encrypted = security { true } else { false } }

  // MARK: From the connection to its end

  /// The phone has connected.
  func begin() {
    setEncrypted(false)
    link.transform = { [handset, weak self] pdu, toPhone in
      switch handset.fate(pdu, toPhone) {
      case .arrives: return handset.transform(pdu, toPhone)
      case .fails(let other): return other
      case .lost: return nil
      case .twice: self?.repeats(pdu, toPhone, after: .milliseconds(1))
      case .late(let by):
        self?.repeats(pdu, toPhone, after: by)
        return nil
      }
      return pdu
    }
    if let server = handset.otherServer {
      server(link.one)
    } else {
      handset.phone.connect(link.one, isBonded: handset.key(for: adapter.address) != nil)
    }
    link.other.onClose = { [weak self] _ in
      self?.end(.disconnected, reason: DisconnectReason.remote.rawValue)
    }
    let range = adapter.intervalRange
    // Phones begin with 30 ms.
    if !range.contains(24) { parameterRequest = range }
    let delay = handset.channelDelay
    after(max(.zero, .zero - delay)) { [self] in
      // No flags, no data.
      kernel.broadcast(0x000B, about: adapter.number, peer.encoded + [0, 0, 0, 0, 0, 0])
    }
    after(max(.zero, delay)) { self.openChannel() }
    if handset.key(for: adapter.address) != nil {
      if let pause = handset.encryptsAfter {
        after(pause) { if case .open = self.security { self.encrypt() } }
      }
    } else if let pause = handset.pairsAfter {
      after(pause) { if case .open = self.security { self.phonePairs() } }
    }
  }

  /// Sends a PDU on the air, once more or late.
  private func repeats(_ pdu: [UInt8], _ toPhone: Bool, after delay: Duration) {
    after(delay) { [link] in (toPhone ? link.other : link.one).send(pdu) }
  }

  func say(_ pdu: [UInt8]) { link.one.send(pdu) }

  private func openChannel() {
    guard let listener = kernel.listener(at: adapter.address) else {
      // A phone that nobody accepts is dropped in the end.
      return after(.milliseconds(4_300)) {
        self.end(.disconnected, reason: DisconnectReason.localHost.rawValue)
      }
    }
    let channel = VirtualChannel(self, link.other)
    self.channel = channel
    listener.accept(channel)
  }

  /// How long the reports of an end take.
  static let reporting = Duration.milliseconds(2)

  /// The link ends. The event and the channel's end come one after the other; where the adapter is gone
  /// there is no event.
  func end(_ end: End, reason: UInt8?) {
    guard !isOver else { return }
    // Device Disconnected, then the reply to a Pair Device that is pending.
    let report = { [kernel, adapter, peer, pairer] in
      if let reason { kernel.broadcast(0x000C, about: adapter.number, peer.encoded + [reason]) }
      if let pairer { self.complete(pairer, end == .aborted ? .notPowered : .failed) }
    }
    security = .over
    adapter.remove(self)
    handset.connection = nil
    // The phone may connect again at once, so it must have noticed by then.
    link.one.onClose("\(end)")
    link.one.onClose = { _ in }
    link.drop("\(end)")
    // The channel's end and mgmt's reports come from two sockets, so they have no order.
    let (sooner, later) = (Duration.zero, Self.reporting)
    if let channel, !kernel.losesChannelEnds {
      kernel.after(handset.endsWithEventFirst ? later : sooner) { channel.finish(end) }
    }
    kernel.after(handset.endsWithEventFirst ? sooner : later, report)
  }

  /// Closing the channel alone ends the link four seconds later (docs/kernel.md, “Advertising”).
  func channelClosed() {
    after(.milliseconds(4_300)) {
      self.end(.disconnected, reason: DisconnectReason.localHost.rawValue)
    }
  }

  /// Does something on a later turn, unless the link is over by then.
  private func after(_ delay: Duration, _ action: @escaping () -> Void) {
    kernel.after(delay) { if !self.isOver { action() } }
  }

  private func setEncrypted(_ isEncrypted: Bool) {
    _ = try? handset.phone.perform(.encrypt(isEncrypted))
  }

  // MARK: Security requests

  /// The level and the key size that the option BT_SECURITY shows.
  var channelSecurity: (level: UInt8, keySize: UInt8)? {
    switch security {
    case .open, .requested, .pairing: (1, 0)
    case .encrypted(let level): (level, 16)
    case .over: nil
    }
  }

  /// Pair Device (docs/kernel.md, “Pair Device”).
  func pairDevice(_ capability: IOCapability, _ socket: ManagementSocket) {
    guard adapter.longTermKey(for: peer) == nil else { return complete(socket, .alreadyPaired) }
    guard pairer == nil else { return complete(socket, .busy) }
    pairer = socket
    pairingCapability = capability
    requestSecurity()
  }

  /// Sends the phone a Security Request. A phone that never answers loses the link.
  func requestSecurity() {
    switch security {
    case .open: security = .requested
    case .requested, .pairing, .encrypted, .over: return
    }
    after(.seconds(32)) { if case .requested = self.security { self.fail(.failed, by: .phone) } }
    after(.milliseconds(15)) { [self] in
      guard case .requested = security else { return }
      if handset.key(for: adapter.address) != nil {
        if handset.heedsRequests { encrypt() }
        return
      }
      phonePairs()
    }
  }

  /// The phone encrypts with its key.
  private func encrypt() {
    guard let key = handset.key(for: adapter.address) else { return }
    guard let entry = adapter.longTermKey(for: peer) else {
      // PIN or Key Missing: the link stays as it is, and no event tells.
      return
    }
    guard Array(entry.suffix(16)) == key else { return end(.keysDiffer, reason: 0) }
    let kind = LongTermKey.Kind(rawValue: entry[7])
    let isAuthenticatedSecure = kind == .secureAuthenticated
    security = .encrypted(level: isAuthenticatedSecure ? 4 : kind.isAuthenticated ? 3 : 2)
    setEncrypted(true)
    channel?.flush()
  }

  // MARK: Pairing

  /// The phone starts to pair: its person is asked, and then the kernel asks this side.
  func phonePairs() {
    switch security {
    case .open, .requested, .encrypted: break
    case .pairing, .over: return
    }
    guard handset.consent != .ignores else { return }
    var pairing = Pairing(method: method, passkey: handset.shownPasskey)
    if pairing.method == .display { pairing.passkey = 314_159 }
    security = .pairing(pairing)
    switch handset.consent {
    case .ignores: break
    case .refuses(let delay): after(delay) { self.fail(.authenticationFailed, by: .phone) }
    case .accepts(let delay): after(delay) { self.phoneAccepts() }
    }
    // With a number on both sides the board is asked at the same time, otherwise once the phone agrees.
    if pairing.method != .justWorks { askHere(pairing) }
  }

  private func phoneAccepts() {
    guard case .pairing(var pairing) = security else { return }
    if pairing.method == .display {
      guard handset.typesCorrectly else { return fail(.authenticationFailed, by: .board) }
      for entered in 1...6 { tellPasskey(pairing.passkey, entered: UInt8(entered)) }
      pairing.hasConsentHere = true
    }
    pairing.hasConsentThere = true
    security = .pairing(pairing)
    if pairing.method == .justWorks { askHere(pairing) }
    finishIfAgreed()
  }

  private func askHere(_ pairing: Pairing) {
    switch pairing.method {
    case .justWorks:
      kernel.broadcast(0x000F, about: adapter.number, peer.encoded + [1] + littleEndian(0))
    case .confirm:
      kernel.broadcast(
        0x000F, about: adapter.number, peer.encoded + [0] + littleEndian(pairing.passkey))
    case .entry: kernel.broadcast(0x0010, about: adapter.number, peer.encoded)
    case .display: tellPasskey(pairing.passkey, entered: 0)
    }
  }

  private func tellPasskey(_ passkey: UInt32, entered: UInt8) {
    kernel.broadcast(0x0017, about: adapter.number, peer.encoded + littleEndian(passkey) + [entered])
  }

  /// What this side answers to the kernel's question.
  func reply(yes: Bool, passkey: [UInt8] = []) {
    guard case .pairing(var pairing) = security else { return }
    guard yes, passkey.isEmpty || passkey == littleEndian(pairing.passkey) else {
      return fail(.authenticationFailed, by: .board)
    }
    pairing.hasConsentHere = true
    security = .pairing(pairing)
    finishIfAgreed()
  }

  private func finishIfAgreed() {
    guard case .pairing(let pairing) = security, pairing.hasConsentHere, pairing.hasConsentThere
    else { return }
    after(.milliseconds(60)) { self.finish(pairing) }
  }

  /// Both sides agree: the keys, and then the response to Pair Device, which names the identity.
  private func finish(_ pairing: Pairing) {
    let hasKey = adapter.longTermKey(for: handset.kind.identity) != nil
    if adapter.kind.failsToPairAnew, pairing.method == .justWorks, hasKey {
      return fail(.authenticationFailed, by: .board)
    }
    let key = handset.makeKey(for: adapter.address)
    let onAir = peer
    // The kernel names the phone by its identity from New Identity Resolving Key on.
    peer = handset.kind.identity
    let isAuthenticated = pairing.method != .justWorks
    let entries = longTermKeys(key, of: peer, isAuthenticated: isAuthenticated)
    let told =
      handset.keyOrder == .longTermFirst ? longTermKeys(key, of: onAir, isAuthenticated: isAuthenticated) : entries
    let identityKey = handset.kind.privateAddress.map { _ in handset.kind.identityEntry }
    if isBonding == 1 { adapter.keep(longTermKeys: entries, identityKey: identityKey, of: peer) }
    security = .encrypted(level: isAuthenticated ? (handset.kind.isSecureConnections ? 4 : 3) : 2)
    setEncrypted(true)

    let identity = { [self] in
      guard let identityKey else { return }
      // Only a resolvable private address is told.
      let address = onAir.isResolvable ? onAir.address : Address(0)
      kernel.broadcast(0x0018, about: adapter.number, [isBonding] + address.littleEndian + identityKey)
    }
    let longTerm = { [self] in
      for entry in told { kernel.broadcast(0x000A, about: adapter.number, [isBonding] + entry) }
    }
    let response = { [self] in if let pairer { complete(pairer, .success) } }
    let steps =
      switch handset.keyOrder {
      case .identityFirst: [identity, longTerm, response]
      case .longTermFirst: [longTerm, identity, response]
      case .responseFirst: [response, identity, longTerm]
      }
    // Each comes on a turn of its own.
    for (number, step) in steps.enumerated() { kernel.after(.milliseconds(Int64(number)), step) }
    channel?.flush()
  }

  /// The store hint: whether both sides bond.
  private var isBonding: UInt8 { adapter.settings.contains(.bondable) ? 1 : 0 }

  /// Secure Connections makes one key for both roles, legacy pairing one for each.
  private func longTermKeys(_ key: [UInt8], of peer: DeviceAddress, isAuthenticated: Bool) -> [[UInt8]] {
    func entry(_ type: LongTermKey.Kind, central: UInt8, diversifier: UInt8) -> [UInt8] {
      peer.encoded + [type.rawValue, central, 16, diversifier, 0]
        + [UInt8](repeating: diversifier, count: 8) + key
    }
    if handset.kind.isSecureConnections {
      return [entry(isAuthenticated ? .secureAuthenticated : .secure, central: 1, diversifier: 0)]
    }
    let type: LongTermKey.Kind = isAuthenticated ? .legacyAuthenticated : .legacy
    return [entry(type, central: 1, diversifier: 7), entry(type, central: 0, diversifier: 8)]
  }

  /// Who ends a pairing. The board's kernel compares what was typed on either side, because the phone
  /// reveals its random number first (Vol 3 Part H, 2.3.5.6.3).
  private enum Side { case board, phone }

  /// Pairing fails. The kernel drops the link if it is the phone that says so or does not answer
  /// (docs/kernel.md, “Pair Device”).
  private func fail(_ status: MgmtStatus, by side: Side) {
    let asker = pairer
    pairer = nil
    security = .open
    let report = { [self] in
      // The socket that asked for pairing gets the response, all others the event.
      if status == .authenticationFailed {
        kernel.broadcast(0x0011, about: adapter.number, peer.encoded + [status.rawValue], except: asker)
      }
      if let asker { complete(asker, status) }
    }
    guard side == .phone else { return report() }
    if handset.isRefusalReadLate {
      end(.authenticationFailed, reason: 0)
      kernel.after(.milliseconds(1), report)
    } else {
      report()
      after(.milliseconds(10)) { self.end(.authenticationFailed, reason: 0) }
    }
  }

  private func complete(_ socket: ManagementSocket, _ status: MgmtStatus) {
    if socket === pairer { pairer = nil }
    socket.complete(MgmtOpcode.pairDevice.rawValue, adapter.number, status, peer.encoded)
  }

  private var method: PairingMethod {
    let here = pairingCapability ?? adapter.capability
    let there = handset.kind.capability
    func canType(_ capability: IOCapability) -> Bool {
      capability == .keyboardOnly || capability == .keyboardDisplay
    }
    func canCompare(_ capability: IOCapability) -> Bool {
      capability == .displayYesNo || capability == .keyboardDisplay
    }
    if here == .noInputNoOutput || there == .noInputNoOutput { return .justWorks }
    if handset.kind.isSecureConnections, canCompare(here), canCompare(there) { return .confirm }
    if canType(there), here != .keyboardOnly { return .display }
    return canType(here) ? .entry : .justWorks
  }
}

/// The ATT channel of a connection, as a connected socket: one PDU a packet.
public final class VirtualChannel {
  /// The phone, as it was known when the link came up.
  public let peer: DeviceAddress
  /// The controller's handle of the link.
  public let handle: UInt16
  /// Called with each PDU; those that came before are delivered when it is set.
  public var onPacket: ((ArraySlice<UInt8>) -> Void)? { didSet { deliver() } }
  /// Called once when the channel has ended by itself.
  public var onClose: ((Connection.End) -> Void)?

  /// Whether the link is over.
  public var isGone: Bool { connection.map { $0.channelSecurity == nil } ?? true }
  /// Whether the phone has ever sent anything.
  public private(set) var isSilent = true

  private weak var connection: Connection?
  private let end: VirtualLink.End
  private var received: [[UInt8]] = []
  /// What was sent while the kernel waits for encryption.
  private var blocked: [[UInt8]] = []
  private var isBlocked = false
  private var isOpen = true

  init(_ connection: Connection, _ end: VirtualLink.End) {
    self.connection = connection
    self.end = end
    peer = connection.peer
    handle = connection.handle
    end.receive = { [weak self] in self?.receive($0) }
  }

  public func send(_ pdu: [UInt8]) {
    guard isOpen else { return }
    if isBlocked { blocked.append(pdu) } else { end.send(pdu) }
  }

  /// The level and the key size; nil when the link is gone.
  public var security: (level: UInt8, keySize: UInt8)? {
    isOpen ? connection?.channelSecurity : nil
  }

  /// BT_SECURITY: sends a Security Request, and nothing else until the phone has encrypted or sent a
  /// PDU. False where the level is reached.
  public func requestSecurity() -> Bool {
    guard let connection, !connection.isEncrypted else { return false }
    isBlocked = true
    connection.requestSecurity()
    return true
  }

  public func close() {
    guard isOpen else { return }
    isOpen = false
    connection?.channelClosed()
  }

  private func receive(_ pdu: [UInt8]) {
    guard isOpen else { return }
    isSilent = false
    received.append(pdu)
    deliver()
    flush()
  }

  private func deliver() {
    while let onPacket, !received.isEmpty { onPacket(received.removeFirst()[...]) }
  }

  /// Sends what was blocked.
  func flush() {
    isBlocked = false
    let waiting = blocked
    blocked = []
    for pdu in waiting { end.send(pdu) }
  }

  func finish(_ end: Connection.End) {
    guard isOpen else { return }
    isOpen = false
    onClose?(end)
  }
}
