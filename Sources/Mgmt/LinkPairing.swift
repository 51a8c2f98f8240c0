// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A pairing in progress.
public struct Pairing: Hashable, Sendable {
  /// How long a person has: SMP gives up 30 s after its last step (Vol 3 Part H, 3.4).
  public static let answerTime: Duration = .seconds(30)
  /// After this time without an event, the pairing is abandoned. Two steps may pass without one; the kernel gives up
  /// earlier, and reports why.
  public static let longest: Duration = .seconds(65)

  /// Whose turn it is.
  public enum Turn: Hashable, Sendable {
    /// The phone, or its user.
    case phone
    /// The kernel, after a bonded phone was allowed to pair again by Just Works. A kernel with the bug fails at once.
    case kernel
    /// Somebody at the board; or the phone's user, who types the number shown here.
    case asking(PairingPrompt)
    /// Nobody: both sides have agreed, and the keys are expected.
    case keys
    /// Nobody: a Long Term Key was reported for a bonded phone's address, which anybody can use. The identity that it
    /// belongs to is expected.
    case identity
  }

  public let turn: Turn
  /// When this turn began.
  let since: Instant

  /// The deadline for a person's answer.
  public var answerDue: Instant { since + Self.answerTime }

  var deadline: Instant {
    switch turn {
    case .keys: since + LinkMachine.patience
    case .identity: since + LinkMachine.keyDistribution
    case .phone, .kernel, .asking: since + Self.longest
    }
  }

  /// Whether this side has agreed, so that a key is expected.
  var isAccepted: Bool {
    switch turn {
    case .phone, .kernel, .asking(.display), .keys, .identity: true
    case .asking: false
    }
  }
}

// Pairing. An unknown phone is asked to pair at once: Pair Device sends a Security Request and leaves the ATT channel
// usable. Pairing that the phone starts follows the same rules: nothing is confirmed while pairing is closed, and a
// key that arrives anyway is discarded. Only the bonded phone itself can replace a bond: not one that claims its
// identity, nor a pairing that protects less.
extension LinkMachine {
  mutating func admitted(under terms: Terms, at now: Instant) -> [Action] {
    guard case .closedOut = state, terms.admission == .open else { return [] }
    proceed(.phone, at: now)
    return [.pair(.pairDevice(peer, policy.capability))]
  }

  /// An unknown phone that is pairing is refused; a bonded one may finish.
  mutating func windowClosed(under terms: Terms, at now: Instant) -> [Action] {
    guard case .pairing = lastState, terms.bond(with: peer) == nil else { return [] }
    return fail(.windowClosed, at: now) + [.discardKeys]
  }

  /// Handles mgmt's events about the link.
  mutating func receive(_ event: MgmtEvent, under terms: Terms, at now: Instant) -> [Action] {
    if case .deviceDisconnected(_, let reason) = event { return disconnected(reason, at: now) }
    if case .announced(let early, let until) = state {
      if early.count < Self.earlyEvents { state = .announced(early + [event], until: until) }
      return []
    }
    if let prompt = PairingPrompt(event) { return asked(prompt, under: terms, at: now) }
    return switch event {
    case .newLongTermKey(let key, let store): longTermKey(key, store: store, under: terms, at: now)
    case .newIdentityResolvingKey(let key, _, let store):
      identityResolvingKey(key, store: store, under: terms, at: now)
    case .authenticationFailed(_, let status): authenticationFailed(status, at: now)
    default: []
    }
  }

  /// The pairing proceeds to this turn.
  private mutating func proceed(_ turn: Pairing.Turn, at now: Instant) {
    let pairing = Pairing(turn: turn, since: now)
    if case .secured(var secured) = lastState {
      secured.pairing = pairing
      lastState = .secured(secured)
    } else {
      lastState = .pairing(pairing)
    }
  }

  /// Pairing has failed. A link that is secured stays so.
  mutating func fail(_ failure: PairingFailure, at now: Instant) -> [Action] {
    switch lastState {
    case .secured(var secured):
      secured.pairing = nil
      lastState = .secured(secured)
    case .closedOut(let until), .expected(let until), .asked(let until):
      lastState = .refused(failure, until: min(until, now + Self.patience))
    case .announced, .awaited, .pairing, .refused, .ending, .over:
      lastState = .refused(failure, until: now + Self.patience)
    }
    return [.failed(failure)]
  }

