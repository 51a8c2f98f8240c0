// SPDX-License-Identifier: GPL-3.0-or-later

extension PairingMachine {
  /// How far a link has come on its way to encryption, and whose turn it is.
  public enum Progress: Hashable, Sendable {
    /// The kernel has not told yet who came.
    case new
    /// Unknown, and not let in.
    case closedOut
    /// Bonded, and expected to encrypt by itself.
    case expected
    /// Bonded, and asked to encrypt (a Security Request).
    case asked
    /// Pairing: it is the phone's turn, or its user's.
    case pairing
    /// Pairing: somebody at the board is to say whether the numbers are the same.
    case confirming
    /// Pairing: somebody at the board is to type what the phone shows.
    case entering
    /// Encrypted with a key that is kept.
    case secured
    case failed
  }

  /// How far this link has come.
  public var progress: Progress {
    switch state {
    case .new: .new
    case .closedOut: .closedOut
    case .expected: .expected
    case .asked: .asked
    case .pairing(_, nil): .pairing
    case .pairing(_, .confirm): .confirming
    case .pairing(_, .passkey): .entering
    case .secured: .secured
    case .failed: .failed
    }
  }
}
