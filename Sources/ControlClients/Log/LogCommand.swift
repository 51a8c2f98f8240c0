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
  /// `ancsd log`: prints past events from the daemon's history.
  static let log = Command(
    "log", "shows past events, if [log] makes the daemon keep them",
    usage: ["ancsd log [OPTIONS]"],
    grammar: Grammar<LogOptions>(logOptions + CommandOption.output),
    defaults: LogOptions(),
    notes: [
      "The daemon keeps a history if its settings have a table [log] (ancsd.toml(5)). Whoever may use the control socket may "
        + "read it; without a daemon, it is read from the file in the usual place, which belongs to the daemon's "
        + "user, with mode 0600. JSON has the events as “ancsd watch” prints them, without texts unless the settings "
        + "say to keep them. The status is 1 if nothing matches."
    ]
  ) { options throws(Failure) in
    let console = try Console(options.output)
    return console.onLoop { () async throws(Failure) in
      let client = ControlClient(console, toFirstOf: DefaultPaths.sockets(options.socket))
      return try await show(options, client, console)
    }
  }

  private static let logOptions: [CommandOption<LogOptions>] = [
    .since("events", set: { $0.since = $1 }), .app(set: { $0.apps.append($1) }),
    .count(of: "events", help: "only the latest N", set: { $0.count = $1 }),
    .file(
      "--file", help: "the file (default: the daemon's)", set: { $0.file = $1 }),
    .socket(set: { $0.socket = $1 }),
  ]

  /// Prints from the named file, from the daemon, or without one from the file in the usual place.
  static func show(
    _ options: LogOptions, _ client: ControlClient, _ console: Console,
    usual: String = DefaultPaths.history(in: DefaultPaths.stateDirectory)
  ) async throws(Failure) -> ExitStatus {
    var printout = HistoryPrintout(options, console)
    if options.file == nil, try isReachable(client, orHas: usual) {
      let query = HistoryQuery(since: options.since)
      for event in try await client.listAsWritten(
        ControlMethods.readHistory, query, "reading the history")
      {
        try printout.take(Array(event))
      }
      return try printout.finish("the history")
    }
    let path = options.file ?? usual
    let file = try reading(path) { () throws(HistoryError) in try HistoryFile(reading: path) }
    var place: Int64 = 0
    while true {
      let rows = try reading(path) { () throws(HistoryError) in
        try file.next(since: options.since, after: place)
      }
      guard let last = rows.last else { return try printout.finish(path) }
      for row in rows { try printout.take(row.entry.line) }
      place = last.place
    }
  }

  /// Whether a daemon runs. Without one and without a file, the error is that no daemon runs: it may keep its history
  /// elsewhere.
  private static func isReachable(
    _ client: ControlClient, orHas path: String
  ) throws(Failure) -> Bool {
    do throws(Failure) {
      try client.connect()
      return true
    } catch {
      guard error.status == .unavailable, mayExist(path) else { throw error }
      return false
    }
  }

  private static func mayExist(_ path: String) -> Bool {
    do throws(SystemError) { return try Files.kind(of: path) != nil } catch { return true }
  }
}

/// Prints the events that match the options.
private struct HistoryPrintout {
  private let options: LogOptions
  private let console: Console
  private var found: FIFO<[UInt8]>
  private var isEmpty = true
  private var page: EventPage

  init(_ options: LogOptions, _ console: Console) {
    self.options = options
    self.console = console
    found = FIFO(limit: options.count)
    page = EventPage(console.style, today: .now)
  }

  mutating func take(_ line: [UInt8]) throws(Failure) {
    guard matches(line) else { return }
    if options.count == nil { try print(line) } else { found.append(line) }
  }

  mutating func finish(_ place: String) throws(Failure) -> ExitStatus {
    while let line = found.popFirst() { try print(line) }
    if isEmpty { console.remark("nothing in \(place) matches") }
    return isEmpty ? .refused : .done
  }

  private func matches(_ line: [UInt8]) -> Bool {
    guard !options.apps.isEmpty else { return true }
    let event = try? JSONValue(parsing: line)
    let names = ["app_id", "app"].compactMap { event?[$0]?.string }
    return options.apps.contains { names.contains(where: $0.matches) }
  }

  private mutating func print(_ line: [UInt8]) throws(Failure) {
    isEmpty = false
    switch console.format {
    case .json: try console.print(line + [UInt8(ascii: "\n")])
    case .text:
      // An event from a newer version may be unknown here.
      guard let json = try? JSONValue(parsing: line), let event = try? NumberedEvent(reading: json)
      else { return }
      try console.print(line: page.text(event))
    }
  }
}

/// Reads a history, and turns errors into messages for the user.
func reading<Value>(
  _ path: String, _ body: () throws(HistoryError) -> Value
) throws(Failure) -> Value {
  do throws(HistoryError) { return try body() } catch { throw Failure(readingHistory: path, error) }
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
