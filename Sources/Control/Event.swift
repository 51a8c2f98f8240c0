// SPDX-License-Identifier: GPL-3.0-or-later
public import AMS
public import ANCS
public import JSON
public import Mgmt
public import Wire

/// Something that the daemon reports: on standard output, on the control socket, and to the programs
/// that it runs. docs/interface.md has the contract.
public struct Event: Hashable, Sendable {
  /// The adapter that it happened on, as in `hci0`; nil where there is none (`--att`).
  public var adapter: String?
  /// The identity address of the phone that it is about.
  public var phone: Address?
  public var content: Content

  public init(_ content: Content, adapter: String? = nil, phone: Address? = nil) {
    self.content = content
    self.adapter = adapter
    self.phone = phone
  }

  /// The kind of event, by which clients subscribe.
  public var name: EventName { content.name }

  /// What has happened.
  public enum Content: Hashable, Sendable {
    /// The daemon serves; `address` is the adapter's.
    case ready(address: Address?, name: String, version: String)
    case advertising(pairable: Bool)
    case connected(encrypted: Bool, bonded: Bool)
    /// The user has something to do or to see while a phone pairs.
    case pairing(PairingMethod, passkey: Passkey?)
    case paired
    case pairingFailed(reason: String)
    /// `requests`: the ATT requests that this side has sent since the link came up.
    case subscribed([PhoneService], mtu: Int, requests: Int)
    /// Whether the phone lets its notifications be read.
    case authorization(granted: Bool)
    /// A value of the Notification Source, before any attribute is fetched.
    case incoming(NotificationEvent)
    case notification(NotificationReport)
    /// The whole state, its position as of this event, and which of its values are new.
    case media(MediaState, changed: [MediaField])
    /// In per cent.
    case battery(level: Int)
    /// The phone's local time, and by how many seconds it is ahead of the board's.
    case time(CivilTime, offset: Double)
    /// A session that only looks alive, and what is done about it or should be.
    case stale(what: String, remedy: String)
    /// The services that are there now.
    case servicesChanged([PhoneService])
    case disconnected(reason: String)
    /// What an adapter, a link or the daemon waits for from now on: by name, and as a sentence.
    case why(wait: String, why: String)
    case error(what: String, code: Int?, message: String)
  }
}

/// The kinds of events.
public enum EventName: String, CaseIterable, JSONNamed, Sendable {
  case ready, advertising, connected, pairing, paired
  case pairingFailed = "pairing-failed"
  case subscribed, authorization, incoming, notification, media, battery, time, stale
  case servicesChanged = "services-changed"
  case disconnected, error, why

  public static let jsonKind = "the name of an event"

  /// Whether a client has to ask for it by name.
  public var isQuiet: Bool { self == .incoming || self == .why }
}

/// How the two sides authenticate each other while they pair, as the board's user sees it.
public enum PairingMethod: String, CaseIterable, JSONNamed, Sendable {
  /// Nothing to compare; the phone asks its user.
  case justWorks = "just-works"
  /// Both sides show a number: is it the same?
  case confirm
  /// The number shown here is typed on the phone.
  case display
  /// The number that the phone shows is typed here.
  case entry

  public static let jsonKind = "a method of pairing"
}

/// The phone's services that the daemon is a client of.
public enum PhoneService: String, CaseIterable, JSONNamed, Sendable {
  case ancs, ams, battery, time

  public static let jsonKind = "a service"
}

// MARK: - Members

