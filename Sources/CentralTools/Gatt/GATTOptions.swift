// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import Mgmt
import Wire

extension Command {
  /// `ancsd gatt`: a GATT client for any LE device.
  package static var gatt: Command {
    let summary = "a GATT client for any LE device: discover, read, write, subscribe"
    let forms = GATTCommand.forms.filter { !$0.isForPrompt }
    let help: @Sendable ([String], Int) -> String = { arguments, width in
      if let form = arguments.lazy.compactMap({ name in forms.first { $0.name == name } }).first {
        let isScan = form.name == "scan"
        return form.help(
          behind: "ancsd gatt [--hciN] " + (isScan ? "" : "--connect ADDRESS[/random] "),
          "ancsd gatt --hci0 " + (isScan ? "" : "--connect C4:11:22:33:44:55/random "),
          width: width)
      }
      return Help.page(
        usage: [
          "ancsd gatt [--hciN] --connect ADDRESS[/random] [OPTIONS] [COMMAND]",
          "ancsd gatt --att unix:PATH [OPTIONS] [COMMAND]", "ancsd gatt [--hciN] [OPTIONS] scan",
        ], summary: summary, tables: Grammar.gatt.tables + [("Commands", forms.map { ($0.usage, $0.summary) })],
        notes: [
          "Without a command it shows a prompt with history and completion; “help” lists the commands. "
            + "“ancsd gatt COMMAND --help” explains one.",
          "The status is 0; 1 if the device refused, with the name of the ATT error; 64 for a wrong "
            + "command line, 69 without the device or without Bluetooth, 75 if it timed out, "
            + "77 without permission.",
        ],
        examples: [
          "ancsd gatt --hci0 scan",
          "ancsd gatt --connect C4:11:22:33:44:55/random tree",
          "ancsd gatt --att unix:phone.sock read 2A00 --print text",
        ], width: width)
    }
    return Command("gatt", summary, grammar: .gatt, defaults: GATTOptions(), help: help) { options throws(Failure) in
      let console = try Console(options.output)
      return console.onLoop { () async throws(Failure) in await GATTTool(options, console).run() }
    }
  }
}

extension Grammar<GATTOptions> {
  /// The options of `gatt`; its operands are a command.
  static let gatt = Grammar(
    targets + own + CommandOption.output + renamed, operands: "[COMMAND]",
    kinds: [.word(GATTCommand.forms.filter { !$0.isForPrompt }.map(\.name))]
  ) { options, words throws(Failure) in
    if !words.isEmpty { options.command = try GATTCommand(words, prompt: false) }
    switch options.command {
    case .read?, .subscribe?: break
    default:
      guard options.valueForm == nil else {
        throw Failure(usage: "--print is for “read” and “subscribe” only")
      }
    }
    switch (options.command, options.target) {
    case (.scan?, .socket?): throw Failure(usage: "scan needs an adapter, not a socket")
    case (.scan?, _), (nil, _), (_, _?): break
    case (_, nil):
      throw Failure(
        usage: "\(words.joined(separator: " ")) needs a device",
        remedy: "name it with --connect ADDRESS[/random] (“ancsd gatt scan” finds it), or a socket "
          + "with --att unix:PATH")
    }
  }

  private static let targets: [CommandOption<GATTOptions>] = [
    .adapterNumber(help: "the adapter (default: the first that has LE)", set: { $0.adapter = AdapterChoice($1) }),
    .value(
      "--adapter", value: "hciN|ADDRESS", expects: "hciN or an address (AA:BB:CC:DD:EE:FF)",
      help: "the adapter, by its number or its address", read: { AdapterChoice($0) }, set: { $0.adapter = $1 }),
    .value(
      "--connect", value: "ADDRESS[/random]", expects: "an address (AA:BB:CC:DD:EE:FF[/random])",
      help: "the device; append /random to a random address, as “scan” does",
      read: { DeviceAddress($0) }, set: { $0.target = .device($1) }),
    .att("a device", set: { $0.target = .socket($1) }),
  ]

