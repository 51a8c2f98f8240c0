// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
public import Control
public import JSON
public import Wire

/// A request to one board or to all, parsed from words such as `media pause`.
public struct FleetRequest: Hashable, Sendable {
  public let method: String
  public let parameters: JSONObject

  init(_ method: BoardMethod, _ parameters: JSONObject = [:]) {
    self.method = method.name
    self.parameters = parameters
  }

  /// The words that begin a request.
  private static let verbs = ["media", "act", "list", "clear"]

  /// - Throws: what is wrong with the words.
  public init(_ words: [String]) throws(Failure) {
    let rest = Array(words.dropFirst())
    switch words.first {
    case "media"? where rest.isEmpty: self.init(.getMedia)
    case "media"? where rest.count == 1:
      guard let command = RemoteCommand(typed: rest[0])?.name else {
        throw Failure(
          usage: "“\(rest[0])” is not a command for media: choose from \(RemoteCommand.names.joined(separator: ", "))")
      }
      self.init(.sendMediaCommand, ["command": .string(command)])
    case "act"? where rest == ["answer"] || rest == ["decline"]:
      self.init(.call, ["action": .string(rest[0])])
    case "act"?:
      guard rest.count == 2, let uid = NotificationUID(typed: rest[0]),
        let action = NotificationAction(name: rest[1])?.name
      else {
        throw Failure(
          usage: "act needs answer or decline, or a notification and positive or negative (act UID negative)")
      }
      self.init(.act, ["uid": .number(uid.rawValue), "action": .string(action)])
    case "list"? where rest.isEmpty: self.init(.listNotifications)
    case "clear"? where rest.isEmpty: self.init(.clear)
    case let verb?:
      let isKnown = Self.verbs.contains(verb)
      throw Failure(
        usage: isKnown
          ? "“\(rest.joined(separator: " "))” is unexpected after \(verb)"
          : "“\(verb)” is not a request: choose from \(Self.verbs.joined(separator: ", "))")
    case nil: throw Failure(usage: "name a request")
    }
  }

  /// The topic to publish it on, and the topic for the response.
  public func topics(prefix: String, board: TopicName, phone: TopicName?) -> (request: String, response: String) {
    let topics = BoardTopics(prefix: prefix, board: board)
    return (topics.request(method, of: phone), topics.response(to: .init(phone: phone, method: method)))
  }

  /// The payload, with the transaction that identifies the response.
  ///
  /// - Parameters:
  ///   - time: when it is sent, so that no board performs it late.
  ///   - next: where the part of a list begins that is requested; nil: at its beginning.
  public func payload(transaction: String, at time: WallTime, after next: String? = nil) -> [UInt8] {
    var object = parameters
    object["after"] = next.map { .string($0) }
    object.add("time", .string(time.rfc3339))
    object.add("transaction", .string(transaction))
    return JSONValue.object(object).json
  }

  /// Whether it makes sense only for one board, because UIDs belong to a board.
  public var concernsOneBoard: Bool { method == BoardMethod.act.name }
}

/// A board's response to a request.
public struct FleetResponse: JSONObjectCodable, Hashable, Sendable {
  public var board = ""
  public var status = ""
  /// The result; nil for a refusal.
  public var data: JSONValue?
  /// The reason for a refusal, and its code.
  public var error: String?
  public var code: Int?

  public init() {}

  public var isDone: Bool { status == "ok" }

  private var listed: [JSONValue] { data?["notifications"]?.array ?? [] }
  /// Where the list continues, of which a part may be empty, as all in it is withheld; nil: it is complete.
  public var next: String? { data?["next"]?.string }

  /// The same with the earlier parts of its list; a refusal has none.
  public func following(_ earlier: FleetResponse?) -> FleetResponse {
    guard let earlier, var object = data?.object else { return self }
    object["notifications"] = .array(earlier.listed + listed)
    var whole = self
    whole.data = .object(object)
    return whole
  }

  /// Parses a response; nil if it does not belong to this request.
  public init?(_ payload: [UInt8], transaction: String, board: TopicName) {
    guard var object = (try? JSONValue(parsing: payload))?.object,
      object["transaction"]?.string == transaction
    else { return nil }
    object["board"] = .string(board.description)
    self.init(json: .object(object))
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("board", &board)
    try json.required("status", &status)
    try json.optional("data", &data)
    try json.optional("error", &error)
    try json.optional("code", &code)
  }

  /// The response as text: the board, followed by the result.
  public func text(_ style: TextStyle, now: WallTime) -> String {
    var head = StyledText("\(board):", .strong)
    if let error {
      head.add(error.printable, .attention)
      return head.text(style)
    }
    if data?["notifications"]?.array != nil {
      let lines = listed.compactMap { notification -> String? in
        guard var object = notification.object else { return nil }
        // It is a name in topics, not an address.
        object["phone"] = nil
        return ActiveNotification(json: .object(object))?.report.listing(style, now: now)
      }
      guard !lines.isEmpty else {
        head.add("nothing is active", .faint)
        return head.text(style)
      }
      return ([head.text(style)] + lines).joined(separator: "\n")
    }
    if let media = data.flatMap(MediaState.init(published:)) {
      return "\(head.text(style))\n\(media.text(style))"
    }
    if let count = data?["done"]?.int {
      head.add("\(count) done")
    } else {
      head.add("done", .good)
    }
    return head.text(style)
  }
}
