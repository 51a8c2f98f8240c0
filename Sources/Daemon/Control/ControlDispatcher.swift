// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Board
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

    /// What is no request at all, which is answered without an id too (JSON-RPC 2.0, 5).
    static func invalid(_ why: String, _ id: RequestID? = nil) -> Request {
      .reply(RPC.error(.invalidRequest(why), id: id ?? .null))
    }
  }

  private static let blanks: [UInt8] = [0x20, 0x09, 0x0D]

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
    if line.allSatisfy(Self.blanks.contains) { return .request(.nothing) }
    guard line.count <= ControlLimits.line else {
      return .request(.invalid("the line is longer than \(ControlLimits.line >> 10) KiB"))
    }
    do {
      // What is refused for its size is still JSON: it is not a parse error.
      guard Self.batchLength(line) <= ControlLimits.batch else {
        return .request(.invalid("a batch of more than \(ControlLimits.batch) requests"))
      }
      try ControlLimits.json.check(line)
    } catch {
      return .request(.invalid(error.description))
    }
    let message: JSONValue
    do {
      message = try JSONValue(parsing: line)
    } catch {
      return .request(.reply(RPC.error(.parse(error.description), id: .null)))
    }
    guard let batch = message.array else { return .request(read(message)) }
    return batch.isEmpty ? .request(.invalid("a batch without a request")) : .batch(batch.map(read))
  }

  /// How many requests a line has, where it is a batch; it is not parsed for that.
  private static func batchLength(_ line: [UInt8]) -> Int {
    guard let start = line.firstIndex(where: { !blanks.contains($0) }),
      line[start] == UInt8(ascii: "[")
    else { return 1 }
    return JSONValue.elements(ofArray: line[(start + 1)...])?.elements.count ?? 1
  }

  private func read(_ message: JSONValue) -> Request {
    guard let object = message.object else { return .invalid("not an object") }
    let id = object["id"].map { RequestID(json: $0) }
    if case .some(nil) = id { return .invalid("id is no string or number") }
    let request = id ?? nil
    guard object["jsonrpc"] == "2.0" else { return .invalid("jsonrpc is not “2.0”", request) }
    guard let method = object["method"]?.string else {
      return .invalid("method is no string", request)
    }
    let params = object["params"] ?? [:]
    guard params.object != nil || params.array != nil else {
      return .invalid("params is no object", request)
    }
    do throws(RPCError) {
      return try call(method, params, request)
    } catch {
      // Without an id it is a notification, which is never answered (JSON-RPC 2.0, 4.1).
      return request.map { .reply(RPC.error(error, id: $0)) } ?? .nothing
    }
  }

  private func call(
    _ name: String, _ params: JSONValue, _ id: RequestID?
  ) throws(RPCError) -> Request {
    // An array has them by their place, and an empty one has none.
    guard params.array?.isEmpty != false else {
      throw .invalidParams("they are named, not an array")
    }
    let params = params.array == nil ? params : [:]
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
