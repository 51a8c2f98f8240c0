// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import History
import JSON
import System
import Wire

extension Clients {
  /// The daemon's helper, which writes the history. The daemon starts it, with the history's settings on standard
  /// input.
  package static let historyHelper = Command(
    DefaultPaths.historyHelper, "writes and reads the history, for the daemon alone",
    grammar: Grammar<ClientOptions>([.socket(set: { $0.socket = $1 })]), defaults: ClientOptions()
  ) { options throws(Failure) in
    let input = Terminal.isTerminal(Standard.input) ? nil : try? Files.read(Standard.inputPath)
    guard let input, let json = try? JSONValue(parsing: input), let task = try? HistoryTask(reading: json) else {
      throw Failure(
        usage: "only the daemon starts this, for its history",
        remedy: "the table [log] of the settings turns it on, and “ancsd log” reads it")
    }
    let console = Console()
    if let query = task.query {
      let page = try attempt(try Page(of: task.history.file, query)) {
        Failure(readingHistory: task.history.file, $0)
      }
      try console.print(page.json + [UInt8(ascii: "\n")])
      return .done
    }
    return console.onLoop { () async throws(Failure) in
      try await Recorder(task.history, ControlClient(console, toFirstOf: DefaultPaths.sockets(options.socket))).run()
    }
  }
}

extension Page<RecordedEvent> {
  /// A page of a history; none if nothing was written yet.
  init(of path: String, _ query: HistoryQuery) throws(HistoryError) {
    self.init()
    let file: HistoryFile
    do throws(HistoryError) {
      file = try HistoryFile(reading: path)
    } catch {
      guard case .system(let failure) = error, failure.errno == .noSuchFile else { throw error }
      return
    }
    var place = query.after.flatMap { Int64($0) } ?? 0
    while true {
      let rows = try file.next(since: query.since, after: place)
      guard let last = rows.last else { return }
      for (place, line) in rows {
        let isIn = add(RecordedEvent(line: line), at: "\(place)", within: Self.longest)
        guard isIn else { return }
      }
      place = last.place
    }
  }

  /// In bytes: the daemon reads it between two packets of the phone's.
  private static var longest: Int { 64 << 10 }
}

/// The daemon's helper that writes the history: a client like any other, so that the disk never delays the daemon.
///
///     daemon ── events, over the control socket ──▶ Recorder ── every few seconds ──▶ HistoryFile
///
/// After an interruption it continues after the latest event in the file, as far as the daemon still has the later
/// ones.
@LoopActor final class Recorder {
  private let history: HistoryReport
  private let client: ControlClient
  private var file: HistoryFile?
  private var waiting: [HistoryEntry] = []
  private var life = ""
  private var timer: Int?
  private var lastRemoval: Instant?
  /// The last failure, so that it is logged once.
  private var complaint: String?

  /// How long an event waits for others, to be written together.
  private static let pause = Duration.seconds(5)
  /// The number of waiting events that triggers a write, and the maximum that waits if the disk refuses.
  private static let batch = 200
  private static let most = 2_000
  /// How often to remove old events.
  private static let removalPause = Duration.seconds(3_600)

  init(_ history: HistoryReport, _ client: ControlClient) {
    self.history = history
    self.client = client
  }

  /// News, and the event that counts missing news.
  private static let names = Set(EventName.allCases.filter { $0.shelf() == .news }).union([.lost])

  /// Records until the daemon exits; the next daemon starts it again.
  func run() async throws(Failure) -> ExitStatus {
    let inbox = client.inbox
    try? Loop.shared.onSignal([.interrupt, .terminate, .hangUp]) { inbox.post(.signal($0)) }
    do throws(Failure) {
      try client.connect()
      try await record()
    } catch {
      write()
      client.close()
      guard error.status == .unavailable else { throw error }
    }
    return .done
  }

  private func record() async throws(Failure) {
    let latest = try attempt(
      try withFile { file throws(HistoryError) in try file.latest() }
    ) { (error: HistoryError) in Failure(.cannotCreate, "keeping a history", "\(error)") }
    life = try await client.call(ControlMethods.status, "status").life ?? ""
    try await client.call(
      ControlMethods.subscribe,
      Subscription(events: Self.names, since: latest?.seq ?? 0, life: latest?.life), "subscribe")
    while true {
      if let line = try await client.nextLine(until: timer) {
        take(line)
      } else {
        timer = nil
        write()
      }
    }
  }

  private func take(_ line: [UInt8]) {
    guard let json = RPC.event(in: line), let value = try? JSONValue(parsing: Array(json)),
      let event = try? NumberedEvent(reading: value)
    else { return }
    if waiting.count == Self.most { waiting.removeFirst() }
    waiting.append(
      HistoryEntry(
        time: event.time, life: life, seq: event.seq, line: history.hasTexts ? Array(json) : value.withoutTexts.json))
    if waiting.count % Self.batch == 0 { write() }
    if timer == nil { timer = client.startTimer(Self.pause) }
  }

  /// Uses the file, which is opened if necessary. One that turns out to be damaged is set aside, and a new one is used
  /// instead.
  private func withFile<Value>(_ body: (HistoryFile) throws(HistoryError) -> Value) throws(HistoryError) -> Value {
    func opened() throws(HistoryError) -> HistoryFile {
      if let file { return file }
      let opened = try HistoryFile(writing: history.file, limit: history.size << 20)
      file = opened
      return opened
    }
    do throws(HistoryError) {
      return try body(try opened())
    } catch {
      guard case .damaged(let why) = error else { throw error }
      file = nil
      let aside = try HistoryFile.setAside(history.file)
      client.report(
        Failure(
          .cannotCreate, "keeping a history", "\(why): renamed it to \(aside); starting a new one"))
      return try body(try opened())
    }
  }

  /// Writes the waiting events; if that fails, they keep waiting.
  private func write() {
    guard !waiting.isEmpty else { return }
    do throws(HistoryError) {
      let now = Loop.shared.now
      let isTime = lastRemoval.map { now - $0 >= Self.removalPause } ?? true
      try withFile { file throws(HistoryError) in
        try file.add(waiting)
        waiting = []
        complaint = nil
        guard isTime else { return }
        lastRemoval = now
        try file.remove(before: WallTime(seconds: WallTime.now.seconds - history.age))
      }
    } catch {
      if complaint != "\(error)" {
        client.report(Failure(.cannotCreate, "keeping a history", "\(error)"))
      }
      complaint = "\(error)"
    }
  }
}

extension JSONValue {
  /// An event without its texts.
  fileprivate var withoutTexts: JSONValue {
    guard case .object(var members) = self else { return self }
    for name in ["title", "subtitle", "message"] { members[name] = nil }
    return .object(members)
  }
}
