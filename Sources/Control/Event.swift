// SPDX-License-Identifier: GPL-3.0-or-later
public import AMS
public import ANCS
public import JSON
public import Mgmt
public import Wire

/// Something that the daemon reports, on standard output and on the control socket.
/// docs/interface.md has the contract.
public struct Event: Hashable, Sendable {
  /// The adapter that it happened on, as in `hci0`; nil if there is none (`--att`).
  public var adapter: String?
  /// The identity address of the phone, if it is about a phone.
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
  ///
  /// Large payloads are indirect, because events are passed around a lot.
  public enum Content: Hashable, Sendable {
    /// The daemon is ready; `address` is the adapter's. `life` identifies the run of the daemon within which events
    /// are numbered.
    indirect case ready(address: Address?, name: String, version: String, life: String = "")
    case advertising(pairable: Bool)
    /// `profile`: what was advertised when the phone connected, if that is known.
    indirect case connected(encrypted: Bool, bonded: Bool, profile: AdvertisingProfile? = nil)
    /// A phone is pairing, and the user has to act or to see something.
    indirect case pairing(PairingQuestion)
    case paired
    indirect case pairingFailed(reason: String)
    /// `requests`: the ATT requests that the daemon has sent since the link came up.
    indirect case subscribed([PhoneService], mtu: Int, requests: Int)
    /// Whether the phone allows its notifications to be read.
    case authorization(Authorization)
    /// A value of the Notification Source, before attributes are fetched.
    case incoming(NotificationEvent)
    case notification(NotificationReport)
    /// The whole state, its position as of this event, and which of its values are new.
    indirect case media(MediaState, changed: [MediaField])
    /// In per cent.
    case battery(level: Int)
    /// The phone's local time, and its offset from the board's in seconds.
    indirect case time(CivilTime, offset: Double)
    /// A stale bond or subscription, and what the daemon does or the user should do.
    indirect case stale(what: String, remedy: String)
    /// The services in use now.
    case servicesChanged([PhoneService])
    indirect case disconnected(reason: String)
    /// Events that are missing here because they were not read in time: their count, and the numbers of the first and
    /// the last. The range may include numbers of events that this reader would not have received anyway.
    indirect case lost(count: Int, first: UInt64, last: UInt64)
    /// What an adapter, a link or the daemon waits for: by name, and as a sentence.
    indirect case why(wait: String, why: String)
    /// `rule`: the name of the rule in the settings that it is about.
    indirect case error(what: String, code: Int?, message: String, rule: String? = nil)
  }
}

extension AdvertisingProfile: JSONNamed { public static let jsonKind = "an advertising profile" }

/// The phone's services that the daemon is a client of.
public enum PhoneService: String, CaseIterable, JSONNamed, Sendable {
  case ancs, ams, battery, time

  public static let jsonKind = "a service"
}

// MARK: - Members

