// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Control
import JSON
import Mgmt

/// The texts that leave the board. A text from the daemon may have an address, a path or a phone's name anywhere in it, so
/// none is passed on: what is published is one of these, found by a name, a code or the whole text.
enum PublicText {
  /// What a board waits for, as a sentence.
  ///
  /// - Parameters:
  ///   - wait: its name.
  ///   - text: the daemon's sentence, which decides where a name has two.
  ///   - board: the name that phones see.
  static func why(_ wait: String, _ text: String?, board: String) -> String {
    let what: String
    switch Wait.Name(rawValue: wait) {
    case .failing?: what = "the kernel can't set the adapter up"
    case .notAdvertising?: what = "not on the air: the kernel refuses to advertise"
    case .switchedOff?: what = "another program has switched the adapter off"
    case .changed?: what = "another program has changed the adapter"
    case .advertisingRemoved?: what = "another program has stopped the advertising"
    case .givenUp?: what = "on the air, but a phone has probably given up and stays away"
    case .lostByPhone?: what = StaleBond.lostByPhone.what
    case .lostHere?: what = StaleBond.lostHere.what
    case .keysDiffer?: what = StaleBond.keysDiffer.what
    case .nobodyListens?: what = "waiting for a phone at a socket"
    case .securityRequest?:
      what = "connected, not encrypted; the phone was asked to encrypt and has not yet"
    case .pairingFailed?: what = "connected, not bonded; pairing failed"
    case .refused?: return "connected, encrypted; the phone refuses the subscription; retrying"
    case .stale?: return "subscribed, but the session seems dead; subscribed again"
    case let name:
      let sentences = plainWaits.filter { $0.name == name }.map { $0.sentence(name: board) }
      return sentences.first { $0 == text } ?? sentences.first ?? "“ancsd status” on the board says what it waits for"
    }
    return "\(what); “ancsd status” on the board says more"
  }

  /// The things that fail here; everything else is a request to the phone.
  fileprivate static let failures = ["adapter", "advertising", "saving the bond"]

  /// An adapter's name; nil if it is called by its address.
  static func adapter(_ name: String) -> String? {
    name.hasPrefix("hci") && name.dropFirst(3).allSatisfy(\.isNumber) ? name : nil
  }

  /// Why the phone has refused a request: the specification's name of the error.
  static func refusal(_ code: UInt8, media: Bool) -> String {
    let code = ErrorCode(code)
    return (media ? code.nameInAMS : code.nameInANCS) ?? "\(code)"
  }

  /// The waits whose sentences have nothing in them but the board's name.
  private static let plainWaits: [Wait] = [
    .absent(nil), .settingUp, .resting, .blocked, .blockedBySwitch, .bluetoothd, .silentLinks,
    .firstPhone, .anyPhone, .bondedPhone, .nobody, .unusableBonds, .dialling, .channel, .mtu,
    .encryption, .confirmationThere, .entryThere, .confirmationHere, .consentHere, .entryHere,
    .closedOut, .anotherPairs, .discovery, .subscription, .unpublished, .incomplete, .permission,
    .forbidden, .unprovenNews, .news,
  ]

  /// Why links and pairings end, as far as that has nothing of the phone's in it.
  fileprivate static let reasons: Set<String> = {
    let pairing: [PairingFailure] = [
      .windowClosed, .busy, .bondLost, .foreignKey, .kernelCannotPairAnew, .notBonded,
      .weakerThanBond, .notAuthenticated, .declinedHere, .refusedByPhone, .noResponse, .legacy,
      .debugKey, .cancelled, .linkLost, .adapterGone,
    ]
    let channel: [ChannelEnd] = [.authenticationFailed, .keysDiffer, .timedOut]
    return Set(pairing.map(\.description) + channel.compactMap(\.reason))
      .union((0...5).map { DisconnectReason(rawValue: $0).description })
      .union(LinkEnd.reasons)
  }()
}

extension JSONObject {
  /// The members of these names, with the texts that may leave the board in place of their own.
  ///
  /// - Parameter board: the name that phones see.
  func keeping(_ names: [String], board: String) -> JSONObject {
    var rest = JSONObject()
    for (name, value) in members where names.contains(name) {
      let text = value.string ?? ""
      switch name {
      case "adapter": rest.add(name, PublicText.adapter(text).map { .string($0) })
      case "reason": rest.add(name, PublicText.reasons.contains(text) ? value : nil)
      case "what":
        rest.add(name, PublicText.failures.contains(text) ? value : "a request to the phone")
      case "why":
        let why = self["wait"]?.string.map { PublicText.why($0, text, board: board) }
        rest.add(name, why.map { .string($0) })
      default: rest.add(name, value)
      }
    }
    return rest
  }
}
