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
    topic: String, payload: [UInt8], isRetained: Bool = false, responseTopic: String? = nil, correlation: [UInt8]? = nil
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
    let method: BoardMethod
    /// The phone of its topic.
    let phone: TopicName?
    /// The number of its unanswered calls.
    var open: Int
    var done = 0
    var failed: RPCError?
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
    var reply = ReplyTo(topic: mirror.topics.response(to: target), correlation: message.correlation, transaction: nil)
    do throws(RPCError) {
      reply.topic = try Self.responseTopic(message, mirror) ?? reply.topic
      let parameters = try Self.parameters(message)
      reply.transaction = parameters["transaction"]
      guard !message.isRetained else {
        throw .forbidden("a request must not be retained: it would be repeated whenever the board connects")
      }
      try Self.checkAge(parameters, time)
      guard pending.count < Self.most else {
        throw .tryAgain("\(Self.most) requests are in progress already: try again")
      }
      guard let method = BoardMethod(named: target.method) else {
        throw RPCError(RPCError.Code.methodNotFound, "there is no request “\(target.method)”")
      }
      let calls = try method.calls(parameters, of: target.phone, mirror)
      guard !calls.isEmpty else {
        return Outcome(publications: [Self.response(["done": 0], reply)])
      }
      lastRequest += 1
      pending[lastRequest] = Pending(
        reply: reply, deadline: now + Self.patience, method: method, phone: target.phone, open: calls.count)
      return Outcome(calls: calls.map { (lastRequest, $0) })
    } catch { return Outcome(publications: [Self.refusal(error, reply)]) }
  }

  /// The destination that the request names; nil if it names none.
  private static func responseTopic(_ message: IncomingMessage, _ mirror: BoardMirror) throws(RPCError) -> String? {
    guard let topic = message.responseTopic else { return nil }
    guard mirror.topics.mayRespond(to: topic, further: mirror.policy.responsePrefixes) else {
      throw .wrong(
        "the Response Topic is neither below \(mirror.topics.root)/response/ nor below one of response-prefixes in [mqtt]"
      )
    }
    return topic
  }

  /// A request that a network has delayed is not performed late, if it says when it was sent.
  private static func checkAge(_ parameters: JSONObject, _ now: WallTime) throws(RPCError) {
    guard let member = parameters["time"] else { return }
    guard let time = WallTime(json: member) else {
      throw .wrong("time is like 2026-11-24T07:00:00Z")
    }
    let age = now.seconds.subtractingReportingOverflow(time.seconds).partialValue
    guard age <= longestDelay else {
      throw .tryAgain("by its time it was sent \(age) s ago: send it again, or set the clocks")
    }
  }

  private static func parameters(_ message: IncomingMessage) throws(RPCError) -> JSONObject {
    guard message.payload.count <= longest else {
      throw .wrong("a request has at most \(longest) bytes")
    }
    guard !message.payload.isEmpty else { return [:] }
    do throws(JSONError) {
      try json.check(message.payload)
      return try JSONReader(JSONValue(parsing: message.payload)).object
    } catch { throw .wrong("the parameters must be a JSON object, or empty: \(error.description)") }
  }

  // MARK: Responses

  /// The daemon has responded to a call.
  ///
  /// - Parameters:
  ///   - number: the request's.
  ///   - response: the parsed response.
  public mutating func answered(_ number: Int64, _ response: JSONValue, _ mirror: BoardMirror) -> [Publication] {
    guard var request = pending[number] else { return [] }
    request.open -= 1
    if let error = response["error"] {
      request.failed = RPCError(json: error) ?? .internalError("unexpected error from the daemon")
    } else {
      request.done += 1
    }
    pending[number] = request.open > 0 ? request : nil
    guard request.open == 0 else { return [] }
    let (method, counts) = (request.method, request.method.counts)
    if let error = request.failed, !counts || request.done == 0 {
      return [Self.refusal(error.disclosed(by: method, of: request.phone), request.reply)]
    }
    let result: JSONValue =
      counts
      ? ["done": .number(request.done)] : method.disclosed(response["result"] ?? .null, of: request.phone, mirror)
    return [Self.response(result, request.reply)]
  }

  /// Times out requests that have taken too long.
  public mutating func timeUp(now: Instant) -> [Publication] {
    giveUp(.tryAgain("the phone did not respond within 30 s: try again")) { $0.deadline <= now }
  }

  /// The daemon has exited.
  public mutating func daemonLeft() -> [Publication] {
    giveUp(.unavailable("the daemon has exited")) { _ in true }
  }

  /// The broker is unreachable: nobody waits for a response anymore.
  public mutating func dropAll() { pending = [:] }

  private mutating func giveUp(_ error: RPCError, where matches: (Pending) -> Bool) -> [Publication] {
    let over = pending.filter { matches($0.value) }.sorted { $0.key < $1.key }
    for (key, _) in over { pending[key] = nil }
    return over.map { Self.refusal(error, $0.value.reply) }
  }

  private static func response(_ data: JSONValue, _ reply: ReplyTo) -> Publication {
    respond(["status": "ok", "data": data, "transaction": reply.transaction], reply)
  }

  private static func refusal(_ error: RPCError, _ reply: ReplyTo) -> Publication {
    respond(error.response(transaction: reply.transaction), reply)
  }

  private static func respond(_ object: JSONObject, _ reply: ReplyTo) -> Publication {
    Publication(reply.topic, JSONValue.object(object).json, .response(correlation: reply.correlation))
  }
}

// Why a request is not performed. The codes are those of the control socket.
extension RPCError {
  static func wrong(_ why: String) -> RPCError { RPCError(Code.invalidParams, why) }

  static let tooLong = unavailable("the response is longer than the broker takes: ask for less")

  /// The daemon's error, in words that may leave the board.
  fileprivate func disclosed(by method: BoardMethod, of phone: TopicName?) -> RPCError {
    let phone = phone.map { "“\($0)”" } ?? "the phone"
    let isAboutMedia = method.name.hasPrefix("media.")
    var disclosed = self
    disclosed.message =
      switch code {
      case Code.phone:
        att.map { PublicText.refusal($0, media: isAboutMedia) }
          ?? (isAboutMedia ? "the player does not do this" : "there is no such notification")
      case Code.unavailable: "\(phone) is not connected, or there is no such thing now"
      case Code.tryAgain: "\(phone) can't do this now: try again"
      case Code.invalidParams:
        "the daemon does not accept these parameters; with several phones, use the phone's own topic"
      default: "the daemon has failed: its log says why"
      }
    return disclosed
  }

  /// The response to a request that was made with this transaction.
  func response(transaction: JSONValue?) -> JSONObject {
    [
      "status": "error", "error": .string(message), "code": .number(code), "att": att.map { .number($0) },
      "name": att.map { _ in .string(message) }, "transaction": transaction,
    ]
  }
}
