// SPDX-License-Identifier: GPL-3.0-or-later
import CBuild
public import Control
import EventLoop
import System
import Wire

/// The whole program.
public enum Program {
  /// The version as its package has it, and as `ready` and `status` tell it: a build between releases names its commit, as in
  /// `0.2.0+git20261124.12.g9e7d567abc`.
  public static var version: String { String(build.prefix { $0 != " " }) }
  /// That with the commit's date, as `--version` prints it, if scripts/build built the program.
  public static var build: String { Control.version + String(cString: ancsd_build()) }

  /// Runs the command line; an error becomes a line on standard error and an exit status.
  ///
  /// Without a command, runs the first of `commands`.
  ///
  /// - Parameter helper: the command that is only for the program itself, and not listed.
  public static func main(_ arguments: [String], commands: [Command], helper: Command) -> Never {
    main { width throws(Failure) in
      let arguments = Array(arguments.dropFirst())
      return arguments.first == helper.name
        ? .perform(helper, arguments: Array(arguments.dropFirst()))
        : try Invocation(arguments, commands: commands, width: width)
    }
  }

  /// The same for a program with a single command.
  ///
  /// - Parameter name: the program's name.
  public static func main(_ arguments: [String], name: String, command: Command) -> Never {
    main { width throws(Failure) in
      Invocation(Array(arguments.dropFirst()), name: name, command: command, width: width)
    }
  }

  private static func main(_ read: (_ width: Int) throws(Failure) -> Invocation) -> Never {
    Standard.fillGaps()
    Signal.pipe.ignore()
    // If it were ignored, the kernel would discard the exit statuses of children.
    Signal.childEnded.restore()
    let console = Console()
    do throws(Failure) {
      let invocation = try read(console.style.width ?? 80)
      let status = try invocation.perform { text throws(Failure) in try console.print(text.utf8) }
      if status == .interrupted {
        // The terminal has shown ^C on the line of the cursor.
        if Terminal.isTerminal(Standard.error) {
          try? FileDescriptor.writeAll([UInt8(ascii: "\n")], to: Standard.error)
        }
        Signal.interrupt.end()
      }
      Host.exit(status.rawValue)
    } catch {
      console.report(error)
      Host.exit(error.status.rawValue)
    }
  }
}

/// A parsed command line.
public enum Invocation: Sendable {
  /// Print a text on standard output.
  case print(String)
  case perform(Command, arguments: [String])

  /// Parses a whole command line, without the program's name.
  ///
  /// Options may precede the command's name. Without a command, the first one is used: `ancsd --hci0`.
  public init(_ arguments: [String], commands: [Command], width: Int) throws(Failure) {
    switch arguments.first {
    case "--version", "-V", "version":
      self = .print("ancsd \(Program.build)\n")
      return
    case "help" where arguments.dropFirst() == ["--json"]:
      self = .print(Program.catalogue(commands))
      return
    case "help" where arguments.count > 1:
      let named = try Self.command(arguments[1], among: commands)
      self = .print(named.help(Array(arguments.dropFirst(2)), width))
      return
    case "help", "--help", "-h":
      self = .print(Help.overview(commands, width: width))
      return
    default: break
    }
    // After `--`, even an argument that looks like an option is an operand.
    let options = arguments.prefix { $0 != "--" }
    let wantsHelp = options.contains("--help") || options.contains("-h")
    guard var command = commands.first else { throw Failure(.software, "ancsd", "no command") }
    var rest = arguments
    if let place = Self.place(ofCommandIn: arguments, among: commands),
      // After options, the first command refuses a word that resembles no command.
      place == 0 || nearest(to: arguments[place], among: commands.map(\.name)) != nil
    {
      command = try Self.command(rest.remove(at: place), among: commands)
    }
    self = wantsHelp && !command.isProgram ? .print(command.help(rest, width)) : .perform(command, arguments: rest)
  }

  /// Parses the command line of a program with a single command.
  init(_ arguments: [String], name: String, command: Command, width: Int) {
    let options = arguments.prefix { $0 != "--" }
    if options.contains("--version") || options.contains("-V") {
      self = .print("\(name) \(Program.build)\n")
    } else if options.contains("--help") || options.contains("-h") {
      self = .print(command.help(arguments, width))
    } else {
      self = .perform(command, arguments: arguments)
    }
  }

  /// The index of the command's name: the first argument that is neither an option nor the value of one.
  private static func place(ofCommandIn arguments: [String], among commands: [Command]) -> Int? {
    // The first grammar nearly always has all the options, and building all grammars takes as long as the rest of the
    // start.
    var grammars: [(_ option: String) -> Bool] = []
    func takesNext(_ option: String) -> Bool {
      if grammars.contains(where: { $0(option) }) { return true }
      for command in commands[grammars.count...] {
        grammars.append(command.takesNext())
        if grammars.last?(option) == true { return true }
      }
      return false
    }
    var place = 0
    while place < arguments.count, arguments[place] != "--" {
      guard arguments[place].hasPrefix("-"), arguments[place] != "-" else { return place }
      place += takesNext(arguments[place]) ? 2 : 1
    }
    return nil
  }

  /// Runs it; `print` gets the output.
  public func perform(print: (String) throws(Failure) -> Void) throws(Failure) -> ExitStatus {
    switch self {
    case .print(let text):
      try print(text)
      return .done
    case .perform(let command, let arguments): return try command.perform(arguments)
    }
  }

  /// What other programs, and people, call what a command does.
  static let otherWords = [
    "calls": "list --category incoming-call,missed-call", "notifications": "list", "ls": "list", "events": "watch",
    "history": "log", "music": "media", "player": "media", "battery": "status", "devices": "phones",
    "unpair": "forget PHONE", "clear": "act --all clear", "check": "doctor", "settings": "config show",
  ]

  private static func command(_ name: String, among all: [Command]) throws(Failure) -> Command {
    if let command = all.first(where: { $0.name == name }) { return command }
    let near = otherWords[name] ?? nearest(to: name, among: all.map(\.name))
    throw Failure(
      usage: "unknown command “\(name)”",
      remedy: near.map { "did you mean “ancsd \($0)”?" } ?? "see ancsd --help")
  }
}
