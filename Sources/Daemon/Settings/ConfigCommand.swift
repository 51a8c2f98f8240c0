// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import Board
public import Control
import JSON
import System

extension Command {
  /// `ancsd config`: checks the settings files, or shows the settings in force.
  ///
  /// - Parameter settings: asks the daemon at a socket for the settings in force.
  public static func config(
    asking settings:
      @escaping @Sendable (_ socket: String?, _ print: @escaping @Sendable (SettingsReport) throws(Failure) -> Void) ->
      ExitStatus
  ) -> Command {
    Command(
      "config", "checks the settings files (check), or shows the settings in force (show)",
      usage: ["ancsd config check [FILE]", "ancsd config show [OPTIONS]"], grammar: .config, defaults: ConfigOptions(),
      notes: [
        "Without FILE, the files are \(SettingsFolder.usualPath) and then \(SettingsFolder.morePaths). “check” exits "
          + "with status 0 if they are valid, and 78 if not, with a line for each error and for each "
          + "program that can't be run. “show” asks the daemon."
      ],
      examples: [
        "check",
        "check /etc/ancsd/ancsd.toml --json",
        "show",
      ]
    ) { options throws(Failure) in
      let console = try Console(options.output)
      switch options.action {
      case .check(let path): return try check(path, console)
      case .show:
        return settings(options.socket) { report throws(Failure) in
          let json = console.format == .json
          try console.print(line: json ? String(decoding: report.json, as: UTF8.self) : report.text)
        }
      }
    }
  }

  private static func check(_ path: String?, _ console: Console) throws(Failure) -> ExitStatus {
    let report = try SettingsFile.find(path).map(SettingsCheck.init) ?? SettingsCheck()
    switch console.format {
    case .json: try console.print(report.json + [UInt8(ascii: "\n")])
    case .text:
      for finding in report.faults + report.remarks { Standard.report("\(finding)".printable) }
      if report.faults.isEmpty { try console.print(line: report.summary.printable) }
    }
    return report.faults.isEmpty ? .done : .badSettings
  }
}

/// The findings of `config check`.
struct SettingsCheck: JSONObjectCodable, Sendable {
  var files: [String] = []
  /// Errors, with which the daemon does not start.
  var faults: [SettingsFault] = []
  /// Warnings: allowed, but perhaps unintended, such as a missing program, which may be installed later.
  var remarks: [SettingsFault] = []
  /// The number of settings.
  var settings = 0
  var hooks = 0
  var rules = 0
  /// Where notifications are forwarded to.
  var destinations = 0

  init() {}

  init(_ file: SettingsFile) {
    files = file.paths
    faults = file.faults
    if faults.isEmpty {
      let isService = files.allSatisfy { $0.hasPrefix("\(SettingsFolder.path)/") }
      remarks = file.remarks(isService: isService)
    }
    let live = file.options.live
    settings = file.entries.count
    hooks = live.hooks.count
    rules = live.rules.count
    destinations = live.forwards.count
  }

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.list("files", &files)
    try json.list("faults", &faults)
    try json.list("remarks", &remarks)
    try json.required("settings", &settings)
    try json.required("hooks", &hooks)
    try json.required("rules", &rules)
    try json.required("destinations", &destinations)
  }

  var summary: String {
    if files.isEmpty {
      return "neither \(SettingsFolder.usualPath) nor \(SettingsFolder.morePaths) exists: "
        + "all settings have their defaults"
    }
    let isAre = files.count == 1 ? "is" : "are"
    let but =
      switch remarks.count {
      case 0: ""
      case 1: ", but see the line above"
      case let count: ", but see the \(count) lines above"
      }
    let things = [
      settings.counted("setting"), hooks.counted("hook"), rules.counted("rule"), destinations.counted("destination"),
    ]
    return "\(files.joined(separator: ", ")) \(isAre) valid: \(things.joined(separator: ", "))\(but)"
  }
}

/// The options of `config`.
struct ConfigOptions: PrintingOptions {
  var action = Action.show
  var output = OutputOptions()
  var socket: String?

  enum Action: Sendable {
    case check(String?)
    case show
  }
}

extension Grammar<ConfigOptions> {
  static let config = Grammar(
    CommandOption.output + [.socket(set: { $0.socket = $1 })],
    operands: "check [FILE] | show",
    kinds: [.word(["check", "show"]), .settings]
  ) { options, operands throws(Failure) in
    switch operands.first {
    case "check":
      try operands.check(atMost: 2)
      options.action = .check(operands.count > 1 ? operands[1] : nil)
    case "show":
      try operands.check(atMost: 1)
      options.action = .show
    case let other:
      throw Failure(
        usage: other.map { "unknown subcommand “\($0)”" } ?? "config needs a subcommand",
        remedy: "use check or show")
    }
  }
}

extension SettingsReport {
  /// An equivalent settings file, with the source of each value; pending settings, and those that a file can't set,
  /// are comments.
  var text: String {
    func line(_ setting: Setting) -> String {
      guard let value = setting.value else { return "\(setting.name)  # the default" }
      let source = setting.file ?? "the command line"
      let origin = setting.line.map { "\(source):\($0)" } ?? source
      return "\(setting.name) = \(value)  # \(origin)"
    }
    // Programs from the command line are among the hooks.
    var lines = settings.filter { $0.name != "exec" }.map { setting in
      let isOfFile = Grammar.run.setting(setting.name)?.form.isOnlyTyped == false || setting.name.contains(".")
      return isOfFile ? line(setting) : "#\(line(setting))"
    }
    lines += waiting.map { "#\(line($0)), \($0.effect.text)" }
    let given = Set((settings + waiting).map(\.name))
    for form in Grammar.run.options.map(\.form) where !form.isOnlyTyped {
      guard let name = form.settingName, !given.contains(name) else { continue }
      lines.append("#\(name)  # the default; \(form.help?() ?? "")")
    }
    for table in tables { lines += [""] + table.split(separator: "\n").map(String.init) }
    return lines.map(\.printable).joined(separator: "\n")
  }
}
