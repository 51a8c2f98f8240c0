// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Control
import Mgmt

/// The radio's settings. They are fixed from the daemon's start to its exit, so who may pair does not change while
/// phones are near.
package struct RadioSettings: Hashable, Sendable {
  /// The adapters to serve; none: every one with LE, present now or plugged in later.
  package var adapters: [AdapterChoice] = []
  /// The kind of address that the adapters use on the air.
  package var address = AddressKind.public
  /// Who may pair.
  package var pairable = PairingWindow.Rule.firstPhone
  /// Whether to accept bonds from legacy pairing, or with short keys.
  package var allowLegacy = false
  /// Whether to accept only bonds for which a number was compared or typed.
  package var requiresAuthentication = false
  /// The board's IO capability while pairing (Core Specification Vol 3 Part H, 2.3.2); nil: it shows a number and takes
  /// yes or no on a terminal, else nothing.
  package var io: IOCapability?
  /// The advertising profile; nil: the profiles in rotation while any phone may pair, else `solicit`.
  package var advertise: AdvertisingProfile?
  /// Whether to request connection parameters that suit the current load.
  package var tunes = true
  /// Whether links stay on the 1M PHY; not without `tunes`.
  package var onlyPHY1M = false

  package init() {}

  /// Which pairings and bonds are accepted.
  ///
  /// - Parameters:
  ///   - isInteractive: whether somebody can answer at the daemon's terminal.
  ///   - pause: how long a bonded phone has to encrypt by itself.
  /// - Throws: if no pairing could be accepted.
  package func policy(isInteractive: Bool, pause: Duration) throws(Failure) -> PairingPolicy {
    let capability = io ?? (isInteractive ? .displayYesNo : .noInputNoOutput)
    guard !requiresAuthentication || capability != .noInputNoOutput else {
      throw Failure(
        .usage, "--require-mitm", "the board can neither show a number nor take one",
        remedy: "set --io display, keyboard or yesno")
    }
    return PairingPolicy(
      capability: capability, allowsLegacy: allowLegacy, requiresAuthentication: requiresAuthentication, pause: pause)
  }
}
