// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON

// JSON-RPC 2.0 (https://www.jsonrpc.org/specification), one object per line in each direction. A batch is an array of
// requests in one line; requests may also be sent without waiting for responses.

/// The id of a request, which its response repeats unchanged: a string, a number or null.
public struct RequestID: JSONCodable, Hashable, Sendable {
  public static let jsonKind = "a string, a number or null"
  /// The id of a response to a line that could not be read as a request.
  public static let null = RequestID(value: .null)
  private let value: JSONValue

  private init(value: JSONValue) { self.value = value }
  public init(_ number: Int64) { value = .int(number) }

  public init?(json: JSONValue) {
    switch json {
    case .string, .int, .double, .null: value = json
    case .bool, .array, .object: return nil
    }
  }

  public func write(to json: inout JSONWriter) { value.write(to: &json) }
}

/// Why a request failed.
public struct RPCError: Error, JSONObjectCodable, Hashable, Sendable {
  public var code = 0
  /// One sentence, or the name of an error.
  public var message = ""
  /// The ATT error code, if the phone refused.
  public var att: UInt8?

  public init() {}

  public init(_ code: Int, _ message: String, att: UInt8? = nil) {
    self.code = code
    self.message = message
    self.att = att
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("code", &code)
    try json.required("message", &message)
    var data: JSONValue? = att.map { ["att": .number($0)] }
    try json.optional("data", &data)
    att = data?["att"].flatMap { UInt8(json: $0) }
  }

  /// The codes that clients turn into exit statuses: two of JSON-RPC's, and the project's own.
  public enum Code {
    public static let methodNotFound = -32601
    public static let invalidParams = -32602
    public static let phone = 1
    public static let unavailable = 2
    public static let tryAgain = 3
    public static let forbidden = 4
  }

  /// The line is not JSON.
  public static func parse(_ why: String) -> RPCError { RPCError(-32700, "Parse error: \(why)") }

  /// The JSON is not a request.
  public static func invalidRequest(_ why: String) -> RPCError {
    RPCError(-32600, "Invalid Request: \(why)")
  }

  public static func methodNotFound(_ name: String) -> RPCError {
    RPCError(Code.methodNotFound, "Method not found: \(name)")
  }

  public static func invalidParams(_ why: String) -> RPCError {
    RPCError(Code.invalidParams, "Invalid params: \(why)")
  }

  /// A bug in the daemon itself.
  public static func internalError(_ why: String) -> RPCError {
    RPCError(-32603, "Internal error: \(why)")
  }

  /// The phone refused.
  public static func phone(_ message: String, att: UInt8?) -> RPCError {
    RPCError(Code.phone, message, att: att)
  }

  /// The requested object does not exist: no phone, no such bond, no radio.
  public static func unavailable(_ why: String) -> RPCError { RPCError(Code.unavailable, why) }

  /// It can't be done now, but perhaps later.
  public static func tryAgain(_ why: String) -> RPCError { RPCError(Code.tryAgain, why) }

  /// This user may not use the daemon.
  public static func forbidden(_ why: String) -> RPCError { RPCError(Code.forbidden, why) }
}

/// The lines of JSON-RPC, each without its line end.
public enum RPC {
  /// A request; one without an id gets no response.
  public static func request(_ method: String, _ parameters: some JSONObjectCodable, id: RequestID?) -> [UInt8] {
    message(id) { json in
      json.name("method")
      json.string(method)
      let parameters = parameters.json
      // Two bytes are the empty object.
      guard parameters.count > 2 else { return }
      json.name("params")
      json.raw(parameters)
    }
  }

  /// The response to a request that succeeded.
  public static func result(_ result: some JSONCodable, id: RequestID) -> [UInt8] {
    message(id) { json in
      json.name("result")
      result.write(to: &json)
    }
  }

  /// The response to a request that failed.
  public static func error(_ error: RPCError, id: RequestID) -> [UInt8] {
    message(id) { json in
      json.name("error")
      error.write(to: &json)
    }
  }

  /// The responses to the requests of a batch, in any order.
  public static func batch(of replies: [[UInt8]]) -> [UInt8] {
    [UInt8(ascii: "[")] + replies.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
  }

  private static func message(_ id: RequestID?, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.name("jsonrpc")
      json.string("2.0")
      if let id {
        json.name("id")
        id.write(to: &json)
      }
      write(&json)
    }
    return json.bytes
  }

  /// The elements in a response with a `Page`, each as the daemon wrote it, and where the list continues; nil for any
  /// other line.
  public static func elements(
    of line: [UInt8], listed name: StaticString, id: Int64
  ) -> (elements: [ArraySlice<UInt8>], next: String?)? {
    let head = #"{"jsonrpc":"2.0","id":\#(id),"result":{"\#(name)":["#
    guard line.starts(with: head.utf8) else { return nil }
    guard let (elements, rest) = JSONValue.elements(ofArray: line[head.utf8.count...]) else {
      return nil
    }
    // The rest is `}}` or `,"next":"…"}}`.
    if rest.elementsEqual("}}".utf8) { return (elements, nil) }
    guard rest.first == UInt8(ascii: ","),
      let next = try? JSONValue(parsing: "{".utf8 + rest.dropFirst().dropLast())["next"]?.string
    else { return nil }
    return (elements, next)
  }

  /// The bytes before an event in its line.
  static let eventHead = Array(#"{"jsonrpc":"2.0","method":"event","params":"#.utf8)

  /// The event's JSON in a line of `NumberedEvent`, byte for byte; nil for any other line.
  public static func event(in line: [UInt8]) -> ArraySlice<UInt8>? {
    guard line.starts(with: eventHead), line.last == UInt8(ascii: "}") else { return nil }
    return line[eventHead.count..<line.count - 1]
  }
}
