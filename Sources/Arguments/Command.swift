// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
import JSON
import System

/// One of the program's commands: its name, its help, and what it does.
public struct Command: Sendable {
  public let name: String
  /// What it does, in a few words, for the list of commands.
  public let summary: String
  /// Returns the text of `--help`, so many columns wide, for a command line with these arguments.
  public let help: @Sendable (_ arguments: [String], _ width: Int) -> String
  /// Reads its arguments, and does nothing.
  package let check: @Sendable (_ arguments: [String]) throws(Failure) -> Void
  /// Reads its arguments and does it.
  let perform: @Sendable (_ arguments: [String]) throws(Failure) -> ExitStatus
  /// Its options and operands, for `Program.catalogue`.
  let described: @Sendable () -> JSONValue
  /// Puts together what tells whether the argument behind an option is its value.
  let takesNext: @Sendable () -> (_ option: String) -> Bool

  /// A command that parses its arguments into `Options`, starting from `defaults`.
  ///
  /// - Parameters:
  ///   - usage: ways to call it, where they are not its name, `[OPTIONS]` and its operands.
  ///   - grammar: its options and operands, put together only when the command is meant.
  ///   - notes: paragraphs for the end of its help.
  ///   - help: lays out its help, where that is not the usual page.
  public init<Options: Sendable>(
    _ name: String, _ summary: String, usage: [String] = [],
    grammar: @autoclosure @escaping @Sendable () -> Grammar<Options>,
    defaults: @autoclosure @escaping @Sendable () -> Options,
    notes: @autoclosure @escaping @Sendable () -> [String] = [],
    help: (@Sendable (_ arguments: [String], _ width: Int) -> String)? = nil,
    run: @escaping @Sendable (Options) throws(Failure) -> ExitStatus
  ) {
    self.init(
      name, summary, usage: usage, grammar: grammar(), defaults: defaults(), notes: notes(),
      help: help,
      runWithArguments: { options, _ throws(Failure) in try run(options) })
  }

  /// The same for a command that also gets its arguments as they are.
  public init<Options: Sendable>(
    _ name: String, _ summary: String, usage: [String] = [],
    grammar: @autoclosure @escaping @Sendable () -> Grammar<Options>,
    defaults: @autoclosure @escaping @Sendable () -> Options,
    notes: @autoclosure @escaping @Sendable () -> [String] = [],
    help: (@Sendable (_ arguments: [String], _ width: Int) -> String)? = nil,
    runWithArguments run:
      @escaping @Sendable (Options, _ arguments: [String]) throws(Failure) -> ExitStatus
  ) {
    self.name = name
    self.summary = summary
    self.help =
      help ?? { _, width in
        let grammar = grammar()
        let line = ["ancsd", name, "[OPTIONS]", grammar.operands].filter { !$0.isEmpty }
        return Help.page(
          usage: usage.isEmpty ? [line.joined(separator: " ")] : usage, summary: summary,
          tables: grammar.tables, notes: notes(), width: width)
      }
    takesNext = { grammar().takesNext }
    described = { grammar().described(name) }
    let read = { @Sendable (arguments: [String]) throws(Failure) -> Options in
      var options = defaults()
      do throws(Failure) {
        try grammar().parse(arguments, into: &options)
      } catch {
        var failure = error
        if failure.status == .usage, failure.remedy == nil {
          failure.remedy = "see ancsd \(name) --help"
        }
        throw failure
      }
      return options
    }
    check = { arguments throws(Failure) in _ = try read(arguments) }
    perform = { arguments throws(Failure) in try run(try read(arguments), arguments) }
  }

  /// A command that is another program, which gets the arguments as they are.
  ///
  /// - Parameters:
  ///   - first: what stands before them.
  ///   - package: what has to be installed where the program is not found.
  public init(
    _ name: String, _ summary: String, program: String, first: [String] = [], package: String
  ) {
    self.name = name
    self.summary = summary
    help = { _, width in
      let whole = ([program] + first).joined(separator: " ")
      return Help.page(
        usage: ["ancsd \(name) [OPTIONS]"], summary: summary,
        notes: ["This is the program \(program): “\(whole) --help” tells more."], width: width)
    }
    takesNext = { { _ in false } }
    described = { Grammar<Void>([]).described(name) }
    check = { _ throws(Failure) in }
    perform = { arguments throws(Failure) in
      // Beside this program, as where both were built or copied, and else where programs are.
      let folders =
        [Host.programPath.flatMap { Files.parent(of: $0) }].compactMap { $0 }
        + (Host.variable("PATH") ?? "/usr/bin").split(separator: ":").map(String.init)
      let paths = folders.map { "\($0)/\(program)" }
      guard let path = paths.first(where: { (try? Files.checkRunnable($0)) != nil }) else {
        throw Failure(
          .unavailable, "ancsd \(name)", "the program \(program) is not installed",
          remedy: "it is in the package \(package)")
      }
      do throws(SystemError) {
        try Host.become([path] + first + arguments)
      } catch {
        throw Failure(.unavailable, "ancsd \(name)", "\(error)")
      }
      return .software
    }
  }
}

