// SPDX-License-Identifier: GPL-3.0-or-later
public import Mgmt
public import Wire

/// What the daemon, an adapter or a link is waiting for. Each wait has a name for programs and a
/// sentence for people; docs/troubleshooting.md lists them.
///
///     no adapter ─▶ set up ─▶ on the air ─▶ connected ─▶ encrypted ─▶ subscribed
///         ▲           │           │             │            │            │
///         └─ taken away, blocked ─┘             └── refused ─┴─ not published, not allowed, stale
public enum Wait: Hashable, Sendable {
  case adapter(AdapterWait)
  case phone(PhoneWait)
  case security(SecurityWait)
  case service(ServiceWait)

  /// Its name for programs.
  public var name: String { words("").name }

  /// The state, the wait, and what to do: one sentence, without a full stop.
  ///
  /// - Parameter name: the board's name, as the phone shows it.
  public func sentence(name: String) -> String { words(name).sentence }

  private func words(_ name: String) -> WaitWords {
    switch self {
    case .adapter(let wait): wait.words
    case .phone(let wait): wait.words(name)
    case .security(let wait): wait.words(name)
    case .service(let wait): wait.words(name)
    }
  }

  /// Whether it is logged at once rather than after a while.
  public var isUrgent: Bool {
    switch self {
    case .adapter(.settingUp), .adapter(.notAdvertising): false
    case .adapter, .phone(.nobodyListens): true
    default: false
    }
  }

  /// Whether all is well, so it may last for hours; it is logged at a lower level.
  public var isRest: Bool {
    switch self {
    case .phone(.any), .phone(.bonded), .service(.news): true
    default: false
    }
  }

  /// Whether the phone's user has to turn on *Share System Notifications*, or may have to.
  public var isAboutSharing: Bool {
    switch self {
    case .service(.permission), .service(.forbidden), .service(.unpublished): true
    default: false
    }
  }

  /// The names of the waits that need no action from the user.
  public static let fineNames: Set<String> = [
    "setting-up", "any-phone", "bonded-phone", "dialling", "channel", "mtu", "encryption",
    "discovery", "subscription", "permission", "news",
  ]
}

/// What a wait is called: by programs, and by people.
private struct WaitWords {
  let name: String
  let sentence: String

  init(_ name: String, _ sentence: String) {
    self.name = name
    self.sentence = sentence
  }
}

/// An adapter that does not serve yet, or no longer.
public enum AdapterWait: Hashable, Sendable {
  /// The adapter with this name is not present; nil: no adapter is.
  case absent(String?)
  /// The adapter is being set up.
  case settingUp
  /// rfkill keeps the radio off.
  case blocked(byHardware: Bool)
  /// bluetoothd is running and takes the phones' connections.
  case bluetoothd
  /// Too many sockets of silent links had to be left open (docs/kernel.md, “Kernel bug: silent links”).
  case silentLinks
  /// Another program has changed the adapter or switched it off.
  case lost(AdapterTrouble, ControllerIndex)
  /// The kernel refused to set the adapter up; the text says why.
  case failing(String)
  /// Set up, but the kernel refused to advertise; the text says why.
  case notAdvertising(String)

  fileprivate var words: WaitWords {
    switch self {
    case .absent(let named?):
      .init(
        "no-adapter",
        "adapter \(named) is not present; waiting for it to be plugged in; "
          + "“ancsd doctor” lists the adapters")
    case .absent(nil):
      .init(
        "no-adapter",
        "there is no adapter with Bluetooth LE; waiting for one to be plugged in; "
          + "dmesg shows what happened to a built-in one")
    case .settingUp: .init("setting-up", "being set up; waiting for the kernel")
    case .blocked(byHardware: false):
      .init(
        "blocked",
        "the radio is blocked by software; to unblock it: rfkill unblock bluetooth")
    case .blocked(byHardware: true):
      .init(
        "blocked-by-switch",
        "the radio is blocked by a hardware switch; waiting for it "
          + "to be switched on")
    case .bluetoothd:
      .init(
        "bluetoothd",
        "bluetoothd is running, and takes every phone's connection; “ancsd doctor” says how to "
          + "stop it")
    case .silentLinks:
      .init(
        "silent-links",
        "this kernel's bug has used up the limit of links that never received a byte; no "
          + "phone is accepted until the board is rebooted; “ancsd doctor” names kernels "
          + "without the bug")
    case .lost(let trouble, let index): .init(trouble.name, trouble.sentence(adapter: index))
    case .failing(let why):
      .init(
        "failing",
        "the kernel can't set the adapter up: \(why); retrying every few seconds; "
          + "“ancsd doctor” looks for the cause")
    case .notAdvertising(let why):
      .init(
        "silent",
        "not on the air: the kernel refuses to advertise: \(why); retrying; "
          + "replugging the adapter may help")
    }
  }
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

/// No phone is connected.
public enum PhoneWait: Hashable, Sendable {
  /// On the air, no phone is bonded, and any phone may pair.
  case first
  /// On the air for the bonded phones, and other phones may pair.
  case any
  /// On the air for the bonded phones.
  case bonded
  /// On the air, but no phone is bonded, and none may pair.
  case nobody
  /// The same, because the bonds that the board has, or had, can't be used.
  case unusableBonds
  /// Its last links ended before the board had subscribed, so the phone probably stays away.
  case givenUp(phone: Address)
  /// The phone connects and disconnects again: only one side has the bond.
  case oneSided(StaleBond, phone: Address)
  /// No phone listens at the path of `--att`; the text is the kernel's error.
  case nobodyListens(path: String, String)
  /// The phone (without a radio) has ended the connection; the daemon is about to reconnect.
  case dialling

