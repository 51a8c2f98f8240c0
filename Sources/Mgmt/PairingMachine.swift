// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The pairing rules of one link, from the phone's connection to its end.
///
///     unknown, open   ──▶ pairing ── key kept ──▶ secured
///     unknown, closed ──▶ closed out ── 10 s ──▶ disconnected
///     bonded          ──▶ expected to encrypt ── 5 s ──▶ asked to ──▶ secured
///
/// An unknown phone is asked to pair at once: Pair Device sends a Security Request and leaves the ATT
/// channel usable. A bonded phone encrypts by itself within milliseconds, and a Security Request in
/// between collides with that and starts a storm of reconnections. So it is asked only after a pause,
/// and by BT_SECURITY on its socket, because Pair Device answers Already Paired (docs/kernel.md, “Pair
/// Device”).
///
/// What the phone does unasked is held to the same rules: nothing is confirmed while pairing is closed,
/// and a key that comes all the same is discarded.
public struct PairingMachine: Hashable, Sendable {
  /// How long a bonded phone has to encrypt by itself, unless the policy says otherwise.
  public static let pause: Duration = .seconds(5)
  /// How long an unknown phone may stay while pairing is closed: it keeps the board off the air.
  public static let patience: Duration = .seconds(10)

  /// What the board is set to.
  public struct Policy: Hashable, Sendable {
    public var capability: IOCapability
    /// `--allow-legacy`: legacy pairing and keys shorter than 16 bytes are accepted too.
    public var allowsLegacy: Bool
    /// How long a bonded phone has to encrypt by itself.
    public var pause: Duration

    public init(
      capability: IOCapability, allowsLegacy: Bool = false, pause: Duration = PairingMachine.pause
    ) {
      self.capability = capability
      self.allowsLegacy = allowsLegacy
      self.pause = pause
    }
  }

  /// How far the link has come on its way to encryption.
  public enum State: Hashable, Sendable {
    /// The phone is unknown and pairing is closed. It is told to leave at that time.
    case closedOut(until: Instant?)
    /// The phone is bonded, and expected to encrypt by itself until then.
    case expected(until: Instant)
    /// The phone is bonded, and was asked to encrypt.
    case asked
    /// The two are pairing. `accepted`: this side has agreed, so that a key is no surprise.
    case pairing(accepted: Bool, Turn)
    /// The link is encrypted with a key that is kept. `isNew`: the phone has paired on this link.
    case secured(isNew: Bool)
    /// Pairing failed. The phone is told to leave at that time.
    case failed(PairingFailure, until: Instant?)
  }

  /// Who has to do something while the two are pairing.
  public enum Turn: Hashable, Sendable {
    /// The phone, or its user.
    case phone
    /// The phone's user, who types the number that is shown here, until then.
    case typing(Passkey, until: Instant)
    /// Somebody at the board, who compares two numbers, until then.
    case comparison(Passkey, until: Instant)
    /// Somebody at the board, who types the number that the phone shows, until then.
    case passkey(until: Instant)
  }

  /// How long a person has: SMP gives up 30 s after its last step (Vol 3 Part H, 3.4).
  public static let answerTime: Duration = .seconds(30)

  /// The phone, by its identity once that is known.
  public private(set) var peer: DeviceAddress
  public private(set) var state: State

  private let policy: Policy
  private let isBonded: Bool
  private var collector = BondCollector()

  /// The machine of a link with `peer`, which has just connected.
  public init(
    peer: DeviceAddress, isBonded: Bool, isWindowOpen: Bool, policy: Policy, at now: Instant
  ) {
    self.peer = peer
    self.isBonded = isBonded
    self.policy = policy
    if isBonded {
      state = .expected(until: now + policy.pause)
    } else if isWindowOpen {
      state = .pairing(accepted: true, .phone)
    } else {
      state = .closedOut(until: now + Self.patience)
    }
  }

  /// When `timePassed` is to be called, if at all.
  public var deadline: Instant? {
    switch state {
    case .expected(let until): until
    case .closedOut(let until), .failed(_, let until): until
    case .asked, .pairing, .secured: nil
    }
  }

