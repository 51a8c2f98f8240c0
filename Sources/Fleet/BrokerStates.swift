// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
public import JSON
import Wire

// What a board retains on the broker (docs/mqtt.md, “Topics”). BoardMirror writes it, and FleetView reads it.

/// Whether a board has a connection, or a phone; `unknown` is not published.
public enum Presence: String, JSONNamed, Sendable {
  case online, offline, unknown

  public static let jsonKind = "online or offline"
}

/// Whether the board is online; also its will.
struct BoardPresence: JSONObjectCodable, Hashable {
  var state = Presence.offline
  var life: String?
  var version: String?
  var why: String?

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("state", &state)
    try json.optional("life", &life)
    try json.optional("version", &version)
    try json.optional("why", &why)
  }
}

/// What the board waits for.
struct BoardCondition: JSONObjectCodable, Hashable {
  var wait: String?
  var why: String?
  /// Whether it needs attention.
  var isProblem = false
  var isPairable = false
  var adapters: [Adapter] = []
  var version: String?
  /// The latest version that there is.
  var latest: String?

  struct Adapter: JSONObjectCodable, Hashable {
    var adapter: String?
    var isPresent = false
    var isPowered = false
    var isAdvertising = false
    var isPairable = false
    var wait: String?

    mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
      try json.optional("adapter", &adapter)
      try json.required("present", &isPresent)
      try json.required("powered", &isPowered)
      try json.required("advertising", &isAdvertising)
      try json.required("pairable", &isPairable)
      try json.optional("wait", &wait)
    }
  }

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.nullable("wait", &wait)
    try json.nullable("why", &why)
    try json.required("problem", &isProblem)
    try json.required("pairable", &isPairable)
    try json.list("adapters", &adapters)
    try json.optional("version", &version)
    try json.optional("latest", &latest)
  }
}

/// A phone's link.
struct PhonePresence: JSONObjectCodable, Hashable {
  var state = Presence.offline
  var authorization: Authorization?
  var services: [String] = []
  /// In dBm.
  var rssi: Int?
  var wait: String?
  /// Since when it is connected, or when it last was.
  var seen: WallTime?

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("state", &state)
    try json.nullable("authorization", &authorization)
    try json.list("services", &services)
    try json.nullable("rssi", &rssi)
    try json.optional("wait", &wait)
    try json.optional("seen", &seen)
  }
}

/// A phone's battery.
struct PhoneBattery: JSONObjectCodable, Hashable {
  /// In per cent.
  var level = 0

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("level", &level)
  }
}

/// Whether a call rings.
struct PhoneCall: JSONObjectCodable, Hashable {
  enum State: String, JSONNamed {
    case idle, ringing

    static let jsonKind = "idle or ringing"
  }

  var state = State.idle
  var app: String?

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("state", &state)
    try json.optional("app", &app)
  }
}

/// How many notifications are active.
struct PhoneCounts: JSONObjectCodable, Hashable {
  /// Nil if it is not known, because the program did not see the phone leave.
  var total: Int?
  /// The numbers by category.
  var categories = JSONValue.object([:])
  /// When they were last right; nil: they are right now.
  var asOf: WallTime?

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.nullable("total", &total)
    try json.required("categories", &categories)
    try json.optional("as_of", &asOf)
  }
}

extension MediaState {
  /// Reads what a board has published, without what it withholds.
  init?(published json: JSONValue) {
    guard var object = json.object, object["player"] != nil else { return nil }
    for name in ["queue", "track"] where object[name] == nil { object[name] = [:] }
    self.init(json: .object(object))
  }
}
