// SPDX-License-Identifier: GPL-3.0-or-later

/// How a link has ended.
public struct LinkEnd: Hashable, Sendable {
  /// Who ended it, as far as that reveals something about the bond.
  public enum Cause: Hashable, Sendable {
    /// The phone, or the link was lost.
    case phone
    /// The board, or the adapter was removed.
    case board
    /// The board, because the phone did not encrypt with the bond's key.
    case unencrypted
    /// The two sides' keys differ.
    case keysDiffer
  }

  /// In words, without a full stop.
  public let reason: String
  public let cause: Cause
  /// Whether it was encrypted with a stored key.
  public let wasSecured: Bool
  /// Why the pairing in progress failed; nil if there was none.
  public let failure: PairingFailure?
}

/// Why an ATT channel ended, by the error of its socket (docs/kernel.md, “Read errors”).
public enum ChannelEnd: Hashable, Sendable {
  /// An ordinary disconnect; the socket does not show by which side.
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

  /// The reason to use instead of that in mgmt's event, as the HCI error if it is one; nil for an
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
