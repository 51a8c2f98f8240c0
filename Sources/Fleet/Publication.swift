// SPDX-License-Identifier: GPL-3.0-or-later
import Control
public import JSON
import Wire

/// A message for the broker.
public struct Publication: Hashable, Sendable {
  public let topic: String
  /// An empty payload removes the retained one.
  public let payload: [UInt8]
  public let kind: Kind

  public enum Kind: Hashable, Sendable {
    /// A state: retained, and obsolete once the next one arrives. The broker forgets it after `expiry` seconds, if it would be
    /// wrong without the board.
    case state(expiry: UInt32? = nil)
    /// An event: never retained. `position` is its place among the daemon's events; it expires at the broker after
    /// `expiry` seconds.
    case event(Position, expiry: UInt32)
    /// The response to a request.
    case response(correlation: [UInt8]?)
    /// A request to a board: at most once, so without acknowledgement.
    case request
  }

  public init(_ topic: String, _ payload: [UInt8], _ kind: Kind) {
    self.topic = topic
    self.payload = payload
    self.kind = kind
  }

  /// A state, as an object.
  static func state(_ topic: String, _ object: JSONObject) -> Publication {
    Publication(topic, JSONValue.object(object).json, .state())
  }

  static func state(_ topic: String, _ value: some JSONObjectCodable) -> Publication {
    Publication(topic, value.json, .state())
  }

  /// When an event that came now is too old; nil for anything else.
  func end(from now: Instant) -> Instant? {
    guard case .event(_, let expiry) = kind else { return nil }
    return now + .seconds(Int64(expiry))
  }

  /// The same, for a broker that keeps it for so many seconds only.
  func expiring(after seconds: UInt32) -> Publication {
    guard case .event(let position, _) = kind else { return self }
    return Publication(topic, payload, .event(position, expiry: seconds))
  }

  /// What is sent instead, for a broker that takes no more: an event without the text that is cut first, a response that
  /// says so. Nil if there is no such.
  public func shortened() -> Publication? {
    guard var object = try? JSONValue(parsing: payload).object else { return nil }
    switch kind {
    case .event:
      guard let name = ["message", "subtitle", "title"].first(where: { object[$0] != nil }) else {
        return nil
      }
      object[name] = nil
      object["withheld"] = .array((object["withheld"]?.array ?? []) + [.string(name)])
    case .response:
      guard object["status"] == "ok" else { return nil }
      object = RPCError.tooLong.response(transaction: object["transaction"])
    case .state, .request: return nil
    }
    return Publication(topic, JSONValue.object(object).json, kind)
  }

  /// Removes the retained payload of a topic.
  static func removal(_ topic: String) -> Publication { Publication(topic, [], .state()) }

  public var isState: Bool { if case .state = kind { true } else { false } }
  public var isEvent: Bool { position != nil }
  public var isRemoval: Bool { isState && payload.isEmpty }
  /// Whether it tells Home Assistant of a device, or that it is gone.
  public var isOfDevice: Bool { isState && BoardTopics.isOfDevice(topic) }

  /// Its place among the daemon's events; nil if it is none.
  var position: Position? { if case .event(let position, _) = kind { position } else { nil } }
}

/// A place among the events of a daemon: numbers are valid within one run.
public struct Position: JSONObjectCodable, Hashable, Sendable {
  /// Identifies the run of the daemon, as in `ready`.
  public var life = ""
  /// The number of the last event.
  public var seq: UInt64 = 0

  public init() {}

  public init(life: String, seq: UInt64) {
    self.life = life
    self.seq = seq
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("life", &life)
    try json.required("seq", &seq)
  }
}
