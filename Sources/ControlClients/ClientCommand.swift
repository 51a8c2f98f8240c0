// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Arguments
import Control
import EventLoop
import System
import Wire

/// The commands that are clients of the daemon.
package enum Clients {
  /// Those about notifications and media, in the order in which the help lists them.
  package static let commands: [Command] = [
    status.command, watch.command, wait.command, list.command, count.command, show.command, act.command, apps.command,
    media.command, log,
  ]

  /// Those about phones and their bonds.
  package static let phoneCommands: [Command] = [pair.command, phones.command, forget.command]
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

/// The options of the clients: those that every client has, and those that some have, as their grammars say.
package struct ClientOptions: PrintingOptions {
  package var output = OutputOptions()
  /// The control socket; nil: the default ones.
  package var socket: String?
  /// The selected phone; nil if there is only one.
  package var phone: PhoneSelector?
  /// How long to wait for a response.
  package var patience = ControlClient.patience

  // MARK: What is shown

  var filter = NotificationFilter()
  /// The kinds of events to print. If empty: only notifications with a filter, otherwise all but those to be asked for.
  var events: Set<EventName> = []
  var uids: [NotificationUID] = []
  /// How many to print; nil: all.
  var count: Int?
  var newestFirst = false
  /// The times of the first and the last event to print.
  var since: WallTime?
  var until: WallTime?

  // MARK: Events as they arrive

  /// The number of the event after which to start.
  var lastSeen: UInt64?
  /// Whether to start with what is active now.
  var replay = false
  /// Whether to wait for a daemon that is not running or exits.
  var reconnects = false
  /// The time after which `watch` exits.
  var timeout: Duration?
  /// The file that `log` reads; nil: where the daemon writes it.
  var file: String?
  /// Whether `log` continues with the events that arrive.
  var follows = false

  // MARK: act

  var action = TypedAction("")
  /// Whether it acts on all that match the filter.
  var all = false
  /// Whether it only prints what it would do.
  var isDry = false
  /// Whether it acts on many without asking first.
  var isSure = false

  // MARK: status, media, pair

  /// Whether to keep running, and print all waits whenever they change.
  var followsWhy = false
  /// Whether to print metrics for Prometheus.
  var printsMetrics = false
  var command: RemoteCommand?
  /// How long the pairing window is open.
  var seconds = 120

  package init() {}
}

/// A command that talks to the daemon: its arguments, and what it does with them and a connection.
package struct ClientCommand: Sendable {
  package typealias Body = @Sendable (ClientOptions, ControlClient) async throws(Failure) -> ExitStatus

  package let grammar: @Sendable () -> Grammar<ClientOptions>
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
    options: @autoclosure @escaping @Sendable () -> [CommandOption<ClientOptions>] = [],
    phone: String? = "the phone, by address or name; needed if there is more than one", ends: Bool = true,
    operands: String = "", kinds: @autoclosure @escaping @Sendable () -> [ValueKind] = [],
    notes: @autoclosure @escaping @Sendable () -> [String] = [],
    examples: @autoclosure @escaping @Sendable () -> [String],
    read: @escaping Grammar<ClientOptions>.Reader = Grammar<ClientOptions>.noOperands,
    body: @escaping Body
  ) {
    let grammar = { @Sendable in
      var options = options()
      if let phone { options.append(.phone(help: phone, set: { $0.phone = $1 })) }
      if ends {
        options.append(
          .timeout(
            help: "how long to wait for a response (default: 30s)",
            set: { $0.patience = $1 }))
      }
      options.append(.socket(set: { $0.socket = $1 }))
      return Grammar(options + CommandOption.output, operands: operands, kinds: kinds(), read: read)
    }
    self.grammar = grammar
    self.body = body
    command = Command(
      name, summary, usage: usage, grammar: grammar(), defaults: ClientOptions(), notes: notes(), examples: examples()
    ) { options throws(Failure) in
      let console = try Console(options.output)
      return console.onLoop { () async throws(Failure) in
        let client = ControlClient(console, toFirstOf: DefaultPaths.sockets(options.socket))
        client.patience = options.patience
        defer { client.close() }
        let inbox = client.inbox
        let output = Console.watchReader { inbox.post(.readerGone) }
        defer { withExtendedLifetime(output) {} }
        // If signals can't be caught, they end the process, which is harmless here.
        try? Loop.shared.onSignal([.interrupt, .terminate]) { inbox.post(.signal($0)) }
        // “watch --reconnect” connects by itself.
        if !options.reconnects { try client.connect() }
        return try await body(options, client)
      }
    }
  }
}
