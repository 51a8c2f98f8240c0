// SPDX-License-Identifier: GPL-3.0-or-later
public import Mgmt
public import Wire

/// What the daemon, an adapter or a link is waiting for; docs/troubleshooting.md lists them.
///
///     no adapter ─▶ set up ─▶ on the air ─▶ connected ─▶ encrypted ─▶ subscribed
///         ▲           │           │             │            │            │
///         └─ taken away, blocked ─┘             └── refused ─┴─ not published, not allowed, stale
public struct Wait: Hashable, Sendable {
  /// Its name for programs.
  public enum Name: String, CaseIterable, Sendable {
    case absent = "no-adapter"
    case settingUp = "setting-up"
    case resting
    case blocked
    case blockedBySwitch = "blocked-by-switch"
    case bluetoothd
    case silentLinks = "silent-links"
    case switchedOff = "switched-off"
    case changed
    case advertisingRemoved = "advertising-removed"
    case failing
    case notAdvertising = "silent"
    case firstPhone = "first-phone"
    case anyPhone = "any-phone"
    case bondedPhone = "bonded-phone"
    case nobody
    case unusableBonds = "bonds-unusable"
    case givenUp = "given-up"
    case lostByPhone = "bond-lost-by-phone"
    case lostHere = "bond-lost-here"
    case keysDiffer = "keys-differ"
    case nobodyListens = "nobody-listens"
    case dialling, channel, mtu, encryption
    case securityRequest = "security-request"
    case confirmationThere = "confirmation-there"
    case entryThere = "entry-there"
    case confirmationHere = "confirmation-here"
    case consentHere = "consent-here"
    case entryHere = "entry-here"
    case pairingFailed = "pairing-failed"
    case closedOut = "closed-out"
    case anotherPairs = "another-pairs"
    case discovery, subscription, unpublished, incomplete, refused, permission, forbidden, stale
    case news

    /// How much it concerns people.
    public var weight: Weight {
      switch self {
      case .anyPhone, .bondedPhone, .news: .rest
      case .settingUp, .resting, .dialling, .channel, .mtu, .encryption, .discovery, .subscription,
        .permission:
        .progress
      case .notAdvertising, .firstPhone, .nobody, .unusableBonds, .givenUp, .lostByPhone, .lostHere,
        .keysDiffer, .securityRequest, .confirmationThere, .entryThere, .confirmationHere,
        .consentHere, .entryHere, .pairingFailed, .closedOut, .anotherPairs, .unpublished,
        .incomplete, .refused, .forbidden, .stale:
        .action
      case .absent, .blocked, .blockedBySwitch, .bluetoothd, .silentLinks, .nobodyListens: .urgent
      case .switchedOff, .changed, .advertisingRemoved, .failing: .fault
      }
    }
  }

  /// How much a wait concerns people.
  public enum Weight: Comparable, Sendable {
    /// All is well, so it may last for hours; it is logged at a lower level.
    case rest
    /// It passes without anybody's action.
    case progress
    /// Somebody has to act if it lasts; then it is logged.
    case action
    /// The same, and it is logged at once.
    case urgent
    /// The adapter served, or should serve, and something keeps it from that; it is logged at once.
    case fault
  }

  public let name: Name
  /// Its sentence for people, with `board` in place of the board's name.
  private let text: String

  private init(_ name: Name, _ text: String) {
    self.name = name
    self.text = text
  }

  /// The place of the board's name in a sentence.
  private static let board = "\u{0}"