  private static let own: [CommandOption<GATTOptions>] = [
    .choice(
      "--security",
      help: "how to secure the link before the first request: not at all (the default), encrypted, "
        + "or encrypted after a pairing with a passkey", set: { $0.security = $1 }),
    .number("--mtu", within: 23...517, help: "the maximum MTU (default: 517)", set: { $0.mtu = $1 }),
    .flag("--indicate", help: "subscribe to indications if there is a choice", set: { $0.prefersIndications = true }),
    .count(of: "values", help: "subscribe, scan: stop after this many values or devices", set: { $0.count = $1 }),
    .timeout(help: "stop after this time (scan: 10s)", set: { $0.timeout = $1 }),
    .choice(
      "--print",
      help: "read, subscribe: print only the values, one per line, as hexadecimal bytes or as text, or "
        + "as raw bytes", set: { $0.valueForm = $1 }),
  ]

  /// gatttool's options, for users of that tool.
  private static let renamed: [CommandOption<GATTOptions>] = [
    .renamed("-i", now: "--hciN"), .renamed("-b", "--device", now: "--connect ADDRESS[/random]"),
    .renamed("-t", "--addr-type", now: "--connect ADDRESS/random"),
    .renamed("-m", now: "--mtu N"), .renamed("-l", "--sec-level", now: "--security LEVEL"),
    .renamed("-I", "--interactive", now: "omitted with the command"),
    .renamed("--primary", now: "the command “primary”"),
    .renamed("--characteristics", "--char-desc", now: "the command “tree”"),
    .renamed("--char-read", "-a", "--handle", "-u", "--uuid", now: "the command “read HANDLE|UUID”"),
    .renamed("--char-write-req", now: "the command “write HANDLE VALUE”"),
    .renamed("--char-write", now: "the command “write-command HANDLE VALUE”"),
    .renamed("--value", now: "the VALUE of “write”"),
    .renamed("--listen", now: "the command “subscribe HANDLE”"),
  ]
}

/// The options of `ancsd gatt`.
struct GATTOptions: PrintingOptions {
  /// The device; nil if none is named yet.
  var target: GATTTarget?
  /// The adapter; nil: the first that has LE.
  var adapter: AdapterChoice?
  /// The security of the link before the first request.
  var security = GATTSecurity.low
  /// The MTU that this side offers.
  var mtu = 517
  var output = OutputOptions()
  /// The form for printing only values; nil: with handle and type.
  var valueForm: ValueForm?
  /// The number of values or devices after which it stops.
  var count: Int?
  /// The time after which it stops.
  var timeout: Duration?
  /// Whether to prefer indications if a characteristic supports both.
  var prefersIndications = false
  /// The command; nil: commands are typed at a prompt.
  var command: GATTCommand?
}

/// The peer whose attributes are used.
enum GATTTarget: Hashable, Sendable, CustomStringConvertible {
  /// A device on the air.
  case device(DeviceAddress)
  /// A server that listens on a UNIX socket: a path, or `@name`.
  case socket(String)

  var description: String {
    switch self {
    case .device(let device): device.description
    case .socket(let path): "unix:\(path)"
    }
  }
}

/// The security level for the link, with gatttool's names.
enum GATTSecurity: String, CaseIterable, Sendable {
  /// Unchanged.
  case low
  /// Encrypted.
  case medium
  /// Encrypted with an authenticated key: pairing needs a passkey or a numeric comparison.
  case high
}

/// The form in which a value alone is printed, for scripts.
enum ValueForm: String, CaseIterable, Sendable {
  /// Its bytes, in the form that `write` takes, one value per line.
  case hex
  /// As UTF-8, one value per line; control characters are made visible.
  case text
  /// Its bytes as they are, with nothing between values.
  case raw
}
