// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import Control
import EventLoop
import Fleet
import MQTT
import System
import Wire

/// The options of `ancsd fleet`.
struct FleetOptions: PrintingOptions {
  var output = OutputOptions()
  /// The settings file; nil: the default ones.
  var config: String?
  /// Overrides the settings.
  var broker: BrokerAddress?
  var user: String?
  var passwordFile: String?
  var authorities: String?
  var prefix: String?
  /// Only this board; nil: all.
  var board: TopicName?
  /// Nil: the only phone of a board.
  var phone: TopicName?
  var watches = false
  /// The timeout for a response.
  var patience = Duration.seconds(30)
  /// Nil: only print the boards.
  var request: FleetRequest?
}

extension Command {
  /// `ancsd fleet`: a client of the broker, which sees all boards.
  public static let fleet = Command(
    "fleet", "shows all boards on a broker, and sends requests to one or all of them",
    usage: [
      "ancsd fleet [OPTIONS]", "ancsd fleet media [COMMAND] [OPTIONS]", "ancsd fleet act answer|decline [OPTIONS]",
      "ancsd fleet act UID positive|negative --board BOARD [OPTIONS]", "ancsd fleet list [OPTIONS]",
      "ancsd fleet clear [OPTIONS]",
    ], grammar: .fleet, defaults: FleetOptions(),
    notes: [
      "It uses the broker in [mqtt] of the settings files, or --url. It needs more rights than a board: its user "
        + "has to read the topics of all boards, and write their requests.",
      "JSON is one object per board and line. The status is 1 if a board refused a request, 69 if there is no board, "
        + "75 if one did not respond in time.",
    ]
  ) { options throws(Failure) in
    let console = try Console(options.output)
    let plan = try FleetPlan(options)
    return console.onLoop { () async throws(Failure) in
      try await FleetClient.run(options, plan, console)
    }
  }
}

extension Grammar<FleetOptions> {
  fileprivate static let fleet = Grammar(
    options + CommandOption.output, operands: "[REQUEST...]"
  ) { options, operands throws(Failure) in
    guard !operands.isEmpty else { return }
    options.request = try FleetRequest(Array(operands))
    guard !options.watches else { throw Failure(usage: "--watch takes no request") }
    if options.request?.concernsOneBoard == true, options.board == nil {
      throw Failure(usage: "a UID belongs to one board", remedy: "name it with --board")
    }
  }

  private static var options: [CommandOption<FleetOptions>] {
    [
      .flag("--watch", help: "keep running, and print whenever something changes", set: { $0.watches = true }),
      .value(
        "--board", value: "BOARD", expects: "a board's name in topics",
        help: "only this board (default: all)", read: { TopicName($0) }, set: { $0.board = $1 }),
      .value(
        "--phone", value: "PHONE", expects: "a phone's name in topics", help: "the phone, if a board has more than one",
        read: { TopicName($0) }, set: { $0.phone = $1 }),
      .timeout(help: "how long to wait for responses (default: 30s)", set: { $0.patience = $1 }),
      .config(of: "the settings file", set: { $0.config = $1 }),
      .value(
        "--url", value: "URL", expects: "mqtt://HOST[:PORT], mqtts://HOST[:PORT] or unix:/PATH",
        help: "the broker, instead of the one in the settings", read: { BrokerAddress($0) }, set: { $0.broker = $1 }),
      .text(
        "--user", value: "USER", expects: "a user", help: "the user name for the broker, instead of the board's",
        set: { $0.user = $1 }),
      .file("--password-file", help: "a file whose first line is the user's password", set: { $0.passwordFile = $1 }),
      .file(
        "--ca-file", value: "PATH",
        help: "the trusted certificates: a file, or a directory prepared by “openssl rehash”",
        set: { $0.authorities = $1 }),
      .text(
        "--prefix", value: "LEVELS", expects: "the first levels of a topic",
        help: "the prefix of the boards' topics (default: ancsd)", set: { $0.prefix = $1 }),
    ]
  }
}

/// The broker, and the identity of `ancsd fleet` there.
struct FleetPlan {
  let identity: BrokerIdentity
  let prefix: String

  init(_ options: FleetOptions) throws(Failure) {
    // With a broker on the command line, the board's settings need not exist.
    let isNamed = options.broker != nil
    var settings = isNamed && options.config == nil ? BridgeSettings() : try BridgePlan.settings(options.config)
    if let user = options.user { (settings.user, settings.passwordFile) = (user, nil) }
    settings.passwordFile = options.passwordFile ?? settings.passwordFile
    settings.authorities = options.authorities ?? settings.authorities
    guard let broker = options.broker ?? settings.broker else {
      throw Failure(
        .badSettings, "fleet", "no broker is set", remedy: "set url in [mqtt], or use --url")
    }
    prefix = options.prefix ?? settings.prefix
    guard BoardTopics.isPrefix(prefix) else {
      throw Failure(usage: "--prefix must be levels of a topic without # and +")
    }
    let id = String(UInt32.random(in: 0...(.max)), radix: 16)
    identity = try BrokerIdentity(broker, settings, clientID: "ancsd-fleet-\(id)", will: nil)
  }
}
