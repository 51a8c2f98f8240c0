// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
public import Control
public import JSON
public import Wire

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

  /// Parses a response; nil if it does not belong to this request.
  public init?(_ payload: [UInt8], transaction: String, board: TopicName) {
    guard let object = (try? JSONValue(parsing: payload))?.object,
      object["transaction"]?.string == transaction, let status = object["status"]?.string
    else { return nil }
    self.board = board.description
    self.status = status
    data = object["data"]
    error = object["error"]?.string
    code = object["code"]?.int.flatMap { Int(exactly: $0) }
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
    if let list = data?["notifications"]?.array {
      let lines = list.compactMap { notification -> String? in
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
    if var object = data?.object, object["player"] != nil {
      // What the board withholds is missing.
      for name in ["queue", "track"] where object[name] == nil { object[name] = [:] }
      if let media = MediaState(json: .object(object)) {
        return "\(head.text(style))\n\(media.text(style))"
      }
    }
    if let count = data?["done"]?.int {
      head.add("\(count) done")
    } else {
      head.add("done", .good)
    }
    return head.text(style)
  }
}
