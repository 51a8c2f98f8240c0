// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import Board
public import Control
import JSON
import System

extension Command {
  /// `ancsd config`: whether a file of settings is good, and what is in force.
  ///
  /// - Parameter settings: asks the daemon at a socket what is in force.
  public static func config(
    asking settings:
      @escaping @Sendable (_ socket: String?, _ print: @escaping @Sendable (SettingsReport) -> Void)
      -> ExitStatus
  ) -> Command {
    Command(
      "config", "whether a file of settings is good (check), and what is in force (show)",
      usage: ["ancsd config check [FILE]", "ancsd config show [OPTIONS]"], grammar: .config,
      defaults: ConfigOptions(),
      notes: [
        "If none is named, the files are \(SettingsFile.usualPath) and then \(SettingsFile.morePaths). “check” ends "
          + "with status 0 if they are good, and 78 if not, with a line for each thing that is wrong, and for each "
          + "program that could not be run. “show” asks the daemon."
      ]
    ) { options throws(Failure) in
      let console = try Console(options.output, inPipe: .text)
      switch options.action {
      case .check(let path): return try check(path, console)
      case .show:
        return settings(options.socket) { report in
          let text = console.format == .json ? report.jsonText : report.text
          try? console.print(line: text)
        }
      }
    }
  }

  private static func check(_ path: String?, _ console: Console) throws(Failure) -> ExitStatus {
    guard let file = try SettingsFile.find(path) else {
      try console.print(
        line: "neither \(SettingsFile.usualPath) nor \(SettingsFile.morePaths) is there: "
          + "everything is as it is by default")
      return .done
    }
    for fault in file.faults { Standard.report("\(fault)".printable) }
    guard file.faults.isEmpty else { return .badSettings }
    // A program may come later, so this is no fault of the file.
    let isService = file.paths.allSatisfy { $0.hasPrefix("\(SettingsFile.folder)/") }
    let hindered = file.programs.compactMap { program in
      Hook.hindrance(to: program.path, isService: isService).map { "\(program.place): \($0)" }
    }
    for line in hindered { Standard.report(line.printable) }
    let (hooks, rules) = (file.options.live.hooks.count, file.options.live.rules.count)
    let good = "\(file.paths.joined(separator: ", ")) \(file.paths.count == 1 ? "is" : "are") good"
    let but = hindered.isEmpty ? "" : ", but \(hindered.count) of the programs can't be run"
    try console.print(
      line: "\(good): \(file.entries.count) settings, \(hooks) hooks, \(rules) rules\(but)"
        .printable)
    return .done
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
    CommandOption.output(inPipe: .text) + [.socket(set: { $0.socket = $1 })],
    operands: "check [FILE] | show"
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
        usage: other.map { "config does not know “\($0)”" } ?? "config needs a word",
        remedy: "it is check or show")
    }
  }
}

extension SettingsReport {
  fileprivate var jsonText: String { String(decoding: json, as: UTF8.self) }

  /// A file of settings that says the same, with where each is from; what waits is a comment in it.
  fileprivate var text: String {
    func line(_ setting: Setting) -> String {
      guard let value = setting.value else { return "\(setting.name)  # as by default" }
      let origin = setting.line.map { "\(setting.file ?? ""):\($0)" } ?? "the command line"
      return "\(setting.name) = \(value)  # \(origin)"
    }
    var lines = settings.map(line) + waiting.map { "#\(line($0)), \($0.effect.text)" }
    let given = Set((settings + waiting).map(\.name))
    for name in SettingsFile.names where !given.contains(name) {
      lines.append("#\(name)  # as by default; \(Grammar.run.settingHelp(name) ?? "")")
    }
    lines.append("# hooks: \(hooks), rules: \(rules)")
    return lines.map(\.printable).joined(separator: "\n")
  }
}
