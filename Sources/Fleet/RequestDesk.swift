// SPDX-License-Identifier: GPL-3.0-or-later
import Control
public import JSON
public import Wire

/// A message sent to a board.
public struct IncomingMessage: Hashable, Sendable {
  public var topic: String
  public var payload: [UInt8]
  /// Whether it was retained, or is to be retained.
  public var isRetained: Bool
  /// The topic for the response (MQTT 5, 3.3.2.3.5).
  public var responseTopic: String?
  public var correlation: [UInt8]?

  public init(
    topic: String, payload: [UInt8], isRetained: Bool = false, responseTopic: String? = nil,
    correlation: [UInt8]? = nil
  ) {
    self.topic = topic
    self.payload = payload
    self.isRetained = isRetained
    self.responseTopic = responseTopic
    self.correlation = correlation
  }
}

/// Makes the line of a call to the daemon for a request.
public typealias DaemonCall = @Sendable (_ id: Int64) -> [UInt8]

extension ControlMethod {
  func call(_ parameters: Parameters) -> DaemonCall {
    { RPC.request(name, parameters, id: RequestID($0)) }
  }
}

/// Parses requests, and produces responses.
///
///     message ──receive──▶ refused: a response
///                      └─▶ calls for the daemon ──answered──▶ a response, once all have one
///
/// What comes in is bounded: 8 KiB a request, 16 of them under way, 30 s for each.
public struct RequestDesk: Sendable {
  /// A request in progress.
  private struct Pending: Sendable {
    let reply: ReplyTo
    let deadline: Instant
    let target: BoardTopics.RequestTarget
    /// The number of its unanswered calls.
    var open: Int
    var done = 0
    var failed: RPCError?
    /// Whether it consists of several actions, whose response is their number.
    let counts: Bool
  }

  /// The destination of a response, and its identification.
  private struct ReplyTo: Sendable {
    var topic: String
    let correlation: [UInt8]?
    var transaction: JSONValue?
  }

  /// The outcome of a message, or of a response from the daemon.
  public struct Outcome: Sendable {
    public var publications: [Publication] = []
    /// Calls for the daemon, each with the number of their request for `answered`.
    public var calls: [(number: Int64, call: DaemonCall)] = []
  }

  /// The longest request, in bytes.
  static let longest = 8_192
  /// The limits on its JSON.
  static let json = JSONLimits(depth: 8, cost: 256)
  /// The maximum number in progress.
  static let most = 16
  static let patience = Duration.seconds(30)
  /// How many seconds ago a request may have been sent, if it says when.
  static let longestDelay: Int64 = 10

  private var pending: [Int64: Pending] = [:]
  private var lastRequest: Int64 = 0

  public init() {}

  /// When the next request times out; nil if none is in progress.
  public var deadline: Instant? { pending.values.map(\.deadline).min() }

  // MARK: Requests

  /// A message has arrived.
  public mutating func receive(
    _ message: IncomingMessage, _ mirror: BoardMirror, now: Instant, time: WallTime
  ) -> Outcome {
    guard let target = mirror.topics.requestTarget(message.topic) else { return Outcome() }
    var reply = ReplyTo(
      topic: mirror.topics.response(to: target), correlation: message.correlation, transaction: nil)
    do throws(RequestError) {
      reply.topic = try Self.responseTopic(message, mirror) ?? reply.topic
      let parameters = try Self.parameters(message)
      reply.transaction = parameters["transaction"]
      guard !message.isRetained else {
        throw .notAllowed(
          "a request must not be retained: it would be repeated whenever the board connects")
      }
      try Self.checkAge(parameters, time)
      guard pending.count < Self.most else {
        throw .later("\(Self.most) requests are in progress already: try again")
      }
      let request = try BoardRequest(target, parameters, mirror)
      return begin(request, reply, target, now: now)
    } catch {
      return Outcome(publications: [Self.refusal(error, reply)])
    }
  }

  private mutating func begin(
    _ request: BoardRequest, _ reply: ReplyTo, _ target: BoardTopics.RequestTarget, now: Instant
  ) -> Outcome {
    guard !request.calls.isEmpty else {
      return Outcome(publications: [Self.response(["done": 0], reply)])
    }
    lastRequest += 1
    pending[lastRequest] = Pending(
      reply: reply, deadline: now + Self.patience, target: target,
      open: request.calls.count, counts: request.counts)
    return Outcome(calls: request.calls.map { (lastRequest, $0) })
  }

  /// The destination that the request names; nil if it names none.
  private static func responseTopic(
    _ message: IncomingMessage, _ mirror: BoardMirror
  ) throws(RequestError) -> String? {
    guard let topic = message.responseTopic else { return nil }
    guard mirror.topics.mayRespond(to: topic, further: mirror.policy.responsePrefixes) else {
      throw .wrong(
        "the Response Topic is neither below \(mirror.topics.root)/response/ nor below one of response-prefixes in [mqtt]"
      )
    }
    return topic
  }

  /// A request that a network has delayed is not performed late, if it says when it was sent.
  private static func checkAge(
    _ parameters: JSONObject, _ now: WallTime
  ) throws(RequestError) {
    guard let member = parameters["time"] else { return }
    guard let time = WallTime(json: member) else {
      throw .wrong("time is like 2026-11-24T07:00:00Z")
    }
    let age = now.seconds.subtractingReportingOverflow(time.seconds).partialValue
    guard age <= longestDelay else {
      throw .later("by its time it was sent \(age) s ago: send it again, or set the clocks")
    }
  }

