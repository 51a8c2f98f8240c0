// SPDX-License-Identifier: GPL-3.0-or-later
public import Control

/// One of the program's commands: its name, its help, and what it does.
public struct Command: Sendable {
  public let name: String
  /// What it does, in a few words, for the list of commands.
  public let summary: String
  /// Whether the list of commands shows it.
  public let isListed: Bool
  /// The text of `--help` for so many columns, where these arguments stand beside it.
  public let help: @Sendable (_ arguments: [String], _ width: Int) -> String
  /// Reads its arguments and does it.
  let perform: @Sendable (_ arguments: [String]) throws(Failure) -> ExitStatus

  /// A command that parses its arguments into `Options`, starting from `defaults`.
  ///
  /// - Parameters:
  ///   - usage: ways to call it, where they are not its name, `[OPTIONS]` and its operands.
  ///   - notes: paragraphs for the end of its help.
  public init<Options: Sendable>(
    _ name: String, _ summary: String, listed isListed: Bool = true, usage: [String] = [],
    grammar: Grammar<Options>, defaults: Options, notes: [String] = [],
    run: @escaping @Sendable (Options) throws(Failure) -> ExitStatus
  ) {
    let line = ["ancsd", name, "[OPTIONS]", grammar.operands].filter { !$0.isEmpty }
    let usage = usage.isEmpty ? [line.joined(separator: " ")] : usage
    self.init(name, summary, listed: isListed, grammar: grammar, defaults: defaults, run: run) {
      Help.page(
        usage: usage, summary: summary, entries: grammar.options.compactMap(\.entry),
        notes: notes, width: $1)
    }
  }

  /// A command that lays out its own help.
  public init<Options: Sendable>(
    _ name: String, _ summary: String, listed isListed: Bool = true, grammar: Grammar<Options>,
    defaults: Options, run: @escaping @Sendable (Options) throws(Failure) -> ExitStatus,
    help: @escaping @Sendable (_ arguments: [String], _ width: Int) -> String
  ) {
    self.name = name
    self.summary = summary
    self.isListed = isListed
    self.help = help
    perform = { arguments throws(Failure) in
      var options = defaults
      do throws(Failure) {
        try grammar.parse(arguments, into: &options)
      } catch {
        var failure = error
        if failure.status == .usage, failure.remedy == nil {
          failure.remedy = "“ancsd \(name) --help” says how it is used"
        }
        throw failure
      }
      return try run(options)
    }
  }
}

/// What a command line asks for.
public enum Invocation: Sendable {
  /// A text for standard output.
  case print(String)
  case perform(Command, arguments: [String])

  /// Reads a whole command line, without the program's own name.
  ///
  /// Where no command is named, it is the first one: `ancsd --hci0`.
  public init(_ arguments: [String], commands: [Command], width: Int) throws(Failure) {
    // What follows a lone `--` is an operand, also where it is spelled like an option.
    let options = arguments.prefix { $0 != "--" }
    let wantsHelp = options.contains("--help") || options.contains("-h")
    switch arguments.first {
    case "--version", "-V":
      self = .print("ancsd \(Control.version)\n")
    case "help" where arguments.count > 1:
      self = .print(
        try Self.command(arguments[1], among: commands).help(
          Array(arguments.dropFirst(2)), width))
    case "help", "--help", "-h":
      self = .print(Help.overview(commands, width: width))
    case let name? where !name.hasPrefix("-"):
      let command = try Self.command(name, among: commands)
      self =
        wantsHelp
        ? .print(command.help(Array(arguments.dropFirst()), width))
        : .perform(command, arguments: Array(arguments.dropFirst()))
    default:
      guard let command = commands.first else { throw Failure(.software, "ancsd", "no command") }
      self =
        wantsHelp ? .print(command.help([], width)) : .perform(command, arguments: arguments)
    }
  }

  /// Does it: what is to be printed goes to `print`.
  public func perform(print: (String) throws(Failure) -> Void) throws(Failure) -> ExitStatus {
    switch self {
    case .print(let text):
      try print(text)
      return .done
    case .perform(let command, let arguments):
      return try command.perform(arguments)
    }
  }

  private static func command(
    _ name: String, among commands: [Command]
  ) throws(Failure) -> Command {
    if let command = commands.first(where: { $0.name == name }) { return command }
    let near = nearest(to: name, among: commands.filter(\.isListed).map(\.name))
    throw Failure(
      .usage, name, "unknown command",
      remedy: near.map { "did you mean “ancsd \($0)”?" } ?? "“ancsd --help” lists them")
  }
}
