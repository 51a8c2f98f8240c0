// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What a person on this side has to do for a pairing, as the kernel says.
public enum PairingPrompt: Hashable, Sendable {
  /// Agree to a pairing without a number.
  case consent
  /// Compare the number with that on the other side.
  case comparison(Passkey)
  /// Type the number that the other side shows.
  case entry
  /// Read the number that is to be typed on the other side; so many digits of it have been.
  case display(Passkey, entered: UInt8)

  /// The prompt of an event; nil: it has none.
  public init?(_ event: MgmtEvent) {
    switch event {
    case .userConfirmRequest(_, hint: true, _): self = .consent
    case .userConfirmRequest(_, hint: false, let number): self = .comparison(number)
    case .userPasskeyRequest: self = .entry
    case .passkeyNotify(_, let number, let entered): self = .display(number, entered: entered)
    default: return nil
    }
  }

  public var method: PairingMethod {
    switch self {
    case .consent: .justWorks
    case .comparison: .confirm
    case .entry: .entry
    case .display: .display
    }
  }

  /// The number to show.
  public var number: Passkey? {
    switch self {
    case .comparison(let number), .display(let number, _): number
    case .consent, .entry: nil
    }
  }

  /// The answer to the kernel; nil: it expects none, or the typed number is missing.
  public func reply(to peer: DeviceAddress, accept: Bool, _ typed: Passkey? = nil) -> MgmtCommand? {
    switch self {
    case .consent, .comparison: accept ? .userConfirmReply(peer) : .userConfirmNegativeReply(peer)
    case .entry where !accept: .userPasskeyNegativeReply(peer)
    case .entry: typed.map { .userPasskeyReply(peer, $0) }
    case .display: nil
    }
  }
}

/// The method of a pairing, as the user of one side sees it.
public enum PairingMethod: String, CaseIterable, Sendable {
  /// Just Works: there is no number, and perhaps only the other side's user is asked.
  case justWorks = "just-works"
  /// Numeric Comparison: both sides show a number, and the user compares.
  case confirm
  /// Passkey Entry: the number shown here is typed on the other side.
  case display
  /// Passkey Entry: the number shown on the other side is typed here.
  case entry
}
