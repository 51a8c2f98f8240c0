// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The state of the link with one phone, from mgmt's first event to its end: the only place that holds it.
///
///     announced ─┬─▶ closedOut                            unknown, and may not pair now
///                ├─▶ pairing ── key kept ──▶ secured      unknown, or bonded and pairing again
///                │      └─▶ refused ─▶ pairing …          it may try again while pairing is open
///                └─▶ expected ─▶ asked ─▶ secured         bonded
///                       └─▶ awaited ─▶ secured            bonded, and about to give up
///     each ─▶ ending ─▶ over
///
/// Until it is secured, a link has a deadline in each state, at which this side ends it or takes the next step: a link
/// keeps others from connecting, and anybody can spoof the address of a bonded phone. Pairing is in LinkPairing.swift.
///
/// A bonded phone encrypts by itself within milliseconds, and a Security Request before that collides with it and
/// starts a storm of reconnections. So the request is sent only after a pause, and through BT_SECURITY on its socket,
/// because Pair Device returns Already Paired (docs/kernel.md, “Pair Device”).
public struct LinkMachine: Hashable, Sendable {
  /// How long a phone that is not served may stay: an unknown one while pairing is closed, one whose pairing has
  /// failed, or one whose ATT channel does not open.
  public static let patience: Duration = .seconds(10)
  /// How long a bonded phone has to encrypt after a Security Request; longer while it may pair again.
  public static let answerTime: Duration = .seconds(5)
  /// How long to wait for the second of the kernel's two reports of an end.
  static let linger: Duration = .milliseconds(100)
  /// How many events are kept until the ATT channel opens.
  static let earlyEvents = 32

  /// The state of the link.
  public enum State: Hashable, Sendable {
    /// mgmt has reported the phone. Further events wait for the ATT channel: before L2CAP is up, the kernel accepts
    /// Pair Device but sends nothing to the phone.
    case announced([MgmtEvent], until: Instant)
    /// The phone is unknown and may not pair now. It is disconnected at `until`.
    case closedOut(until: Instant)
    /// The phone is bonded, and expected to encrypt by itself by `until`.
    case expected(until: Instant)
    /// The phone is bonded, and was asked to encrypt. It is disconnected at `until`.
    case asked(until: Instant)
    /// The phone is bonded and has not encrypted, but would give up if this side ended the link. It is not asked: the
    /// kernel ends a link on which a Security Request is ignored.
    case awaited
    /// The two are pairing.
    case pairing(Pairing)
    /// Encrypted with a key that is kept: the phone is served.
    case secured(Secured)
    /// Pairing has failed. The phone is disconnected at `until`.
    case refused(PairingFailure, until: Instant)
    /// One of the kernel's two reports of the end has arrived; the other is expected by `until`.
    indirect case ending(Ending, from: State, until: Instant)
    case over(LinkEnd)
  }

  /// A link that is served.
  public struct Secured: Hashable, Sendable {
    /// When the phone paired on this link; nil if it has not.
    var paired: Instant?
    /// A pairing that the phone has started anyway.
    var pairing: Pairing?

    /// Whether the phone has paired on this link.
    public var isNew: Bool { paired != nil }

    /// Whether the kernel may still report keys of this phone.
    func awaitsKeys(at now: Instant) -> Bool {
      if let pairing { return pairing.isAccepted }
      return paired.map { now - $0 < LinkMachine.keyDistribution } ?? false
    }
  }

  /// The kernel reports an end twice, in either order: by an error of the channel and by an event.
  public enum Ending: Hashable, Sendable {
    /// mgmt's event has arrived. If the channel's error does not follow, the channel is checked: the event may be
    /// about another link in the phone's name.
    case announced(DisconnectReason)
    /// The channel has ended, without a reason. The event with it is expected.
    case channelClosed(ChannelEnd)
    /// The channel has ended for this reason because pairing has failed. mgmt reports why, through the reply to Pair
    /// Device or Authentication Failed, which may be read after the channel's error.
    case unexplained(String)
  }

