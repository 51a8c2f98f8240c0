// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import ControlClients
import JSON
import Synchronization
import System
import Wire

/// What a client prints, and a daemon that responds at once: the other end of its control socket, without a socket.
package final class FakeDaemon {
  package let client: ControlClient
  package private(set) var requests: [ReceivedRequest] = []
  /// What the client has written to standard error.
  package private(set) var reported: [Failure] = []
  /// Whether no connection succeeds.
  package var isAbsent = false
  private let printed: Printed

  /// Collects what a console prints.
  package final class Printed: Sendable {
    private let bytes = Mutex<[UInt8]>([])
    package init() {}
    package var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
    package func append(_ more: [UInt8]) { bytes.withLock { $0 += more } }
  }

  /// What the daemon does with a request: inputs that come in at once, the response among them.
  package typealias Response = (ReceivedRequest) -> [Reaction]

  package enum Reaction: Sendable {
    case result(any JSONCodable & Sendable)
    case error(RPCError)
    case event(Event.Content)
    case line(String)
    case input(ControlClient.Input)
  }

  /// - Parameter patient: timers never expire; otherwise they expire at once.
  package init(
    _ format: OutputFormat = .json, patient: Bool = true, template: String? = nil, _ response: @escaping Response
  ) {
    let printed = Printed()
    self.printed = printed
    let console = Console(
      format, TextStyle(), template: template.flatMap { Template(typed: $0) }
    ) { bytes throws(Failure) in printed.append(bytes) }
    final class Late { weak var daemon: FakeDaemon? }
    let late = Late()
    client = ControlClient(
      console,
      open: { _ throws(Failure) in
        if late.daemon?.isAbsent == true { throw Failure(.unavailable, "", "no daemon is running") }
        return (send: { line in late.daemon?.receive(line, response) }, close: {})
      },
      schedule: { duration, action in
        // The client's own time-out for the daemon is not tested here.
        if !patient, duration != ControlClient.patience { action() }
      })
    late.daemon = self
    client.report = { late.daemon?.reported.append($0) }
    try? client.connect()
  }

  package var output: String { printed.text }

  /// The number of the last event.
  private var lastSeq: UInt64 = 0

  private func receive(_ line: [UInt8], _ response: Response) {
    guard let json = try? JSONValue(parsing: line), json["jsonrpc"] == "2.0",
      let id = json["id"].flatMap(RequestID.init(json:)), let method = json["method"]?.string
    else { return }
    let request = ReceivedRequest(method: method, parameters: json["params"] ?? [:])
    requests.append(request)
    for reaction in response(request) { post(reaction, id) }
  }

  private func post(_ reaction: Reaction, _ id: RequestID) {
    switch reaction {
    case .result(let result): client.inbox.post(.line(RPC.result(result, id: id)))
    case .error(let error): client.inbox.post(.line(RPC.error(error, id: id)))
    case .event(let content):
      lastSeq += 1
      let event = NumberedEvent(seq: lastSeq, time: WallTime(seconds: 0), Event(content, adapter: "hci0"))
      client.inbox.post(.line(event.line))
    case .line(let line): client.inbox.post(.line(Array(line.utf8)))
    case .input(let input): client.inbox.post(input)
    }
  }

  /// Runs a command with these arguments.
  package func run(_ command: ClientCommand, _ arguments: String = "") async throws(Failure) -> ExitStatus {
    var options = ClientOptions()
    try command.grammar().parse(arguments.split(separator: " ").map(String.init), into: &options)
    client.patience = options.patience
    return try await command.body(options, client)
  }

  /// What a command fails with.
  package func failure(of command: ClientCommand, _ arguments: String = "") async -> Failure? {
    do throws(Failure) {
      _ = try await run(command, arguments)
      return nil
    } catch { return error }
  }
}

/// A request as the daemon got it.
package struct ReceivedRequest: Hashable, Sendable {
  package var method: String
  package var parameters: JSONValue

  /// The request that calls `method` with these parameters.
  package static func call<Parameters, Response>(
    _ method: ControlMethod<Parameters, Response>, _ parameters: Parameters
  ) -> ReceivedRequest {
    let json = try? JSONValue(parsing: parameters.json)
    return ReceivedRequest(method: method.name, parameters: json ?? .null)
  }

  /// Its parameters, if it calls `method` and the daemon would accept them.
  package func parameters<Parameters, Response>(of method: ControlMethod<Parameters, Response>) -> Parameters? {
    self.method == method.name ? Parameters(json: parameters) : nil
  }

  /// Whether it calls `method`, with parameters that the daemon would accept.
  package func calls<Parameters, Response>(_ method: ControlMethod<Parameters, Response>) -> Bool {
    parameters(of: method) != nil
  }
}
