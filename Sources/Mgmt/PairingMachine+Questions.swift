// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// What the kernel asks while a phone pairs, and what the person at the board answers.

extension PairingMachine {
  /// What to do about a question of the kernel's.
  public enum QuestionAction: Hashable, Sendable {
    /// Send it: yes.
    case accept(MgmtCommand)
    /// Do both show this number? Then `confirm`.
    case askToConfirm(Passkey)
    /// Which number does the phone show? Then `enter`.
    case askForPasskey
    /// Show this number, which is to be typed on the phone.
    case show(Passkey)
    /// So many digits are typed there.
    case typed(Int)
    /// Send it: no; and say why, where it was not said before.
    case refuse(MgmtCommand, PairingFailure?)

    /// How the phone pairs, by the name that the event `pairing` gives it, where this is the
    /// answer to a question of the kernel's.
    public var method: String? {
      switch self {
      case .accept: "just-works"
      case .askToConfirm: "confirm"
      case .askForPasskey: "entry"
      case .show: "display"
      case .typed, .refuse: nil
      }
    }
  }

  /// User Confirm Request: with `hint` any yes will do, without it somebody has to compare.
  public mutating func userConfirmRequest(
    hint: Bool, number: Passkey, isWindowOpen: Bool, at now: Instant
  ) -> QuestionAction {
    guard admits(isWindowOpen) else {
      return refuse(.userConfirmNegativeReply(peer), at: now)
    }
    agree(to: hint ? nil : .confirm)
    return hint ? .accept(.userConfirmReply(peer)) : .askToConfirm(number)
  }

  /// User Passkey Request: the phone shows a number.
  public mutating func userPasskeyRequest(isWindowOpen: Bool, at now: Instant) -> QuestionAction {
    guard admits(isWindowOpen) else {
      return refuse(.userPasskeyNegativeReply(peer), at: now)
    }
    agree(to: .passkey)
    return .askForPasskey
  }

  /// Passkey Notify: the phone is to type a number. It comes again for every digit. The kernel does
  /// not ask for leave here, so no is said by ending the link.
  public mutating func passkeyNotify(
    _ passkey: Passkey, entered: UInt8, isWindowOpen: Bool, at now: Instant
  ) -> QuestionAction {
    guard admits(isWindowOpen) else { return refuse(.disconnect(peer), at: now) }
    agree(to: nil)
    return entered == 0 ? .show(passkey) : .typed(Int(entered))
  }

  /// The person at the board answered `askToConfirm`: `accept` or `refuse`; nil where nothing was
  /// asked (any more).
  public mutating func confirm(_ isSame: Bool, at now: Instant) -> QuestionAction? {
    guard case .pairing(_, .confirm) = state else { return nil }
    guard isSame else {
      return .refuse(.userConfirmNegativeReply(peer), fail(.declinedHere, at: now))
    }
    agree(to: nil)
    return .accept(.userConfirmReply(peer))
  }

  /// The person at the board answered `askForPasskey` (nil: would not): `accept` or `refuse`; nil
  /// where nothing was asked (any more).
  public mutating func enter(_ passkey: Passkey?, at now: Instant) -> QuestionAction? {
    guard case .pairing(_, .passkey) = state else { return nil }
    guard let passkey else {
      return .refuse(.userPasskeyNegativeReply(peer), fail(.declinedHere, at: now))
    }
    agree(to: nil)
    return .accept(.userPasskeyReply(peer, passkey))
  }

  /// Whether a question may be answered with anything but no: pairing is open, or was when this one
  /// began.
  private func admits(_ isWindowOpen: Bool) -> Bool {
    if case .pairing = state { true } else { isWindowOpen }
  }

  /// This side takes part, once `question` is answered.
  private mutating func agree(to question: Question?) {
    state = .pairing(accepted: question == nil, question: question)
    deadline = nil
  }

  /// No. What is secured stays so; a failure is told once.
  private mutating func refuse(_ command: MgmtCommand, at now: Instant) -> QuestionAction {
    let failure: PairingFailure = isBonded ? .bondLost : .windowClosed
    switch state {
    case .failed: return .refuse(command, nil)
    case .secured: return .refuse(command, failure)
    case .new, .closedOut, .expected, .asked, .pairing:
      return .refuse(command, fail(failure, at: now))
    }
  }
}
