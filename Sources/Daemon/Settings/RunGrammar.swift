// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Board
import Control
import Mgmt
import System

extension Grammar<RunOptions> {
  /// The options of the daemon.
  static let run = Grammar(groups: [
    ("Connection", connection.effective(.nextStart)), ("Pairing", pairing.effective(.nextStart)),
    ("Output", CommandOption.output.effective(.nextStart) + output.effective(.live)), ("Hooks", hooks.effective(.live)),
    ("Files", files.effective(.nextStart)), ("Logging", logging.effective(.live)), ("Assumptions about iOS", [quirk]),
  ]) { options, operands throws(Failure) in
    try operands.check(atMost: 0)
    if options.start.source != .radio, let adapter = options.radio.adapters.first {
      throw Failure(usage: "--\(adapter) can't be combined with --att or --virtual-phone, which need no adapter")
    }
  }

  typealias RunOption = CommandOption<RunOptions>

  private static let connection: [RunOption] = [
    .adapterNumber(help: "serve this adapter", set: { $0.radio.add(AdapterChoice($1)) }).repeated,
    .value(
      "--adapter", value: "hciN|ADDRESS", expects: "hciN or an address (AA:BB:CC:DD:EE:FF)",
      help: "serve this adapter, or wait for it if it is not present yet",
      read: { AdapterChoice($0) }, set: { $0.radio.add($1) }
    ).repeated,
    .choice(
      "--address",
      help: "the board's own address on the air: the adapter's, or a persistent random one (default: "
        + "public, if there is one)", set: { $0.radio.address = $1 }),
    .flag(
      "--no-tune",
      help: "leave the connection parameters to the phone (otherwise: short intervals while a "
        + "burst is fetched, long ones when idle)", set: { $0.radio.tunes = false }),
    .att("connect to a phone", set: { $0.start.source = .att(path: $1) }),
    .flag(
      "--virtual-phone", help: "no radio: the built-in phone plays a short scripted day",
      set: { $0.start.source = .virtualPhone }),
    .flag(
      "--once", help: "exit after the first disconnect, or when the virtual phone's script ends",
      set: { $0.start.once = true }),
  ]

  private static let profiles = ["auto"] + AdvertisingProfile.allCases.map(\.rawValue)

  private static let pairing: [RunOption] = [
    .value(
      "--name", value: "NAME", expects: "a name of 1 to 248 bytes",
      help: "the name that the phone shows (default: the host's)",
      read: { (1...248).contains($0.utf8.count) && !$0.utf8.contains(0) ? $0 : nil },
      set: { $0.start.name = $1 }),
    .value(
      "--pairable", value: "TIME", kind: .time, expects: Duration.forms,
      help: "any phone may pair, always or for this time (default: the first phone, within 30 minutes)",
      absent: .always, read: { Duration(typed: $0).map { .seconds(max(1, Int(clamping: $0.components.seconds))) } },
      set: { $0.radio.pairable = $1 }),
    .flag(
      "--allow-legacy", help: "also accept bonds from legacy pairing, or with keys under 16 bytes",
      set: { $0.radio.allowLegacy = true }),
    .flag(
      "--require-mitm",
      help: "accept only bonds for which a number was compared or typed (needs --io)",
      set: { $0.radio.requiresAuthentication = true }),
    word(
      "--io", ["none": .noInputNoOutput, "display": .displayOnly, "keyboard": .keyboardOnly, "yesno": .displayYesNo],
      help: "the board's IO capability while pairing (default: yesno on a terminal)", set: { $0.radio.io = $1 }),
    .named(
      "--advertise", value: "PROFILE", names: profiles,
      help: "what the advertisement carries: \(profiles.joined(separator: ", ")) "
        + "(default: auto, in turn while pairable)",
      read: { profiles.contains($0) ? .some(AdvertisingProfile(rawValue: $0)) : nil },
      set: { $0.radio.advertise = $1 }),
  ]

