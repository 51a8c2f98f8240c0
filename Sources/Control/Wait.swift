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
  public let name: String
  /// Its sentence for people, with `board` in place of the board's name.
  private let text: String

  private init(_ name: String, _ text: String) {
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

  /// Whether it is logged at once rather than after a while.
  public var isUrgent: Bool {
    isFault
      || [
        "no-adapter", "blocked", "blocked-by-switch", "bluetoothd", "silent-links",
        "nobody-listens",
      ].contains(name)
  }

  /// Whether the adapter served, or should serve, and something keeps it from that.
  public var isFault: Bool {
    ["switched-off", "changed", "advertising-removed", "failing"].contains(name)
  }

  /// Whether all is well, so it may last for hours; it is logged at a lower level.
  public var isRest: Bool { ["any-phone", "bonded-phone", "news"].contains(name) }

  /// Whether the phone's user has to turn on *Share System Notifications*, or may have to.
  public var isAboutSharing: Bool { ["permission", "forbidden", "unpublished"].contains(name) }

  /// The names of the waits that need no action from the user.
  public static let fineNames: Set<String> = [
    "setting-up", "any-phone", "bonded-phone", "dialling", "channel", "mtu", "encryption",
    "discovery", "subscription", "permission", "news",
  ]
}

// MARK: - An adapter that does not serve yet, or no longer

extension Wait {
  /// The adapter with this name is not present; nil: no adapter is.
  public static func absent(_ named: String?) -> Wait {
    Wait(
      "no-adapter",
      named.map {
        "adapter \($0) is not present; waiting for it to be plugged in; "
          + "“ancsd doctor” lists the adapters"
      } ?? "there is no adapter with Bluetooth LE; waiting for one to be plugged in; "
        + "dmesg shows what happened to a built-in one")
  }

  /// The adapter is being set up.
  public static let settingUp = Wait("setting-up", "being set up; waiting for the kernel")

  /// rfkill keeps the radio off.
  public static let blocked = Wait(
    "blocked",
    "the radio is blocked by software; to unblock it: rfkill unblock bluetooth")

  /// A hardware switch keeps the radio off.
  public static let blockedBySwitch = Wait(
    "blocked-by-switch",
    "the radio is blocked by a hardware switch; waiting for it to be switched on")

  /// bluetoothd is running and takes the phones' connections.
  public static let bluetoothd = Wait(
    "bluetoothd",
    "bluetoothd is running, and takes every phone's connection; “ancsd doctor” says how to stop it")

  /// Too many sockets of silent links had to be left open (docs/kernel.md, “Kernel bug: silent links”).
  public static let silentLinks = Wait(
    "silent-links",
    "this kernel's bug has used up the limit of links that never received a byte; no phone is "
      + "accepted until the board is rebooted; “ancsd doctor” names kernels without the bug")

  /// Another program has changed the adapter or switched it off.
  public static func lost(_ trouble: AdapterTrouble, _ index: ControllerIndex) -> Wait {
    Wait(trouble.name, trouble.sentence(adapter: index))
  }

  /// The kernel refused to set the adapter up; the text says why.
  public static func failing(_ why: String) -> Wait {
    Wait(
      "failing",
      "the kernel can't set the adapter up: \(why); retrying every few seconds; "
        + "“ancsd doctor” looks for the cause")
  }

  /// Set up, but the kernel refused to advertise; the text says why.
  public static func notAdvertising(_ why: String) -> Wait {
    Wait(
      "silent",
      "not on the air: the kernel refuses to advertise: \(why); retrying; "
        + "replugging the adapter may help")
  }
}

// MARK: - No phone is connected

extension Wait {
  /// On the air, no phone is bonded, and any phone may pair.
  public static let firstPhone = Wait(
    "first-phone",
    "on the air, no phone is bonded; waiting for one to pair: on the phone, open Settings › Bluetooth "
      + "and tap \(board); if it is not listed (newer iOS lists only some accessories), leave "
      + "the page and open it again, and look under Settings › Accessibility › Switch Control › "
      + "Switches, which needs no app; as a last resort, connect once to \(board) with the app nRF Connect or "
      + "LightBlue")