extension Event.Content {
  /// The approximate size of its line in bytes. There are few different sizes, so the allocator can reuse the memory
  /// of dropped lines.
  fileprivate var lineSize: Int {
    guard case .notification(let report) = self else { return 320 }
    return (448 + report.attributes.size + 127) & ~127
  }

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
    case .lost: .lost
    case .why: .why
    case .error: .error
    }
  }

  /// An event of each kind, to read values into.
  private static let empty: [Event.Content] = [
    .ready(address: nil, name: "", version: ""), .advertising(pairable: false),
    .connected(encrypted: false, bonded: false), .pairing(PairingQuestion()), .paired,
    .pairingFailed(reason: ""), .subscribed([], mtu: 0, requests: 0),
    .authorization(.unknown(until: .response)), .incoming(NotificationEvent(.added, 0)),
    .notification(NotificationReport()), .media(MediaState(), changed: []), .battery(level: 0),
    .time(CivilTime(secondsSince1970: 0), offset: 0), .stale(what: "", remedy: ""),
    .servicesChanged([]), .disconnected(reason: ""), .lost(count: 0, first: 0, last: 0),
    .why(wait: "", why: ""), .error(what: "", code: nil, message: ""),
  ]

  fileprivate init(_ name: EventName) { self = Self.empty.first { $0.name == name } ?? .paired }

  /// The members of this kind of event, in their documented order.
  fileprivate mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    switch self {
    case .ready(var address, var name, var version, let life):
      var life: String? = life.isEmpty ? nil : life
      try json.optional("address", &address)
      try json.required("name", &name)
      try json.required("version", &version)
      try json.optional("life", &life)
      self = .ready(address: address, name: name, version: version, life: life ?? "")
    case .advertising(var pairable):
      try json.required("pairable", &pairable)
      self = .advertising(pairable: pairable)
    case .connected(var encrypted, var bonded, var profile):
      try json.required("encrypted", &encrypted)
      try json.required("bonded", &bonded)
      try json.optional("profile", &profile)
      self = .connected(encrypted: encrypted, bonded: bonded, profile: profile)
    case .pairing(var question):
      try question.members(&json)
      self = .pairing(question)
    case .paired: break
    case .pairingFailed(var reason):
      try json.required("reason", &reason)
      self = .pairingFailed(reason: reason)
    case .disconnected(var reason):
      try json.required("reason", &reason)
      self = .disconnected(reason: reason)
    case .lost(var count, var first, var last):
      try json.required("count", &count)
      try json.required("first", &first)
      try json.required("last", &last)
      self = .lost(count: count, first: first, last: last)
    case .why(var wait, var why):
      try json.required("wait", &wait)
      try json.required("why", &why)
      self = .why(wait: wait, why: why)
    case .error(var what, var code, var message, var rule):
      try json.required("what", &what)
      try json.optional("code", &code)
      try json.required("message", &message)
      try json.optional("rule", &rule)
      self = .error(what: what, code: code, message: message, rule: rule)
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
    case .authorization(var state):
      var granted = state == .granted
      try json.required("granted", &granted)
      try json.required("state", &state)
      var proof = state.proof
      try json.optional("waits_for", &proof)
      state.proof = proof
      self = .authorization(state)
    case .incoming(var event):
      try json.required("change", &event.change)
      try event.members(&json)
      if M.isReading { self = .incoming(event) }
    case .notification(var report):
      var change = report.event.change
      try json.required("change", &change)
      try report.members(&json)
      if M.isReading {
        report.event.change = change
        self = .notification(report)
      }
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
    case .ready, .advertising, .connected, .pairing, .paired, .pairingFailed, .disconnected, .lost,
      .why, .error:
      break
    }
  }
}

// MARK: - Events with their numbers

/// An event with its number and its time. Its line of JSON is encoded once, when it is first
/// needed, and shared by standard output and every client.
public final class NumberedEvent {
  /// Counts up from 1 while the daemon runs.
  public let seq: UInt64
  public let time: WallTime
  public let event: Event

  public init(seq: UInt64, time: WallTime, _ event: Event) {
    self.seq = seq
    self.time = time
    self.event = event
  }

  /// Reads the event from its JSON.
  public init(reading json: JSONValue) throws(JSONError) {
    let read = try EventMembers(reading: json)
    seq = read.seq
    time = read.time
    event = read.event
  }

  /// Reads a line from the control socket; nil if it is not an event's.
  public convenience init?(line: [UInt8]) {
    guard let text = RPC.event(in: line), let json = try? JSONValue(parsing: text) else {
      return nil
    }
    try? self.init(reading: json)
  }

  /// The JSON-RPC notification that carries the event to a client, without its line end. Its prefix is constant, so a
  /// client can copy the event's bytes (`RPC.event(in:)`).
  public private(set) lazy var line: [UInt8] = {
    var json = JSONWriter(capacity: event.content.lineSize)
    json.raw(RPC.eventHead)
    var members = EventMembers(seq: seq, time: time, event: event)
    json.object { members.members(&$0) }
    json.text("}")
    return json.bytes
  }()