  /// Asks the phone to pair, which the machine may begin with; its answer goes to `pairCompleted`. Nil
  /// unless a pairing is under way.
  public var pairDevice: MgmtCommand? {
    if case .pairing = state { .pairDevice(peer, policy.capability) } else { nil }
  }

  /// Whether the link may carry what is private.
  public var isSecured: Bool { if case .secured = state { true } else { false } }

  /// Whether an event is about this link: it names the phone, by its identity or by the private address
  /// that the phone came with.
  public func concerns(_ event: MgmtEvent) -> Bool {
    if case .newIdentityResolvingKey(let key, let privateAddress, _) = event {
      return key.peer == peer || DeviceAddress(privateAddress, .random) == peer
    }
    return event.device == peer
  }

  /// Pairing was opened while the phone is connected.
  ///
  /// - Returns: Pair Device, where it is to be sent.
  public mutating func windowOpened() -> MgmtCommand? {
    guard case .closedOut = state else { return nil }
    state = .pairing(accepted: true, .phone)
    return pairDevice
  }

  /// The link is encrypted, as the socket's security level shows.
  ///
  /// - Returns: whether it may be served now: a new key has to be accepted first.
  public mutating func encrypted() -> Bool {
    switch state {
    case .expected, .asked: state = .secured(isNew: false)
    case .closedOut, .pairing, .secured, .failed: break
    }
    return isSecured
  }

  /// The link has ended.
  ///
  /// - Returns: why pairing failed, if it was under way.
  public mutating func disconnected() -> PairingFailure? {
    guard case .pairing = state else { return nil }
    state = .failed(.linkLost, until: nil)
    return .linkLost
  }

  private mutating func fail(_ failure: PairingFailure, at now: Instant) {
    state = .failed(failure, until: deadline ?? now + Self.patience)
  }
}

// MARK: - Time

extension PairingMachine {
  /// What is due after a time.
  public enum TimeAction: Hashable, Sendable {
    case nothing
    /// Ask for BT_SECURITY_MEDIUM on the ATT channel, which sends a Security Request.
    case requestSecurity
    /// End the link: the phone is served nothing, and keeps the board off the air.
    case disconnect(PairingFailure)
  }

  /// Time has passed; nothing happens before `deadline`.
  public mutating func timePassed(to now: Instant) -> TimeAction {
    guard let deadline, now >= deadline else { return .nothing }
    switch state {
    case .expected:
      state = .asked
      return .requestSecurity
    case .closedOut:
      state = .closedOut(until: nil)
      return .disconnect(.windowClosed)
    case .failed(let failure, _):
      state = .failed(failure, until: nil)
      return .disconnect(failure)
    case .asked, .pairing, .secured: return .nothing
    }
  }
}

// MARK: - Keys, and the answer to Pair Device

extension PairingMachine {
  /// What follows from a key, or from the answer to Pair Device.
  public enum KeyAction: Hashable, Sendable {
    case nothing
    /// Save the bond, and then, where it is new, report that the phone has paired.
    case save(Bond, isNew: Bool)
    /// Remove the phone's keys from the kernel, which ends the link; then load those of the bonds that
    /// are kept, since an older key of this phone may be among them. The failure is nil where it was
    /// reported before.
    case discard(PairingFailure?)
    /// Report why.
    case failed(PairingFailure)
  }

  /// New Identity Resolving Key.
  public mutating func identityResolvingKey(_ key: IdentityResolvingKey, store: Bool) -> KeyAction {
    peer = key.peer
    if store { collector.add(key) }
    return state == .secured(isNew: true) ? save(isNew: false) : .nothing
  }

  /// New Long Term Key.
  public mutating func longTermKey(
    _ key: LongTermKey, store: Bool, isWindowOpen: Bool, at now: Instant
  ) -> KeyAction {
    if case .failed = state { return .discard(nil) }
    if let failure = reasonToReject(key, isWindowOpen: isWindowOpen) {
      fail(failure, at: now)
      return .discard(failure)
    }
    // A link on which the phone pairs again had a whole bond before this key.
    let isNew = collector.bond == nil
    if store { collector.add(key) }
    return save(isNew: isNew)
  }

