// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
import JSON
import System

/// One of the program's commands: its name, its help, and what it does.
public struct Command: Sendable {
  public let name: String
  /// A few words for the list of commands.
  public let summary: String
  /// Returns the text of `--help` in this number of columns, for a command line with these arguments.
  public let help: @Sendable (_ arguments: [String], _ width: Int) -> String
  /// Parses its arguments, and does nothing else.
  package let check: @Sendable (_ arguments: [String]) throws(Failure) -> Void
  /// Parses its arguments and runs it.
  let perform: @Sendable (_ arguments: [String]) throws(Failure) -> ExitStatus
  /// Its options and operands, for `Program.catalogue`.
  let described: @Sendable () -> JSONValue
  /// Whether it is another program, which has its own help.
  var isProgram = false
  /// Returns a function that tells whether the argument after an option is its value.
  let takesNext: @Sendable () -> (_ option: String) -> Bool

  /// A command that parses its arguments into `Options`, starting from `defaults`.
  ///
  /// - Parameters:
  ///   - usage: the ways to call it, if not its name, `[OPTIONS]` and its operands.
  ///   - grammar: its options and operands, built only when the command is used.
  ///   - notes: paragraphs at the end of its help.
  ///   - examples: command lines without `ancsd` and its name.
  ///   - help: formats its help, if not the usual page.
  public init<Options: Sendable>(
    _ name: String, _ summary: String, usage: [String] = [],
    grammar: @autoclosure @escaping @Sendable () -> Grammar<Options>,
    defaults: @autoclosure @escaping @Sendable () -> Options,
    notes: @autoclosure @escaping @Sendable () -> [String] = [],
    examples: @autoclosure @escaping @Sendable () -> [String] = [],
    help: (@Sendable (_ arguments: [String], _ width: Int) -> String)? = nil,
    run: @escaping @Sendable (Options) throws(Failure) -> ExitStatus
  ) {
    self.init(
      name, summary, usage: usage, grammar: grammar(), defaults: defaults(), notes: notes(), examples: examples(),
      help: help, runAsTyped: { options, _ throws(Failure) in try run(options) })
  }

  /// The same for a command that also gets the options as they were typed, to set them again.
  public init<Options: Sendable>(
    _ name: String, _ summary: String, usage: [String] = [],
    grammar: @autoclosure @escaping @Sendable () -> Grammar<Options>,
    defaults: @autoclosure @escaping @Sendable () -> Options,
    notes: @autoclosure @escaping @Sendable () -> [String] = [],
    examples: @autoclosure @escaping @Sendable () -> [String] = [],
    help: (@Sendable (_ arguments: [String], _ width: Int) -> String)? = nil,
    runAsTyped run: @escaping @Sendable (Options, [Grammar<Options>.Given]) throws(Failure) -> ExitStatus
  ) {
    self.name = name
    self.summary = summary
    self.help =
      help ?? { _, width in
        let grammar = grammar()
        let line = ["ancsd", name, "[OPTIONS]", grammar.operands].filter { !$0.isEmpty }
        return Help.page(
          usage: usage.isEmpty ? [line.joined(separator: " ")] : usage, summary: summary, tables: grammar.tables,
          notes: notes(), examples: examples().map { $0.isEmpty ? "ancsd \(name)" : "ancsd \(name) \($0)" },
          width: width)
      }
    takesNext = { grammar().takesNext }
    described = { grammar().described(name) }
    typealias Line = (options: Options, given: [Grammar<Options>.Given])
    let read = { @Sendable (arguments: [String]) throws(Failure) -> Line in
      var options = defaults()
      do throws(Failure) {
        let given = try grammar().parse(arguments, into: &options)
        return (options, given)
      } catch {
        var failure = error
        if failure.status == .usage, failure.remedy == nil {
          failure.remedy = "see ancsd \(name) --help"
        }
        throw failure
      }
    }
    check = { arguments throws(Failure) in _ = try read(arguments) }
    perform = { arguments throws(Failure) in
      let line = try read(arguments)
      return try run(line.options, line.given)
    }
  }

  /// A command that runs another program with the same arguments.
  ///
  /// - Parameters:
  ///   - first: the arguments before them.
  ///   - package: the package to install if the program is missing.
  public init(_ name: String, _ summary: String, program: String, first: [String] = [], package: String) {
    self.name = name
    self.summary = summary
    help = { _, width in
      let whole = ([program] + first).joined(separator: " ")
      return Help.page(
        usage: ["ancsd \(name) [OPTIONS]"], summary: summary,
        notes: ["This runs the program \(program): see “\(whole) --help”."], width: width)
    }
    takesNext = { { _ in false } }
    described = { Grammar<Void>([]).described(name) }
    isProgram = true
    check = { _ throws(Failure) in }
    perform = { arguments throws(Failure) in
      // Next to this program, where both were built or copied to, or else in the usual directories.
      let folders =
        [Host.programPath.flatMap { Files.parent(of: $0) }].compactMap { $0 }
        + (Host.variable("PATH") ?? "/usr/bin").split(separator: ":").map(String.init)
      let paths = folders.map { "\($0)/\(program)" }
      guard let path = paths.first(where: { (try? Files.checkRunnable($0)) != nil }) else {
        throw Failure(
          .unavailable, name, "the program \(program) is not installed", remedy: "it is in the package \(package)")
      }
      try attempt(try Host.become([path] + first + arguments)) { (error: SystemError) in
        Failure(.unavailable, name, "\(error)")
      }
      return .software
    }
  }
}
