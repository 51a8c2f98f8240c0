// SPDX-License-Identifier: GPL-3.0-or-later
public import Control

/// One of the program's commands: its name, its help, and what it does.
public struct Command: Sendable {
  public let name: String
  /// What it does, in a few words, for the list of commands.
  public let summary: String
  /// Returns the text of `--help`, so many columns wide, for a command line with these arguments.
  public let help: @Sendable (_ arguments: [String], _ width: Int) -> String
  /// Reads its arguments and does it.
  let perform: @Sendable (_ arguments: [String]) throws(Failure) -> ExitStatus

  /// A command that parses its arguments into `Options`, starting from `defaults`.
  ///
  /// - Parameters:
  ///   - usage: ways to call it, where they are not its name, `[OPTIONS]` and its operands.
  ///   - notes: paragraphs for the end of its help.
  ///   - help: lays out its help, where that is not the usual page.
  public init<Options: Sendable>(
    _ name: String, _ summary: String, usage: [String] = [], grammar: Grammar<Options>,
    defaults: Options, notes: [String] = [],
    help: (@Sendable (_ arguments: [String], _ width: Int) -> String)? = nil,
    run: @escaping @Sendable (Options) throws(Failure) -> ExitStatus
  ) {
    self.name = name
    self.summary = summary
    self.help =
      help ?? { _, width in
        let line = ["ancsd", name, "[OPTIONS]", grammar.operands].filter { !$0.isEmpty }
        return Help.page(
          usage: usage.isEmpty ? [line.joined(separator: " ")] : usage, summary: summary,
          entries: grammar.entries, notes: notes, width: width)
      }
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
