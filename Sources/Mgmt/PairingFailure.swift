// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Why pairing failed.
public enum PairingFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// An unknown phone tried to pair while pairing is closed, or was pairing when the board's user closed it.
  case windowClosed
  /// An unknown phone tried to pair while another one was pairing.
  case busy
  /// A bonded phone tried to pair again while pairing is closed: it has lost its bond.
  case bondLost
  /// The phone claims the identity of a bonded one, but does not have its key.
  case identityTaken(Address)
  /// The kernel had a key for the phone from another program.
  case foreignKey
  /// The kernel has a bug, and fails if it already has a key for the phone.
  case kernelCannotPairAnew
  /// The phone keeps no bond, and so has sent no keys.
  case notBonded
  /// The pairing protects less than the bond that it would replace.
  case weakerThanBond
  /// Just Works, with `--require-mitm`.
  case notAuthenticated
  /// The board's user declined, or did not answer.
  case declinedHere
  /// The phone or its user refused, or a number was wrong.
  case refusedByPhone
  /// The phone did not respond to the Security Request, or stopped halfway.
  case noResponse
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
  /// The adapter was removed or switched off.
  case adapterGone
  /// Another kernel status.
  case other(MgmtStatus)

  /// The failure for the status of Pair Device or Authentication Failed; nil for statuses that are
  /// not failures: done, in progress, or already paired.
  public init?(_ status: MgmtStatus) {
    switch status {
    case .success, .busy, .alreadyPaired: return nil
    case .failed, .timeout: self = .noResponse
    case .authenticationFailed, .rejected: self = .refusedByPhone
    case .cancelled: self = .cancelled
    case .notConnected, .connectFailed, .disconnected: self = .linkLost
    case .invalidIndex, .notPowered, .rfkilled: self = .adapterGone
    default: self = .other(status)
    }
  }

  /// A sentence without its full stop, with what the user can do.
  public var description: String {
    switch self {
    case .windowClosed: "pairing is closed for unknown phones: open it with ancsd pair"
    case .busy: "another phone is pairing: try again when it is done"
    case .identityTaken(let phone):
      "it claims to be \(phone), which is bonded, but does not have that phone's key: if it is that phone, "
        + "forget it first: ancsd forget \(phone)"
    case .foreignKey:
      "the kernel had a key for this phone from another program; removed it: pair again, once the "
        + "phone has forgotten this board"
    case .kernelCannotPairAnew:
      "this board's kernel can't pair again with a phone whose key it has, a bug in Linux until the end of 2025; "
        + "removed the key: tap the board again on the phone"
    case .notBonded:
      "the phone keeps no bond with this board, so it could not reconnect: pair from its Bluetooth settings"
    case .weakerThanBond:
      "it would replace a bond made by comparing a number with one made without: start with "
        + "--io yesno, or forget the phone first: ancsd forget"
    case .notAuthenticated:
      "it pairs without comparing or typing a number, which --require-mitm refuses"
    case .bondLost:
      "the phone has forgotten this board and wants to pair again, but pairing is closed: "
        + "open it with ancsd pair, and tap the board again in the phone's Bluetooth settings"
    case .declinedHere: "it was declined on this board"
    case .refusedByPhone:
      "the phone refused, or the numbers did not match: try again, and confirm on the phone"
    case .noResponse:
      "the phone did not respond: confirm there when it asks; if it already lists this board, "
        + "forget the board there first"
    case .legacy:
      "the phone offered legacy pairing only, which anyone in range can overhear: "
        + "--allow-legacy accepts it anyway"
    case .shortKey(let size):
      "the phone offered a key of \(size) bytes instead of 16: --allow-legacy accepts it anyway"
    case .debugKey: "the phone used the published debug key, which protects nothing"
    case .cancelled: "it was cancelled"
    case .linkLost: "the connection was lost during pairing: try again"
    case .adapterGone: "the adapter was removed or switched off"
    case .other(let status): status.sentence
    }
  }
}