  /// The state, the wait, and what to do: one sentence, without a full stop.
  ///
  /// - Parameter name: the board's name, as the phone shows it.
  public func sentence(name: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + name.utf8.count)
    for byte in text.utf8 {
      if byte == 0 { bytes += name.utf8 } else { bytes.append(byte) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a wait of this name needs nobody's action; one that this version does not know may need it.
  static func isFine(_ name: String?) -> Bool {
    name.flatMap(Name.init(rawValue:)).map { $0.weight < .action } ?? false
  }

  /// Whether the phone's user has to turn on *Share System Notifications*, or may have to.
  public var isAboutSharing: Bool { [.permission, .forbidden, .unpublished].contains(name) }

  // MARK: An adapter that does not serve yet, or no longer

  /// The adapter with this name is not present; nil: no adapter is.
  public static func absent(_ named: String?) -> Wait {
    Wait(
      .absent,
      named.map {
        "adapter \($0) is not present; waiting for it to be plugged in; "
          + "“ancsd doctor” lists the adapters"
      } ?? "there is no adapter with Bluetooth LE; waiting for one to be plugged in; "
        + "dmesg shows what happened to a built-in one")
  }

  /// The adapter is being set up.
  public static let settingUp = Wait(.settingUp, "being set up; waiting for the kernel")

  /// A link has just ended because the keys differ.
  public static let resting = Wait(
    .resting,
    "off the air for a second, because the keys of a link differed, and some controllers fail upon a quick return")

  /// rfkill keeps the radio off.
  public static let blocked = Wait(
    .blocked,
    "the radio is blocked by software; to unblock it: rfkill unblock bluetooth")

  /// A hardware switch keeps the radio off.
  public static let blockedBySwitch = Wait(
    .blockedBySwitch,
    "the radio is blocked by a hardware switch; waiting for it to be switched on")

  /// bluetoothd is running and takes the phones' connections.
  public static let bluetoothd = Wait(
    .bluetoothd, "bluetoothd is running, and takes every phone's connection; “ancsd doctor” says how to stop it")

  /// Too many sockets of silent links had to be left open (docs/kernel.md, “Kernel bug: silent links”).
  public static let silentLinks = Wait(
    .silentLinks,
    "this kernel's bug has used up the limit of links that never received a byte; no phone is "
      + "accepted until the board is rebooted; “ancsd doctor” names kernels without the bug")

  /// Another program has changed the adapter or switched it off.
  public static func lost(_ trouble: AdapterTrouble, _ index: ControllerIndex) -> Wait {
    Wait(trouble.wait, trouble.sentence(adapter: index))
  }

  /// The kernel refused to set the adapter up; the text says why.
  public static func failing(_ why: String) -> Wait {
    Wait(
      .failing,
      "the kernel can't set the adapter up: \(why); retrying every few seconds; "
        + "“ancsd doctor” looks for the cause")
  }

  /// Set up, but the kernel refused to advertise; the text says why.
  public static func notAdvertising(_ why: String) -> Wait {
    Wait(
      .notAdvertising,
      "not on the air: the kernel refuses to advertise: \(why); retrying; "
        + "replugging the adapter may help")
  }

  // MARK: No phone is connected

  /// On the air, no phone is bonded, and any phone may pair.
  public static let firstPhone = Wait(
    .firstPhone,
    "on the air, no phone is bonded; waiting for one to pair: on the phone, open Settings › Bluetooth "
      + "and tap \(board); if it is not listed (newer iOS lists only some accessories), leave "
      + "the page and open it again, and look under Settings › Accessibility › Switch Control › "
      + "Switches, which needs no app; as a last resort, connect once to \(board) with the app nRF Connect or "
      + "LightBlue")

  /// On the air for the bonded phones, and other phones may pair.
  public static let anyPhone = Wait(
    .anyPhone,
    "on the air; waiting for a bonded phone, which connects by itself, or for another to pair: on that one, "
      + "open Settings › Bluetooth and tap \(board)")

  /// On the air for the bonded phones.
  public static let bondedPhone = Wait(
    .bondedPhone,
    "on the air; waiting for a bonded phone, which connects by itself once it is near, awake and has "
      + "Bluetooth on; if it does not: Bluetooth that was switched off in Control Center stays off for "
      + "accessories until 5 in the morning, so switch it on in Settings; or tap \(board) in Settings › "
      + "Bluetooth")

  /// On the air, but no phone is bonded, and none may pair.
  public static let nobody = Wait(
    .nobody, "on the air, but no phone is bonded and pairing is closed, so none can connect: ancsd pair")

  /// The same, because the bonds that the board has, or had, can't be used.
  public static let unusableBonds = Wait(
    .unusableBonds,
    "on the air, but this board's bonds can't be used, so no phone can connect: the "
      + "log and “ancsd doctor” say which and why; ancsd pair lets a phone pair again, once it has "
      + "forgotten \(board)")

  /// Its last links ended before the board had subscribed, so the phone probably stays away.
  public static func givenUp(phone: Address) -> Wait {
    Wait(
      .givenUp,
      "on the air, but the last links with \(phone) ended before this board had subscribed, so it has probably "
        + "given up and stays away: on the phone, open Settings › Bluetooth and tap \(board)")
  }

  /// The phone connects and disconnects again: only one side has the bond.
  public static func oneSided(_ bond: StaleBond, phone: Address) -> Wait {
    Wait(bond.wait, "\(bond.what); \(bond.remedy(board: board, phone: phone.description))")
  }

  /// No phone listens at the path of `--att`; the text is the kernel's error.
  public static func nobodyListens(path: String, _ why: String) -> Wait {
    Wait(
      .nobodyListens,
      "waiting for a phone at \(path): \(why); start one there: ancsd phone --listen unix:\(path)")
  }

  /// The phone (without a radio) has ended the connection; the daemon is about to reconnect.
  public static let dialling = Wait(.dialling, "the phone ended the connection; reconnecting")

  // MARK: A link that is not encrypted yet, or will not be

  /// The kernel has reported a phone, but its ATT channel has not opened yet.
  public static let channel = Wait(
    .channel,
    "connected; waiting for the phone's ATT channel; if it does not open, another program "
      + "has taken it: “ancsd doctor” says whether bluetoothd is running")

  /// The phone has not responded to Exchange MTU; the response contains its first byte.
  public static let mtu = Wait(
    .mtu,
    "connected; waiting for the phone's MTU response, its first PDU; without it "
      + "the link ends after 30 seconds")

  /// A bonded phone is expected to encrypt the link by itself.
  public static let encryption = Wait(
    .encryption,
    "connected, not encrypted; waiting for the phone to encrypt with the bond's key, which it does "
      + "by itself")

  /// A bonded phone was asked to encrypt the link.
  public static func securityRequest(phone: Address) -> Wait {
    Wait(
      .securityRequest,
      "connected, not encrypted; the phone was asked to encrypt (Security Request) and has not yet; "
        + "if this happens again, the phone has lost its bond: on it, Settings › Bluetooth › \(board) › "
        + "Forget This Device; here: ancsd forget \(phone), then ancsd pair")
  }

  /// The phone's user has to confirm the pairing.
  public static let confirmationThere = Wait(
    .confirmationThere,
    "connected, pairing; waiting for the phone: confirm there when it asks; if it does not ask "
      + "but already lists \(board), forget \(board) there first")

  /// The phone's user has to type the number that is shown here.
  public static let entryThere = Wait(
    .entryThere, "connected, pairing; on the phone, type the number that this board shows")

  /// The board's user has to say whether both sides show the same number.
  public static let confirmationHere = Wait(
    .confirmationHere,
    "connected, pairing; say within 30 seconds whether the phone shows "
      + "the same number: y or n at the daemon's terminal, or ancsd pair")

  /// The board's user has to say whether a phone that can't show a number may pair.
  public static let consentHere = Wait(
    .consentHere,
    "connected, pairing; the phone can't show a number; say within 30 "
      + "seconds whether it may pair: y or n at the daemon's terminal, or ancsd pair")

  /// The board's user has to type the number that the phone shows.
  public static let entryHere = Wait(
    .entryHere,
    "connected, pairing; type the number that the phone shows within 30 seconds: "
      + "at the daemon's terminal, or ancsd pair")

  public static func pairingFailed(_ failure: PairingFailure) -> Wait {
    Wait(.pairingFailed, "connected, not bonded; pairing failed: \(failure)")
  }

  /// The phone has no bond, and pairing is closed.
  public static let closedOut = Wait(
    .closedOut,
    "connected, not bonded; pairing is closed, so the phone is not served and will be disconnected"
      + "; to let it pair: ancsd pair")

  /// The phone has no bond, and another one is pairing.
  public static let anotherPairs = Wait(
    .anotherPairs, "connected; another phone is pairing: one at a time")

  // MARK: An encrypted link: its services on the way to being used, and then in use

  /// The services are being discovered.
  public static let discovery = Wait(
    .discovery, "connected, encrypted; looking for the phone's services")

  /// The subscriptions are being written.
  public static let subscription = Wait(
    .subscription, "connected, encrypted; subscribing; waiting for the phone's responses")

  /// The phone does not have ANCS.
  public static let unpublished = Wait(
    .unpublished,
    "connected, encrypted; the phone does not publish ANCS: on the phone, Settings › Bluetooth › "
      + "\(board) › Share System Notifications; the switch may take minutes to appear, and an "
      + "organisation that manages the phone may forbid it; searching again")

  /// The phone's ANCS lacks a characteristic or a CCCD.
  public static let incomplete = Wait(
    .incomplete,
    "connected, encrypted; the phone's ANCS lacks a characteristic or a CCCD, so it is "
      + "unusable: an iPhone's is complete, other phones' are not; searching again")

  /// The phone refused the search or the subscription; the text says with which error.
  public static func refused(_ why: String) -> Wait {
    Wait(
      .refused,
      "connected, encrypted; the phone refuses access to its services: \(why); retrying; "
        + "if that persists, switch the phone's Bluetooth off and on")
  }

  /// Subscribed; it is not known yet whether the phone allows its notifications to be read.
  public static let permission = Wait(
    .permission, "subscribed; waiting for permission to read notifications: if the phone asks, allow it there")

  /// Subscribed, and the phone does not allow its notifications to be read.
  public static let forbidden = Wait(
    .forbidden,
    "subscribed, but the phone does not allow access to its notifications: on the phone, Settings › "
      + "Bluetooth › \(board) › Share System Notifications; retrying")

  /// The subscription is suspected to be stale; the text says why.
  public static func stale(_ what: String) -> Wait {
    Wait(
      .stale,
      "subscribed, but the session seems dead: \(what); subscribed again; "
        + "if nothing arrives, switch the phone's Bluetooth off and on")
  }

  /// All is well: it is certain that the phone shares its notifications.
  public static let news = Wait(
    .news,
    "subscribed, all is well; waiting for notifications (a Focus or Do Not Disturb would hold "
      + "them back, and so would “Show Previews: Never” for an app)")

  /// The same, but an older iPhone responds in any case.
  public static let unprovenNews = Wait(
    .news,
    "subscribed; waiting for the first notification, which shows that the phone shares them (an older "
      + "iPhone responds in any case): if none comes, on the phone: Settings › Bluetooth › "
      + "\(board) › Share System Notifications")
}

extension AdapterTrouble {
  fileprivate var wait: Wait.Name {
    switch self {
    case .switchedOff: .switchedOff
    case .changed, .takenOver: .changed
    case .advertisingRemoved: .advertisingRemoved
    }
  }
}

extension StaleBond {
  fileprivate var wait: Wait.Name {
    switch self {
    case .lostByPhone: .lostByPhone
    case .lostHere: .lostHere
    case .keysDiffer: .keysDiffer
    }
  }
}
