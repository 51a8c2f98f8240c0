// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon
import JSON
import Synchronization
import System
import Wire

@testable import Tool

/// Not the one of the testing library.
typealias ExitStatus = Daemon.ExitStatus

/// What a client prints, and a daemon that answers it at once: the other end of its control socket,
/// without a socket.
final class FakeDaemon {
  let client: ControlClient
  private(set) var requests: [ControlRequest] = []
  private let printed: Printed

  /// Collects what a console is given.
  final class Printed: Sendable {
    private let bytes = Mutex<[UInt8]>([])
    var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
    func append(_ more: [UInt8]) { bytes.withLock { $0 += more } }
  }

  /// What the daemon does with a request: inputs that come in at once, the answer among them.
  typealias Answer = (ControlRequest) -> [Reaction]

  enum Reaction {
    case result(JSONValue)
    case error(RPCError)
    case event(Event.Content)
    case line(String)
    case input(ControlClient.Input)
  }

  /// - Parameter patient: timers never end; else they end at once.
  init(
    _ format: OutputFormat = .json, patient: Bool = true,
    _ answer: @escaping Answer
  ) {
    let printed = Printed()
    self.printed = printed
    let console = Console(format, TextStyle()) { bytes throws(Failure) in printed.append(bytes) }
    final class Late { weak var daemon: FakeDaemon? }
    let late = Late()
    client = ControlClient(
      console, send: { line in late.daemon?.receive(line, answer) },
      schedule: { duration, action in
        // The client's own patience with the daemon is never tried here.
        if !patient, duration != ControlClient.patience { action() }
      })
    late.daemon = self
  }

  var output: String { printed.text }

  /// The daemon's numbering of events.
  private var ring = EventRing()

  private func receive(_ line: [UInt8], _ answer: Answer) {
    guard case .request(let request, let id?) = ControlSession().receive(line) else { return }
    requests.append(request)
    for reaction in answer(request) { post(reaction, id) }
  }

  private func post(_ reaction: Reaction, _ id: RequestID) {
    switch reaction {
    case .result(let result): client.inbox.post(.line(ControlSession.reply(result, id: id)))
    case .error(let error): client.inbox.post(.line(ControlSession.reply(error, id: id)))
    case .event(let content):
      let event = ring.record(Event(content, adapter: "hci0"), at: WallTime(seconds: 0))
      client.inbox.post(.line(RPCLine.event(event.json)))
    case .line(let line): client.inbox.post(.line(Array(line.utf8)))
    case .input(let input): client.inbox.post(input)
    }
  }

  /// Runs a command with these arguments.
  func run<Options>(
    _ command: ClientCommand<Options>, _ arguments: String = ""
  ) async throws(Failure) -> ExitStatus {
    var options = command.defaults
    try command.grammar.parse(arguments.split(separator: " ").map(String.init), into: &options)
    return try await command.body(options, client)
  }
}
