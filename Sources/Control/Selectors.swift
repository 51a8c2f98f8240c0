// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import JSON
public import Wire

/// The events that a client subscribes to.
public struct Subscription: JSONObjectCodable, Hashable, Sendable {
  /// The kinds of events; nil: all but the quiet ones (`incoming`, `why`).
  public var events: Set<EventName>?
  /// Whether to send what is active now first.
  public var replay = false
  /// The number of the last event that the client has seen; later ones are sent first.
  public var since: UInt64?
  /// The run of the daemon that the number is from, as in `ready`; in another run, all kept events
  /// are sent first.
  public var life: String?
  /// How old these may be, in seconds; older ones count as lost.
  public var maxAge: PositiveSeconds?

  public init() {}

  public init(
    events: Set<EventName>? = nil, replay: Bool = false, since: UInt64? = nil, life: String? = nil, maxAge: Int? = nil
  ) {
    self.events = events
    self.replay = replay
    self.since = since
    self.life = life
    self.maxAge = maxAge.map { PositiveSeconds(value: $0) }
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var names = events.map { $0.sorted { $0.rawValue < $1.rawValue } }
    try json.optional("events", &names)
    events = names.flatMap { $0.isEmpty ? nil : Set($0) }
    try json.flag("replay", &replay)
    try json.optional("since", &since)
    try json.optional("life", &life)
    try json.optional("max_age", &maxAge)
  }

  /// Whether it includes events of this kind.
  public func includes(_ name: EventName) -> Bool { events?.contains(name) ?? !name.isQuiet }
}

/// Selects active notifications.
public struct NotificationQuery: PagedParameters, Hashable, Sendable {
  public var phone: PhoneSelector?
  /// The app, by its identifier or its name.
  public var app: Glob?
  public var category: Category?
  public var after: String?

  public init() {}

  public init(phone: PhoneSelector? = nil, app: Glob? = nil, category: Category? = nil) {
    self.phone = phone
    self.app = app
    self.category = category
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("phone", &phone)
    try json.optional("app", &app)
    try json.optional("category", &category)
    try json.optional("after", &after)
  }

  /// Whether a notification matches, whatever its phone.
  public func matches(_ notification: NotificationReport) -> Bool {
    matches(notification.event.category, notification.attributes.appIdentifier, named: notification.app)
  }

  /// - Parameters:
  ///   - appID: the app's identifier, if it is known; so with its name.
  public func matches(_ category: Category, _ appID: String?, named name: String?) -> Bool {
    if let wanted = self.category, wanted != category { return false }
    guard let app else { return true }
    return [appID, name].contains { $0.map(app.matches) ?? false }
  }
}

/// A phone as the user names it: by its identity address, or by its name.
public struct PhoneSelector: JSONText, Hashable, Sendable {
  public static let jsonKind = String.jsonKind
  public let description: String

  public init(_ description: String) { self.description = description }
  public init(_ address: Address) { description = address.description }

  /// Whether it selects by name, not by address.
  public var isName: Bool { Address(description) == nil }

  /// Whether it is this phone.
  public func matches(_ address: Address?, name: String?) -> Bool {
    if let wanted = Address(description) { return wanted == address }
    return name.map { $0.lowercased() == description.lowercased() } ?? false
  }
}

/// A shell-style pattern: `*` for any characters, `?` for one; case does not matter.
public struct Glob: JSONText, Hashable, Sendable {
  public static let jsonKind = String.jsonKind
  /// The pattern.
  public let description: String
  /// The same in lower case.
  private let pattern: [Character]

  public init(_ description: String) {
    self.description = description
    pattern = Array(description.lowercased())
  }

  /// Whether the whole text matches. It takes at most length times length steps.
  public func matches(_ text: String) -> Bool {
    let text = Array(text.lowercased())
    var place = 0
    var next = 0
    // Where to continue if what follows the last star does not match.
    var star: (place: Int, next: Int)?
    while next < text.count {
      if place < pattern.count, pattern[place] == "*" {
        star = (place, next)
        place += 1
      } else if place < pattern.count, pattern[place] == "?" || pattern[place] == text[next] {
        place += 1
        next += 1
      } else if let last = star {
        star = (last.place, last.next + 1)
        place = last.place + 1
        next = last.next + 1
      } else {
        return false
      }
    }
    return pattern[place...].allSatisfy { $0 == "*" }
  }
}
