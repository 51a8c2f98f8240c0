// SPDX-License-Identifier: GPL-3.0-or-later
public import System
public import ANCS
public import Mgmt
public import Wire

/// Something that the daemon tells whoever listens: on standard output, on the control socket, to
/// the programs that it runs.
public struct Event: Hashable, Sendable {
  /// The adapter it happened on, as in `hci0`; nil where there is none (`--att`).
  public var adapter: String?
  /// The identity address of the phone it is about.
  public var phone: Address?
  public var content: Content

  public init(_ content: Content, adapter: String? = nil, phone: Address? = nil) {
    self.content = content
    self.adapter = adapter
    self.phone = phone
  }

  /// What has happened.
  public enum Content: Hashable, Sendable {
    /// The daemon serves; `address` is the adapter's.
    case ready(address: Address?, name: String, version: String)
    case advertising(pairable: Bool)
    case connected(encrypted: Bool, bonded: Bool)
    /// Something for the user to do or to see while pairing.
    case pairing(PairingMethod, passkey: Passkey?)
    case paired
    case pairingFailed(reason: String)
    /// `requests`: ATT requests that this side has sent since the link came up.
    case subscribed([PhoneService], mtu: Int, requests: Int)
    /// Whether the phone lets us read what it notifies about.
    case authorization(granted: Bool)
    /// What the Notification Source said, before any attribute is fetched.
    case incoming(NotificationEvent)
    case notification(Change, NotificationRecord)
    /// The whole state, and which of its values are new, as in `track.title`.
    case media(MediaReport, changed: [String])
    /// 0 to 100.
    case battery(level: Int)
    /// The phone's local time, and by how many seconds it is ahead of the board's.
    case time(CivilTime, offset: Double)
    /// A session that only looks alive, and what is done about it or is to be done.
    case stale(what: String, remedy: String)
    /// The services that are there now.
    case servicesChanged([PhoneService])
    case disconnected(reason: String)
    /// What an adapter, a link or the daemon waits for from now on: by name, and as a sentence.
    case why(wait: String, why: String)
    case error(what: String, code: Int?, message: String)
  }

  /// The kind of event, by which one subscribes.
  public var name: EventName {
    switch content {
    case .ready: .ready
    case .advertising: .advertising
    case .connected: .connected
    case .pairing: .pairing
    case .paired: .paired
    case .pairingFailed: .pairingFailed
    case .subscribed: .subscribed
    case .authorization: .authorization
    case .incoming: .incoming
    case .notification: .notification
    case .media: .media
    case .battery: .battery
    case .time: .time
    case .stale: .stale
    case .servicesChanged: .servicesChanged
    case .disconnected: .disconnected
    case .why: .why
    case .error: .error
    }
  }
}

/// The kinds of events.
public enum EventName: String, CaseIterable, Sendable {
  case ready, advertising, connected, pairing, paired
  case pairingFailed = "pairing-failed"
  case subscribed, authorization, incoming, notification, media, battery, time, stale
  case servicesChanged = "services-changed"
  case disconnected, error, why

  /// Whether only those hear of it who name it.
  public var isQuiet: Bool { self == .incoming || self == .why }
}

/// How the two sides make sure of each other while pairing, as the board's user sees it.
public enum PairingMethod: String, CaseIterable, Sendable {
  /// Nothing to compare; the phone asks its user.
  case justWorks = "just-works"
  /// The same number on both sides: is it?
  case confirm
  /// The number shown here is typed on the phone.
  case display
  /// The number that the phone shows is typed here.
  case entry
}

/// The services of a phone that the daemon uses.
public enum PhoneService: String, CaseIterable, Sendable {
  case ancs, ams, battery, time
}

/// An event with its number and its time, as it is printed and kept.
public struct NumberedEvent: Hashable, Sendable {
  /// Counts up over the life of the daemon, from 1 on.
  public var seq: UInt64
  public var time: WallTime
  public var event: Event

  public init(seq: UInt64, time: WallTime, _ event: Event) {
    self.seq = seq
    self.time = time
    self.event = event
  }
}
