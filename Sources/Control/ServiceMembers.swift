// SPDX-License-Identifier: GPL-3.0-or-later
public import AMS
public import ANCS
public import JSON
import Wire

// The members of the ANCS and AMS types in events and results.

// MARK: - Notifications

extension NotificationReport: JSONObjectCodable {
  /// An empty notification, to read values into.
  public init() { self.init(NotificationEvent(.added, 0, categoryCount: 0)) }

  /// All but `change`, which only events have.
  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    // Copied out first: passing a part as inout would copy the shared report.
    var (event, attributes, app, sent) = (event, attributes, app, sent)
    var (isRepeat, isUrgent, isStale) = (isRepeat, display == .urgent, isStale)
    var (size, date, failure) = (attributes.messageSize, attributes.fetchedDate, failure)
    try event.members(&json)
    try json.text("app_id", .appIdentifier, of: &attributes)
    try json.optional("app", &app)
    try json.text("title", .title, of: &attributes)
    try json.text("subtitle", .subtitle, of: &attributes)
    try json.text("message", .message, of: &attributes)
    try json.optional("message_size", &size)
    try json.optional("date", &date)
    try json.optional("date_utc", &sent)
    try json.text("positive", .positiveActionLabel, of: &attributes)
    try json.text("negative", .negativeActionLabel, of: &attributes)
    var truncated = attributes.truncated
    if M.isReading || !truncated.isEmpty { try json.list("truncated", &truncated) }
    try json.flag("repeat", &isRepeat)
    try json.flag("urgent", &isUrgent)
    try json.flag("stale", &isStale)
    try json.optional("error", &failure)
    guard M.isReading else { return }
    (attributes.messageSize, attributes.fetchedDate) = (size, date)
    attributes.truncated = truncated
    (self.event, self.attributes, self.app, self.sent) = (event, attributes, app, sent)
    (self.isRepeat, self.isStale, self.failure) = (isRepeat, isStale, failure)
    if isUrgent { display = .urgent }
  }
}

extension JSONMembers {
  /// A text of a notification; omitted if it was not fetched.
  fileprivate mutating func text(
    _ name: StaticString, _ id: NotificationAttributeID, of attributes: inout NotificationAttributes
  ) throws(Failure) {
    try optional(name, utf8: attributes.utf8(id)) { attributes[id] = $0 }
  }
}

extension NotificationEvent {
  /// All but `change`, which only events have.
  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("uid", &uid)
    try json.required("category", &category)
    try json.required("category_count", &categoryCount)
    try json.required("flags", &flags)
  }
}

/// A number that is its name in JSON, or the number as a string if it has none; only the name is read.
public protocol JSONNamedNumber: JSONCodable, NamedNumber {}

extension JSONNamedNumber {
  public func write(to json: inout JSONWriter) { json.word(name ?? String(rawValue)) }
  public init?(json: JSONValue) {
    guard let number = json.string.flatMap(Self.init(name:)) else { return nil }
    self = number
  }

  /// Reads a number as well.
  fileprivate init?(nameOrNumber json: JSONValue) {
    let number = UInt8(json: json) ?? json.string.flatMap { UInt8(digits: $0) }
    let named = json.string.flatMap(Self.init(name:))
    guard let read = named ?? number.map(Self.init(rawValue:)) else { return nil }
    self = read
  }
}

extension NotificationChange: JSONNamedNumber { public static let jsonKind = "a change" }

extension NotificationUID: JSONCodable {
  public static let jsonKind = UInt32.jsonKind
  public func write(to json: inout JSONWriter) { rawValue.write(to: &json) }
  public init?(json: JSONValue) {
    guard let number = UInt32(json: json) else { return nil }
    self.init(rawValue: number)
  }

  /// Reads a number as it is typed: `20`, or `#20` as it is printed.
  public init?(typed text: String) {
    guard let number = UInt32(digits: text.first == "#" ? text.dropFirst() : text[...]) else { return nil }
    self.init(rawValue: number)
  }
}

/// The name, or the number if the category has none.
extension Category: JSONNamedNumber {
  public static let jsonKind = "one of \(names.joined(separator: ", ")), nor a number"

  public func write(to json: inout JSONWriter) {
    if let name { json.word(name) } else { rawValue.write(to: &json) }
  }

  public init?(json: JSONValue) { self.init(nameOrNumber: json) }
}

/// An array of names; bits without one as in `"0x20"`.
extension EventFlags: JSONCodable {
  public static let jsonKind = "an array of flags: \(EventFlags(rawValue: 0x1F).names.joined(separator: ", "))"

  public func write(to json: inout JSONWriter) {
    json.array { json in
      for bit in 0..<8 where rawValue >> bit & 1 != 0 {
        json.element()
        json.word(Self.label(ofBit: bit))
      }
    }
  }