  /// An input.
  public enum Input: Hashable, Sendable {
    /// The ATT channel has opened.
    case attached
    /// An mgmt event that concerns the link.
    case event(MgmtEvent)
    /// The security of the channel, after `poll`; nil: it is gone.
    case polled(ChannelSecurity?)
    /// The reply to Pair Device.
    case pairCompleted(MgmtStatus)
    /// Somebody at the board has answered.
    case answered(accept: Bool, Passkey?)
    /// The phone may pair now: pairing was opened, or another phone has finished.
    case admitted
    /// The board's user has closed pairing.
    case windowClosed
    /// The phone has refused a request for lack of security.
    case securityWanted
    /// The deadline may have passed.
    case time
    case channelClosed(ChannelEnd)
    /// The adapter was blocked, switched off or changed. A link without a channel, or with half of its end reported, will get no
    /// more events; the channels of others report their end.
    case adapterLost
    /// The adapter was removed, with all links.
    case adapterGone
    /// Another link in the phone's name has replaced this one before it was secured.
    case displaced
    /// The board ends the link, for this reason.
    case end(String)
  }

  /// Actions for the owner, in order.
  public enum Action: Hashable, Sendable {
    /// Poll the channel; `polled` follows.
    case poll
    /// Pass this event in again.
    case receive(MgmtEvent)
    /// Ask for BT_SECURITY_MEDIUM on the ATT channel, which sends a Security Request.
    case requestSecurity
    /// Send Pair Device; `pairCompleted` follows.
    case pair(MgmtCommand)
    case send(MgmtCommand)
    /// Report the pairing, with its question to the board's user (`pairing`).
    case ask
    /// The number of digits typed on the phone.
    case typed(Int)
    /// Save the bond; if it is new, report that the phone has paired.
    case save(Bond, isNew: Bool)
    /// Remove the phone's keys from the kernel, which ends the link; then load the keys of the stored bonds, because
    /// an older key of this phone may be among them.
    case discardKeys
    /// Load the keys of the stored bonds: the kernel may have replaced them with others.
    case restoreKeys
    /// Remove the phone's key from the kernel while pairing is open.
    case withholdKey
    /// The phone's identity is known (`peer`), or it turned out to be another phone.
    case identified
    /// A bond with this address is void.
    case void(DeviceAddress)
    /// Report why pairing has failed.
    case failed(PairingFailure)
    /// Report that the phone has not encrypted with the bond's key, although the link goes on.
    case unencrypted
    /// The link may be served; or the served phone has a new bond.
    case secured(isNew: Bool)
    /// Report that the end which was reported is another link's.
    case otherEnded
    case over(LinkEnd)
  }

  /// The terms on which the board serves the phone at the time of an input.
  public struct Terms: Hashable, Sendable {
    /// Whether this phone may pair.
    public var admission: Admission
    public var bonds: [Bond]
    /// Whether the phone would give up if this link ended without a subscription.
    public var isLastChance: Bool

    public init(admission: Admission, bonds: [Bond], isLastChance: Bool = false) {
      self.admission = admission
      self.bonds = bonds
      self.isLastChance = isLastChance
    }

    func bond(with phone: DeviceAddress) -> Bond? { bonds.first { $0.identity == phone } }
  }

  public internal(set) var state: State
  /// The phone, by its identity once that is known.
  public internal(set) var peer: DeviceAddress
  let policy: PairingPolicy
  var collector = BondCollector()
  /// The time within which the kernel reports all keys of a pairing.
  static let keyDistribution: Duration = .seconds(1)
  /// The bonded phone's identity that this one claims, which the kernel uses for it from then on.
  var claimed: DeviceAddress?

  /// A link that mgmt, or its ATT channel, has just announced.
  public init(peer: DeviceAddress, policy: PairingPolicy, at now: Instant) {
    self.peer = peer
    self.policy = policy
    state = .announced([], until: now + Self.patience)
  }

  /// When to pass in `time`, if at all.
  public var deadline: Instant? {
    switch state {
    case .announced(_, let until), .closedOut(let until), .expected(let until), .asked(let until),
      .refused(_, let until), .ending(_, _, let until):
      until
    case .pairing(let pairing): pairing.deadline
    case .secured(let secured): secured.pairing?.deadline
    case .awaited, .over: nil
    }
  }

