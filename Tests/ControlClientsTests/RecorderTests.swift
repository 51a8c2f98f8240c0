// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import FakeDaemon
import Glibc
import History
import OnLoop
import System
import Testing

@testable import ControlClients

@Suite("The history's recorder, and where its reader finds it")
struct RecorderTests {
  @Test("A damaged file is set aside and said so, and the history goes on in a new one")
  func damaged() async throws {
    try await onLoop {
      let folder = "/tmp/ancsd-recorder-\(UInt32.random(in: 0...UInt32.max))"
      try Files.makeDirectory(folder, mode: 0o700)
      defer {
        for name in (try? Files.names(in: folder)) ?? [] { try? Files.remove("\(folder)/\(name)") }
        rmdir(folder)
      }
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

  @Test("The daemon says where its history is; without one, the usual place is tried")
  func place() throws {
    var status = StatusReport()
    let none = #expect(throws: Failure.self) { try Clients.historyPath(.status(status)) }
    #expect(none?.line.contains("[log]") == true)
    status.history = HistoryReport()
    status.history?.file = "/srv/x/log.db"
    #expect(try Clients.historyPath(.status(status)) == "/srv/x/log.db")
    #expect(try Clients.historyPath(.none).hasSuffix("/log.db"))
    let closed = #expect(throws: Failure.self) { try Clients.historyPath(.closed(path: "/x")) }
    #expect(closed?.status == .noPermission)
  }
}