  /// On the air for the bonded phones, and other phones may pair.
  public static let anyPhone = Wait(
    "any-phone",
    "on the air; waiting for a bonded phone, which connects by itself, or for another to pair: on that one, "
      + "open Settings › Bluetooth and tap \(board)")

  /// On the air for the bonded phones.
  public static let bondedPhone = Wait(
    "bonded-phone",
    "on the air; waiting for a bonded phone, which connects by itself once it is near, awake and has "
      + "Bluetooth on; if it does not: Bluetooth that was switched off in Control Center stays off for "
      + "accessories until 5 in the morning, so switch it on in Settings; or tap \(board) in Settings › "
      + "Bluetooth")

  /// On the air, but no phone is bonded, and none may pair.
  public static let nobody = Wait(
    "nobody",
    "on the air, but no phone is bonded and pairing is closed, so none can connect: ancsd pair")

  /// The same, because the bonds that the board has, or had, can't be used.
  public static let unusableBonds = Wait(
    "bonds-unusable",
    "on the air, but this board's bonds can't be used, so no phone can connect: the "
      + "log and “ancsd doctor” say which and why; ancsd pair lets a phone pair again, once it has "
      + "forgotten \(board)")

  /// Its last links ended before the board had subscribed, so the phone probably stays away.
  public static func givenUp(phone: Address) -> Wait {
    Wait(
      "given-up",
      "on the air, but the last links with \(phone) ended before this board had subscribed, so it has probably "
        + "given up and stays away: on the phone, open Settings › Bluetooth and tap \(board)")
  }

  /// The phone connects and disconnects again: only one side has the bond.
  public static func oneSided(_ bond: StaleBond, phone: Address) -> Wait {
    Wait(bond.name, "\(bond.what); \(bond.remedy(board: board, phone: phone.description))")
  }

  /// No phone listens at the path of `--att`; the text is the kernel's error.
  public static func nobodyListens(path: String, _ why: String) -> Wait {
    Wait(
      "nobody-listens",
      "waiting for a phone at \(path): \(why); start one there: ancsd phone --listen unix:\(path)"
    )
  }

  /// The phone (without a radio) has ended the connection; the daemon is about to reconnect.
  public static let dialling = Wait("dialling", "the phone ended the connection; reconnecting")
}

// MARK: - A link that is not encrypted yet, or will not be

extension Wait {
  /// The kernel has reported a phone, but its ATT channel has not opened yet.
  public static let channel = Wait(
    "channel",
    "connected; waiting for the phone's ATT channel; if it does not open, another program "
      + "has taken it: “ancsd doctor” says whether bluetoothd is running")

  /// The phone has not responded to Exchange MTU; the response contains its first byte.
  public static let mtu = Wait(
    "mtu",
    "connected; waiting for the phone's MTU response, its first PDU; without it "
      + "the link ends after 30 seconds")

  /// A bonded phone is expected to encrypt the link by itself.
  public static let encryption = Wait(
    "encryption",
    "connected, not encrypted; waiting for the phone to encrypt with the bond's key, which it does "
      + "by itself")

  /// A bonded phone was asked to encrypt the link.
  public static func securityRequest(phone: Address) -> Wait {
    Wait(
      "security-request",
      "connected, not encrypted; the phone was asked to encrypt (Security Request) and has not yet; "
        + "if this happens again, the phone has lost its bond: on it, Settings › Bluetooth › \(board) › "
        + "Forget This Device; here: ancsd forget \(phone), then ancsd pair")
  }

  /// The phone's user has to confirm the pairing.
  public static let confirmationThere = Wait(
    "confirmation-there",
    "connected, pairing; waiting for the phone: confirm there when it asks; if it does not ask "
      + "but already lists \(board), forget \(board) there first")

  /// The phone's user has to type the number that is shown here.
  public static let entryThere = Wait(
    "entry-there",
    "connected, pairing; on the phone, type the number that this board shows")

  /// The board's user has to say whether both sides show the same number.
  public static let confirmationHere = Wait(
    "confirmation-here",
    "connected, pairing; say within 30 seconds whether the phone shows "
      + "the same number: y or n at the daemon's terminal, or ancsd pair")