  /// The longest pause between two polls of the channel for encryption; nil: it is not to be polled. No event reports
  /// encryption with a stored key (docs/kernel.md, “BT_SECURITY”).
  public var pollPause: Duration? {
    switch state {
    case .expected, .asked: .milliseconds(500)
    case .awaited: .seconds(5)
    case .announced, .closedOut, .pairing, .secured, .refused, .ending, .over: nil
    }
  }

  /// Takes an input.
  ///
  /// - Returns: the actions, in order.
  public mutating func handle(_ input: Input, under terms: Terms, at now: Instant) -> [Action] {
    if case .over = state { return [] }
    var actions: [Action] =
      switch input {
      case .attached: attached(under: terms, at: now)
      case .event(let event): receive(event, under: terms, at: now)
      case .polled(let security): polled(security, under: terms, at: now)
      case .pairCompleted(let status): pairCompleted(status, at: now)
      case .answered(let accept, let passkey): answered(accept, passkey, at: now)
      case .admitted: admitted(under: terms, at: now)
      case .windowClosed: windowClosed(under: terms, at: now)
      case .securityWanted: securityWanted(under: terms, at: now)
      case .time: timePassed(under: terms, to: now)
      case .channelClosed(let end): channelClosed(end, at: now)
      case .adapterLost: adapterLost()
      case .adapterGone: finish(LinkEnd.adapterGone, .board)
      case .displaced: finish("another link in its name has replaced it", .board)
      case .end(let reason): end(reason, .board)
      }
    if case .ending(.unexplained(let reason), _, _) = state, pairing == nil {
      actions += finish(reason, .phone)
    }
    return actions
  }

  // MARK: Queries

  /// The state of the link, or the last one before it began to end.
  var lastState: State {
    get { if case .ending(_, let former, _) = state { former } else { state } }
    set {
      if case .ending(let ending, _, let until) = state {
        state = .ending(ending, from: newValue, until: until)
      } else {
        state = newValue
      }
    }
  }

  /// Whether the link may carry private data.
  public var isSecured: Bool { if case .secured = state { true } else { false } }

  /// Whether it was ever secured, which proves the phone's identity.
  public var wasSecured: Bool {
    switch lastState {
    case .secured: true
    case .over(let end): end.wasSecured
    case .announced, .closedOut, .expected, .asked, .awaited, .pairing, .refused, .ending: false
    }
  }

  /// Whether the phone is waiting for its turn to pair, or for pairing to open.
  public var isHeldUp: Bool { if case .closedOut = state { true } else { false } }

  /// Whether it may still become secured without further action from this side.
  public var isUndecided: Bool {
    switch state {
    case .announced, .closedOut, .expected, .asked, .awaited, .pairing, .ending: true
    case .secured, .refused, .over: false
    }
  }

  /// Whether the phone counts as connected. If it had to be asked to encrypt, a device may be spoofing its address,
  /// and the real phone must be able to find the board.
  public var holdsPhone: Bool {
    switch state {
    case .announced, .closedOut, .expected, .pairing, .secured, .ending: true
    case .asked, .awaited, .refused, .over: false
    }
  }

  /// The pairing in progress; nil if there is none.
  public var pairing: Pairing? {
    switch lastState {
    case .pairing(let pairing): pairing
    case .secured(let secured): secured.pairing
    case .announced, .closedOut, .expected, .asked, .awaited, .refused, .ending, .over: nil
    }
  }

  /// Whether the kernel may report keys of this link: a pairing is in progress or has just ended. If an event may concern two links, because a stranger claims
  /// the other phone's identity, it concerns the one that is pairing.
  public func mayGetKeys(at now: Instant) -> Bool {
    switch lastState {
    case .pairing, .refused: true
    case .secured(let secured): secured.pairing != nil || secured.awaitsKeys(at: now)
    case .announced, .closedOut, .expected, .asked, .awaited, .ending, .over: false
    }
  }

