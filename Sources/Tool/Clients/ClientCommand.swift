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
    apps.command, media.command, log, tui, pair.command, phones.command, forget.command,
  ]
}

extension Command {
  /// `ancsd mqtt`: the bridge to a broker, which is a program of its own, so that this one has no code for networks.
  public static let mqtt = Command(
    "mqtt", "tells a broker of MQTT what the phones say, and takes its requests",
    program: "ancsd-mqtt", package: "ancsd-mqtt")

  /// `ancsd fleet`: a client of the broker, in the same program.
  public static let fleet = Command(
    "fleet", "all boards on the broker, and requests to one of them or all",
    program: "ancsd-mqtt", first: ["fleet"], package: "ancsd-mqtt")
}

/// The options that every client has.
struct ClientOptions: Sendable {
  var output = OutputOptions()
  /// The control socket; nil: the default ones.
  var socket: String?
  /// The phone that is meant; nil if there is only one.
  var phone: PhoneSelector?
  /// How long an answer is waited for.
  var patience = ControlClient.patience
}

/// The options of one client: those that every client has, and its own.
protocol ClientCommandOptions: PrintingOptions {
  var client: ClientOptions { get set }
  /// Whether a daemon that is not there, or leaves, is waited for.
  var reconnects: Bool { get }
  init()
}

extension ClientCommandOptions {
  var reconnects: Bool { false }
  var output: OutputOptions {
    get { client.output }
    set { client.output = newValue }
  }
}

/// A command that talks to the daemon: its arguments, and what it does with them and a connection.
struct ClientCommand<Options: ClientCommandOptions>: Sendable {
  typealias Body = @Sendable (Options, ControlClient) async throws(Failure) -> ExitStatus

  private let makeGrammar: @Sendable () -> Grammar<Options>
  package let body: Body
  /// The command as the program lists it.
  let command: Command

  package var grammar: Grammar<Options> { makeGrammar() }

  /// - Parameters:
  ///   - options: its own options.
  ///   - phone: whether it concerns one phone, which `--phone` selects.
  ///   - ends: whether it ends with its answers, so that `--timeout` limits how long one is waited for.
  ///   - pipe: the format in a pipe.
  ///   - read: reads the operands.
  init(
    _ name: String, _ summary: String,
    options: @autoclosure @escaping @Sendable () -> [CommandOption<Options>] = [],
    phone: Bool = true, ends: Bool = true, inPipe pipe: OutputFormat = .text,
    operands: String = "", kinds: @autoclosure @escaping @Sendable () -> [ValueKind] = [],
    notes: @autoclosure @escaping @Sendable () -> [String] = [],
    read: @escaping Grammar<Options>.Reader = Grammar<Options>.noOperands, body: @escaping Body
  ) {
    let grammar = { @Sendable in
      Grammar(
        options() + Self.common(phone: phone, ends: ends) + CommandOption.output(inPipe: pipe),
        operands: operands, kinds: kinds(), read: read)
    }
    makeGrammar = grammar
    self.body = body
    command = Command(name, summary, grammar: grammar(), defaults: Options(), notes: notes()) {
      options throws(Failure) in
      let console = try Console(options.client.output, inPipe: pipe)
      return console.onLoop { () async throws(Failure) in
        let client = ControlClient(console, toFirstOf: DefaultPaths.sockets(options.client.socket))
        client.patience = options.client.patience
        defer { client.close() }
        let inbox = client.inbox
        // Without this watch a reader that has left, as behind `| head`, would show only with the
        // next event. What can't be watched, such as a file, has no reader.
        let output = try? Loop.shared.watch(number: Standard.output, for: []) { _ in
          inbox.post(.readerGone)
        }
        defer { withExtendedLifetime(output) {} }
        // If signals can't be caught, they end the process, which does no harm here.
        try? Loop.shared.onSignal([.interrupt, .terminate]) { inbox.post(.signal($0)) }
        try await client.connect(patiently: options.reconnects)
        return try await body(options, client)
      }
    }
  }

  /// The options of every client.
  private static func common(phone: Bool, ends: Bool) -> [CommandOption<Options>] {
    var options: [CommandOption<Options>] = []
    if phone {
      options.append(
        .text(
          "--phone", value: "PHONE", kind: .phone, expects: "a phone",
          help: "the phone that is meant, by address or name, where there is more than one",
          set: { $0.client.phone = PhoneSelector($1) }))
    }
    if ends {
      options.append(
        .timeout(
          help: "how long an answer is waited for (default: 30)",
          set: { $0.client.patience = $1 }))
    }
    return options + [.socket(set: { $0.client.socket = $1 })]
  }
}
