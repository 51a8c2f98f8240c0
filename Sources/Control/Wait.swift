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

  /// The state, what is waited for, and what to do: one sentence, without a full stop.
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

  /// Whether it is logged at once rather than after it has lasted.
  public var isUrgent: Bool {
    switch self {
    case .adapter(.settingUp), .adapter(.notAdvertising): false
    case .adapter, .phone(.nobodyListens): true
    default: false
    }
  }

  /// Whether all is well, so that it may last for hours; logged at a lower level.
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

  /// The names of the waits in which the user has nothing to do.
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
        "the adapter \(named) is not there; waiting for it to be plugged in; "
          + "“ancsd doctor” lists those that are")
    case .absent(nil):
      .init(
        "no-adapter",
        "no adapter with Bluetooth LE is there; waiting for one to be plugged in; "
          + "dmesg tells what became of a built-in one")
    case .settingUp: .init("setting-up", "being set up; waiting for the kernel")
    case .blocked(byHardware: false):
      .init(
        "blocked",
        "the radio is blocked by software; waiting until it is free: rfkill unblock bluetooth")
    case .blocked(byHardware: true):
      .init(
        "blocked-by-switch",
        "the radio is blocked by a switch of this machine, which no command turns; waiting until it "
          + "is free")
    case .bluetoothd:
      .init(
        "bluetoothd",
        "bluetoothd runs, and takes every phone's connection; waiting for its end: "
          + "systemctl disable --now bluetooth")
    case .silentLinks:
      .init(
        "silent-links",
        "phones that connected and left without a word have used up what this kernel's bug leaves; no "
          + "phone is accepted until the board was started again; “ancsd doctor” names kernels "
          + "without the bug")
    case .lost(let trouble, let index): .init(trouble.name, trouble.sentence(adapter: index))
    case .failing(let why):
      .init(
        "failing",
        "the kernel does not set the adapter up: \(why); tried again every few seconds; "
          + "“ancsd doctor” looks for the cause")
    case .notAdvertising(let why):
      .init(
        "silent",
        "not on the air: the kernel refuses to advertise: \(why); tried again meanwhile; "
          + "unplugging the adapter and plugging it in again may help")
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
  /// The phone connects and leaves again: only one side has the bond.
  case oneSided(StaleBond, phone: Address)
  /// No phone listens at the path of `--att`; the text is the kernel's error.
  case nobodyListens(path: String, String)
  /// The phone (without a radio) has ended the connection, which is about to be made again.
  case dialling

  fileprivate func words(_ name: String) -> WaitWords {
    switch self {
    case .first:
      .init(
        "first-phone",
        "on the air, nobody is bonded; waiting for a phone to pair: on it, open Settings › Bluetooth "
          + "and choose \(name); where it is not listed (newer iOS lists only some accessories), leave "
          + "the page and open it again, and look under Settings › Accessibility › Switch Control › "
          + "Switches, which needs no app; as a last resort, connect once to \(name) with the app nRF Connect or "
          + "LightBlue")
    case .any:
      .init(
        "any-phone",
        "on the air; waiting for a bonded phone, which connects by itself, or for another to pair: on it, "
          + "open Settings › Bluetooth and choose \(name)")
    case .bonded:
      .init(
        "bonded-phone",
        "on the air; waiting for a bonded phone, which connects by itself once it is near, awake and has "
          + "Bluetooth on; one that stays away may have given up after many attempts: switch its "
          + "Bluetooth off and on in Settings")
    case .nobody:
      .init(
        "nobody",
        "on the air, but nobody is bonded and pairing is closed, so nobody can come: ancsd pair")
    case .unusableBonds:
      .init(
        "bonds-unusable",
        "on the air, but the bonds that this board had can't be used, so nobody can come: the "
          + "log and “ancsd doctor” say which and why; ancsd pair lets a phone pair again, once it has "
          + "forgotten \(name)")
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
  /// The kernel has reported a phone, and its ATT channel has not arrived here.
  case channel
  /// The phone has not answered Exchange MTU; the response is its first byte.
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
  /// The board's user has to say whether a phone may pair that can show no number.
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
        "connected; waiting for the phone's ATT channel; where it does not come, another program that "
          + "listens for it has got it: if bluetoothd runs, systemctl disable --now bluetooth")
    case .mtu:
      .init(
        "mtu",
        "connected; waiting for the phone's answer about the MTU, the first byte from it; without one "
          + "the link is given up after 30 seconds")
    case .encryption:
      .init(
        "encryption",
        "connected, not encrypted; waiting for the phone to encrypt with the bond's key, which it does "
          + "by itself")
    case .securityRequest(let phone):
      .init(
        "security-request",
        "connected, not encrypted; the phone was asked to encrypt (Security Request) and has not yet; "
          + "where that comes again, it has lost its side of the bond: on it, Settings › Bluetooth › \(name) › "
          + "Forget This Device; here: ancsd forget \(phone), then ancsd pair")
    case .confirmationThere:
      .init(
        "confirmation-there",
        "connected, pairing; waiting for the phone: confirm there when it asks; where it does not ask "
          + "but lists \(name) already, forget \(name) there first")
    case .entryThere:
      .init(
        "entry-there",
        "connected, pairing; waiting for the number that this board shows to be typed on the phone")
    case .confirmationHere:
      .init(
        "confirmation-here",
        "connected, pairing; waiting for somebody here to say within 30 seconds whether the phone shows "
          + "the same number: y or n at the daemon's terminal, or ancsd pair")
    case .consentHere:
      .init(
        "consent-here",
        "connected, pairing; the phone can show no number; waiting for somebody here to say within 30 "
          + "seconds whether it may pair: y or n at the daemon's terminal, or ancsd pair")
    case .entryHere:
      .init(
        "entry-here",
        "connected, pairing; waiting for the number that the phone shows to be typed within 30 seconds: "
          + "at the daemon's terminal, or ancsd pair")
    case .pairingFailed(let failure):
      .init("pairing-failed", "connected, not bonded; pairing failed: \(failure)")
    case .closedOut:
      .init(
        "closed-out",
        "connected, not bonded; pairing is closed, so the phone is served nothing and soon told to "
          + "leave; to let it in: ancsd pair")
    case .anotherPairs:
      .init("another-pairs", "connected; waiting for another phone to have paired: one at a time")
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
  /// The phone refused the subscription; the text says with which error.
  case refused(String)
  /// Subscribed; it is not known yet whether the phone allows its notifications to be read.
  case permission
  /// Subscribed, and the phone does not allow its notifications to be read.
  case forbidden
  /// The subscription is suspected to be stale; the text says why.
  case stale(String)
  /// All is well.
  case news

  fileprivate func words(_ name: String) -> WaitWords {
    switch self {
    case .discovery: .init("discovery", "connected, encrypted; looking for the phone's services")
    case .subscription:
      .init("subscription", "connected, encrypted; subscribing; waiting for the phone's answers")
    case .unpublished:
      .init(
        "unpublished",
        "connected, encrypted; the phone does not publish ANCS: on the phone, Settings › Bluetooth › "
          + "\(name) › Share System Notifications; the switch may take minutes to appear, and an "
          + "organisation that manages the phone may forbid it; looked for again meanwhile")
    case .incomplete:
      .init(
        "incomplete",
        "connected, encrypted; the phone's ANCS lacks a characteristic or its configuration, so it is "
          + "none that can be used: an iPhone's is whole, other phones' are not; looked for again "
          + "meanwhile")
    case .refused(let why):
      .init(
        "refused",
        "connected, encrypted; the phone refuses the subscription: \(why); tried again meanwhile; "
          + "if that persists, switch the phone's Bluetooth off and on")
    case .permission:
      .init(
        "permission",
        "subscribed; waiting to learn whether the phone lets its notifications be read: where it asks, "
          + "allow it there")
    case .forbidden:
      .init(
        "forbidden",
        "subscribed, but the phone does not let its notifications be read: on the phone, Settings › "
          + "Bluetooth › \(name) › Share System Notifications; asked again meanwhile")
    case .stale(let what):
      .init(
        "stale",
        "subscribed, but the session only looks alive: \(what); the subscriptions were written again; "
          + "where nothing comes, switch the phone's Bluetooth off and on")
    case .news:
      .init(
        "news",
        "subscribed, all is well; waiting for what the phone says (a Focus or Do Not Disturb keeps it "
          + "silent)")
    }
  }
}
