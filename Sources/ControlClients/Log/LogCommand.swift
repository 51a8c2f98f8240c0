// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import History
import JSON
import System
import Wire

/// The options of `log`.
struct LogOptions: PrintingOptions {
  var output = OutputOptions()
  /// The file; nil: where the daemon writes it.
  var file: String?
  /// The daemon's control socket.
  var socket: String?
  var since: WallTime?
  var apps: [Glob] = []
  /// Only the latest.
  var count: Int?
}

extension Clients {
  /// `ancsd log`: prints past events from the daemon's history file.
  static let log = Command(
    "log", "shows past events, if [log] makes the daemon keep them",
    usage: ["ancsd log [OPTIONS]"],
    grammar: Grammar<LogOptions>(logOptions + CommandOption.output),
    defaults: LogOptions(),
    notes: [
      "The daemon keeps a history if its settings have a table [log] (ancsd.toml(5)), and says where; without a daemon, "
        + "the history is looked for in the usual place. The file belongs to the daemon's "
        + "user, with mode 0600. JSON has the events as “ancsd watch” prints them, without texts unless the settings "
        + "say to keep them. The status is 1 if nothing matches."
    ]
  ) { options throws(Failure) in
    let console = try Console(options.output)
    return console.onLoop { () async throws(Failure) in
      var path = options.file
      if path == nil {
        path = try await historyPath(DaemonProbe.status(DefaultPaths.sockets(options.socket)))
      }
      return try show(options, path ?? "", console)
    }
  }

  /// Where the daemon keeps its history.
  static func historyPath(_ daemon: DaemonState) throws(Failure) -> String {
    switch daemon {
    case .status(let status):
      if let history = status.history { return history.file }
      throw Failure(
        .noInput, "reading the history", "the daemon keeps none",
        remedy: "it does so once its settings have a table [log]; --file reads an earlier one")
    case .closed(let path): throw Failure(connecting: path, .permissionDenied)
    case .none, .mute: return DefaultPaths.history(in: DefaultPaths.stateDirectory)
    }
  }

  private static let logOptions: [CommandOption<LogOptions>] = [
    .since("events", set: { $0.since = $1 }), .app(set: { $0.apps.append($1) }),
    .count(of: "events", help: "only the latest N", set: { $0.count = $1 }),
    .file(
      "--file", help: "the file (default: the daemon's)", set: { $0.file = $1 }),
    .socket(set: { $0.socket = $1 }),
  ]

  private static func show(
    _ options: LogOptions, _ path: String, _ console: Console
  ) throws(Failure) -> ExitStatus {
    var found = FIFO<HistoryEntry>(limit: options.count)
    var isEmpty = true
    var page = EventPage(console.style, today: .now)
    func print(_ entry: HistoryEntry) throws(Failure) {
      isEmpty = false
      switch console.format {
      case .json: try console.print(entry.line + [UInt8(ascii: "\n")])
      case .text:
        // An event from a newer version may be unknown here.
        guard let json = try? JSONValue(parsing: entry.line),
          let event = try? NumberedEvent(reading: json)
        else { return }
        try console.print(line: page.text(event))
      }
    }
    var place = HistoryFile.Place()
    let file = try reading(path) { () throws(HistoryError) in try HistoryFile(reading: path) }
    while true {
      let entries = try reading(path) { () throws(HistoryError) in
        try file.next(since: options.since, from: &place)
      }
      guard !entries.isEmpty else { break }
      for entry in entries where options.matches(entry) {
        if options.count == nil { try print(entry) } else { found.append(entry) }
      }
    }
    while let entry = found.popFirst() { try print(entry) }
    if isEmpty { console.remark("nothing in \(path) matches") }
    return isEmpty ? .refused : .done
  }
}

/// Reads a history, and turns errors into messages for the user.
private func reading<Value>(
  _ path: String, _ body: () throws(HistoryError) -> Value
) throws(Failure) -> Value {
  do throws(HistoryError) { return try body() } catch { throw Failure(readingHistory: path, error) }
}

extension LogOptions {
  fileprivate func matches(_ entry: HistoryEntry) -> Bool {
    apps.isEmpty || apps.contains { $0.matches(entry.appID) || $0.matches(entry.app) }
  }
}

extension Failure {
  fileprivate init(readingHistory path: String, _ error: HistoryError) {
    let what = "reading the history"
    guard case .system(let error) = error else {
      self.init(.noInput, what, "\(error)")
      return
    }
    switch error.errno {
    case .noSuchFile:
      self.init(
        .noInput, what, "\(path) does not exist",
        remedy: "a daemon with a table [log] in its settings creates it; --file names another")
    case .permissionDenied, .notPermitted:
      self.init(
        .noPermission, what, "\(error)",
        remedy: "only root and the daemon's user may read it: sudo ancsd log")
    default: self.init(.noInput, what, "\(error)")
    }
  }
}
