// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The pairing rules of one link, from the phone's connection to its end.
///
///     unknown, open   ──▶ pairing ── key kept ──▶ secured       one phone at a time
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
/// and a key that comes all the same is discarded. A bond is replaced only by the phone that it is with: not
/// by one that names its identity, nor by a pairing that protects less.
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
    /// `--require-mitm`: only what protects against a man in the middle is accepted.
    public var requiresAuthentication: Bool
    /// How long a bonded phone has to encrypt by itself.
    public var pause: Duration

    public init(
      capability: IOCapability, allowsLegacy: Bool = false, requiresAuthentication: Bool = false,
      pause: Duration = PairingMachine.pause
    ) {
      self.capability = capability
      self.allowsLegacy = allowsLegacy
      self.requiresAuthentication = requiresAuthentication
      self.pause = pause
    }

    /// Why a key is not good enough to be kept, or to be used again; nil: it is.
    public func reasonToRefuse(_ key: LongTermKey) -> PairingFailure? {
      if key.kind == .debug { return .debugKey }
      if requiresAuthentication, !key.kind.isAuthenticated { return .notAuthenticated }
      if allowsLegacy { return nil }
      if !key.kind.isSecureConnections { return .legacy }
      return key.size < 16 ? .shortKey(key.size) : nil
    }

    /// Why a bond is not good enough to be used; nil: it is.
    public func reasonToRefuse(_ bond: Bond) -> PairingFailure? {
      bond.longTermKeys.lazy.compactMap { reasonToRefuse($0) }.first
    }

    /// Whether somebody at the board can say yes or no.
    var canAsk: Bool {
      switch capability {
      case .displayYesNo, .keyboardOnly, .keyboardDisplay: true
      case .displayOnly, .noInputNoOutput: false
      }
    }
  }

  /// How far the link has come on its way to encryption.
  public enum State: Hashable, Sendable {
    /// The phone is unknown and may not pair now, for this reason. It is told to leave at that time.
    case closedOut(PairingFailure, until: Instant?)
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
    /// The kernel, which was told at that time that a bonded phone may pair anew by Just Works. A kernel with
    /// a bug fails at once.
    case kernel(since: Instant)
    /// The phone's user, who types the number that is shown here, until then.
    case typing(Passkey, until: Instant)
    /// Somebody at the board, who compares two numbers, until then.
    case comparison(Passkey, until: Instant)
    /// Somebody at the board, who says whether a phone may pair that can show no number, until then.
    case consent(until: Instant)
    /// Somebody at the board, who types the number that the phone shows, until then.
    case passkey(until: Instant)
    /// Nobody: they have agreed, and the keys are to come until then.
    case keys(until: Instant)
  }

  /// How long a person has: SMP gives up 30 s after its last step (Vol 3 Part H, 3.4).
  public static let answerTime: Duration = .seconds(30)

  /// The phone, by its identity once that is known.
  public private(set) var peer: DeviceAddress
  public private(set) var state: State

  private let policy: Policy
  /// The bond with which the phone came; nil: it is unknown.
  private let bond: Bond?
  private var collector = BondCollector()
  /// The bonded phone's identity that this one claims, by which the kernel calls it from then on.
  private var claimed: DeviceAddress?

  /// Whether an unknown phone may pair.
  public enum Admission: Hashable, Sendable {
    case open
    case closed
    /// Pairing is open, and another phone is at it.
    case busy

    fileprivate var refusal: PairingFailure { self == .busy ? .busy : .windowClosed }
  }

  /// The machine of a link with `peer`, which has just connected.
  public init(
    peer: DeviceAddress, bond: Bond?, admission: Admission, policy: Policy, at now: Instant
  ) {
    self.peer = peer
    self.bond = bond
    self.policy = policy
    if bond != nil {
      state = .expected(until: now + policy.pause)
    } else if admission == .open {
      state = .pairing(accepted: true, .phone)
    } else {
      state = .closedOut(admission.refusal, until: now + Self.patience)
    }
  }

  /// When `timePassed` is to be called, if at all.
  public var deadline: Instant? {
    switch state {
    case .expected(let until): until
    case .closedOut(_, let until), .failed(_, let until): until
    case .pairing(_, .keys(let until)): until
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
    return event.device.map { $0 == peer || $0 == claimed } ?? false
  }

  /// Whether a pairing is under way or has just failed. Of two links that an event may be about, because a
  /// stranger claims to be the other's phone, it is about the one that pairs.
  public var hasPaired: Bool {
    switch state {
    case .pairing, .failed, .secured(isNew: true): true
    case .closedOut, .expected, .asked, .secured(isNew: false): false
    }
  }

  /// The phone may pair now: pairing was opened, or another phone is done with it.
  ///
  /// - Returns: Pair Device, where it is to be sent.
  public mutating func windowOpened() -> MgmtCommand? {
    guard case .closedOut = state else { return nil }
    state = .pairing(accepted: true, .phone)
    return pairDevice
  }

  /// The link is encrypted, as the socket's security level shows.
  ///
  /// - Parameters:
  ///   - isAuthenticated: whether by a key that protects against a man in the middle.
  ///   - keySize: the size of that key in bytes.
  /// - Returns: whether it may be served now. A new key has to be accepted first, and a key that is not the
  ///   bond's is none that is known: who paired behind our back is served nothing.
  public mutating func encrypted(isAuthenticated: Bool, keySize: Int) -> Bool {
    switch state {
    case .expected, .asked:
      guard let bond, isAuthenticated == bond.isAuthenticated, keySize == Int(bond.keySize) else {
        return false
      }
      state = .secured(isNew: false)
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
    /// Report why the pairing has failed.
    case failed(PairingFailure)
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
    case .closedOut(let failure, _):
      state = .closedOut(failure, until: nil)
      return .disconnect(failure)
    case .failed(let failure, _):
      state = .failed(failure, until: nil)
      return .disconnect(failure)
    case .pairing(_, .keys):
      state = .failed(.notBonded, until: now)
      return .failed(.notBonded)
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
    /// Report why, and take the phone's key out of the kernel while pairing is open.
    case withhold(PairingFailure)
  }

  /// Within this time the kernel tells all keys of a pairing.
  private static let farewell: Duration = .seconds(1)

  /// New Identity Resolving Key.
  ///
  /// - Parameter isTaken: whether a phone with that identity is bonded. A phone that holds that bond was
  ///   known by its identity from the start: its private address could be resolved.
  public mutating func identityResolvingKey(
    _ key: IdentityResolvingKey, store: Bool, isTaken: Bool, at now: Instant
  ) -> KeyAction {
    if case .failed = state { return .discard(nil) }
    guard key.peer == peer || !isTaken else {
      claimed = key.peer
      // Its Long Term Key, if that is still to come, is told as that identity's.
      let until = collector.bond == nil ? now + Self.farewell : now
      state = .failed(.identityTaken(key.peer.address), until: until)
      return .discard(.identityTaken(key.peer.address))
    }
    peer = key.peer
    if store { collector.add(key) }
    return state == .secured(isNew: true) ? save(isNew: false) : .nothing
  }

  /// New Long Term Key.
  public mutating func longTermKey(
    _ key: LongTermKey, store: Bool, admission: Admission, at now: Instant
  ) -> KeyAction {
    if case .failed = state { return .discard(nil) }
    if let failure = reasonToReject(key, admission) {
      fail(failure, at: now)
      return .discard(failure)
    }
    guard store else {
      fail(.notBonded, at: now)
      return .discard(.notBonded)
    }
    // A link on which the phone pairs again had a whole bond before this key.
    let isNew = collector.bond == nil
    collector.add(key)
    return save(isNew: isNew)
  }

  /// The answer to Pair Device.
  public mutating func pairCompleted(_ status: MgmtStatus, at now: Instant) -> KeyAction {
    guard case .pairing = state else { return .nothing }
    if let failure = PairingFailure(status) {
      fail(failure, at: now)
      return .failed(failure)
    }
    if status == .alreadyPaired {
      // The kernel holds a key that is none of ours: another program's, which says nothing of the phone.
      fail(.foreignKey, at: now)
      return .discard(.foreignKey)
    }
    if status == .success { state = .pairing(accepted: true, .keys(until: now + Self.patience)) }
    return .nothing
  }

  /// Authentication Failed: pairing that the phone began has failed.
  ///
  /// Where only the kernel's bug can be the reason, the phone is sent away: it can pair once the kernel is
  /// without its key (docs/kernel.md, “Kernel bug: pairing anew”).
  public mutating func authenticationFailed(_ status: MgmtStatus, at now: Instant) -> KeyAction {
    guard case .pairing(_, let turn) = state else { return .nothing }
    if case .kernel(let since) = turn, now - since < Self.kernelTime {
      state = .failed(.kernelCannotPairAnew, until: now)
      return .withhold(.kernelCannotPairAnew)
    }
    let failure = PairingFailure(status) ?? .refusedByPhone
    fail(failure, at: now)
    return .failed(failure)
  }

  /// Within this time after it was told to go on, a failure is the kernel's: a person takes longer.
  private static let kernelTime: Duration = .seconds(1)

  private mutating func save(isNew: Bool) -> KeyAction {
    guard let bond = collector.bond else { return .nothing }
    state = .secured(isNew: true)
    return .save(bond, isNew: isNew)
  }

  private func reasonToReject(_ key: LongTermKey, _ admission: Admission) -> PairingFailure? {
    let isExpected =
      switch state {
      case .pairing(let accepted, _): accepted || admission == .open
      case .secured(let isNew): isNew || admission == .open
      case .closedOut, .expected, .asked, .failed: admission == .open
      }
    if !isExpected { return refusal(admission) }
    if let failure = policy.reasonToRefuse(key) { return failure }
    return bond?.isAuthenticated == true && !key.kind.isAuthenticated ? .weakerThanBond : nil
  }

  private func refusal(_ admission: Admission) -> PairingFailure {
    bond == nil || admission == .busy ? admission.refusal : .bondLost
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
    /// Ask whether a phone may pair that can show no number; the answer goes to `confirm`.
    case askForConsent
    /// Ask which number the phone shows; the answer goes to `enter`.
    case askForPasskey
    /// Show this number, which is to be typed on the phone.
    case show(Passkey)
    /// So many digits are typed on the phone.
    case typed(Int)
    /// Send it: no. The failure is nil where it was reported before.
    case refuse(MgmtCommand, PairingFailure?)
  }

  /// User Confirm Request: with `hint` there is no number to compare (Just Works), and nobody is asked where
  /// nobody could answer.
  public mutating func userConfirmRequest(
    hint: Bool, number: Passkey, admission: Admission, at now: Instant
  ) -> QuestionAction {
    let no = MgmtCommand.userConfirmNegativeReply(peer)
    guard admits(admission) else { return refuse(no, admission, at: now) }
    if hint {
      if policy.requiresAuthentication { return decline(no, .notAuthenticated, at: now) }
      guard policy.canAsk else {
        // A bonded phone that pairs has lost its side of the bond, and the kernel has not.
        state = .pairing(accepted: true, bond == nil ? .phone : .kernel(since: now))
        return .accept(.userConfirmReply(peer))
      }
      state = .pairing(accepted: false, .consent(until: now + Self.answerTime))
      return .askForConsent
    }
    state = .pairing(accepted: false, .comparison(number, until: now + Self.answerTime))
    return .askToConfirm(number)
  }

  /// User Passkey Request: the phone shows a number.
  public mutating func userPasskeyRequest(
    admission: Admission, at now: Instant
  ) -> QuestionAction {
    guard admits(admission) else {
      return refuse(.userPasskeyNegativeReply(peer), admission, at: now)
    }
    state = .pairing(accepted: false, .passkey(until: now + Self.answerTime))
    return .askForPasskey
  }

  /// Passkey Notify: the phone's user is to type a number. It comes again for every digit. The kernel
  /// asks for no consent here, so the only way to refuse is to end the link.
  public mutating func passkeyNotify(
    _ passkey: Passkey, entered: UInt8, admission: Admission, at now: Instant
  ) -> QuestionAction {
    guard admits(admission) else { return refuse(.disconnect(peer), admission, at: now) }
    state = .pairing(accepted: true, .typing(passkey, until: now + Self.answerTime))
    return entered == 0 ? .show(passkey) : .typed(Int(entered))
  }

  /// Somebody answered `askToConfirm` or `askForConsent`; nil where nothing is asked (any more).
  public mutating func confirm(_ agrees: Bool, at now: Instant) -> QuestionAction? {
    switch state {
    case .pairing(_, .comparison), .pairing(_, .consent): break
    default: return nil
    }
    guard agrees else {
      return decline(.userConfirmNegativeReply(peer), .declinedHere, at: now)
    }
    state = .pairing(accepted: true, .phone)
    return .accept(.userConfirmReply(peer))
  }

  /// Somebody answered `askForPasskey`, with nil for a refusal; nil where nothing is asked (any more).
  public mutating func enter(_ passkey: Passkey?, at now: Instant) -> QuestionAction? {
    guard case .pairing(_, .passkey) = state else { return nil }
    guard let passkey else {
      return decline(.userPasskeyNegativeReply(peer), .declinedHere, at: now)
    }
    state = .pairing(accepted: true, .phone)
    return .accept(.userPasskeyReply(peer, passkey))
  }

  /// Whether a question may be answered with yes: the phone may pair, or might when it began.
  private func admits(_ admission: Admission) -> Bool {
    if case .pairing = state { true } else { admission == .open }
  }

  private mutating func decline(
    _ command: MgmtCommand, _ failure: PairingFailure, at now: Instant
  ) -> QuestionAction {
    fail(failure, at: now)
    return .refuse(command, failure)
  }

  /// Refuses because the phone may not pair now. A secured link stays secured.
  private mutating func refuse(
    _ command: MgmtCommand, _ admission: Admission, at now: Instant
  ) -> QuestionAction {
    let failure = refusal(admission)
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
  /// An unknown phone tried to pair while another one is at it.
  case busy
  /// A bonded phone tried to pair again while pairing is closed: it has lost its side of the bond.
  case bondLost
  /// The phone names the identity of one that is bonded, and does not have its bond.
  case identityTaken(Address)
  /// The kernel had a key of the phone that another program made.
  case foreignKey
  /// The kernel has a bug, and fails where it has a key of the phone already.
  case kernelCannotPairAnew
  /// The phone keeps no bond, and so has sent no keys.
  case notBonded
  /// The pairing protects less than the bond that it would replace.
  case weakerThanBond
  /// Just Works, with `--require-mitm`.
  case notAuthenticated
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
    case .busy: "another phone is pairing just now: try again when it is done"
    case .identityTaken(let phone):
      "it claims to be \(phone), which is bonded, and does not have that phone's key: if it is that phone, "
        + "have it forgotten first: ancsd forget \(phone)"
    case .foreignKey:
      "the kernel had a key of this phone that another program made, which is removed: pair again, once the "
        + "phone has forgotten this board"
    case .kernelCannotPairAnew:
      "this board's kernel can't pair anew with a phone whose key it has, a bug of Linux until the end of 2025; "
        + "the key is out of the way now: choose the board again on the phone"
    case .notBonded:
      "the phone keeps no bond with this board, and could not come back: pair from its Bluetooth settings"
    case .weakerThanBond:
      "it would replace a bond that was made by comparing a number by one made without: start with "
        + "--io yesno, or have the phone forgotten first: ancsd forget"
    case .notAuthenticated:
      "it pairs without comparing or typing a number, which --require-mitm refuses"
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
