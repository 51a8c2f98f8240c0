// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import FakeDaemon
import History
import JSON
import OnLoop
import Scratch
import System
import Testing

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
      #expect(daemon.reported.map(\.line).joined().contains("log.db.bad now"))
    }
  }

  @Test("The daemon is asked for the history, and the latest events that match are printed")
  func shown() async throws {
    try await onLoop {
      let daemon = FakeDaemon { request in
        #expect(request.calls(ControlMethods.readHistory))
        let isFirst = request.parameters["after"] == nil
        let apps = isFirst ? ["x", "y"] : ["y", "y"]
        var page = Page<RecordedEvent>()
        for (number, app) in apps.enumerated() {
          let line = #"{"app":"\#(app)","seq":\#(isFirst ? number : number + 2)}"#
          _ = page.add(RecordedEvent(line: Array(line.utf8)), at: "p", within: 1_000)
        }
        if isFirst { _ = page.add(RecordedEvent(line: Array("{}".utf8)), at: "", within: 0) }
        return [.result(page)]
      }
      var options = LogOptions()
      (options.apps, options.count) = ([Glob("y")], 2)
      let status = try await Clients.show(options, daemon.client, daemon.client.console)
      #expect(status == .done)
      #expect(daemon.output == #"{"app":"y","seq":2}"# + "\n" + #"{"app":"y","seq":3}"# + "\n")
    }
  }

  @Test(
    "Without a daemon the file in the usual place is read; if there is none, the daemon is missing")
  func withoutDaemon() async throws {
    try await onLoop {
      let scratch = try Scratch()
      let daemon = FakeDaemon { _ in [] }
      daemon.isAbsent = true
      let usual = "\(scratch.path)/log.db"
      func show() async throws(Failure) -> Control.ExitStatus {
        try await Clients.show(LogOptions(), daemon.client, daemon.client.console, usual: usual)
      }
      do throws(Failure) {
        _ = try await show()
        Issue.record("it has read a history that is not there")
      } catch {
        #expect(error.status == .unavailable)
      }
      _ = try HistoryFile(writing: usual, limit: 1 << 20)
      #expect(try await show() == .refused)
    }
  }
}
