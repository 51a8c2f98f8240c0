// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import History
import JSON
import System
import Wire

extension Clients {
  /// `ancsd log`: prints past events from the daemon's history.
  static let log = Command(
    "log", "shows past events, if [log] makes the daemon keep them", usage: ["ancsd log [OPTIONS]"],
    grammar: logGrammar, defaults: ClientOptions(),
    notes: [
      "The daemon keeps a history if its settings have a table [log] (ancsd.toml(5)). Whoever may use the control socket may "
        + "read it; without a daemon, it is read from the file in the usual place, which belongs to the daemon's "
        + "user, with mode 0600. JSON has the events as “ancsd watch” prints them, without texts unless the settings "
        + "say to keep them. The status is 1 if nothing matches."
    ],
    examples: [
      "--since yesterday --app Messages",
      "--follow --event notification --category incoming-call,missed-call",
      "-n 20 --newest-first --template '{time} {app}: {title}'",
    ]
  ) { options throws(Failure) in
    let console = try Console(options.output)
    return console.onLoop { () async throws(Failure) in
      let client = ControlClient(console, toFirstOf: DefaultPaths.sockets(options.socket))
      let output = Console.watchReader { [inbox = client.inbox] in inbox.post(.readerGone) }
      defer { withExtendedLifetime(output) {} }
      return try await show(options, client, console)
    }
  }

  static let logGrammar = Grammar<ClientOptions>(
    [
      .since("events", set: { $0.since = $1 }),
      .since("events", "--until", set: { $0.until = $1 }),
      .flag("--follow", help: "continue with the events that arrive", set: { $0.follows = true }),
    ] + CommandOption.eventFilters + CommandOption.latest(of: "events") + [
      .template,
      .file("--file", help: "the file (default: the daemon's)", set: { $0.file = $1 }),
      .socket(set: { $0.socket = $1 }),
    ] + CommandOption.output
  ) { options, operands throws(Failure) in
    try operands.check(atMost: 0)
    if options.follows, options.file != nil || options.until != nil || options.newestFirst {
      throw Failure(usage: "--follow can't be combined with --file, --until or --newest-first")
    }
  }

  /// Prints from the named file, from the daemon, or without one from the file in the usual place.
  static func show(
    _ options: ClientOptions, _ client: ControlClient, _ console: Console,
    usual: String = DefaultPaths.history(in: DefaultPaths.stateDirectory)
  ) async throws(Failure) -> ExitStatus {
    var printout = HistoryPrintout(options, console)
    var path = options.file
    if path == nil {
      do throws(Failure) {
        try client.connect()
      } catch {
        // Without a daemon and without a file, the error is that no daemon runs: it may keep its history elsewhere.
        let mayExist = (try? Files.kind(of: usual) != nil) ?? true
        guard error.status == .unavailable, !options.follows, mayExist else { throw error }
        path = usual
      }
    }
    guard let path else {
      let query = HistoryQuery(since: options.since)
      try await client.listAsWritten(
        ControlMethods.readHistory, query, "reading the history"
      ) { event throws(Failure) in try printout.take(Array(event)) }
      let status = try printout.finish("the history", isEnd: !options.follows)
      guard options.follows else { return status }
      var watch = options
      let next = printout.latest.map {
        WallTime(seconds: $0.seconds, nanoseconds: $0.nanoseconds + 1)
      }
      (watch.lastSeen, watch.since, watch.count) = (0, next ?? options.since ?? .now, nil)
      var watcher = Watcher(watch, client)
      return try await watcher.run()
    }
    let file = try attempt(try HistoryFile(reading: path)) { Failure(readingHistory: path, $0) }
    var place: Int64 = 0
    while true {
      let rows = try attempt(try file.next(since: options.since, after: place)) {
        Failure(readingHistory: path, $0)
      }
      guard let last = rows.last else { return try printout.finish(path) }
      for row in rows { try printout.take(row.line) }
      place = last.place
    }
  }
}

/// Prints the events that match the options.
private struct HistoryPrintout {
  private let options: ClientOptions
  private let console: Console
  private var found: FIFO<Found>
  private var isEmpty = true
  private var page: EventPage
  private var filter: EventFilter
  /// When the last event was, printed or not.
  private(set) var latest: WallTime?

  /// An event as the daemon wrote it, and as it is understood.
  private typealias Found = (line: [UInt8], event: NumberedEvent?)

  init(_ options: ClientOptions, _ console: Console) {
    self.options = options
    self.console = console
    found = FIFO(limit: options.count)
    page = EventPage(console.style, today: .now)
    filter = EventFilter(options)
  }

  mutating func take(_ line: [UInt8]) throws(Failure) {
    // An event from a newer version may be unknown here.
    let event = (try? JSONValue(parsing: line)).flatMap { try? NumberedEvent(reading: $0) }
    if let event { latest = event.time }
    if !filter.isEmpty { guard let event, filter.matches(event) else { return } }
    let found = (line, event)
    if options.count == nil, !options.newestFirst {
      try print(found)
    } else {
      self.found.append(found)
    }
  }

  /// - Parameter isEnd: whether nothing follows.
  mutating func finish(_ place: String, isEnd: Bool = true) throws(Failure) -> ExitStatus {
    var all: [Found] = []
    while let event = found.popFirst() { all.append(event) }
    for event in options.latest(of: all) { try print(event) }
    if isEmpty, isEnd { console.remark("nothing in \(place) matches") }
    return isEmpty ? .refused : .done
  }

  private mutating func print(_ found: Found) throws(Failure) {
    isEmpty = false
    try console.show(json: found.line) { found.event.map { page.text($0) } ?? "" }
  }
}

extension Failure {
  init(readingHistory path: String, _ error: HistoryError) {
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
