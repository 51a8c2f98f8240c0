// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import FakeDaemon
import History
import JSON
import OnLoop
import Scratch
import System
import Testing
import Wire

@testable import ControlClients

@Suite("The history's recorder, and its reader")
struct RecorderTests {
  @Test("A damaged file is set aside and said so, and the history goes on in a new one")
  func damaged() async throws {
    try await onLoop {
      let scratch = try Scratch()
      let folder = scratch.path
      var history = HistoryReport()
      // The events are from 1970.
      (history.file, history.age, history.size) = ("\(folder)/log.db", 1 << 40, 1)
      try Files.create(history.file).writeAll(Array(repeating: 0, count: 8_192))
      let daemon = FakeDaemon { request in
        guard request.calls(ControlMethods.subscribe) else { return [.result(StatusReport())] }
        return [.result(true), .event(.battery(level: 50)), .input(.closed("it has ended"))]
      }
      #expect(try await Recorder(history, daemon.client).run() == .done)
      #expect(try HistoryFile(reading: history.file).latest()?.seq == 1)
      #expect(try Files.names(in: folder).contains("log.db.bad"))
      #expect(daemon.reported.map(\.line).joined().contains("log.db.bad; starting a new one"))
    }
  }

  /// A daemon with this history, and these events later on.
  private func daemon(
    _ events: [NumberedEvent], later: [Event.Content] = [], asked: @escaping () -> Void = {}
  ) -> FakeDaemon {
    FakeDaemon { request in
      if request.calls(ControlMethods.subscribe) {
        return [.result(true)] + later.map { .event($0) } + [.input(.closed("it has ended"))]
      }
      guard request.calls(ControlMethods.readHistory) else { return [.result(StatusReport())] }
      asked()
      // In two pages.
      let isFirst = request.parameters["after"] == nil
      var page = Page<RecordedEvent>()
      for event in isFirst ? events.prefix(2) : events.dropFirst(2) {
        _ = page.add(RecordedEvent(line: json(event)), at: "p", within: 100_000)
      }
      if isFirst { _ = page.add(RecordedEvent(line: Array("{}".utf8)), at: "", within: 0) }
      return [.result(page)]
    }
  }

  @Test("Without a daemon the file in the usual place is read; if there is none, the daemon is missing")
  func withoutDaemon() async throws {
    try await onLoop {
      let scratch = try Scratch()
      let daemon = FakeDaemon { _ in [] }
      daemon.isAbsent = true
      let usual = "\(scratch.path)/log.db"
      #expect(await show("", daemon, usual: usual) == .unavailable)
      _ = try HistoryFile(writing: usual, limit: 1 << 20)
      #expect(await show("", daemon, usual: usual) == .refused)
    }
  }

  private func json(_ event: NumberedEvent) -> [UInt8] {
    RPC.event(in: event.line).map(Array.init) ?? []
  }

  /// Events a second apart, the first a battery's.
  private var past: [NumberedEvent] {
    let contents: [Event.Content] = [
      .battery(level: 1), .notification(ClientTests.notification(1, app: "x")),
      .notification(ClientTests.notification(2, app: "y")),
      .notification(ClientTests.notification(3, app: "y", .email)),
      .notification(ClientTests.notification(4, app: "y")),
    ]
    return contents.enumerated().map {
      NumberedEvent(seq: UInt64($0.offset), time: WallTime(seconds: Int64($0.offset)), Event($0.element))
    }
  }

  @Test(
    "The daemon is asked for the history, and the latest events that match are printed",
    arguments: [
      ("", [0, 1, 2, 3, 4]), ("--app y -n 2", [3, 4]), ("--app y -n 2 --newest-first", [4, 3]),
      ("--event battery", [0]), ("--category email --category social --not-app x", [2, 3, 4]),
      ("--until 1970-01-01T00:00:01Z", [0, 1]), ("--since 1970-01-01T00:00:03Z --grep TITLE", [3, 4]),
      ("--newest-first --event battery,notification --category email", [3, 0]),
    ] as [(String, [Int])])
  func shown(arguments: String, seqs: [Int]) async throws {
    try await onLoop {
      let daemon = daemon(past)
      #expect(await show(arguments, daemon) == .done)
      #expect(daemon.output == seqs.map { String(decoding: json(past[$0]), as: UTF8.self) + "\n" }.joined())
    }
  }

  @Test("A long history is printed page by page, so that it need not fit in memory")
  func pageByPage() async throws {
    try await onLoop {
      var printed: [Int] = []
      var asked: () -> Void = {}
      let daemon = daemon(past) { asked() }
      asked = { [unowned daemon] in printed.append(daemon.output.split(separator: "\n").count) }
      await show("", daemon)
      #expect(printed == [0, 2])
    }
  }

  @Test("--follow goes on with the events that arrive after the history's last")
  func followed() async throws {
    try await onLoop {
      // The later events of this daemon are from 1970, too.
      let daemon = daemon([past[0]], later: [.battery(level: 7)])
      await show("--follow", daemon)
      #expect(daemon.output == String(decoding: json(past[0]), as: UTF8.self) + "\n")
      #expect(daemon.requests.last == .call(ControlMethods.subscribe, Subscription(since: 0)))
      let empty = self.daemon([], later: [.battery(level: 7)])
      await show("--follow --since 1970-01-01T00:00:00Z", empty)
      #expect(empty.output.contains(#""level":7"#))
    }
  }

  /// The status that `log` exits with.
  @discardableResult private func show(
    _ arguments: String, _ daemon: FakeDaemon, usual: String = "/nowhere"
  ) async -> Control.ExitStatus {
    var options = ClientOptions()
    do throws(Failure) {
      try Clients.logGrammar.parse(arguments.split(separator: " ").map(String.init), into: &options)
      return try await Clients.show(options, daemon.client, daemon.client.console, usual: usual)
    } catch { return error.status }
  }
}
