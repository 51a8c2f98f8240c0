// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// What comes of pairing: keys, and the answer to Pair Device.

extension PairingMachine {
  /// What a key, or the answer to Pair Device, comes to.
  public enum KeyAction: Hashable, Sendable {
    /// Nothing to do (yet).
    case nothing
    /// Save the bond, and then, where it is `isNew`, say that the phone has paired.
    case save(Bond, isNew: Bool)
    /// Send it, which forgets the phone's keys and ends the link; and say why, where it was not said
    /// before. Then load the keys of the bonds that stay: an older one of this phone is among them.
    case drop(MgmtCommand, PairingFailure?)
    /// Say why.
    case failed(PairingFailure)
    /// The kernel holds a key already: the phone is to encrypt; call `timePassed` then.
    case waitForEncryption(until: Instant)
  }

  /// New Identity Resolving Key.
  public mutating func identityResolvingKey(
    _ key: IdentityResolvingKey, store: Bool
  ) -> KeyAction {
    peer = key.peer
    if store { collector.add(key) }
    return isSecured && wasAnnounced ? save() : .nothing
  }

  /// New Long Term Key.
  public mutating func longTermKey(
    _ key: LongTermKey, store: Bool, isWindowOpen: Bool, at now: Instant
  ) -> KeyAction {
    if let failure = objection(to: key, isWindowOpen: isWindowOpen) {
      let wasTold = state == .failed
      _ = fail(failure, at: now)
      return .drop(.unpairDevice(peer, disconnect: true), wasTold ? nil : failure)
    }
    if store { collector.add(key) }
    return save()
  }

  /// The answer to Pair Device.
  public mutating func pairCompleted(_ status: MgmtStatus, at now: Instant) -> KeyAction {
    guard case .pairing = state else { return .nothing }
    if let failure = PairingFailure(status) { return .failed(fail(failure, at: now)) }
    guard status == .alreadyPaired else { return .nothing }
    state = .expected
    return .waitForEncryption(until: wait(policy.pause, from: now))
  }

  /// Authentication Failed: pairing that the phone began came to nothing. Why, where that is news.
  public mutating func authenticationFailed(
    _ status: MgmtStatus, at now: Instant
  ) -> PairingFailure? {
    guard case .pairing = state else { return nil }
    return fail(PairingFailure(status) ?? .refusedByPhone, at: now)
  }

  private mutating func save() -> KeyAction {
    guard let bond = collector.bond else { return .nothing }
    defer { wasAnnounced = true }
    secure()
    return .save(bond, isNew: !wasAnnounced)
  }

  private func objection(to key: LongTermKey, isWindowOpen: Bool) -> PairingFailure? {
    let isExpected =
      switch state {
      case .pairing(let accepted, _): accepted || isWindowOpen
      case .secured: wasAnnounced || isWindowOpen
      case .new, .closedOut, .expected, .asked: isWindowOpen
      case .failed: false
      }
    if !isExpected { return isBonded ? .bondLost : .windowClosed }
    if key.kind == .debug { return .debugKey }
    if policy.allowsLegacy { return nil }
    if !key.kind.isSecureConnections { return .legacy }
    return key.size < 16 ? .shortKey(key.size) : nil
  }
}