  fileprivate func words(_ name: String) -> WaitWords {
    switch self {
    case .first:
      .init(
        "first-phone",
        "on the air, no phone is bonded; waiting for one to pair: on the phone, open Settings › Bluetooth "
          + "and tap \(name); if it is not listed (newer iOS lists only some accessories), leave "
          + "the page and open it again, and look under Settings › Accessibility › Switch Control › "
          + "Switches, which needs no app; as a last resort, connect once to \(name) with the app nRF Connect or "
          + "LightBlue")
    case .any:
      .init(
        "any-phone",
        "on the air; waiting for a bonded phone, which connects by itself, or for another to pair: on that one, "
          + "open Settings › Bluetooth and tap \(name)")
    case .bonded:
      .init(
        "bonded-phone",
        "on the air; waiting for a bonded phone, which connects by itself once it is near, awake and has "
          + "Bluetooth on; if it does not: Bluetooth that was switched off in Control Center stays off for "
          + "accessories until 5 in the morning, so switch it on in Settings; or tap \(name) in Settings › "
          + "Bluetooth")
    case .nobody:
      .init(
        "nobody",
        "on the air, but no phone is bonded and pairing is closed, so none can connect: ancsd pair")
    case .unusableBonds:
      .init(
        "bonds-unusable",
        "on the air, but this board's bonds can't be used, so no phone can connect: the "
          + "log and “ancsd doctor” say which and why; ancsd pair lets a phone pair again, once it has "
          + "forgotten \(name)")
    case .givenUp(let phone):
      .init(
        "given-up",
        "on the air, but the last links with \(phone) ended before this board had subscribed, so it has probably "
          + "given up and stays away: on the phone, open Settings › Bluetooth and tap \(name)")
    case .oneSided(let bond, let phone):
      .init(bond.name, "\(bond.what); \(bond.remedy(board: name, phone: phone.description))")
    case .nobodyListens(let path, let why):
      .init(
        "nobody-listens",
        "waiting for a phone at \(path): \(why); start one there: ancsd phone --listen unix:\(path)"
      )
    case .dialling: .init("dialling", "the phone ended the connection; reconnecting")
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

/// A link that is not encrypted yet, or will not be.
public enum SecurityWait: Hashable, Sendable {
  /// The kernel has reported a phone, but its ATT channel has not opened yet.
  case channel
  /// The phone has not responded to Exchange MTU; the response contains its first byte.
  case mtu
  /// A bonded phone is expected to encrypt the link by itself.
  case encryption
  /// A bonded phone was asked to encrypt the link.
  case securityRequest(phone: Address)
  /// The phone's user has to confirm the pairing.
  case confirmationThere
  /// The phone's user has to type the number that is shown here.
  case entryThere
  /// The board's user has to say whether both sides show the same number.
  case confirmationHere
  /// The board's user has to say whether a phone that can't show a number may pair.
  case consentHere
  /// The board's user has to type the number that the phone shows.
  case entryHere
  case pairingFailed(PairingFailure)
  /// The phone has no bond, and pairing is closed.
  case closedOut
  /// The phone has no bond, and another one is pairing.
  case anotherPairs

  fileprivate func words(_ name: String) -> WaitWords {
    switch self {
    case .channel:
      .init(
        "channel",
        "connected; waiting for the phone's ATT channel; if it does not open, another program "
          + "has taken it: “ancsd doctor” says whether bluetoothd is running")
    case .mtu:
      .init(
        "mtu",
        "connected; waiting for the phone's MTU response, its first PDU; without it "
          + "the link ends after 30 seconds")
    case .encryption:
      .init(
        "encryption",
        "connected, not encrypted; waiting for the phone to encrypt with the bond's key, which it does "
          + "by itself")
    case .securityRequest(let phone):
      .init(
        "security-request",
        "connected, not encrypted; the phone was asked to encrypt (Security Request) and has not yet; "
          + "if this happens again, the phone has lost its bond: on it, Settings › Bluetooth › \(name) › "
          + "Forget This Device; here: ancsd forget \(phone), then ancsd pair")
    case .confirmationThere:
      .init(
        "confirmation-there",
        "connected, pairing; waiting for the phone: confirm there when it asks; if it does not ask "
          + "but already lists \(name), forget \(name) there first")
    case .entryThere:
      .init(
        "entry-there",
        "connected, pairing; on the phone, type the number that this board shows")
    case .confirmationHere:
      .init(
        "confirmation-here",
        "connected, pairing; say within 30 seconds whether the phone shows "
          + "the same number: y or n at the daemon's terminal, or ancsd pair")
    case .consentHere:
      .init(
        "consent-here",
        "connected, pairing; the phone can't show a number; say within 30 "
          + "seconds whether it may pair: y or n at the daemon's terminal, or ancsd pair")
    case .entryHere:
      .init(
        "entry-here",
        "connected, pairing; type the number that the phone shows within 30 seconds: "
          + "at the daemon's terminal, or ancsd pair")
    case .pairingFailed(let failure):
      .init("pairing-failed", "connected, not bonded; pairing failed: \(failure)")
    case .closedOut:
      .init(
        "closed-out",
        "connected, not bonded; pairing is closed, so the phone is not served and will be disconnected"
          + "; to let it pair: ancsd pair")
    case .anotherPairs:
      .init("another-pairs", "connected; another phone is pairing: one at a time")
    }
  }
}

/// An encrypted link: its services on the way to being used, and then in use.
public enum ServiceWait: Hashable, Sendable {
  /// The services are being discovered.
  case discovery
  /// The subscriptions are being written.
  case subscription
  /// The phone does not have ANCS.
  case unpublished
  /// The phone's ANCS lacks a characteristic or a CCCD.
  case incomplete
  /// The phone refused the search or the subscription; the text says with which error.
  case refused(String)
  /// Subscribed; it is not known yet whether the phone allows its notifications to be read.
  case permission
  /// Subscribed, and the phone does not allow its notifications to be read.
  case forbidden
  /// The subscription is suspected to be stale; the text says why.
  case stale(String)
  /// All is well. `isProven`: it is certain that the phone shares its notifications.
  case news(isProven: Bool)

  fileprivate func words(_ name: String) -> WaitWords {
    switch self {
    case .discovery: .init("discovery", "connected, encrypted; looking for the phone's services")
    case .subscription:
      .init("subscription", "connected, encrypted; subscribing; waiting for the phone's responses")
    case .unpublished:
      .init(
        "unpublished",
        "connected, encrypted; the phone does not publish ANCS: on the phone, Settings › Bluetooth › "
          + "\(name) › Share System Notifications; the switch may take minutes to appear, and an "
          + "organisation that manages the phone may forbid it; searching again")
    case .incomplete:
      .init(
        "incomplete",
        "connected, encrypted; the phone's ANCS lacks a characteristic or a CCCD, so it is "
          + "unusable: an iPhone's is complete, other phones' are not; searching again")
    case .refused(let why):
      .init(
        "refused",
        "connected, encrypted; the phone refuses access to its services: \(why); retrying; "
          + "if that persists, switch the phone's Bluetooth off and on")
    case .permission:
      .init(
        "permission",
        "subscribed; waiting for permission to read notifications: if the phone asks, "
          + "allow it there")
    case .forbidden:
      .init(
        "forbidden",
        "subscribed, but the phone does not allow access to its notifications: on the phone, Settings › "
          + "Bluetooth › \(name) › Share System Notifications; retrying")
    case .stale(let what):
      .init(
        "stale",
        "subscribed, but the session seems dead: \(what); subscribed again; "
          + "if nothing arrives, switch the phone's Bluetooth off and on")
    case .news(isProven: true):
      .init(
        "news",
        "subscribed, all is well; waiting for notifications (a Focus or Do Not Disturb would hold "
          + "them back, and so would “Show Previews: Never” for an app)")
    case .news(isProven: false):
      .init(
        "news",
        "subscribed; waiting for the first notification, which shows that the phone shares them (an older "
          + "iPhone responds in any case): if none comes, on the phone: Settings › Bluetooth › "
          + "\(name) › Share System Notifications")
    }
  }
}