  /// The event's JSON, as it is printed.
  public var json: ArraySlice<UInt8> { line[RPC.eventHead.count..<line.count - 1] }
}

/// All members of an event's line.
private struct EventMembers: JSONObjectCodable {
  var seq: UInt64 = 0
  var time = WallTime(seconds: 0)
  var event = Event(.paired)

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var name = event.name
    try json.required("event", &name)
    if M.isReading { event.content = Event.Content(name) }
    try json.required("seq", &seq)
    try json.required("time", &time)
    try json.optional("adapter", &event.adapter)
    try json.optional("phone", &event.phone)
    try event.content.members(&json)
  }
}

// MARK: - Text

extension NumberedEvent {
  /// The event as text: one line or more, without a line end after the last.
  ///
  /// The time of day is the board's. A line wider than the terminal continues below the text, so the times stay in a
  /// column.
  public func text(_ style: TextStyle) -> String {
    let margin = style.isNarrow ? 2 : style.timeText(time).utf8.count + 2
    var head = StyledText(style.timeText(time), .faint)
    if style.namesAdapter, let adapter = event.adapter { head.add(adapter, .faint) }
    switch event.content {
    case .notification(let report):
      return report.lines(head: head, received: time, style, indent: margin)
        .joined(separator: "\n")
    case .media(let state, let changed):
      return state.rows(changed: changed, head: head, style, indent: margin)
        .map { $0.text(style) }.joined(separator: "\n")
    default:
      event.describe(in: &head) { WallTime(time, plus: $0).map(style.localTime) }
      return head.lines(style, indent: margin).joined(separator: "\n")
    }
  }
}

extension Event {
  /// The event as a sentence; empty for a notification and media.
  public var sentence: String {
    var text = StyledText()
    describe(in: &text)
    return text.text(TextStyle())
  }

  /// The sentence without the phone's address, and without what users have named: for reports.
  public var anonymousSentence: String {
    var event = self
    event.phone = nil
    switch content {
    case .ready(let address, _, let version, let life):
      event.content = .ready(address: address, name: "…", version: version, life: life)
    case .error(let what, let code, let message, .some):
      event.content = .error(what: what, code: code, message: message, rule: "…")
    default: break
    }
    return event.sentence
  }

  /// The sentence for an event that is neither a notification nor media.
  ///
  /// - Parameter here: what the board's clock shows this many seconds after the event.
  fileprivate func describe(
    in text: inout StyledText, here: (_ offset: Double) -> CivilTime? = { _ in nil }
  ) {
    switch content {
    case .ready(let address, let name, let version, _):
      text.add("ancsd \(version) ready as", .good)
      text.add("“\(name)”", .strong)
      let place = [adapter, address?.description].compactMap { $0 }.joined(separator: " ")
      if !place.isEmpty { text.add("on \(place)") }
    case .advertising(let pairable):
      text.add(
        pairable
          ? "waiting for a phone; to pair one, open Settings › Bluetooth on it and tap this device"
          : "waiting for the bonded phone")
    case .connected(let encrypted, let bonded, let profile):
      text.add("connected", .good)
      if let phone { text.add(phone.description, .strong) }
      text.add(encrypted ? "encrypted," : "not encrypted yet,")
      text.add(bonded ? "bonded" : "not bonded")
      if let profile { text.add("(advertised: \(profile.rawValue))", .faint) }
    case .pairing(let question):
      text.add("pairing:", .attention)
      Self.describe(question, in: &text)
    case .paired:
      text.add("paired", .good)
      if let phone { text.add("with \(phone)") }
    case .pairingFailed(let reason):
      text.add("pairing failed:", .bad)
      text.add(reason)
    case .subscribed(let services, let mtu, let requests):
      text.add("subscribed to", .good)
      text.add(Self.list(services))
      text.add("(MTU \(mtu), \(requests) requests)", .faint)
    case .authorization(let state): Self.describe(state, in: &text)
    case .incoming(let event):
      text.add("incoming", .faint)
      text.add("\(event.change) #\(event.uid) \(event.category)")
      text.add(event.flags.labels.joined(separator: " "), .faint)
    case .battery(let level):
      text.add("the phone's battery:")
      text.add("\(level) %", level <= 20 ? .attention : .strong)
    case .time(let time, let offset): Self.describe(time, offset, here(offset), in: &text)
    case .stale(let what, let remedy):
      text.add(what, .attention)
      text.add("→ \(remedy)")
    case .servicesChanged(let services):
      text.add("the phone's services are now: \(Self.list(services))")
    case .disconnected(let reason):
      text.add("disconnected:", .attention)
      text.add(reason)
    case .lost(let count, let first, let last):
      text.add("\(count) events from \(first) to \(last) were not read in time", .bad)
    case .why(_, let why): text.add(why)
    case .error(let what, let code, let message, let rule):
      text.add(rule.map { "the rule “\($0)”: \(what):" } ?? "\(what):", .bad)
      text.add(message)
      if let code { text.add("(\(code))", .faint) }
    case .notification, .media: break
    }
  }

