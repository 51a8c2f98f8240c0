// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt

extension Wait {
  /// Where it stands, what it waits for, and what to do: one sentence, without its full stop.
  ///
  /// - Parameter name: the board's name, as the phone shows it.
  public func sentence(name: String) -> String {
    switch self {
    case .noAdapter, .settingUp, .blocked, .bluetoothd, .lost, .failing, .silent:
      adapterSentence
    case .firstPhone, .anyPhone, .bondedPhone, .nobody, .oneSided, .nobodyListens, .dialling:
      phoneSentence(name)
    case .channel, .mtu, .encryption, .securityRequest, .confirmationThere, .entryThere,
      .confirmationHere,
      .entryHere, .pairingFailed, .closedOut, .unencrypted:
      securitySentence(name)
    case .discovery, .subscription, .unpublished, .incomplete, .refused, .permission, .forbidden,
      .stale, .news:
      serviceSentence(name)
    }
  }

  private var adapterSentence: String {
    switch self {
    case .noAdapter(let named?):
      "the adapter \(named) is not there; waiting for it to be plugged in; "
        + "“ancsd doctor” lists those that are"
    case .noAdapter(nil):
      "no adapter with Bluetooth LE is there; waiting for one to be plugged in; "
        + "dmesg tells what became of a built-in one"
    case .settingUp: "being set up; waiting for the kernel"
    case .blocked(byHardware: false):
      "the radio is blocked by software; waiting until it is free: rfkill unblock bluetooth"
    case .blocked(byHardware: true):
      "the radio is blocked by a switch of this machine, which no command turns; waiting until it is free"
    case .bluetoothd:
      "bluetoothd runs, and takes every phone's connection; waiting for its end: "
        + "systemctl disable --now bluetooth"
    case .lost(let trouble, let index): trouble.sentence(adapter: index)
    case .failing(let why):
      "the kernel does not set the adapter up: \(why); tried again every few seconds; "
        + "“ancsd doctor” looks for the cause"
    case .silent(let why):
      "not on the air: the kernel refuses to advertise: \(why); "
        + "unplugging the adapter and plugging it in again may help"
    default: ""
    }
  }

  private func phoneSentence(_ name: String) -> String {
    switch self {
    case .firstPhone:
      "on the air, nobody is bonded; waiting for a phone to pair: on it, open Settings › Bluetooth and "
        + "choose \(name); where it is not listed (newer iOS lists only some accessories), leave the "
        + "page and open it again, and try --advertise hid; at last, connect once to \(name) with the "
        + "app nRF Connect or LightBlue"
    case .anyPhone:
      "on the air; waiting for a bonded phone, which dials by itself, or for another to pair: on it, "
        + "open Settings › Bluetooth and choose \(name)"
    case .bondedPhone:
      "on the air; waiting for a bonded phone, which dials by itself once it is near, awake and has "
        + "Bluetooth on; one that stays away may have given up after many attempts: switch its "
        + "Bluetooth off and on in Settings"
    case .nobody:
      "on the air, but nobody is bonded and pairing is closed, so nobody can come: ancsd pair"
    case .oneSided(let bond, let phone):
      "\(bond.what); \(bond.remedy(board: name, phone: phone))"
    case .nobodyListens(let path, let why):
      "waiting for a phone at \(path): \(why); start one there: ancsd phone --listen unix:\(path)"
    case .dialling: "the phone ended the connection; it is dialled again"
    default: ""
    }
  }

  private func securitySentence(_ name: String) -> String {
    switch self {
    case .channel:
      "connected; waiting for the phone's ATT channel; where it does not come, another program that "
        + "listens for it has got it: if bluetoothd runs, systemctl disable --now bluetooth"
    case .mtu:
      "connected; waiting for the phone's answer about the MTU, the first byte from it; without one the "
        + "link is given up after 30 seconds"
    case .encryption:
      "connected, not encrypted; waiting for the phone to encrypt with the bond's key, which it does by "
        + "itself"
    case .securityRequest(let phone):
      "connected, not encrypted; the phone was asked to encrypt (Security Request) and has not yet; "
        + "where that lasts, it has lost its side of the bond: on it, Settings › Bluetooth › \(name) › "
        + "Forget This Device; here: ancsd forget \(phone), then ancsd pair"
    case .confirmationThere:
      "connected, pairing; waiting for the phone: confirm there when it asks; where it does not ask but "
        + "lists \(name) already, forget \(name) there first"
    case .entryThere:
      "connected, pairing; waiting for the number that this board shows to be typed on the phone"
    case .confirmationHere:
      "connected, pairing; waiting for somebody here to say whether the phone shows the same number: "
        + "ancsd pair"
    case .entryHere:
      "connected, pairing; waiting for the number that the phone shows to be typed here: ancsd pair"
    case .pairingFailed(let failure): "connected, not bonded; pairing failed: \(failure)"
    case .closedOut:
      "connected, not bonded; pairing is closed, so the phone is served nothing and soon told to leave; "
        + "to let it in: ancsd pair"
    case .unencrypted: "connected, not encrypted; the phone is served nothing"
    default: ""
    }
  }

  private func serviceSentence(_ name: String) -> String {
    switch self {
    case .discovery: "connected, encrypted; looking for the phone's services"
    case .subscription:
      "connected, encrypted; subscribing; waiting for the phone's answers"
    case .unpublished:
      "connected, encrypted; the phone does not publish ANCS: on the phone, Settings › Bluetooth › "
        + "\(name) › Share System Notifications; the switch may take minutes to appear, and an "
        + "organisation that manages the phone may forbid it; looked for again meanwhile"
    case .incomplete:
      "connected, encrypted; the phone's ANCS lacks a characteristic or its configuration, so it is none "
        + "that can be used: an iPhone's is whole, other phones' are not; looked for again meanwhile"
    case .refused(let why):
      "connected, encrypted; the phone refuses the subscription: \(why); tried again meanwhile; where "
        + "that lasts, switch the phone's Bluetooth off and on"
    case .permission:
      "subscribed; waiting to learn whether the phone lets its notifications be read: where it asks, "
        + "allow it there"
    case .forbidden:
      "subscribed, but the phone does not let its notifications be read: on the phone, Settings › "
        + "Bluetooth › \(name) › Share System Notifications; asked again meanwhile"
    case .stale(let what):
      "subscribed, but the session only looks alive: \(what); the subscriptions were written again; where "
        + "nothing comes, switch the phone's Bluetooth off and on"
    case .news:
      "subscribed, all is well; waiting for what the phone says (a Focus or Do Not Disturb keeps it silent)"
    default: ""
    }
  }
}
