// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Why pairing failed: a sentence without its full stop, with what the user can do.
public struct PairingFailure: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String

  private init(_ description: String) { self.description = description }

  /// An unknown phone tried to pair while pairing is closed, or was pairing when the board's user closed it.
  public static let windowClosed = PairingFailure("pairing is closed for unknown phones: open it with ancsd pair")
  /// An unknown phone tried to pair while another one was pairing.
  public static let busy = PairingFailure("another phone is pairing: try again when it is done")
  /// A bonded phone tried to pair again while pairing is closed: it has lost its bond.
  public static let bondLost = PairingFailure(
    "the phone has forgotten this board and wants to pair again, but pairing is closed: "
      + "open it with ancsd pair, and tap the board again in the phone's Bluetooth settings")
  /// The phone claims the identity of a bonded one, but does not have its key.
  public static func identityTaken(_ phone: Address) -> PairingFailure {
    PairingFailure(
      "it claims to be \(phone), which is bonded, but does not have that phone's key: if it is that phone, "
        + "forget it first: ancsd forget \(phone)")
  }
  /// The kernel had a key for the phone from another program.
  public static let foreignKey = PairingFailure(
    "the kernel had a key for this phone from another program; removed it: pair again, once the "
      + "phone has forgotten this board")
  /// The kernel has a bug, and fails if it already has a key for the phone.
  public static let kernelCannotPairAnew = PairingFailure(
    "this board's kernel can't pair again with a phone whose key it has, a bug in Linux until the end of 2025; "
      + "removed the key: tap the board again on the phone")
  /// The phone keeps no bond, and so has sent no keys.
  public static let notBonded = PairingFailure(
    "the phone keeps no bond with this board, so it could not reconnect: pair from its Bluetooth settings")
  /// The pairing protects less than the bond that it would replace.
  public static let weakerThanBond = PairingFailure(
    "it would replace a bond made by comparing a number with one made without: start with "
      + "--io yesno, or forget the phone first: ancsd forget")
  /// Just Works, with `--require-mitm`.
  public static let notAuthenticated = PairingFailure(
    "it pairs without comparing or typing a number, which --require-mitm refuses")
  /// The board's user declined, or did not answer.
  public static let declinedHere = PairingFailure("it was declined on this board")
  /// The phone or its user refused, or a number was wrong.
  public static let refusedByPhone = PairingFailure(
    "the phone refused, or the numbers did not match: try again, and confirm on the phone")
  /// The phone did not respond to the Security Request, or stopped halfway.
  public static let noResponse = PairingFailure(
    "the phone did not respond: confirm there when it asks; if it already lists this board, "
      + "forget the board there first")
  /// Legacy pairing, without `--allow-legacy`.
  public static let legacy = PairingFailure(
    "the phone offered legacy pairing only, which anyone in range can overhear: "
      + "--allow-legacy accepts it anyway")
  /// A key of fewer than 16 bytes, without `--allow-legacy`.
  public static func shortKey(_ size: UInt8) -> PairingFailure {
    PairingFailure("the phone offered a key of \(size) bytes instead of 16: --allow-legacy accepts it anyway")
  }
  /// The specification's published debug key.
  public static let debugKey = PairingFailure("the phone used the published debug key, which protects nothing")
  /// It was cancelled on this side.
  public static let cancelled = PairingFailure("it was cancelled")
  /// The link ended first.
  public static let linkLost = PairingFailure("the connection was lost during pairing: try again")
  /// The adapter was removed or switched off.
  public static let adapterGone = PairingFailure("the adapter was removed or switched off")

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
    default: self.init(status.sentence)
    }
  }
}
