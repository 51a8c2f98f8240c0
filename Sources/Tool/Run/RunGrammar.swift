// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
public import Daemon
import Mgmt

extension Command {
  /// `ancsd run`: the daemon.
  public static func run(
    _ run: @escaping @Sendable (RunOptions) throws(Failure) -> ExitStatus
  ) -> Command {
    Command(
      "run", "the daemon: serves phones on the adapters and prints what they say",
      usage: ["ancsd [run] [--hciN]... [OPTIONS]"], grammar: .run, defaults: RunOptions(),
      notes: [
        "Without an adapter every one that has Bluetooth LE is served, now or plugged in later.",
        "It ends with status 0 (--once), 130 (SIGINT), 143 (SIGTERM); 64 for a wrong command line, "
          + "69 without Bluetooth in the kernel, 77 without permission.",
      ], run: run)
  }
}

extension Grammar<RunOptions> {
  /// The options of the daemon.
  static let run = Grammar(
    adapters + pairing + output + places + diagnostics, operands: ""
  ) { options, operands throws(Failure) in
    if let first = operands.first { throw Failure(.usage, first, "nothing is expected there") }
    if options.source != .radio, let adapter = options.adapters.first {
      throw Failure(
        .usage, "\(adapter)",
        "--att and --virtual-phone do without an adapter: it is one or the other")
    }
  }

  private static let adapters: [Option<RunOptions>] = [
    .pattern(
      "--hciN", help: "serve this adapter; may repeat",
      read: { name in
        let adapter = String(name.dropFirst(2))
        return adapter.hasPrefix("hci") && AdapterChoice(adapter) != nil ? adapter : nil
      },
      set: { options, adapter in
        if let choice = AdapterChoice(adapter) { options.add(choice) }
      }),
    .value(
      "--adapter", value: "hciN|ADDRESS", expects: "hciN nor an address (AA:BB:CC:DD:EE:FF)",
      help: "serve this adapter; may repeat; one that is not there yet is waited for",
      set: { options, text in
        AdapterChoice(text).map { options.add($0) } != nil
      }),
    .value(
      "--att", value: "unix:PATH", expects: "unix:PATH",
      help: "no radio: connect to a phone that listens on this socket, one ATT PDU a packet",
      set: { options, text in
        guard text.hasPrefix("unix:"), text.utf8.count > 5 else { return false }
        options.source = .att(path: String(text.dropFirst(5)))
        return true
      }),
    .flag(
      "--virtual-phone", help: "no radio: the built-in phone plays a short scripted day",
      set: { $0.source = .virtualPhone }),
    .flag(
      "--once", help: "leave after the first disconnect, or when the virtual phone's script ends",
      set: { $0.once = true }),
  ]

  private static let profiles = ["auto"] + AdvertisingProfile.allCases.map(\.rawValue)

  private static let pairing: [Option<RunOptions>] = [
    .value(
      "--name", value: "NAME", expects: "a name of 1 to 248 bytes",
      help: "the name that the phone shows (default: the host's)",
      set: { options, text in
        options.name = text
        return (1...248).contains(text.utf8.count) && !text.utf8.contains(0)
      }),
    .optional(
      "--pairable", value: "SECONDS", expects: "a number of seconds",
      help: "anybody may pair, always or for so long (default: while nobody is bonded)",
      set: { options, text in
        guard let text else {
          options.pairable = .always
          return true
        }
        guard let seconds = Int32(text), seconds > 0 else { return false }
        options.pairable = .seconds(Int(seconds))
        return true
      }),
    .flag(
      "--allow-legacy", help: "also keep bonds of legacy pairing, or with keys under 16 bytes",
      set: { $0.allowLegacy = true }),
    .choice(
      "--io", \.io,
      help: "what the board can show and take while pairing (default: yesno on a terminal)"),
    .value(
      "--advertise", value: profiles.joined(separator: "|"),
      expects: "one of \(profiles.joined(separator: ", "))",
      help: "what the advertisement carries (default: auto, in turn while pairable)",
      set: { options, text in
        options.advertise = AdvertisingProfile(rawValue: text)
        return profiles.contains(text)
      }),
  ]

