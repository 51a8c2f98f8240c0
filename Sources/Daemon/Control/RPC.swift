// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON

// JSON-RPC 2.0 (https://www.jsonrpc.org/specification), one object a line each way. Batches are not
// taken: a line is a request already, and requests may be sent without waiting for the answers.

/// What tells an answer which request it belongs to; kept as it came.
public enum RequestID: Hashable, Sendable {
  case string(String)
  case number(JSONValue)
  /// Of an answer to something that could not be read as a request.
  case null

  /// A string, a number or null; nil for anything else.
  public init?(_ json: JSONValue) {
    switch json {
    case .string(let text): self = .string(text)
    case .int, .double: self = .number(json)
    case .null: self = .null
    default: return nil
    }
  }

  public var json: JSONValue {
    switch self {
    case .string(let text): .string(text)
    case .number(let number): number
    case .null: .null
    }
  }
}

/// Why a request is not done.
public struct RPCError: Error, Hashable, Sendable {
  public var code: Int
  /// One sentence, or the name of an error.
  public var message: String
  public var data: JSONValue?

  public init(code: Int, message: String, data: JSONValue? = nil) {
    self.code = code
    self.message = message
    self.data = data
  }

  /// The line is not JSON.
  public static func parse(_ why: String) -> RPCError {
    RPCError(code: -32700, message: "Parse error: \(why)")
  }

  /// The JSON is not a request.
  public static func invalidRequest(_ why: String) -> RPCError {
    RPCError(code: -32600, message: "Invalid Request: \(why)")
  }

  public static func methodNotFound(_ name: String) -> RPCError {
    RPCError(code: -32601, message: "Method not found: \(name)")
  }

  public static func invalidParams(_ why: String) -> RPCError {
    RPCError(code: -32602, message: "Invalid params: \(why)")
  }

  /// A fault of the daemon's own.
  public static func internalError(_ why: String) -> RPCError {
    RPCError(code: -32603, message: "Internal error: \(why)")
  }

  /// The phone answered with an ATT error.
  public static func phone(_ name: String, att: UInt8) -> RPCError {
    RPCError(code: Code.phone, message: name, data: ["att": .number(att)])
  }

  /// What is asked for is not there: no phone, no such notification.
  public static func unavailable(_ why: String) -> RPCError {
    RPCError(code: Code.unavailable, message: why)
  }

  /// It can't be done now, but later it may.
  public static func tryAgain(_ why: String) -> RPCError {
    RPCError(code: Code.tryAgain, message: why)
  }

  /// The daemon may not.
  public static func noPermission(_ why: String) -> RPCError {
    RPCError(code: Code.noPermission, message: why)
  }

  /// The codes that are ours; clients turn them into exit statuses.
  public enum Code {
    public static let phone = 1
    public static let unavailable = 2
    public static let tryAgain = 3
    public static let noPermission = 4
  }

  /// The ATT error, where the phone refused.
  public var attError: UInt8? {
    code == Code.phone ? data?["att"]?.int.flatMap(UInt8.init(exactly:)) : nil
  }

  public var json: JSONValue {
    var object: JSONObject = ["code": .number(code), "message": .string(message)]
    object.add("data", data)
    return .object(object)
  }

  /// Reads what `json` writes.
  public init(json: JSONValue?) throws(ShapeError) {
    let fields = try Fields(json)
    code = try fields.integer("code")
    message = try fields.string("message")
    data = fields.object["data"]
  }
}

/// The lines of JSON-RPC, each without its line end.
public enum RPCLine {
  /// A request; one without an id wants no answer.
  public static func request(_ method: String, _ params: JSONObject, id: RequestID?) -> JSONValue {
    var object: JSONObject = ["jsonrpc": "2.0"]
    object.add("id", id?.json)
    object.add("method", method)
    if !params.members.isEmpty { object.add("params", .object(params)) }
    return .object(object)
  }

  /// The answer to a request that was done.
  public static func result(_ result: JSONValue, id: RequestID) -> JSONValue {
    ["jsonrpc": "2.0", "id": id.json, "result": result]
  }

  /// The answer to a request that was not.
  public static func error(_ error: RPCError, id: RequestID) -> JSONValue {
    ["jsonrpc": "2.0", "id": id.json, "error": error.json]
  }

  /// What stands in front of an event; fixed, so that an event is written once for all who listen,
  /// and a client can print it as it came.
  private static let eventHead = Array(#"{"jsonrpc":"2.0","method":"event","params":"#.utf8)

  /// An event for those who have subscribed.
  public static func event(_ event: JSONValue) -> [UInt8] {
    var bytes = eventHead
    bytes.reserveCapacity(512)
    event.write(to: &bytes)
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }

  /// The event out of a line that `event` wrote, as it was written; nil for any other line.
  public static func eventText(in line: [UInt8]) -> ArraySlice<UInt8>? {
    guard line.starts(with: eventHead), line.last == UInt8(ascii: "}") else { return nil }
    return line[eventHead.count..<line.count - 1]
  }
}