  /// The board's user has to say whether a phone that can't show a number may pair.
  public static let consentHere = Wait(
    "consent-here",
    "connected, pairing; the phone can't show a number; say within 30 "
      + "seconds whether it may pair: y or n at the daemon's terminal, or ancsd pair")

  /// The board's user has to type the number that the phone shows.
  public static let entryHere = Wait(
    "entry-here",
    "connected, pairing; type the number that the phone shows within 30 seconds: "
      + "at the daemon's terminal, or ancsd pair")

  public static func pairingFailed(_ failure: PairingFailure) -> Wait {
    Wait("pairing-failed", "connected, not bonded; pairing failed: \(failure)")
  }

  /// The phone has no bond, and pairing is closed.
  public static let closedOut = Wait(
    "closed-out",
    "connected, not bonded; pairing is closed, so the phone is not served and will be disconnected"
      + "; to let it pair: ancsd pair")

  /// The phone has no bond, and another one is pairing.
  public static let anotherPairs = Wait(
    "another-pairs", "connected; another phone is pairing: one at a time")
}

// MARK: - An encrypted link: its services on the way to being used, and then in use

extension Wait {
  /// The services are being discovered.
  public static let discovery = Wait(
    "discovery", "connected, encrypted; looking for the phone's services")

  /// The subscriptions are being written.
  public static let subscription = Wait(
    "subscription", "connected, encrypted; subscribing; waiting for the phone's responses")

  /// The phone does not have ANCS.
  public static let unpublished = Wait(
    "unpublished",
    "connected, encrypted; the phone does not publish ANCS: on the phone, Settings › Bluetooth › "
      + "\(board) › Share System Notifications; the switch may take minutes to appear, and an "
      + "organisation that manages the phone may forbid it; searching again")

  /// The phone's ANCS lacks a characteristic or a CCCD.
  public static let incomplete = Wait(
    "incomplete",
    "connected, encrypted; the phone's ANCS lacks a characteristic or a CCCD, so it is "
      + "unusable: an iPhone's is complete, other phones' are not; searching again")

  /// The phone refused the search or the subscription; the text says with which error.
  public static func refused(_ why: String) -> Wait {
    Wait(
      "refused",
      "connected, encrypted; the phone refuses access to its services: \(why); retrying; "
        + "if that persists, switch the phone's Bluetooth off and on")
  }

  /// Subscribed; it is not known yet whether the phone allows its notifications to be read.
  public static let permission = Wait(
    "permission",
    "subscribed; waiting for permission to read notifications: if the phone asks, allow it there")

  /// Subscribed, and the phone does not allow its notifications to be read.
  public static let forbidden = Wait(
    "forbidden",
    "subscribed, but the phone does not allow access to its notifications: on the phone, Settings › "
      + "Bluetooth › \(board) › Share System Notifications; retrying")

  /// The subscription is suspected to be stale; the text says why.
  public static func stale(_ what: String) -> Wait {
    Wait(
      "stale",
      "subscribed, but the session seems dead: \(what); subscribed again; "
        + "if nothing arrives, switch the phone's Bluetooth off and on")
  }

  /// All is well: it is certain that the phone shares its notifications.
  public static let news = Wait(
    "news",
    "subscribed, all is well; waiting for notifications (a Focus or Do Not Disturb would hold "
      + "them back, and so would “Show Previews: Never” for an app)")

  /// The same, but an older iPhone responds in any case.
  public static let unprovenNews = Wait(
    "news",
    "subscribed; waiting for the first notification, which shows that the phone shares them (an older "
      + "iPhone responds in any case): if none comes, on the phone: Settings › Bluetooth › "
      + "\(board) › Share System Notifications")
}

extension AdapterTrouble {
  fileprivate var name: String {
    switch self {
    case .switchedOff: "switched-off"
    case .changed, .takenOver: "changed"
    case .advertisingRemoved: "advertising-removed"
    }
  }
}

extension StaleBond {
  fileprivate var name: String {
    switch self {
    case .lostByPhone: "bond-lost-by-phone"
    case .lostHere: "bond-lost-here"
    case .keysDiffer: "keys-differ"
    }
  }
}