extension Event.Content {
  /// The kind of event.
  public var name: EventName {
    switch self {
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

  /// An event of this kind whose values are to be read.
  fileprivate init(_ name: EventName) {
    self =
      switch name {
      case .ready: .ready(address: nil, name: "", version: "")
      case .advertising: .advertising(pairable: false)
      case .connected: .connected(encrypted: false, bonded: false)
      case .pairing: .pairing(.justWorks, passkey: nil)
      case .paired: .paired
      case .pairingFailed: .pairingFailed(reason: "")
      case .subscribed: .subscribed([], mtu: 0, requests: 0)
      case .authorization: .authorization(granted: false)
      case .incoming: .incoming(NotificationEvent(.added, 0))
      case .notification: .notification(NotificationReport())
      case .media: .media(MediaState(), changed: [])
      case .battery: .battery(level: 0)
      case .time: .time(CivilTime(secondsSince1970: 0), offset: 0)
      case .stale: .stale(what: "", remedy: "")
      case .servicesChanged: .servicesChanged([])
      case .disconnected: .disconnected(reason: "")
      case .why: .why(wait: "", why: "")
      case .error: .error(what: "", code: nil, message: "")
      }
  }

  /// The members that only this kind of event has, in their documented order.
  fileprivate mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    switch self {
    case .ready(var address, var name, var version):
      try json.optional("address", &address)
      try json.required("name", &name)
      try json.required("version", &version)
      self = .ready(address: address, name: name, version: version)
    case .advertising(var pairable):
      try json.required("pairable", &pairable)
      self = .advertising(pairable: pairable)
    case .connected(var encrypted, var bonded):
      try json.required("encrypted", &encrypted)
      try json.required("bonded", &bonded)
      self = .connected(encrypted: encrypted, bonded: bonded)
    case .pairing(var method, var passkey):
      try json.required("method", &method)
      try json.optional("passkey", &passkey)
      self = .pairing(method, passkey: passkey)
    case .paired: break
    case .pairingFailed(var reason):
      try json.required("reason", &reason)
      self = .pairingFailed(reason: reason)
    case .disconnected(var reason):
      try json.required("reason", &reason)
      self = .disconnected(reason: reason)
    case .why(var wait, var why):
      try json.required("wait", &wait)
      try json.required("why", &why)
      self = .why(wait: wait, why: why)
    case .error(var what, var code, var message):
      try json.required("what", &what)
      try json.optional("code", &code)
      try json.required("message", &message)
      self = .error(what: what, code: code, message: message)
    case .subscribed, .authorization, .incoming, .notification, .media, .battery, .time, .stale,
      .servicesChanged:
      try serviceMembers(&json)
    }
  }

  /// The members of the events that come from the phone's services.
  private mutating func serviceMembers<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    switch self {
    case .subscribed(var services, var mtu, var requests):
      try json.list("services", &services)
      try json.required("mtu", &mtu)
      try json.required("requests", &requests)
      self = .subscribed(services, mtu: mtu, requests: requests)
    case .authorization(var granted):
      try json.required("granted", &granted)
      self = .authorization(granted: granted)
    case .incoming(var event):
      try json.required("change", &event.change)
      try event.members(&json)
      self = .incoming(event)
    case .notification(var report):
      try json.required("change", &report.event.change)
      try report.members(&json)
      self = .notification(report)
    case .media(var state, var changed):
      try state.members(&json)
      try json.list("changed", &changed)
      self = .media(state, changed: changed)
    case .battery(var level):
      try json.required("level", &level)
      self = .battery(level: level)
    case .time(var time, let offset):
      var rounded: Double? = offset
      try json.required("phone_time", &time)
      try json.nullable("offset", &rounded, places: 3)
      self = .time(time, offset: rounded ?? 0)
    case .stale(var what, var remedy):
      try json.required("what", &what)
      try json.required("remedy", &remedy)
      self = .stale(what: what, remedy: remedy)
    case .servicesChanged(var services):
      try json.list("services", &services)
      self = .servicesChanged(services)
    case .ready, .advertising, .connected, .pairing, .paired, .pairingFailed, .disconnected, .why,
      .error:
      break
    }
  }
}

// MARK: - Events with their numbers

/// An event with its number and its time. Its line of JSON is made once, when it is first wanted, and
/// shared by standard output and every client.
public final class NumberedEvent {
  /// Counts up over the life of the daemon, from 1 on.
  public let seq: UInt64
  public let time: WallTime
  public let event: Event

  public init(seq: UInt64, time: WallTime, _ event: Event) {
    self.seq = seq
    self.time = time
    self.event = event
  }

  /// Reads the event as it is printed on a line.
  public init(reading json: JSONValue) throws(ShapeError) {
    let read = try EventMembers(reading: json)
    seq = read.seq
    time = read.time
    event = read.event
  }

  /// Reads a line that a client got; nil for any other line than an event's.
  public convenience init?(line: [UInt8]) {
    guard let text = RPC.event(in: line), let json = try? JSONValue(parsing: text) else {
      return nil
    }
    try? self.init(reading: json)
  }

  /// The JSON-RPC notification that tells a client of the event, without its line end. Its head is
  /// always the same, so that a client can take the event out as it was written (`RPC.event(in:)`).
  public private(set) lazy var line: [UInt8] = {
    var json = JSONWriter(capacity: 512)
    json.raw(RPC.eventHead)
    EventMembers(seq: seq, time: time, event: event).write(to: &json)
    json.text("}")
    return json.bytes
  }()

  /// The event as it is printed on a line.
  public var json: ArraySlice<UInt8> { line[RPC.eventHead.count..<line.count - 1] }
}

/// All members of an event's line.
private struct EventMembers: JSONObjectCodable {
  var seq: UInt64 = 0
  var time = WallTime(seconds: 0)
  var event = Event(.paired)

  init() {}

  init(seq: UInt64, time: WallTime, event: Event) {
    self.seq = seq
    self.time = time
    self.event = event
  }

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var name = event.name
    try json.required("event", &name)
    if name != event.name { event.content = Event.Content(name) }
    try json.required("seq", &seq)
    try json.required("time", &time)
    try json.optional("adapter", &event.adapter)
    try json.optional("phone", &event.phone)
    try event.content.members(&json)
  }
}