/// The layout of help texts: names in a column on the left, what they mean on the right.
public enum Help {
  /// A name and its explanation.
  public typealias Entry = (name: String, text: String)
  /// Entries under a title.
  public typealias Table = (title: String, entries: [Entry])

  /// Wider than this is hard to read.
  private static let widest = 96

  /// Where the right column begins; on a narrow terminal there is none, and the text stands below the name.
  private static func column(_ width: Int) -> Int { width < 60 ? 6 : 28 }

  /// The help of one command.
  ///
  /// - Parameters:
  ///   - tables: the options, and what else has names.
  ///   - examples: lines that can be typed as they are.
  public static func page(
    usage: [String], summary: String, tables: [Table] = [], notes: [String] = [],
    examples: [String] = [], width: Int
  ) -> String {
    let width = min(max(width, 40), widest)
    var lines = usage.enumerated().flatMap { number, line in
      hanging((number == 0 ? "Usage: " : "       "), line, 9, width)
    }
    lines += [""] + wrap(summary.prefix(1).uppercased() + summary.dropFirst() + ".", 0, width)
    for part in tables where !part.entries.isEmpty {
      lines += ["", part.title + ":"] + part.entries.flatMap { table($0, width) }
    }
    for note in notes { lines += [""] + wrap(note, 0, width) }
    if !examples.isEmpty {
      lines += ["", "Examples:"] + examples.map { "  " + $0 }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The help of the whole program.
  static func overview(_ commands: [Command], width: Int) -> String {
    let width = min(max(width, 40), widest)
    var lines = [
      "Usage: ancsd [run] [--hciN]... [OPTIONS]", "       ancsd COMMAND [OPTIONS]", "",
    ]
    lines += wrap(
      "An iPhone's notifications and media on this board, over the kernel's own Bluetooth: "
        + "“ancsd --hci0” is the whole set-up. Without COMMAND it is the daemon, in the foreground; "
        + "the others are clients of it, or tools of their own.", 0, width)
    lines += ["", "Commands:"]
    lines += commands.flatMap { table(($0.name, $0.summary), width, column: 12) }
    lines += [""] + wrap("“ancsd COMMAND --help” tells more; “ancsd --version” is known.", 0, width)
    lines +=
      [""]
      + wrap(
        "On a terminal everything is text. In a pipe, what prints notifications, events, apps, phones, media, packets or attributes "
          + "prints JSON Lines; the rest is text. --text and --json choose.", 0, width)
    return lines.joined(separator: "\n") + "\n"
  }

  private static func table(_ entry: Entry, _ width: Int, column: Int? = nil) -> [String] {
    let column = column ?? self.column(width)
    let text = wrap(entry.text, column, width)
    let name = "  " + entry.name
    guard name.count + 2 <= column, let first = text.first else {
      return hanging("  ", entry.name, 4, width) + text
    }
    let gap = String(repeating: " ", count: column - name.count)
    let line: String = name + gap + String(first.drop { $0 == " " })
    return [line] + text.dropFirst()
  }

  /// The text behind `head`, in lines of at most `width` columns; all but the first are moved in by `indent`.
  private static func hanging(
    _ head: String, _ text: String, _ indent: Int, _ width: Int
  ) -> [String] {
    if head.count + text.count <= width { return [head + text] }
    let lines = wrap(text, indent, width)
    let line: String = head + String((lines.first ?? "").drop { $0 == " " })
    return [line] + lines.dropFirst()
  }

  /// The text in lines of at most `width` columns, each moved in by `indent`.
  private static func wrap(_ text: String, _ indent: Int, _ width: Int) -> [String] {
    let margin = String(repeating: " ", count: indent)
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent + line.count + 1 + word.count > width {
        lines.append(margin + line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return line.isEmpty ? lines : lines + [margin + line]
  }
}
