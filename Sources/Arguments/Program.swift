// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
import EventLoop
import System

/// The whole program.
public enum Program {
  /// Does what the command line says; an error becomes a line on standard error and an exit status.
  ///
  /// Where no command is named, the first of `commands` is meant.
  public static func main(_ arguments: [String], commands: [Command]) -> Never {
    Standard.fillGaps()
    Signal.pipe.ignore()
    let console = Console()
    do throws(Failure) {
      let invocation = try Invocation(
        Array(arguments.dropFirst()), commands: commands, width: console.style.width ?? 80)
      let status = try invocation.perform { text throws(Failure) in try console.print(text.utf8) }
      Host.exit(status.rawValue)
    } catch {
      console.report(error)
      Host.exit(error.status.rawValue)
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
  /// Where no command is named, the first one is meant: `ancsd --hci0`.
  public init(_ arguments: [String], commands: [Command], width: Int) throws(Failure) {
    // What follows a lone `--` is an operand, even if it looks like an option.
    let options = arguments.prefix { $0 != "--" }
    let wantsHelp = options.contains("--help") || options.contains("-h")
    let command: Command
    var rest = Array(arguments.dropFirst())
    switch arguments.first {
    case "--version", "-V":
      self = .print("ancsd \(Control.version)\n")
      return
    case "help" where !rest.isEmpty:
      let named = try Self.command(rest[0], among: commands)
      self = .print(named.help(Array(rest.dropFirst()), width))
      return
    case "help", "--help", "-h":
      self = .print(Help.overview(commands, width: width))
      return
    case let name? where !name.hasPrefix("-"): command = try Self.command(name, among: commands)
    default:
      guard let first = commands.first else { throw Failure(.software, "ancsd", "no command") }
      (command, rest) = (first, arguments)
    }
    self = wantsHelp ? .print(command.help(rest, width)) : .perform(command, arguments: rest)
  }

  /// Does it; `print` gets what is to be printed.
  public func perform(print: (String) throws(Failure) -> Void) throws(Failure) -> ExitStatus {
    switch self {
    case .print(let text):
      try print(text)
      return .done
    case .perform(let command, let arguments): return try command.perform(arguments)
    }
  }

  private static func command(_ name: String, among all: [Command]) throws(Failure) -> Command {
    if let command = all.first(where: { $0.name == name }) { return command }
    let near = nearest(to: name, among: all.map(\.name))
    throw Failure(
      .usage, name, "unknown command",
      remedy: near.map { "did you mean “ancsd \($0)”?" } ?? "“ancsd --help” lists them")
  }
}

extension DefaultPaths {
  /// Where this user's control socket may be, in order.
  public static var sockets: [String] {
    sockets(userID: Host.userID, runtimeDirectory: Host.variable("XDG_RUNTIME_DIR"))
  }
}

/// The name that was probably meant by `word`: one that begins with it, or one that at most two
/// typing errors turned into it (one, if the word is short).
public func nearest(to word: String, among names: [String]) -> String? {
  let dashes = word.prefix { $0 == "-" }.count
  let length = word.count - dashes
  if length >= 2, let longer = names.first(where: { $0.hasPrefix(word) }) { return longer }
  let limit = length <= 4 ? 1 : 2
  let ranked = names.map { (name: $0, distance: distance(Array(word), Array($0))) }
  return ranked.filter { $0.distance <= limit && $0.name.count > dashes + 1 }
    .min { $0.distance < $1.distance }?.name
}

/// How many letters must be added, dropped, changed or swapped with their neighbour to turn one
/// word into the other (optimal string alignment).
private func distance(_ one: [Character], _ other: [Character]) -> Int {
  // No typing error is so long, and the table would be large.
  guard one.count <= 40, other.count <= 40 else { return .max }
  var before: [Int] = []
  var above = Array(0...other.count)
  for (row, letter) in one.enumerated() {
    var current = [row + 1]
    for (column, counterpart) in other.enumerated() {
      var best = min(
        above[column] + (letter == counterpart ? 0 : 1), above[column + 1] + 1, current[column] + 1)
      if row > 0, column > 0, letter == other[column - 1], one[row - 1] == counterpart {
        best = min(best, before[column - 1] + 1)
      }
      current.append(best)
    }
    before = above
    above = current
  }
  return above[other.count]
}
