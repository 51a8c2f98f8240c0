// SPDX-License-Identifier: GPL-3.0-or-later
public import AMS
public import ANCS
public import Mgmt

/// What a client of the control socket may ask for, with its parameters.
public enum ControlRequest: Hashable, Sendable {
  case status
  case subscribe(Subscription)
  case listNotifications(NotificationQuery)
  /// `attributes`: what must be there in the answer; nil: all of them.
  case getNotification(
    NotificationUID, attributes: [NotificationAttributeID]?, phone: PhoneSelector?)
  case act(NotificationUID, Action, phone: PhoneSelector?)
  case getApp(identifier: String, phone: PhoneSelector?)
  case listApps(phone: PhoneSelector?)
  case getMedia(phone: PhoneSelector?)
  case command(RemoteCommand, phone: PhoneSelector?)
  case listPhones
  case forget(PhoneSelector)
  /// Lets anybody pair; for so many seconds, or until it is closed.
  case openPairing(seconds: Int?)
  case closePairing
  /// Answers what a `pairing` event asked, with the passkey where that is what was asked for.
  case respond(accept: Bool, passkey: Passkey?)
  case discover(phone: PhoneSelector?)
  /// What is known of the attributes of every link, without asking a phone.
  case known
  case read(handle: UInt16, phone: PhoneSelector?)
  /// `command`: without an answer from the phone.
  case write(handle: UInt16, value: [UInt8], command: Bool, phone: PhoneSelector?)

  /// The methods, by the names that they have on the socket.
  public enum Method: String, CaseIterable, Sendable {
    case status, subscribe
    case listNotifications = "notifications.list"
    case getNotification = "notifications.get"
    case act = "notifications.act"
    case getApp = "apps.get"
    case listApps = "apps.list"
    case getMedia = "media.get"
    case command = "media.command"
    case listPhones = "phones.list"
    case forget = "phones.forget"
    case openPairing = "pairing.open"
    case closePairing = "pairing.close"
    case respond = "pairing.respond"
    case discover = "gatt.discover"
    case known = "gatt.known"
    case read = "gatt.read"
    case write = "gatt.write"
  }

  /// The method that asks for it.
  public var method: Method {
    switch self {
    case .status: .status
    case .subscribe: .subscribe
    case .listNotifications: .listNotifications
    case .getNotification: .getNotification
    case .act: .act
    case .getApp: .getApp
    case .listApps: .listApps
    case .getMedia: .getMedia
    case .command: .command
    case .listPhones: .listPhones
    case .forget: .forget
    case .openPairing: .openPairing
    case .closePairing: .closePairing
    case .respond: .respond
    case .discover: .discover
    case .known: .known
    case .read: .read
    case .write: .write
    }
  }
}