  /// The answer to Pair Device.
  public mutating func pairCompleted(_ status: MgmtStatus, at now: Instant) -> KeyAction {
    guard case .pairing = state else { return .nothing }
    if let failure = PairingFailure(status) {
      fail(failure, at: now)
      return .failed(failure)
    }
    // The kernel holds a key already: the phone is to encrypt with it.
    if status == .alreadyPaired { state = .expected(until: now + policy.pause) }
    return .nothing
  }

  /// Authentication Failed: pairing that the phone began has failed.
  ///
  /// - Returns: why, where that is news.
  public mutating func authenticationFailed(
    _ status: MgmtStatus, at now: Instant
  ) -> PairingFailure? {
    guard case .pairing = state else { return nil }
    let failure = PairingFailure(status) ?? .refusedByPhone
    fail(failure, at: now)
    return failure
  }

  private mutating func save(isNew: Bool) -> KeyAction {
    guard let bond = collector.bond else { return .nothing }
    state = .secured(isNew: true)
    return .save(bond, isNew: isNew)
  }

  private func reasonToReject(_ key: LongTermKey, isWindowOpen: Bool) -> PairingFailure? {
    let isExpected =
      switch state {
      case .pairing(let accepted, _): accepted || isWindowOpen
      case .secured(let isNew): isNew || isWindowOpen
      case .closedOut, .expected, .asked, .failed: isWindowOpen
      }
    if !isExpected { return isBonded ? .bondLost : .windowClosed }
    if key.kind == .debug { return .debugKey }
    if policy.allowsLegacy { return nil }
    if !key.kind.isSecureConnections { return .legacy }
    return key.size < 16 ? .shortKey(key.size) : nil
  }
}

// MARK: - What the kernel asks, and what somebody at the board answers

extension PairingMachine {
  /// What to do about a question.
  public enum QuestionAction: Hashable, Sendable {
    /// Send it: yes.
    case accept(MgmtCommand)
    /// Ask whether the phone shows the same number; the answer goes to `confirm`.
    case askToConfirm(Passkey)
    /// Ask which number the phone shows; the answer goes to `enter`.
    case askForPasskey
    /// Show this number, which is to be typed on the phone.
    case show(Passkey)
    /// So many digits are typed on the phone.
    case typed(Int)
    /// Send it: no. The failure is nil where it was reported before.
    case refuse(MgmtCommand, PairingFailure?)
  }

  /// User Confirm Request: with `hint` any yes will do; without it somebody has to compare numbers.
  public mutating func userConfirmRequest(
    hint: Bool, number: Passkey, isWindowOpen: Bool, at now: Instant
  ) -> QuestionAction {
    guard admits(isWindowOpen) else { return refuse(.userConfirmNegativeReply(peer), at: now) }
    if hint {
      state = .pairing(accepted: true, .phone)
      return .accept(.userConfirmReply(peer))
    }
    state = .pairing(accepted: false, .comparison(number, until: now + Self.answerTime))
    return .askToConfirm(number)
  }

  /// User Passkey Request: the phone shows a number.
  public mutating func userPasskeyRequest(isWindowOpen: Bool, at now: Instant) -> QuestionAction {
    guard admits(isWindowOpen) else { return refuse(.userPasskeyNegativeReply(peer), at: now) }
    state = .pairing(accepted: false, .passkey(until: now + Self.answerTime))
    return .askForPasskey
  }

  /// Passkey Notify: the phone's user is to type a number. It comes again for every digit. The kernel
  /// asks for no consent here, so the only way to refuse is to end the link.
  public mutating func passkeyNotify(
    _ passkey: Passkey, entered: UInt8, isWindowOpen: Bool, at now: Instant
  ) -> QuestionAction {
    guard admits(isWindowOpen) else { return refuse(.disconnect(peer), at: now) }
    state = .pairing(accepted: true, .typing(passkey, until: now + Self.answerTime))
    return entered == 0 ? .show(passkey) : .typed(Int(entered))
  }

  /// Somebody answered `askToConfirm`; nil where nothing is asked (any more).
  public mutating func confirm(_ isSame: Bool, at now: Instant) -> QuestionAction? {
    guard case .pairing(_, .comparison) = state else { return nil }
    guard isSame else { return decline(.userConfirmNegativeReply(peer), at: now) }
    state = .pairing(accepted: true, .phone)
    return .accept(.userConfirmReply(peer))
  }

