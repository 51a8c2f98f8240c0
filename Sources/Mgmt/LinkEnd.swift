// SPDX-License-Identifier: GPL-3.0-or-later

/// How a link has ended.
public struct LinkEnd: Hashable, Sendable {
  /// Whose doing it was, as far as that tells something of the bond.
  public enum Cause: Hashable, Sendable {
    /// The phone's, or it was lost.
    case phone
    /// The board's, or the adapter went away.
    case board
    /// The board's, because the phone has not encrypted with the bond's key.
    case unencrypted
    /// The two sides' keys differ.
    case keysDiffer
  }

  /// In words, without a full stop.
  public let reason: String
  public let cause: Cause
  /// Whether it was encrypted with a key that is kept.
  public let wasSecured: Bool
  /// Why the pairing has failed that was under way; nil: none was.
  public let failure: PairingFailure?
}

/// Why an ATT channel ended, by the error of its socket (docs/kernel.md, “Read errors”).
public enum ChannelEnd: Hashable, Sendable {
  /// An ordinary disconnect; the socket does not tell by which side.
  case disconnected
  /// The link was lost (supervision time-out).
  case timedOut
  /// Authentication failed, or took too long.
  case authenticationFailed
  /// The two sides have different keys (a MIC failure).
  case keysDiffer
  /// The adapter was unplugged or blocked.
  case adapterGone
  /// Another error, in words.
  case other(String)

  /// The reason where mgmt's event gives none or another, as the HCI error if it is one; nil for an
  /// ordinary end.
  public var reason: String? {
    switch self {
    case .disconnected: nil
    case .authenticationFailed: "Authentication Failure"
    case .keysDiffer: "Connection Terminated due to MIC Failure"
    case .adapterGone: "the adapter went away"
    case .timedOut: "Connection Timeout"
    case .other(let error): error
    }
  }
}
