// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Which pairings and keys the board accepts, and what it can show or ask while pairing.
public struct PairingPolicy: Hashable, Sendable {
  public var capability: IOCapability
  /// `--allow-legacy`: legacy pairing and keys shorter than 16 bytes are accepted too.
  public var allowsLegacy: Bool
  /// `--require-mitm`: only pairings that protect against a man in the middle are accepted.
  public var requiresAuthentication: Bool
  /// How long a bonded phone has to encrypt by itself.
  public var pause: Duration

  public init(
    capability: IOCapability, allowsLegacy: Bool = false, requiresAuthentication: Bool = false,
    pause: Duration = .seconds(5)
  ) {
    self.capability = capability
    self.allowsLegacy = allowsLegacy
    self.requiresAuthentication = requiresAuthentication
    self.pause = pause
  }

  /// Why a key must not be stored or used again; nil if it may.
  public func reasonToRefuse(_ key: LongTermKey) -> PairingFailure? {
    if key.kind == .debug { return .debugKey }
    if requiresAuthentication, !key.kind.isAuthenticated { return .notAuthenticated }
    if allowsLegacy { return nil }
    if !key.kind.isSecureConnections { return .legacy }
    return key.size < 16 ? .shortKey(key.size) : nil
  }

  /// Why a bond must not be used; nil if it may.
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

/// Whether an unknown phone may pair.
public enum Admission: Hashable, Sendable {
  case open
  case closed
  /// Pairing is open, but another phone is pairing.
  case busy

  var refusal: PairingFailure { self == .busy ? .busy : .windowClosed }
}
