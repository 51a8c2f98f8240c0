// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Board
import Control
import JSON
import System

/// A user's program to run for an event.
struct Hook: Hashable, Sendable {
  /// The event to run it for.
  var event: EventName
  /// Whether it also runs for notifications from before the session.
  var includesPreExisting = false
  /// The program's absolute path, and its arguments.
  var program: [String]

  /// Whether these can be a program's absolute path and its arguments.
  static func isProgram(_ arguments: [String]) -> Bool {
    arguments.first?.first == "/" && !arguments.contains { $0.utf8.contains(0) }
  }

  /// Why a program can't be run, as far as this process can tell; nil if it can.
  ///
  /// - Parameter isService: whether to judge by the unit's sandbox, which this process may be outside of.
  static func hindrance(to path: String, isService: Bool) -> String? {
    do throws(SystemError) {
      try Files.checkRunnable(path)
      return isService ? homeRemark(path).map { "\(path) can't be run: \($0)" } : nil
    } catch {
      let array = path.split(separator: " ").map { SettingValue.text(String($0)).description }
      let hint =
        array.count > 1
        ? "arguments are elements of an array: run = [\(array.joined(separator: ", "))]"
        : homeRemark(path)
      return "\(path) can't be run: \(error)" + (hint.map { "; \($0)" } ?? "")
    }
  }

  /// Why the service can't run a program in a home directory; nil for other programs.
  static func homeRemark(_ path: String) -> String? {
    guard ["/home/", "/root/", "/run/user/"].contains(where: { path.hasPrefix($0) }) else {
      return nil
    }
    return
      "the service sees no home directories (ProtectHome= in its unit): keep it in /usr/local/bin"
  }

  /// Whether it runs for this event.
  func matches(_ event: Event) -> Bool {
    guard event.name == self.event else { return false }
    return includesPreExisting || !event.isPreExisting
  }
}

extension Hook {
  /// Reads `EVENT=PROGRAM` or `EVENT+=PROGRAM`; nil if there is no such event, or the path is not absolute. The plus includes
  /// notifications from before the session.
  init?(_ text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    includesPreExisting = parts[0].last == "+"
    program = [String(parts[1])]
    let name = includesPreExisting ? parts[0].dropLast() : parts[0]
    guard let event = EventName(rawValue: String(name)), Hook.isProgram(program) else { return nil }
    self.event = event
  }
}

extension Hook {
  /// Its table in a settings file.
  var table: String {
    let run = program.count == 1 ? SettingValue.text(program[0]) : .list(program)
    return "[[hook]]\nevent = \(SettingValue.text(event.rawValue))\nrun = \(run)"
      + (includesPreExisting ? "\npreexisting = true" : "")
  }
}

extension Event {
  /// Whether it is about a notification from before the session.
  fileprivate var isPreExisting: Bool {
    switch content {
    case .notification(let report): report.event.flags.contains(.preExisting)
    case .incoming(let event): event.flags.contains(.preExisting)
    default: false
    }
  }
}

/// The environment of a hook.
enum HookEnvironment {
  /// Variables for the daemon only: systemd's socket, its watchdog, and the journal's mark.
  private static let withheld = Set([
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID",
    "LISTEN_FDNAMES", "JOURNAL_STREAM", "INVOCATION_ID",
  ])

  /// The daemon's own environment, and the members of the event: `title` is `ANCSD_TITLE`, `player.name` is
  /// `ANCSD_PLAYER_NAME`, an array's elements are joined by commas. Null or absent members have no variable. Texts are
  /// printable on a terminal, on one line except for a message.
  ///
  /// - Parameter socket: the control socket, `ANCSD_SOCKET`, so that `ancsd` in a program finds this daemon.
  static func variables(
    for event: NumberedEvent, inherited: [String], socket: String
  ) -> [String] {
    let usual = inherited.filter { entry in
      let name = entry.prefix { $0 != "=" }
      return !withheld.contains(String(name)) && !name.hasPrefix("ANCSD_")
    }
    var variables = ["ANCSD_SOCKET=\(socket)"]
    if let json = try? JSONValue(parsing: event.json) { add(json, as: "ANCSD", to: &variables) }
    return usual + variables
  }

  /// The variable of the only text that may have several lines.
  private static let message = "ANCSD_MESSAGE"

  private static func add(_ value: JSONValue, as name: String, to variables: inout [String]) {
    switch value {
    case .string(let text) where name == message: variables.append("\(name)=\(text.printableLines)")
    case .object(let members):
      for (key, member) in members.members {
        add(member, as: "\(name)_\(key.uppercased())", to: &variables)
      }
    case .array(let elements):
      let texts = elements.compactMap(\.word)
      variables.append("\(name)=\(texts.joined(separator: ","))")
    default:
      if let word = value.word { variables.append("\(name)=\(word)") }
    }
  }
}

extension JSONValue {
  /// A string, number or boolean as the value of a variable, without control characters; nil for anything else.
  fileprivate var word: String? {
    switch self {
    case .string(let text): text.printable
    case .bool(let value): "\(value)"
    case .int(let value): "\(value)"
    case .double(let value): "\(value)"
    case .null, .array, .object: nil
    }
  }
}
