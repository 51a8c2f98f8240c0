// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The pairing rules for one link, from the phone's coming to its going.
///
///     unknown, open   ──▶ pairing ── key kept ──▶ secured
///     unknown, closed ──▶ closed out ── a while ──▶ disconnected
///     bonded          ──▶ expected to encrypt ── a pause ──▶ asked to ──▶ secured
///
/// An unknown phone is asked to pair at once (Pair Device sends a Security Request and leaves the
/// ATT socket usable). A bonded one encrypts by itself within milliseconds; a Security Request in
/// between collides with that and starts a storm of reconnections, so it gets one only after a
/// pause, and by BT_SECURITY on its socket, because Pair Device answers Already Paired (kernel.md).
///
/// What the phone may do unasked is held to the same rules: nothing is confirmed while pairing is
/// closed, and a key that came all the same is taken away again.
public struct PairingMachine: Hashable, Sendable {
  /// How long a bonded phone has to encrypt by itself, where the policy says nothing else.
  public static let pause: Duration = .seconds(5)
  /// How long an unknown phone may stay while pairing is closed: it keeps the board off the air.
  public static let patience: Duration = .seconds(10)

  /// What the board is set to.
  public struct Policy: Hashable, Sendable {
    public var capability: IOCapability
    /// `--allow-legacy`: also legacy pairing and keys of fewer than 16 bytes.
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

  /// The phone, by its identity once that is known.
  public internal(set) var peer: DeviceAddress
  /// When `timePassed` wants to be called, if at all.
  public internal(set) var deadline: Instant?

  let policy: Policy
  private(set) var isBonded = false
  var state = State.new
  var collector = BondCollector()
  var wasAnnounced = false

  enum State: Hashable, Sendable {
    case new
    /// Unknown, and not let in.
    case closedOut
    /// Bonded, and expected to encrypt.
    case expected
    /// Bonded, and asked to encrypt.
    case asked
    /// On the way to a bond; `accepted`: this side agreed to something, so a key is no surprise.
    case pairing(accepted: Bool, question: Question?)
    /// Encrypted with a key that is kept.
    case secured
    /// Pairing failed; whatever still comes of it is known.
    case failed
  }

  enum Question: Hashable, Sendable {
    case confirm
    case passkey
  }

  /// The machine of a link with `peer`.
  public init(peer: DeviceAddress, policy: Policy) {
    self.peer = peer
    self.policy = policy
  }

  /// Whether this link may have notifications, media and what else is private.
  public var isSecured: Bool { state == .secured }

  /// Whether an event is about this link: it names the phone, by its identity or by the private
  /// address that the phone came with.
  public func concerns(_ event: MgmtEvent) -> Bool {
    if case .newIdentityResolvingKey(let key, let privateAddress, _) = event {
      return key.peer == peer || DeviceAddress(privateAddress, .random) == peer
    }
    return event.device == peer
  }
}

extension PairingMachine {
  /// What a new link asks for.
  public enum ConnectAction: Hashable, Sendable {
    /// Send it, and hand its answer to `pairCompleted`.
    case pair(MgmtCommand)
    /// The phone is to encrypt; call `timePassed` then.
    case waitForEncryption(until: Instant)
    /// No question of ours, no private data; call `timePassed` then.
    case serveNothing(until: Instant)
    /// The phone was faster: pairing is under way.
    case nothing
  }

  /// The phone has connected.
  public mutating func connected(
    isBonded: Bool, isWindowOpen: Bool, at now: Instant
  ) -> ConnectAction {
    self.isBonded = isBonded
    guard state == .new else { return .nothing }
    if isBonded {
      state = .expected
      return .waitForEncryption(until: wait(policy.pause, from: now))
    }
    guard isWindowOpen else {
      state = .closedOut
      return .serveNothing(until: wait(Self.patience, from: now))
    }
    return .pair(beginPairing())
  }

  /// Pairing was opened while the phone is connected: what to send, if anything.
  public mutating func windowOpened() -> MgmtCommand? {
    state == .closedOut ? beginPairing() : nil
  }

  /// The link is encrypted: seen as the socket's security level, or as an ATT request that no
  /// longer fails. Says whether the link may be served now: a new key has to be accepted first.
  public mutating func encrypted() -> Bool {
    if state == .expected || state == .asked { secure() }
    return isSecured
  }

  /// What is due after a time.
  public enum TimeAction: Hashable, Sendable {
    case nothing
    /// Ask for BT_SECURITY_MEDIUM on the ATT socket, which sends a Security Request.
    case requestSecurity
    /// Send it: the phone stays for nothing, and keeps the board off the air.
    case disconnect(MgmtCommand)
  }

  /// Time has passed; nothing happens before `deadline`.
  public mutating func timePassed(to now: Instant) -> TimeAction {
    guard let deadline, now >= deadline else { return .nothing }
    self.deadline = nil
    switch state {
    case .expected:
      state = .asked
      return .requestSecurity
    case .closedOut, .failed: return .disconnect(.disconnect(peer))
    case .new, .asked, .pairing, .secured: return .nothing
    }
  }

  /// The link has ended: why pairing failed, if it was under way.
  public mutating func disconnected() -> PairingFailure? {
    defer { deadline = nil }
    guard case .pairing = state else { return nil }
    state = .failed
    return .linkLost
  }

  private mutating func beginPairing() -> MgmtCommand {
    deadline = nil
    state = .pairing(accepted: true, question: nil)
    return .pairDevice(peer, policy.capability)
  }

  mutating func wait(_ duration: Duration, from now: Instant) -> Instant {
    let until = now + duration
    deadline = until
    return until
  }

  mutating func secure() {
    state = .secured
    deadline = nil
  }

  mutating func fail(_ failure: PairingFailure, at now: Instant) -> PairingFailure {
    state = .failed
    deadline = deadline ?? now + Self.patience
    return failure
  }
}