  public init?(json: JSONValue) {
    self = []
    for value in json.array ?? [nil] {
      guard
        let flag = value.string.flatMap(EventFlags.init(name:)) ?? UInt8(json: value).map(EventFlags.init(rawValue:))
      else { return nil }
      insert(flag)
    }
  }
}

/// One of three names; `waits_for` is a member of its own.
extension Authorization: JSONNamed {
  public static let jsonKind = "one of unknown, granted, refused"

  public var rawValue: String {
    switch self {
    case .unknown: "unknown"
    case .granted: "granted"
    case .refused: "refused"
    }
  }

  public init?(rawValue: String) {
    let named: [String: Authorization] = [
      "unknown": .unknown(until: .response), "granted": .granted, "refused": .refused,
    ]
    guard let state = named[rawValue] else { return nil }
    self = state
  }

  /// Whether the phone allows access; nil while it is unknown.
  public var allowsAccess: Bool? { if case .unknown = self { nil } else { self == .granted } }

  /// What it waits for; nil unless it is unknown.
  public var proof: Proof? {
    get { if case .unknown(let proof) = self { proof } else { nil } }
    set { if let newValue, case .unknown = self { self = .unknown(until: newValue) } }
  }
}

extension Authorization.Proof: JSONNamed {
  public static let jsonKind = "one of \(allCases.map(\.rawValue))"
}

extension NotificationAttributeID: JSONNamedNumber {
  public static let jsonKind = "the name of an attribute"
}

extension NotificationAction: JSONNamedNumber {
  public static let jsonKind = "positive or negative"
}

// MARK: - Media

extension MediaState: JSONObjectCodable {
  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("player", &player)
    try json.required("queue", &queue)
    try json.required("track", &track)
    // A reserved command has no name that a user could type.
    var named = commands?.filter { $0.name != nil } ?? []
    try json.list("commands", &named)
    if M.isReading { commands = named }
  }

  /// The state with its position calculated for `now`, as events and results have it.
  public func carried(to now: Instant) -> MediaState {
    var state = self
    state.player.position = elapsed(at: now).map { Position(seconds: $0, instant: now) }
    return state
  }
}

extension MediaState.Player: JSONObjectCodable {
  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var elapsed = position?.seconds
    try json.nullable("name", &name)
    try json.nullable("state", &state)
    try json.nullable("rate", &rate, places: 6)
    try json.nullable("elapsed", &elapsed, places: 3)
    try json.nullable("volume", &volume, places: 6)
    if M.isReading { position = elapsed.map { MediaState.Position(seconds: $0, instant: .zero) } }
  }
}

extension MediaState.Queue: JSONObjectCodable {
  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.nullable("index", &index)
    try json.nullable("count", &count)
    try json.nullable("shuffle", &shuffleMode)
    try json.nullable("repeat", &repeatMode)
  }
}

extension MediaState.Track: JSONObjectCodable {
  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.nullable("artist", &artist)
    try json.nullable("album", &album)
    try json.nullable("title", &title)
    try json.nullable("duration", &duration, places: 6)
  }
}

extension MediaField: JSONNamed { public static let jsonKind = "a field of the media state" }

extension PlaybackState: JSONNamedNumber {
  public static let jsonKind = "a playback state"
  public init?(json: JSONValue) { self.init(nameOrNumber: json) }
}

extension QueueMode: JSONNamedNumber {
  public static let jsonKind = "off, one or all"
  public init?(json: JSONValue) { self.init(nameOrNumber: json) }
}

extension RemoteCommand: JSONNamedNumber {
  public static let jsonKind = "a command"

  /// Names of commands in other programs (MPRIS, MPD). AMS has no command that stops.
  public static let aliases: [(name: String, command: RemoteCommand)] = [
    ("play-pause", .togglePlayPause), ("stop", .pause), ("prev", .previousTrack),
  ]

  /// Reads a command as it is typed: by its name, or by that in other programs.
  public init?(typed text: String) {
    let name = text.lowercased()
    let alias = Self.aliases.first { $0.name == name }
    guard let command = alias?.command ?? RemoteCommand(name: name) else { return nil }
    self = command
  }
}

// MARK: - Values of other modules

extension Address: JSONText {
  public static let jsonKind = "an address"
  public func write(to json: inout JSONWriter) { json.plainString { add(to: &$0) } }
}

extension CivilTime: JSONText {
  public static let jsonKind = "a time"
  public func write(to json: inout JSONWriter) { json.plainString { add(to: &$0) } }
}

extension UUID: JSONText { public static let jsonKind = "a UUID" }

extension WallTime: JSONCodable {
  public static let jsonKind = "a time"
  public func write(to json: inout JSONWriter) { json.plainString { addRFC3339(to: &$0) } }
  public init?(json: JSONValue) {
    guard let time = json.string.flatMap({ WallTime(rfc3339: $0) }) else { return nil }
    self = time
  }
}
