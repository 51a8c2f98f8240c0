// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import System
import Wire

/// The commands that are clients of the daemon.
package enum Clients {
  /// Those about notifications and media, in the order in which the help lists them.
  package static let commands: [Command] = [
    status.command, watch.command, wait.command, list.command, count.command, show.command,
    act.command,
    apps.command, media.command, log,
  ]

  /// Those about phones and their bonds.
  package static let phoneCommands: [Command] = [
    pair.command, phones.command, forget.command,
  ]
}

extension Command {
  /// `ancsd mqtt`: the MQTT bridge, a separate program, so this one contains no network code.
  package static let mqtt = Command(
    "mqtt", "connects the board to an MQTT broker: publishes events, accepts requests",
    program: "ancsd-mqtt", package: "ancsd-mqtt")

  /// `ancsd fleet`: a client of the broker, in the same program.
  package static let fleet = Command(
    "fleet", "shows all boards on a broker, and sends requests to one or all of them",
    program: "ancsd-mqtt", first: ["fleet"], package: "ancsd-mqtt")
}

/// The options common to all clients.
package struct ClientOptions: Sendable {
  package var output = OutputOptions()
  /// The control socket; nil: the default ones.
  package var socket: String?
  /// The selected phone; nil if there is only one.
  package var phone: PhoneSelector?
  /// How long to wait for a response.
  package var patience = ControlClient.patience

  package init() {}
}

/// The options of one client: those that every client has, and its own.
package protocol ClientCommandOptions: PrintingOptions {
  var client: ClientOptions { get set }
  /// Whether to wait for a daemon that is not running or exits.
  var reconnects: Bool { get }
  init()
}

extension ClientCommandOptions {
  package var reconnects: Bool { false }
  package var output: OutputOptions {
    get { client.output }
    set { client.output = newValue }
  }
}

/// A command that talks to the daemon: its arguments, and what it does with them and a connection.
package struct ClientCommand<Options: ClientCommandOptions>: Sendable {
  package typealias Body = @Sendable (Options, ControlClient) async throws(Failure) -> ExitStatus

  package let grammar: @Sendable () -> Grammar<Options>
  package let body: Body
  /// The command as the program lists it.
  let command: Command

  /// - Parameters:
  ///   - options: its own options.
  ///   - phone: what `--phone` selects; nil if it does not concern one phone.
  ///   - usage: the ways to call it, if there are several.
  ///   - ends: whether it ends with its responses, so that `--timeout` limits the wait for each.
  ///   - read: reads the operands.
  init(
    _ name: String, _ summary: String, usage: [String] = [],
    options: @autoclosure @escaping @Sendable () -> [CommandOption<Options>] = [],
    phone: String? = "the phone, by address or name; needed if there is more than one",
    ends: Bool = true,
    operands: String = "", kinds: @autoclosure @escaping @Sendable () -> [ValueKind] = [],
    notes: @autoclosure @escaping @Sendable () -> [String] = [],
    examples: @autoclosure @escaping @Sendable () -> [String],
    read: @escaping Grammar<Options>.Reader = Grammar<Options>.noOperands, body: @escaping Body
  ) {
    let grammar = { @Sendable in
      var options = options()
      if let phone { options.append(.phone(help: phone, set: { $0.client.phone = $1 })) }
      if ends {
        options.append(
          .timeout(
            help: "how long to wait for a response (default: 30s)",
            set: { $0.client.patience = $1 }))
      }
      options.append(.socket(set: { $0.client.socket = $1 }))
      return Grammar(
        options + CommandOption.output, operands: operands, kinds: kinds(), read: read)
    }
    self.grammar = grammar
    self.body = body
    command = Command(
      name, summary, usage: usage, grammar: grammar(), defaults: Options(), notes: notes(),
      examples: examples()
    ) { options throws(Failure) in
      let console = try Console(options.client.output)
      return console.onLoop { () async throws(Failure) in
        let client = ControlClient(console, toFirstOf: DefaultPaths.sockets(options.client.socket))
        client.patience = options.client.patience
        defer { client.close() }
        let inbox = client.inbox
        // Without this watch, a reader that has exited, as with `| head`, would be noticed only at
        // the next event. Outputs that can't be watched, such as files, have no reader.
        let output = try? Loop.shared.watch(number: Standard.output, for: []) { _ in
          inbox.post(.readerGone)
        }
        defer { withExtendedLifetime(output) {} }
        // If signals can't be caught, they end the process, which is harmless here.
        try? Loop.shared.onSignal([.interrupt, .terminate]) { inbox.post(.signal($0)) }
        try await client.connect(patiently: options.reconnects)
        return try await body(options, client)
      }
    }
  }
}
