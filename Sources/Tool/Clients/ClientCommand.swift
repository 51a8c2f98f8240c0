// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import Control
import EventLoop
import System
import Wire

/// The commands that are clients of the daemon.
public enum Clients {
  /// All of them, in the order in which the help lists them.
  public static let commands: [Command] = [
    status.command, watch.command, list.command, count.command, show.command, act.command,
    apps.command, media.command, pair.command, phones.command, forget.command,
  ]
}

/// The options that every client has.
struct ClientOptions: Sendable {
  /// nil: text on a terminal, else JSON.
  var format: OutputFormat?
  /// The control socket; nil: the default ones.
  var socket: String?
  /// The phone that is meant; nil if there is only one.
  var phone: PhoneSelector?
}

/// The options of one client: those that every client has, and its own.
protocol ClientCommandOptions: Sendable {
  var client: ClientOptions { get set }
  init()
}

/// A command that talks to the daemon: its arguments, and what it does with them and a connection.
struct ClientCommand<Options: ClientCommandOptions>: Sendable {
  typealias Body = @Sendable (Options, ControlClient) async throws(Failure) -> ExitStatus

  package let grammar: Grammar<Options>
  package let body: Body
  /// The command as the program lists it.
  let command: Command

  /// - Parameters:
  ///   - options: its own options.
  ///   - phone: whether it concerns one phone, which `--phone` selects.
  ///   - read: reads the operands.
  init(
    _ name: String, _ summary: String, options: [CommandOption<Options>] = [], phone: Bool = true,
    operands: String = "", notes: [String] = [],
    read: @escaping Grammar<Options>.Reader = Grammar<Options>.noOperands, body: @escaping Body
  ) {
    var options = options
    options.append(.format(set: { $0.client.format = $1 }))
    options.append(.socket(set: { $0.client.socket = $1 }))
    if phone {
      options.append(
        .text(
          "--phone", value: "PHONE", expects: "a phone",
          help: "the phone that is meant, by address or name, where there is more than one",
          set: { $0.client.phone = PhoneSelector($1) }))
    }
    grammar = Grammar(options, operands: operands, read: read)
    self.body = body
    command = Command(name, summary, grammar: grammar, defaults: Options(), notes: notes) {
      options throws(Failure) in
      let console = Console(options.client.format)
      return console.onLoop { () async throws(Failure) in
        let socket = try LineSocket.connect(
          toFirstOf: options.client.socket.map { [$0] } ?? DefaultPaths.sockets)
        defer { socket.close() }
        let client = ControlClient(console, over: socket)
        let inbox = client.inbox
        // Without this watch a reader that has left, as behind `| head`, would show only with the
        // next event. What can't be watched, such as a file, has no reader.
        let output = try? Loop.shared.watch(number: Standard.output, for: []) { _ in
          inbox.post(.readerGone)
        }
        defer { withExtendedLifetime(output) {} }
        // If signals can't be caught, they end the process, which does no harm here.
        try? Loop.shared.onSignal([.interrupt, .terminate]) { inbox.post(.signal($0)) }
        return try await body(options, client)
      }
    }
  }
}

extension LineSocket {
  /// Connects to the daemon, at the first of the paths that accepts.
  static func connect(toFirstOf paths: [String]) throws(Failure) -> LineSocket {
    var failure: Failure?
    for path in paths {
      do throws(SystemError) {
        return try connect(daemon: path)
      } catch {
        let reason = Failure(connecting: path, error.errno)
        // A daemon that refuses this user is the better explanation than one that does not run.
        if failure == nil || reason.status == .noPermission { failure = reason }
      }
    }
    throw failure ?? Failure(.unavailable, "reaching the daemon", "no place to look for it")
  }

  /// A connection to the daemon's control socket.
  static func connect(daemon path: String) throws(SystemError) -> LineSocket {
    try connect(unix: path, lineLimit: 1 << 24)
  }
}

extension Failure {
  /// Why the daemon's socket can't be reached.
  init(connecting path: String, _ errno: Errno) {
    self.init("reaching the daemon at \(path)", connecting: errno, ifAbsent: "no daemon runs there")
    switch errno {
    case .noSuchFile, .connectionRefused:
      remedy = "start it with “ancsd --hci0”, or name its socket with --socket"
    case .permissionDenied, .notPermitted: remedy = "be root, or join the group ancsd"
    default: break
    }
  }
}