  /// Somebody answered `askForPasskey`, with nil for a refusal; nil where nothing is asked (any more).
  public mutating func enter(_ passkey: Passkey?, at now: Instant) -> QuestionAction? {
    guard case .pairing(_, .passkey) = state else { return nil }
    guard let passkey else { return decline(.userPasskeyNegativeReply(peer), at: now) }
    state = .pairing(accepted: true, .phone)
    return .accept(.userPasskeyReply(peer, passkey))
  }

  /// Whether a question may be answered with yes: pairing is open, or was when it began.
  private func admits(_ isWindowOpen: Bool) -> Bool {
    if case .pairing = state { true } else { isWindowOpen }
  }

  private mutating func decline(_ command: MgmtCommand, at now: Instant) -> QuestionAction {
    fail(.declinedHere, at: now)
    return .refuse(command, .declinedHere)
  }

  /// Refuses because pairing is closed. A secured link stays secured.
  private mutating func refuse(_ command: MgmtCommand, at now: Instant) -> QuestionAction {
    let failure: PairingFailure = isBonded ? .bondLost : .windowClosed
    switch state {
    case .failed: return .refuse(command, nil)
    case .secured: break
    case .closedOut, .expected, .asked, .pairing: fail(failure, at: now)
    }
    return .refuse(command, failure)
  }
}

/// Why pairing failed.
public enum PairingFailure: Error, Hashable, Sendable {
  /// An unknown phone tried to pair while pairing is closed.
  case windowClosed
  /// A bonded phone tried to pair again while pairing is closed: it has lost its side of the bond.
  case bondLost
  /// The person at the board declined, or did not answer.
  case declinedHere
  /// The phone or its user refused, or a number was wrong.
  case refusedByPhone
  /// The phone did not answer the Security Request, or stopped halfway.
  case noAnswer
  /// Legacy pairing, without `--allow-legacy`.
  case legacy
  /// A key of fewer than 16 bytes, without `--allow-legacy`.
  case shortKey(UInt8)
  /// The specification's published debug key.
  case debugKey
  /// It was cancelled on this side.
  case cancelled
  /// The link ended first.
  case linkLost
  /// The adapter is gone or switched off.
  case adapterGone
  /// Another status of the kernel.
  case other(MgmtStatus)

  /// The failure that the status of Pair Device or Authentication Failed stands for; nil for statuses
  /// that are none: done, in progress, or already paired.
  public init?(_ status: MgmtStatus) {
    switch status {
    case .success, .busy, .alreadyPaired: return nil
    case .failed, .timeout: self = .noAnswer
    case .authenticationFailed, .rejected: self = .refusedByPhone
    case .cancelled: self = .cancelled
    case .notConnected, .connectFailed, .disconnected: self = .linkLost
    case .invalidIndex, .notPowered, .rfkilled: self = .adapterGone
    default: self = .other(status)
    }
  }
}

extension PairingFailure: CustomStringConvertible {
  /// A sentence without its full stop, with what the user can do.
  public var description: String {
    switch self {
    case .windowClosed: "pairing is closed for unknown phones: open it with ancsd pair"
    case .bondLost:
      "the phone has forgotten this board and wants to pair anew, but pairing is closed: "
        + "open it with ancsd pair, and choose the board again in the phone's Bluetooth settings"
    case .declinedHere: "it was declined on this board"
    case .refusedByPhone:
      "the phone refused, or the numbers did not match: try again, and confirm on the phone"
    case .noAnswer:
      "the phone did not answer: confirm there when it asks; if it lists this board already, "
        + "forget the board there first"
    case .legacy:
      "the phone offered legacy pairing only, which anyone in range can overhear: "
        + "--allow-legacy takes it all the same"
    case .shortKey(let size):
      "the phone offered a key of \(size) bytes instead of 16: --allow-legacy takes it all the same"
    case .debugKey: "the phone used the published debug key, which protects nothing"
    case .cancelled: "it was cancelled"
    case .linkLost: "the connection was lost on the way: try again"
    case .adapterGone: "the adapter is gone or switched off"
    case .other(let status): status.sentence
    }
  }
}
