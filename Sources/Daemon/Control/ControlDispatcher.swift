// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Control
import EventLoop
import JSON

/// Parses the requests of control clients, and finds the implementation of each method.
@LoopActor struct ControlDispatcher {
  /// What a client's line asks for.
  enum Input {
    case request(Request)
    /// Several at once, whose replies go into one array (JSON-RPC 2.0, 6).
    case batch([Request])
  }

  /// What one request asks for.
  enum Request {
    /// A call to make. Without an id no reply is wanted.
    case call(ControlCall, RequestID?)
    /// The client wants events.
    case subscribe(Subscription, RequestID?)
    /// The request is invalid; this is the reply, without its line end.
    case reply([UInt8])
    /// Nothing to do: a blank line, or an invalid call without an id.
    case nothing
  }

  private var methods: [String: Method] = [:]

  /// Implements a method.
  mutating func register<Parameters, Answer>(
    _ method: ControlMethod<Parameters, Answer>,
    _ body: @escaping @LoopActor (Parameters) async throws(RPCError) -> Answer
  ) {
    register(method) { parameters, _ throws(RPCError) in try await body(parameters) }
  }

  /// Implements a method that asks the phone something, which it gives up when the client has gone.
  mutating func register<Parameters, Answer>(
    _ method: ControlMethod<Parameters, Answer>,
    _ body: @escaping @LoopActor (Parameters, Cancellation) async throws(RPCError) -> Answer
  ) {
    methods[method.name] = Method { json throws(ShapeError) in
      let parameters = try Parameters(reading: json)
      return ControlCall { id, cancellation in
        do throws(RPCError) {
          let reply = RPC.result(try await body(parameters, cancellation), id: id)
          guard reply.count <= ControlLimits.answer else {
            throw .unavailable("the answer is larger than \(ControlLimits.answer >> 10) KiB")
          }
          return reply
        } catch {
          return RPC.error(error, id: id)
        }
      }
    }
  }

  /// Reads a line, without its line end.
  func receive(_ line: [UInt8]) -> Input {
    if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return .request(.nothing) }
    guard line.count <= ControlLimits.line else { return Self.invalid("the line is too long") }
    let message: JSONValue
    do {
      message = try JSONValue(parsing: line, within: ControlLimits.json)
    } catch {
      return .request(.reply(RPC.error(.parse(error.description), id: .null)))
    }
    guard let batch = message.array else { return .request(read(message)) }
    if batch.isEmpty { return Self.invalid("a batch without a request") }
    guard batch.count <= ControlLimits.requestsOfClient else {
      return Self.invalid("a batch of more than \(ControlLimits.requestsOfClient) requests")
    }
    return .batch(batch.map(read))
  }

  private static func invalid(_ why: String) -> Input {
    .request(.reply(RPC.error(.invalidRequest(why), id: .null)))
  }

  private func read(_ message: JSONValue) -> Request {
    guard let object = message.object else {
      return .reply(RPC.error(.invalidRequest("not an object"), id: .null))
    }
    let id = object["id"].map { RequestID(json: $0) }
    if case .some(nil) = id {
      return .reply(RPC.error(.invalidRequest("id is no string or number"), id: .null))
    }
    let request = id ?? nil
    guard object["jsonrpc"] == "2.0" else {
      return .reply(RPC.error(.invalidRequest("jsonrpc is not “2.0”"), id: request ?? .null))
    }
    guard let method = object["method"]?.string else {
      return .reply(RPC.error(.invalidRequest("method is no string"), id: request ?? .null))
    }
    do throws(RPCError) {
      return try call(method, object["params"], request)
    } catch {
      // Without an id it is a notification, which is never answered (JSON-RPC 2.0, 4.1).
      return request.map { .reply(RPC.error(error, id: $0)) } ?? .nothing
    }
  }

  private func call(
    _ name: String, _ params: JSONValue?, _ id: RequestID?
  ) throws(RPCError) -> Request {
    if params?.array != nil { throw .invalidParams("they are named, not an array") }
    let params = params ?? [:]
    do throws(ShapeError) {
      if name == ControlMethods.subscribe.name {
        return .subscribe(try Subscription(reading: params), id)
      }
      if let method = methods[name] { return .call(try method.call(params), id) }
    } catch {
      throw .invalidParams(error.description)
    }
    throw .methodNotFound(name)
  }
}

/// A call of a method, with its parameters.
///
/// Methods and calls are closures, not types with parameters: those would be made at run time, one for each
/// method, whenever the daemon starts.
struct ControlCall {
  fileprivate let perform: @LoopActor (RequestID, Cancellation) async -> [UInt8]

  /// Makes the call.
  ///
  /// - Parameter cancellation: of the client that makes it.
  /// - Returns: the reply to the request, without its line end.
  @LoopActor func reply(to id: RequestID, _ cancellation: Cancellation) async -> [UInt8] {
    await perform(id, cancellation)
  }
}

private struct Method {
  /// Reads the parameters of a call.
  let call: @LoopActor (JSONValue) throws(ShapeError) -> ControlCall
}
