// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Board
import Control
import EventLoop
import JSON

/// Parses the requests of control clients, and finds the implementation of each method.
@LoopActor struct ControlDispatcher {
  /// A request.
  enum Request {
    /// A call to make. Without an id, no response is expected.
    case call(Call, RequestID?)
    /// The client subscribes to events.
    case subscribe(Subscription, RequestID?)
    /// The request is invalid; this is the response, without its line end.
    case reply([UInt8])
    /// Nothing to do: a blank line, or an invalid call without an id.
    case nothing

    /// Not a request at all; it gets a response even without an id (JSON-RPC 2.0, 5).
    static func invalid(_ why: String, _ id: RequestID? = nil) -> Request {
      .reply(RPC.error(.invalidRequest(why), id: id ?? .null))
    }
  }

  /// A call of a method with its parameters: makes it for the client of this cancellation, and returns the response to the
  /// request, without its line end.
  ///
  /// Methods and calls are closures, not generic types: the runtime would create one of those for
  /// each method whenever the daemon starts.
  typealias Call = @LoopActor (RequestID, Cancellation) async -> [UInt8]

  private static let blanks: [UInt8] = [0x20, 0x09, 0x0D]

  /// (Swift 6.3 can't compile a dictionary of closures that throw a typed error.)
  private struct Method {
    /// Reads the parameters of a call.
    let call: @LoopActor (JSONValue) throws(JSONError) -> Call
  }

  private var methods: [String: Method] = [:]

  /// Implements a method.
  mutating func register<Parameters, Response>(
    _ method: ControlMethod<Parameters, Response>,
    _ body: @escaping @LoopActor (Parameters) async throws(RPCError) -> Response
  ) {
    register(method) { parameters, _ throws(RPCError) in try await body(parameters) }
  }

  /// Implements a method that sends a request to the phone, and cancels it when the client
  /// disconnects.
  mutating func register<Parameters, Response>(
    _ method: ControlMethod<Parameters, Response>,
    _ body: @escaping @LoopActor (Parameters, Cancellation) async throws(RPCError) -> Response
  ) {
    methods[method.name] = Method { json throws(JSONError) in
      let parameters = try Parameters(reading: json)
      return { id, cancellation in
        do throws(RPCError) {
          let reply = RPC.result(try await body(parameters, cancellation), id: id)
          guard reply.count <= ControlLimits.response else {
            throw .unavailable("the response is larger than \(ControlLimits.response >> 10) KiB")
          }
          return reply
        } catch { return RPC.error(error, id: id) }
      }
    }
  }

  /// Reads a line, without its line end: one request, or a batch, whose responses form one array (JSON-RPC 2.0, 6).
  func receive(_ line: [UInt8]) -> (requests: [Request], isBatch: Bool) {
    if line.allSatisfy(Self.blanks.contains) { return ([.nothing], false) }
    do throws(RPCError) {
      let message = try Self.message(in: line)
      guard let batch = message.array else { return ([read(message)], false) }
      if batch.isEmpty { throw .invalidRequest("a batch without a request") }
      return (batch.map(read), true)
    } catch { return ([.reply(RPC.error(error, id: .null))], false) }
  }

  private static func message(in line: [UInt8]) throws(RPCError) -> JSONValue {
    guard line.count <= ControlLimits.line else {
      throw .invalidRequest("the line is longer than \(ControlLimits.line >> 10) KiB")
    }
    // A line refused for its size is still JSON, so this is not a parse error.
    guard batchLength(line) <= ControlLimits.batch else {
      throw .invalidRequest("a batch of more than \(ControlLimits.batch) requests")
    }
    do throws(JSONError) { try ControlLimits.json.check(line) } catch {
      throw .invalidRequest(error.description)
    }
    do throws(JSONError) { return try JSONValue(parsing: line) } catch {
      throw .parse(error.description)
    }
  }

  /// The number of requests in a line if it is a batch, counted without parsing it.
  private static func batchLength(_ line: [UInt8]) -> Int {
    guard let start = line.firstIndex(where: { !blanks.contains($0) }),
      line[start] == UInt8(ascii: "[")
    else { return 1 }
    return JSONValue.elements(ofArray: line[(start + 1)...])?.elements.count ?? 1
  }

  private func read(_ message: JSONValue) -> Request {
    guard let object = message.object else { return .invalid("not an object") }
    let id = object["id"].map { RequestID(json: $0) }
    if case .some(nil) = id { return .invalid("id is not a string or a number") }
    let request = id ?? nil
    guard object["jsonrpc"] == "2.0" else { return .invalid("jsonrpc is not “2.0”", request) }
    guard let method = object["method"]?.string else {
      return .invalid("method is not a string", request)
    }
    let params = object["params"] ?? [:]
    guard params.object != nil || params.array != nil else {
      return .invalid("params is not an object", request)
    }
    do throws(RPCError) {
      return try call(method, params, request)
    } catch {
      // Without an id it is a notification, which gets no response (JSON-RPC 2.0, 4.1).
      return request.map { .reply(RPC.error(error, id: $0)) } ?? .nothing
    }
  }

  private func call(_ name: String, _ params: JSONValue, _ id: RequestID?) throws(RPCError) -> Request {
    // An array passes parameters by position; an empty one passes none.
    guard params.array?.isEmpty != false else {
      throw .invalidParams("parameters must be named, not an array")
    }
    let params = params.array == nil ? params : [:]
    do throws(JSONError) {
      if name == ControlMethods.subscribe.name {
        return .subscribe(try Subscription(reading: params), id)
      }
      if let method = methods[name] { return .call(try method.call(params), id) }
    } catch { throw .invalidParams(error.description) }
    throw .methodNotFound(name)
  }
}