  private func refusal(under terms: Terms) -> PairingFailure {
    terms.bond(with: peer) == nil || terms.admission == .busy ? terms.admission.refusal : .bondLost
  }

  // MARK: Keys, and the reply to Pair Device

  /// New Identity Resolving Key. A phone that holds the bond with an identity is known by it from the start, because
  /// its private address can be resolved.
  private mutating func identityResolvingKey(
    _ key: IdentityResolvingKey, store: Bool, under terms: Terms, at now: Instant
  ) -> [Action] {
    switch lastState {
    case .refused: return [.discardKeys]
    // It is another device's, reported under this phone's identity.
    case .secured(let secured)
    where !secured.awaitsKeys(at: now) || collector.hasIdentity && key.peer != peer:
      return [.restoreKeys]
    default: break
    }
    // The bond was saved under the address that the phone had until now. Without that, the address may be spoofed, and a
    // bond that a phone has under it must not suffer from that.
    var isVoid = peer.isResolvable
    if case .secured(let secured) = lastState, secured.isNew { isVoid = true }
    guard key.peer == peer || terms.bond(with: key.peer) == nil else {
      claimed = key.peer
      let failure = PairingFailure.identityTaken(key.peer.address)
      // If its Long Term Key is still expected, it will be reported for that identity.
      let until = collector.bond == nil ? now + Self.keyDistribution : now
      lastState = .refused(failure, until: until)
      return [.failed(failure), .discardKeys] + (isVoid ? [.void(peer)] : [])
    }
    let former = peer
    peer = key.peer
    if store { collector.add(key) }
    var actions: [Action] = []
    if case .secured(let secured) = lastState, secured.isNew, let bond = collector.bond {
      actions.append(.save(bond, isNew: false))
    }
    if former != peer { actions += (isVoid ? [.void(former)] : []) + [.identified] }
    guard pairing?.turn == .identity, store else { return actions }
    return actions + bonded(at: now) + (former == peer ? [] : [.restoreKeys])
  }

  /// New Long Term Key.
  private mutating func longTermKey(_ key: LongTermKey, store: Bool, under terms: Terms, at now: Instant) -> [Action] {
    if case .refused = lastState { return [.discardKeys] }
    if let failure = reasonToReject(key, under: terms, at: now) ?? (store ? nil : .notBonded) {
      guard wasSecured else { return fail(failure, at: now) + [.discardKeys] }
      // Nothing more may be sent under such a key.
      lastState = .refused(failure, until: now)
      return [.failed(failure), .discardKeys] + end("pairing failed: \(failure)", .board)
    }
    collector.add(key)
    guard wasSecured || collector.hasIdentity || terms.bond(with: peer) == nil else {
      if collector.bond != nil { proceed(.identity, at: now) }
      return []
    }
    return bonded(at: now)
  }

  /// The keys make a bond, unless some are missing: it is kept, and the link is served.
  mutating func bonded(at now: Instant) -> [Action] {
    guard let bond = collector.bond else { return [] }
    guard case .secured(let secured) = lastState else {
      lastState = .secured(Secured(paired: now))
      return [.save(bond, isNew: true), .secured(isNew: true)]
    }
    // It may be one of the remaining keys after the first has completed a bond.
    let isRest = secured.isNew && secured.pairing == nil
    lastState = .secured(Secured(paired: isRest ? secured.paired : now))
    return [.save(bond, isNew: !secured.isNew)] + (isRest ? [] : [.secured(isNew: true)])
  }

  private func reasonToReject(_ key: LongTermKey, under terms: Terms, at now: Instant) -> PairingFailure? {
    let isExpected =
      switch lastState {
      case .pairing(let pairing): pairing.isAccepted
      case .secured(let secured): secured.awaitsKeys(at: now)
      case .announced, .closedOut, .expected, .asked, .awaited, .refused, .ending, .over: false
      }
    if !isExpected, terms.admission != .open { return refusal(under: terms) }
    if let failure = policy.reasonToRefuse(key) { return failure }
    // On a link that is being served, it is another device's key under its phone's identity.
    if !isExpected, wasSecured { return .foreignKey }
    let bond = terms.bond(with: peer)
    return bond?.isAuthenticated == true && !key.kind.isAuthenticated ? .weakerThanBond : nil
  }