  /// Whether an event concerns this link: it names the phone by its identity, or by the private address that it
  /// connected with. If the phone's address is not resolvable, the kernel reports its key with the identity alone, which
  /// anybody could claim; such an event concerns this link only if it has paired.
  public func concerns(_ event: MgmtEvent, at now: Instant) -> Bool {
    if case .newIdentityResolvingKey(let key, let privateAddress, _) = event {
      if key.peer == peer { return true }
      return peer.isResolvable
        ? DeviceAddress(privateAddress, .random) == peer : privateAddress == Address(0) && mayGetKeys(at: now)
    }
    return event.device.map { $0 == peer || $0 == claimed } ?? false
  }

  // MARK: From the channel to encryption

  private mutating func attached(under terms: Terms, at now: Instant) -> [Action] {
    guard case .announced(let early, _) = state else { return [] }
    let events = early.map(Action.receive)
    if terms.bond(with: peer) != nil {
      state = .expected(until: now + policy.pause)
      return [.poll] + events
    }
    state = .closedOut(until: now + Self.patience)
    return admitted(under: terms, at: now) + events
  }

  private mutating func polled(_ security: ChannelSecurity?, under terms: Terms, at now: Instant) -> [Action] {
    switch state {
    case .expected, .asked, .awaited:
      guard isEncrypted(security, with: terms.bond(with: peer)) else { return [] }
      state = .secured(Secured())
      return [.secured(isNew: false)]
    case .ending(.announced(let reason), let former, _):
      if security == nil { return finish("\(reason)", .phone) }
      state = former
      return [.otherEnded] + admitted(under: terms, at: now)
    case .announced, .closedOut, .pairing, .secured, .refused, .ending, .over: return []
    }
  }

  /// Whether it is encrypted with the bond's key. Any other key is unknown: a phone that paired behind our back is not
  /// served.
  private func isEncrypted(_ security: ChannelSecurity?, with bond: Bond?) -> Bool {
    guard let security, security.isEncrypted, let bond else { return false }
    return security.isAuthenticated == bond.isAuthenticated
      && security.keySize == Int(bond.keySize)
  }

  private mutating func securityWanted(under terms: Terms, at now: Instant) -> [Action] {
    guard case .expected = state else { return [] }
    if terms.isLastChance {
      state = .awaited
      return [.unencrypted]
    }
    // Its user may have to agree if the phone has lost its bond.
    let time = terms.admission == .open ? Pairing.longest : Self.answerTime
    state = .asked(until: now + time)
    return [.requestSecurity]
  }

  // MARK: Time

  private mutating func timePassed(under terms: Terms, to now: Instant) -> [Action] {
    guard let deadline, now >= deadline else { return [] }
    switch state {
    case .announced: return end("its ATT channel did not open", .board)
    case .closedOut where terms.admission == .busy: return end("another phone is pairing", .board)
    case .closedOut: return end("pairing is closed for unknown phones", .board)
    case .refused(let failure, _): return end("pairing failed: \(failure)", .board)
    case .expected: return securityWanted(under: terms, at: now)
    case .asked: return end("the phone has not encrypted with the bond's key", .unencrypted)
    case .pairing, .secured: return pairing.map { giveUp($0, under: terms, at: now) } ?? []
    case .ending(.announced, _, _): return [.poll]
    case .ending(.channelClosed(let end), _, _): return finish(end.ownReason, end.cause)
    case .ending(.unexplained(let reason), _, _): return finish(reason, .phone)
    case .awaited, .over: return []
    }
  }

  /// The kernel has not reported the end of a pairing.
  private mutating func giveUp(_ pairing: Pairing, under terms: Terms, at now: Instant) -> [Action] {
    let failure: PairingFailure
    var failed: [Action] = []
    switch pairing.turn {
    // A phone without an identity key is known by its address.
    case .identity where terms.bond(with: peer)?.identityResolvingKey == nil:
      return bonded(at: now)
    case .identity:
      failure = .identityTaken(peer.address)
      failed = [.discardKeys]
    case .keys: failure = .notBonded
    case .phone, .kernel, .asking: failure = .noResponse
    }
    failed = fail(failure, at: now) + failed
    return isSecured ? failed : failed + end("pairing failed: \(failure)", .board)
  }
}