  /// - Parameter here: for a phone in another time zone, the time that its clock would show here.
  private static func describe(_ time: CivilTime, _ offset: Double, _ here: CivilTime?, in text: inout StyledText) {
    text.add("the phone's clock: \(time.dateText) \(time.timeText)")
    if let here, abs(here.secondsSince1970 - time.secondsSince1970) > 450 {
      text.add("there, \(here.timeText) here")
    }
    guard offset.isFinite, abs(offset) < 1e15, abs(offset) >= 2 else {
      return text.add("(the board's is the same)", .faint)
    }
    let side = offset > 0 ? "ahead of" : "behind"
    text.add("(\(Int64(abs(offset).rounded())) s \(side) the board's)", .faint)
  }

  private static func describe(_ question: PairingQuestion, in text: inout StyledText) {
    let passkey = question.passkey?.description
    switch question.method {
    case .justWorks: text.add("confirm it on the phone")
    case .confirm:
      text.add("does the phone show")
      text.add("\(passkey ?? "the same number")?", .strong)
    case .display:
      text.add("type")
      text.add(passkey ?? "the passkey", .strong)
      text.add("on the phone")
    case .entry: text.add("the phone shows six digits: type them here")
    }
    if let seconds = question.seconds { text.add("(\(seconds) s left)", .faint) }
  }

  private static func describe(_ state: Authorization, in text: inout StyledText) {
    switch state {
    case .granted: text.add("the phone allows access to its notifications", .good)
    case .unknown(until: .response):
      text.add("the phone has not yet allowed access to its notifications", .attention)
    case .unknown(until: .notification):
      text.add("the phone responds; its first notification will show whether it shares them")
    case .refused:
      text.add("the phone does not allow access to its notifications:", .attention)
      text.add("turn on Settings › Bluetooth › this device › Share System Notifications")
    }
  }

  private static func list(_ services: [PhoneService]) -> String {
    services.isEmpty ? "nothing" : services.map(\.rawValue).joined(separator: ", ")
  }
}

/// Events as text, one below the other, with the date on a separate line when the day changes.
public struct EventPage: Sendable {
  public var style: TextStyle
  private var day: String

  /// - Parameter today: a time on the day whose date is not printed.
  public init(_ style: TextStyle, today: WallTime) {
    self.style = style
    day = style.localTime(today).dateText
  }

  /// The next event, as one line or more.
  public mutating func text(_ event: NumberedEvent) -> String {
    let date = style.localTime(event.time).dateText
    guard date != day else { return event.text(style) }
    day = date
    return StyledText("--- \(date) ---", .faint).text(style) + "\n" + event.text(style)
  }
}

extension WallTime {
  /// The time this many seconds later; nil if that is out of range.
  init?(_ time: WallTime, plus seconds: Double) {
    guard seconds.isFinite, abs(seconds) < 1e10 else { return nil }
    self.init(seconds: time.seconds &+ Int64(seconds.rounded()), nanoseconds: time.nanoseconds)
  }
}