  /// The reply to Pair Device.
  mutating func pairCompleted(_ status: MgmtStatus, at now: Instant) -> [Action] {
    // The reply to a pairing that was cut off by the end of the link is the same as for one that the phone never
    // responded to (docs/kernel.md, “Pair Device”).
    if case .ending(.announced(let reason), _, _) = state, [.remote, .timeout].contains(reason) {
      return []
    }
    guard case .pairing = lastState else { return [] }
    if let failure = PairingFailure(status) { return fail(failure, at: now) }
    // The kernel holds another program's key, which says nothing about the phone.
    if status == .alreadyPaired { return fail(.foreignKey, at: now) + [.discardKeys] }
    if status == .success, collector.bond == nil { proceed(.keys, at: now) }
    return []
  }

  /// Authentication Failed: pairing that the phone began has failed.
  ///
  /// If only the kernel's bug can be the reason, the phone is disconnected: it can pair once the kernel no longer has
  /// its key (docs/kernel.md, “Kernel bug: pairing again”).
  private mutating func authenticationFailed(_ status: MgmtStatus, at now: Instant) -> [Action] {
    guard let pairing else { return [] }
    guard pairing.turn == .kernel, now - pairing.since < Self.kernelTime else {
      return fail(PairingFailure(status) ?? .refusedByPhone, at: now)
    }
    let failure = PairingFailure.kernelCannotPairAnew
    return [.withholdKey] + fail(failure, at: now) + end("pairing failed: \(failure)", .board)
  }

  /// A failure within this time after the confirmation is the kernel's: a person takes longer.
  private static let kernelTime: Duration = .seconds(1)

  // MARK: The kernel's questions, and the user's answers

  /// The kernel asks something of a person, or nobody if nobody could answer.
  private mutating func asked(_ prompt: PairingPrompt, under terms: Terms, at now: Instant) -> [Action] {
    // It asks for no consent to a number that the phone's user has to type, so the only way to refuse is to end the link.
    let no = prompt.reply(to: peer, accept: false) ?? .disconnect(peer)
    // The phone may pair, or could when it began.
    guard pairing != nil || terms.admission == .open else {
      return refuse(no, under: terms, at: now)
    }
    switch prompt {
    case .consent where policy.requiresAuthentication:
      return decline(no, .notAuthenticated, at: now)
    case .consent where !policy.canAsk:
      // A bonded phone that pairs has lost its bond, but the kernel has not.
      proceed(terms.bond(with: peer) == nil ? .phone : .kernel, at: now)
      return [.ask, .send(.userConfirmReply(peer))]
    case .display(let number, let entered):
      // The event repeats for every digit.
      let turn = Pairing.Turn.asking(.display(number, entered: 0))
      if pairing?.turn != turn { proceed(turn, at: now) }
      return [entered == 0 ? .ask : .typed(Int(entered))]
    case .consent, .comparison, .entry:
      proceed(.asking(prompt), at: now)
      return [.ask]
    }
  }

  /// Somebody at the board has answered, with a number if one was asked for.
  mutating func answered(_ accept: Bool, _ passkey: Passkey?, at now: Instant) -> [Action] {
    guard case .asking(let prompt)? = pairing?.turn, let no = prompt.reply(to: peer, accept: false)
    else { return [] }
    guard accept, let yes = prompt.reply(to: peer, accept: true, passkey) else {
      return decline(no, .declinedHere, at: now)
    }
    proceed(.phone, at: now)
    return [.send(yes)]
  }

  private mutating func decline(_ command: MgmtCommand, _ failure: PairingFailure, at now: Instant) -> [Action] {
    [.send(command)] + fail(failure, at: now)
  }

  /// Refuses because the phone may not pair now. A secured link stays secured.
  private mutating func refuse(_ command: MgmtCommand, under terms: Terms, at now: Instant) -> [Action] {
    // The reason was reported before.
    if case .refused = lastState { return [.send(command)] }
    return decline(command, refusal(under: terms), at: now)
  }
}
