// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Why no bond came about.
public enum PairingFailure: Error, Hashable, Sendable {
  /// An unknown phone wanted to pair while that is closed.
  case windowClosed
  /// A known phone wanted to pair anew while that is closed: it has lost its side of the bond.
  case bondLost
  /// The person at the board said no, or gave no answer.
  case declinedHere
  /// The phone, or the person with it, said no, or a number was wrong.
  case refusedByPhone
  /// The phone did not answer the Security Request, or stopped in the middle.
  case noAnswer
  /// Legacy pairing, without `--allow-legacy`.
  case legacy
  /// A key of fewer than 16 bytes, without `--allow-legacy`.
  case shortKey(UInt8)
  /// A key that everybody knows.
  case debugKey
  /// It was called off here.
  case cancelled
  /// The link ended first.
  case linkLost
  /// The adapter is gone or switched off.
  case adapterGone
  /// Something else that the kernel named.
  case other(MgmtStatus)

  /// What the answer to Pair Device, or Authentication Failed, says; nil where it is no failure:
  /// done, under way already, or paired already.
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
  /// A sentence for the one who wonders, without its full stop, with what to do where there is
  /// something to do.
  public var description: String {
    switch self {
    case .windowClosed:
      "pairing is closed for unknown phones: open it with ancsd pair"
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
    case .cancelled: "it was called off"
    case .linkLost: "the connection was lost on the way: try again"
    case .adapterGone: "the adapter is gone or switched off"
    case .other(let status): status.sentence
    }
  }
}
