// SPDX-License-Identifier: GPL-3.0-or-later
public import Mgmt

/// What an adapter or a link is waiting for: every wait in their lives, in one place. Each has a name for
/// programs and a sentence for people (docs/troubleshooting.md lists them).
///
///     no adapter ─▶ set up ─▶ on the air ─▶ connected ─▶ encrypted ─▶ subscribed
///         ▲           │           │             │            │            │
///         └─ taken away, blocked ─┘             └── refused ─┴─ not published, not allowed, stale
public enum Wait: Hashable, Sendable {
  // MARK: The adapter

  /// No adapter is there: the one that was named, or any at all.
  case noAdapter(String?)
  /// The kernel has not yet done what sets the adapter up.
  case settingUp
  /// The radio may not send (rfkill).
  case blocked(byHardware: Bool)
  /// bluetoothd runs and takes the phones.
  case bluetoothd
  /// Something was done to the adapter without our doing.
  case lost(AdapterTrouble, ControllerIndex)
  /// The kernel refused to set the adapter up; the text says why.
  case failing(String)
  /// Set up, but the kernel refused to advertise; the text says why.
  case silent(String)

  // MARK: A phone to come

  /// On the air, nobody is bonded, and anybody may pair.
  case firstPhone
  /// On the air for the bonded ones, and anybody may pair too.
  case anyPhone
  /// On the air for the bonded ones.
  case bondedPhone
  /// On the air, nobody is bonded, and nobody may pair.
  case nobody
  /// The phone comes and goes: the bond is there on one side only.
  case oneSided(StaleBond, phone: String)
  /// Nobody listens at the path of `--att`; the text says how the kernel puts it.
  case nobodyListens(path: String, String)
  /// The phone without a radio has ended the connection, and is dialled again.
  case dialling

  // MARK: Encryption

  /// The kernel has told of a phone, whose ATT channel has not reached us.
  case channel
  /// The phone's answer about the MTU, its first byte.
  case mtu
  /// A bonded phone is to encrypt the link by itself.
  case encryption
  /// A bonded phone was asked to encrypt the link.
  case securityRequest(phone: String)
  /// The phone's user is to confirm the pairing.
  case confirmationThere
  /// The phone's user is to type the number that is shown here.
  case entryThere
  /// Somebody at the board is to say whether both show the same number.
  case confirmationHere
  /// Somebody at the board is to type the number that the phone shows.
  case entryHere
  /// Pairing failed.
  case pairingFailed(PairingFailure)
  /// The phone is unknown, and pairing is closed.
  case closedOut
  /// The link is not encrypted, and will not be.
  case unencrypted

  // MARK: The phone's services

  /// The services are being looked for.
  case discovery
  /// The subscriptions are being written.
  case subscription
  /// The phone does not publish ANCS.
  case unpublished
  /// The phone's ANCS lacks a characteristic, or its configuration.
  case incomplete
  /// The phone refused the subscription; the text says with which error.
  case refused(String)
  /// Subscribed, and not yet known whether the phone lets us read.
  case permission
  /// Subscribed, and the phone does not let us read.
  case forbidden
  /// The watchdog found that the session only looked alive; the text says what it found.
  case stale(String)
  /// All is well: waiting for what the phone says.
  case news

  /// What programs call it.
  public var name: String {
    switch self {
    case .noAdapter: "no-adapter"
    case .settingUp: "setting-up"
    case .blocked(byHardware: false): "blocked"
    case .blocked(byHardware: true): "blocked-by-switch"
    case .bluetoothd: "bluetoothd"
    case .lost(.removed, _): "unplugged"
    case .lost(.switchedOff, _): "switched-off"
    case .lost(.changed, _): "changed"
    case .lost(.advertisingRemoved, _): "advertising-removed"
    case .failing: "failing"
    case .silent: "silent"
    case .firstPhone: "first-phone"
    case .anyPhone: "any-phone"
    case .bondedPhone: "bonded-phone"
    case .nobody: "nobody"
    case .oneSided(.lostByPhone, _): "bond-lost-by-phone"
    case .oneSided(.lostHere, _): "bond-lost-here"
    case .oneSided(.keysDiffer, _): "keys-differ"
    case .nobodyListens: "nobody-listens"
    case .dialling: "dialling"
    case .channel: "channel"
    case .mtu: "mtu"
    case .encryption: "encryption"
    case .securityRequest: "security-request"
    case .confirmationThere: "confirmation-there"
    case .entryThere: "entry-there"
    case .confirmationHere: "confirmation-here"
    case .entryHere: "entry-here"
    case .pairingFailed: "pairing-failed"
    case .closedOut: "closed-out"
    case .unencrypted: "unencrypted"
    case .discovery: "discovery"
    case .subscription: "subscription"
    case .unpublished: "unpublished"
    case .incomplete: "incomplete"
    case .refused: "refused"
    case .permission: "permission"
    case .forbidden: "forbidden"
    case .stale: "stale"
    case .news: "news"
    }
  }

  /// Whether somebody has to be told at once, not only when it lasts.
  public var isUrgent: Bool {
    switch self {
    case .noAdapter, .blocked, .bluetoothd, .lost, .failing, .nobodyListens: true
    default: false
    }
  }

  /// Whether it is what everything comes to when all is well, and stays for hours.
  public var isRest: Bool {
    switch self {
    case .anyPhone, .bondedPhone, .news: true
    default: false
    }
  }

  /// The names of those that are as they should be, so that nobody has to do anything.
  public static let fineNames: Set<String> = [
    "setting-up", "any-phone", "bonded-phone", "dialling", "channel", "mtu", "encryption",
    "discovery",
    "subscription", "permission", "news",
  ]
}