  private static let output: [RunOption] = [
    .named(
      "--fetch", value: "all|none|LIST", names: ["all", "none"] + NotificationAttributeID.names,
      expects: "all, none, or names separated by commas",
      help: "the attributes to fetch for each notification, of "
        + NotificationAttributeID.names.joined(separator: ", ")
        + " (default: all)",
      read: { AttributeSelection($0)?.attributes }, set: { $0.live.fetch.attributes = $1 }),
    .time(
      "--grace", within: .zero ... .seconds(86_400),
      help: "how long to keep notifications after their phone disconnects (default: 2m)",
      set: { $0.live.grace = $1 }),
    .flag(
      "--early", help: "print the “incoming” events too, before anything is fetched", set: { $0.live.early = true }),
    .number(
      "--max-length", of: "bytes", within: 1...65_535,
      help: "the maximum bytes of title, subtitle and message (default: 256, 256, 1024)",
      set: { options, length in
        for attribute in NotificationAttributeID.all where attribute.takesMaximumLength {
          options.live.fetch.maximumLengths[attribute] = UInt16(clamping: length)
        }
      }),
  ]

  private static let files: [RunOption] = [
    .file(
      "--socket", value: "PATH",
      help: "the control socket (default: /run/ancsd/control.sock; "
        + "$XDG_RUNTIME_DIR/ancsd.sock when not root)",
      set: { $0.start.socket = DefaultPaths.socket($1) }),
    .stateDirectory(
      for: "bonds and caches",
      default: "\(DefaultPaths.systemState); ~/.local/state/ancsd when not root",
      set: { $0.start.stateDirectory = $1 }),
    .file(
      "--btsnoop",
      help: "capture the ATT traffic of every link, for Wireshark and btmon; append to an earlier capture in "
        + "the file", set: { $0.start.btsnoop = $1 }),
    .captureLimit(
      help: "end the capture, or continue in another file, at this size in MiB (default: 256)",
      set: { $0.start.captureLimit = $1 }),
    .number(
      "--capture-files", within: 1...1_000,
      help: "keep this many files: FILE, and the older FILE.1 and so on (default: 1)",
      set: { $0.start.captureFiles = $1 }),
    .config(of: "settings, hooks and rules", set: { $0.start.config = $1 }),
  ]

  private static let hooks: [RunOption] = [
    .value(
      "--exec", value: "EVENT=PROGRAM", kind: .file, expects: "EVENT=PROGRAM, an event's name and an absolute path",
      help: "run this program for each event of that name, with the event on standard input and in ANCSD_*; "
        + "EVENT+: also for notifications from before the session", read: { Hook($0) },
      set: { options, hook in
        options.live.hooks.append(hook)
        options.live.tables.append(hook.table)
      }
    ).repeated.onlyTyped,
    .number(
      "--exec-jobs", within: 1...64, help: "how many of these programs may run at once (default: 4)",
      set: { $0.live.hookLimits.programs = $1 }),
    .time(
      "--exec-timeout", within: .seconds(1) ... .seconds(86_400),
      help: "how long each may run (default: 30s)", set: { $0.live.hookLimits.time = $1 }),
  ]

  private static let logging: [RunOption] = [
    .flag(
      "-v", "--verbose", help: "log more on standard error; twice: everything",
      set: { $0.live.logLevel = $0.live.logLevel >= .info ? .debug : .info }
    ).onlyTyped,
    .flag(
      "--why", help: "print on standard error what everything waits for, whenever that changes",
      set: { $0.live.printsWhy = true }),
    .flag("-q", "--quiet", help: "errors only", set: { $0.live.logLevel = .error }).onlyTyped,
    .named(
      "--log-level", value: LogLevel.allCases.map(\.name).joined(separator: "|"), names: LogLevel.allCases.map(\.name),
      help: "how much to log on standard error (default: notice)",
      read: { text in LogLevel.allCases.first { $0.name == text } }, set: { $0.live.logLevel = $1 }),
  ]

  private static let quirk = RunOption.named(
    "--quirk", value: "NAME=VALUE", names: quirks.settingNames.map { "\($0)=" },
    expects: "NAME=VALUE, with one of these names: "
      + quirks.settingNames.joined(separator: ", "),
    help: "change an assumption about iOS. "
      + quirks.options.map { "\($0.form.settingName ?? ""): \($0.form.help?() ?? "")" }
      .joined(separator: "; "),
    read: { text in
      var options = RunOptions()
      return options.setQuirk(text) ? text : nil
    }, set: { _ = $0.setQuirk($1) }
  ).repeated.onlyTyped.effective(.newLink)
}

extension [CommandOption<RunOptions>] {
  /// The same options, of which changes take effect then.
  func effective(_ effect: SettingEffect) -> Self { map { $0.effective(effect) } }
}

extension RadioSettings {
  fileprivate mutating func add(_ adapter: AdapterChoice?) {
    if let adapter, !adapters.contains(adapter) { adapters.append(adapter) }
  }
}