  private static let output: [Option<RunOptions>] = [
    .choice(
      "--format", \.format,
      help: "what standard output carries (default: text on a terminal, else JSON Lines)"),
    .value(
      "--fetch", value: "all|none|LIST",
      expects: "all, none, nor names with commas between them",
      help: "the attributes fetched without being asked, of "
        + NotificationAttributeID.all.compactMap(\.name).joined(separator: ", ")
        + " (default: all)",
      set: { options, text in
        guard let selection = AttributeSelection(text) else { return false }
        options.fetch.attributes = selection.attributes
        return true
      }),
    .flag(
      "--early", help: "print the “incoming” events too, before anything is fetched",
      set: { $0.early = true }),
    .value(
      "--max-length", value: "N", expects: "a number of bytes from 1 to 65535",
      help: "at most so many bytes of title, subtitle and message (default: 256, 256, 1024)",
      set: { options, text in
        guard let length = UInt16(text), length > 0 else { return false }
        for attribute in NotificationAttributeID.all where attribute.takesMaximumLength {
          options.fetch.maximumLengths[attribute] = length
        }
        return true
      }),
  ]

  private static let places: [Option<RunOptions>] = [
    .value(
      "--socket", value: "PATH", expects: "a path",
      help: "the control socket (default: /run/ancsd/control.sock; "
        + "$XDG_RUNTIME_DIR/ancsd.sock when not root)",
      set: { options, text in
        options.socket = text
        return !text.isEmpty
      }),
    .value(
      "--state-dir", value: "DIR", expects: "a directory",
      help: "where bonds and caches are kept (default: /var/lib/ancsd)",
      set: { options, text in
        options.stateDirectory = text
        return !text.isEmpty
      }),
    .value(
      "--btsnoop", value: "FILE", expects: "a file",
      help: "capture the ATT traffic of every link, for Wireshark and btmon",
      set: { options, text in
        options.btsnoop = text
        return !text.isEmpty
      }),
    .later("--exec", value: "EVENT=PROGRAM"),
    .later("--config", value: "FILE"),
  ]

  private static let diagnostics: [Option<RunOptions>] = [
    .flag(
      "-v", "--verbose", help: "say more on standard error; twice: everything",
      set: { options in
        options.logLevel = options.logLevel >= .info ? .debug : .info
      }),
    .flag(
      "--no-tune",
      help: "leave the connection parameters to the phone: short intervals are asked for while a "
        + "burst is fetched, long ones when idle",
      set: { $0.tunes = false }),
    .flag(
      "--why",
      help: "say on standard error what everything waits for, whenever that changes",
      set: { $0.printsWhy = true }),
    .flag("-q", "--quiet", help: "errors only", set: { $0.logLevel = .error }),
    .value(
      "--log-level", value: LogLevel.allCases.map(\.name).joined(separator: "|"),
      expects: LogLevel.allCases.map(\.name).joined(separator: ", "),
      help: "how much is said on standard error (default: notice)",
      set: { options, text in
        guard let level = LogLevel.allCases.first(where: { $0.name == text }) else { return false }
        options.logLevel = level
        return true
      }),
    .value(
      "--quirk", value: "NAME=VALUE",
      expects: "one of " + Quirks.entries.map { "\($0.name)=…" }.joined(separator: ", "),
      help: "change what is believed about iOS; may repeat. "
        + Quirks.entries.map { "\($0.name): \($0.summary)" }.joined(separator: "; "),
      set: { options, text in options.quirks.take(text) }),
  ]
}

extension RunOptions {
  fileprivate mutating func add(_ adapter: AdapterChoice) {
    if !adapters.contains(adapter) { adapters.append(adapter) }
  }
}