  private static func parameters(_ message: IncomingMessage) throws(RequestError) -> JSONObject {
    guard message.payload.count <= longest else {
      throw .wrong("a request has at most \(longest) bytes")
    }
    guard !message.payload.isEmpty else { return [:] }
    do throws(JSONError) {
      try json.check(message.payload)
      guard let object = try JSONValue(parsing: message.payload).object else {
        throw JSONError("not an object")
      }
      return object
    } catch {
      throw .wrong("the parameters must be a JSON object, or empty: \(error.description)")
    }
  }

  // MARK: Responses

  /// The daemon has responded to a call.
  ///
  /// - Parameters:
  ///   - number: the request's.
  ///   - response: the parsed response.
  public mutating func answered(
    _ number: Int64, _ response: JSONValue, _ mirror: BoardMirror
  ) -> [Publication] {
    guard var request = pending[number] else { return [] }
    request.open -= 1
    if let error = response["error"] {
      request.failed =
        RPCError(json: error) ?? .internalError("unexpected error from the daemon")
    } else {
      request.done += 1
    }
    pending[number] = request.open > 0 ? request : nil
    guard request.open == 0 else { return [] }
    if let error = request.failed, !request.counts || request.done == 0 {
      return [Self.refusal(RequestError(error, of: request.target), request.reply)]
    }
    guard !request.counts else {
      return [Self.response(["done": .number(request.done)], request.reply)]
    }
    let disclosed = Disclosed(mirror: mirror, phone: request.target.phone)
    return [
      Self.response(
        disclosed.result(response["result"] ?? .null, of: request.target.method), request.reply)
    ]
  }

  /// Times out requests that have taken too long.
  public mutating func timeUp(now: Instant) -> [Publication] {
    giveUp(RequestError.later("the phone did not respond within 30 s: try again")) {
      $0.deadline <= now
    }
  }

  /// The daemon has exited.
  public mutating func daemonLeft() -> [Publication] {
    giveUp(.missing("the daemon has exited")) { _ in true }
  }

  /// The broker is unreachable: nobody waits for a response anymore.
  public mutating func dropAll() { pending = [:] }

  private mutating func giveUp(
    _ error: RequestError, where matches: (Pending) -> Bool
  ) -> [Publication] {
    let over = pending.filter { matches($0.value) }.sorted { $0.key < $1.key }
    for (key, _) in over { pending[key] = nil }
    return over.map { Self.refusal(error, $0.value.reply) }
  }

  private static func response(_ data: JSONValue, _ reply: ReplyTo) -> Publication {
    respond(["status": "ok", "data": data, "transaction": reply.transaction], reply)
  }

  private static func refusal(_ error: RequestError, _ reply: ReplyTo) -> Publication {
    respond(error.response(transaction: reply.transaction), reply)
  }

  private static func respond(_ object: JSONObject, _ reply: ReplyTo) -> Publication {
    Publication(
      reply.topic, JSONValue.object(object).json, .response(correlation: reply.correlation))
  }
}

/// Why a request is not performed. The codes are those of the control socket.
struct RequestError: Error, Hashable {
  let code: Int
  let message: String
  var att: UInt8?

  private init(code: Int, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The daemon's error, in words that may leave the board.
  init(_ error: RPCError, of target: BoardTopics.RequestTarget) {
    let phone = target.phone.map { "“\($0)”" } ?? "the phone"
    let isAboutMedia = target.method.hasPrefix("media.")
    let message: String =
      switch error.code {
      case RPCError.Code.phone:
        error.att.map { PublicText.refusal($0, media: isAboutMedia) }
          ?? (isAboutMedia ? "the player does not do this" : "there is no such notification")
      case RPCError.Code.unavailable: "\(phone) is not connected, or there is no such thing now"
      case RPCError.Code.tryAgain: "\(phone) can't do this now: try again"
      case RPCError.Code.invalidParams:
        "the daemon does not accept these parameters; with several phones, use the phone's own topic"
      default: "the daemon has failed: its log says why"
      }
    self.init(code: error.code, message)
    att = error.att
  }

  static func wrong(_ why: String) -> RequestError {
    RequestError(code: RPCError.Code.invalidParams, why)
  }
  static func missing(_ why: String) -> RequestError {
    RequestError(code: RPCError.Code.unavailable, why)
  }
  static func later(_ why: String) -> RequestError {
    RequestError(code: RPCError.Code.tryAgain, why)
  }
  static func unknown(_ method: String) -> RequestError {
    RequestError(code: RPCError.Code.methodNotFound, "there is no request “\(method)”")
  }
  static func notAllowed(_ why: String) -> RequestError {
    RequestError(code: RPCError.Code.forbidden, why)
  }
  static let tooLong = missing("the response is longer than the broker takes: ask for less")

  /// The response to a request that was made with this transaction.
  func response(transaction: JSONValue?) -> JSONObject {
    [
      "status": "error", "error": .string(message), "code": .number(code),
      "att": att.map { .number($0) }, "name": att.map { _ in .string(message) },
      "transaction": transaction,
    ]
  }
}
