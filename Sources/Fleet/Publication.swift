// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON

/// A message for the broker.
public struct Publication: Hashable, Sendable {
  public let topic: String
  /// Empty: what is retained on the topic is removed.
  public let payload: [UInt8]
  public let kind: Kind

  public enum Kind: Hashable, Sendable {
    /// What is: retained, and obsolete once the next one is there.
    case state
    /// What has happened: never retained. `position` is where it is among the daemon's events; the broker forgets it
    /// after `expiry` seconds.
    case event(Position, expiry: UInt32)
    /// The answer to a request.
    case response(correlation: [UInt8]?)
    /// What is asked of a board: at most once, so that it is not acknowledged.
    case request
  }

  public init(_ topic: String, _ payload: [UInt8], _ kind: Kind) {
    self.topic = topic
    self.payload = payload
    self.kind = kind
  }

  /// A state, as an object.
  static func state(_ topic: String, _ object: JSONObject) -> Publication {
    Publication(topic, JSONValue.object(object).json, .state)
  }

  /// What is sent instead, for a broker that takes no more: an event without the text that is cut first, an answer that
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
      object = RequestError.tooLong.answer(transaction: object["transaction"])
    case .state, .request: return nil
    }
    return Publication(topic, JSONValue.object(object).json, kind)
  }

  /// What removes what is retained on a topic.
  static func removal(_ topic: String) -> Publication { Publication(topic, [], .state) }
}

/// A place among the events of a daemon: numbers count in one of its lives.
public struct Position: JSONObjectCodable, Hashable, Sendable {
  /// The daemon's life, as in `ready`.
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
