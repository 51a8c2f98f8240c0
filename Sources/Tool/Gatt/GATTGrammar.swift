// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import Control
import Mgmt
import Wire

extension Command {
  /// `ancsd gatt`: a GATT client for any LE device.
  public static var gatt: Command {
    let summary = "a GATT client for any LE device: discover, read, write, subscribe"
    let forms = GATTCommand.forms.filter { !$0.isForPrompt }
    return Command(
      "gatt", summary, grammar: .gatt, defaults: GATTOptions(),
      run: { options throws(Failure) in
        let console = Console()
        return console.onLoop { () async throws(Failure) in
          await GATTTool(options, console, KernelRadio(options.adapter)).run()
        }
      }
    ) { arguments, width in
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
        ],
        summary: summary, entries: Grammar.gatt.options.compactMap(\.entry),
        parts: [("Commands", forms.map(\.entry))],
        notes: [
          "Without a command it asks for them, with a history and completion; “help” lists them there. "
            + "“ancsd gatt COMMAND --help” tells more of one.",
          "The status is 0; 1 where the device refused, with the ATT error by name; 64 for a wrong "
            + "command line, 69 without the device or without Bluetooth, 75 where the time was over "
            + "before, 77 without permission.",
        ], width: width)
    }
  }
}

extension Grammar<GATTOptions> {
  /// The options of `gatt`; its operands are a command.
  static let gatt = Grammar(
    targets + linkOptions + outputOptions + renamed, operands: "[COMMAND]"
  ) { options, words throws(Failure) in
    if !words.isEmpty { options.command = try GATTCommand(words, prompt: false) }
    if options.valueForm != nil {
      switch options.command {
      case .read?, .subscribe?: break
      default:
        throw Failure(.usage, "--print", "only “read” and “subscribe” have values to print")
      }
    }
    switch (options.command, options.target) {
    case (.scan?, .socket?):
      throw Failure(.usage, "scan", "a socket has no air to scan")
    case (.scan?, _), (nil, _): break
    case (_, nil):
      throw Failure(
        .usage, words.joined(separator: " "), "which device?",
        remedy: "name it with --connect ADDRESS[/random] (“ancsd gatt scan” finds it), or a socket "
          + "with --att unix:PATH")
    default: break
    }
  }

  private static let targets: [CommandOption<GATTOptions>] = [
    .adapterNumber(
      help: "the adapter (default: the first that has LE)",
      set: { $0.adapter = AdapterChoice($1) }),
    .value(
      "--adapter", value: "hciN|ADDRESS", expects: "hciN nor an address (AA:BB:CC:DD:EE:FF)",
      help: "the adapter, by its number or its address",
      read: { AdapterChoice($0) }, set: { $0.adapter = $1 }),
    .value(
      "--connect", value: "ADDRESS[/random]", expects: "an address (AA:BB:CC:DD:EE:FF[/random])",
      help: "the device; behind a random address stands /random, as “scan” writes it",
      read: { DeviceAddress($0) }, set: { $0.target = .device($1) }),
    .value(
      "--att", value: "unix:PATH", expects: "unix:PATH",
      help: "no radio: a device that listens on this socket, one ATT PDU a packet",
      read: { String(unixAddress: $0) }, set: { $0.target = .socket($1) }),
  ]

  private static let linkOptions: [CommandOption<GATTOptions>] = [
    .choice(
      "--security", \.security,
      help: "how the link is secured before anything is asked: as it is (the default), encrypted, "
        + "or encrypted after a pairing with a passkey"),
    .value(
      "--mtu", value: "N", expects: "a number from 23 to 517",
      help: "the greatest MTU to agree on (default: 517)",
      read: { Int($0).flatMap { (23...517).contains($0) ? $0 : nil } }, set: { $0.mtu = $1 }),
    .flag(
      "--indicate", help: "subscribe to indications where there is a choice",
      set: { $0.prefersIndications = true }),
  ]

  private static let outputOptions: [CommandOption<GATTOptions>] = [
    .count(
      of: "values", help: "subscribe, scan: leave after so many values or devices",
      set: { $0.count = $1 }),
    .timeout(help: "leave after so long (scan: 10)", set: { $0.timeout = $1 }),
    .choice(
      "--print", \.valueForm,
      help: "read, subscribe: the values alone, a line each, as hexadecimal bytes or as text, or "
        + "their bytes as they are"),
    .lineFormat(set: { $0.format = $1 }),
  ]

  /// gatttool's options, for those who are used to them.
  private static let renamed: [CommandOption<GATTOptions>] = [
    .renamed("-i", now: "--hciN"), .renamed("-b", "--device", now: "--connect ADDRESS[/random]"),
    .renamed("-t", "--addr-type", now: "--connect ADDRESS/random"),
    .renamed("-m", now: "--mtu N"), .renamed("-l", "--sec-level", now: "--security LEVEL"),
    .renamed("-I", "--interactive", now: "no command at all"),
    .renamed("--primary", now: "the command “primary”"),
    .renamed("--characteristics", "--char-desc", now: "the command “tree”"),
    .renamed(
      "--char-read", "-a", "--handle", "-u", "--uuid", now: "the command “read HANDLE|UUID”"),
    .renamed("--char-write-req", now: "the command “write HANDLE VALUE”"),
    .renamed("--char-write", now: "the command “write-command HANDLE VALUE”"),
    .renamed("--value", now: "the VALUE of “write”"),
    .renamed("--listen", now: "the command “subscribe HANDLE”"),
  ]
}
