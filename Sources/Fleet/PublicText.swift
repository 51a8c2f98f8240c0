// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Control
import Mgmt

/// The texts that leave the board. A text from the daemon may have an address, a path or a phone's name anywhere in it, so
/// none is passed on: what is published is one of these, found by a name, a code or the whole text.
enum PublicText {
  /// What a board waits for, as a sentence.
  ///
  /// - Parameter board: the name that phones see.
  static func why(_ wait: String, board: String) -> String {
    plainWaits[wait]?.sentence(name: board) ?? detailedWaits[wait]
      ?? "“ancsd status” on the board says what it waits for"
  }

  /// What failed, for an event `error`.
  static func failure(_ what: String?) -> String {
    what.flatMap { ["adapter", "advertising", "saving the bond"].contains($0) ? $0 : nil }
      ?? "a request to the phone"
  }

  /// Why a link or a pairing has ended; nil if that is not one of the usual reasons.
  static func reason(_ text: String?) -> String? {
    text.flatMap { reasons.contains($0) ? $0 : nil }
  }

  /// An adapter's name; nil if it is called by its address.
  static func adapter(_ name: String?) -> String? {
    name.flatMap { $0.hasPrefix("hci") && $0.dropFirst(3).allSatisfy(\.isNumber) ? $0 : nil }
  }

  /// Why the phone has refused a request: the specification's name of the error.
  static func refusal(_ code: UInt8, media: Bool) -> String {
    (media ? MediaError(rawValue: code).name : ControlPointError(rawValue: code).name)
      ?? "\(ErrorCode(code))"
  }

  /// The waits whose sentences have nothing in them but the board's name.
  private static let plainWaits: [String: Wait] = {
    let waits: [Wait] = [
      .absent(nil), .settingUp, .blocked, .blockedBySwitch, .bluetoothd, .silentLinks,
      .firstPhone, .anyPhone, .bondedPhone, .nobody, .unusableBonds, .dialling, .channel, .mtu,
      .encryption, .confirmationThere, .entryThere, .confirmationHere, .consentHere, .entryHere,
      .closedOut, .anotherPairs, .discovery, .subscription, .unpublished, .incomplete, .permission,
      .forbidden, .news,
    ]
    return Dictionary(uniqueKeysWithValues: waits.map { ($0.name, $0) })
  }()

  /// The others, in fewer words.
  private static let detailedWaits: [String: String] = {
    let there = "“ancsd status” on the board says more"
    return [
      "failing": "the kernel can't set the adapter up; \(there)",
      "silent": "not on the air: the kernel refuses to advertise; \(there)",
      "switched-off": "another program has switched the adapter off; \(there)",
      "changed": "another program has changed the adapter; \(there)",
      "advertising-removed": "another program has stopped the advertising; \(there)",
      "bond-lost-by-phone": "\(StaleBond.lostByPhone.what); \(there)",
      "bond-lost-here": "\(StaleBond.lostHere.what); \(there)",
      "keys-differ": "\(StaleBond.keysDiffer.what); \(there)",
      "nobody-listens": "waiting for a phone at a socket; \(there)",
      "security-request":
        "connected, not encrypted; the phone was asked to encrypt and has not yet; \(there)",
      "pairing-failed": "connected, not bonded; pairing failed; \(there)",
      "refused": "connected, encrypted; the phone refuses the subscription; retrying",
      "stale": "subscribed, but the session seems dead; subscribed again",
    ]
  }()

  /// Why links and pairings end, as far as that has nothing of the phone's in it.
  private static let reasons: Set<String> = {
    let pairing: [PairingFailure] = [
      .windowClosed, .busy, .bondLost, .foreignKey, .kernelCannotPairAnew, .notBonded,
      .weakerThanBond, .notAuthenticated, .declinedHere, .refusedByPhone, .noResponse, .legacy,
      .debugKey, .cancelled, .linkLost, .adapterGone,
    ]
    let channel: [ChannelEnd] = [.authenticationFailed, .keysDiffer, .timedOut]
    return Set(pairing.map(\.description) + channel.compactMap(\.reason))
      .union((0...5).map { DisconnectReason(rawValue: $0).description })
      .union([
        LinkEnd.adapterGone, "the link was lost", "forgotten by the board", "the daemon is exiting",
        "the board no longer accepts phones", "the phone closed the socket",
      ])
  }()
}
