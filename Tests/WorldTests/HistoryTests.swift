// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import JSON
import System
import Testing
import VirtualKernel
import Wire

@testable import Board
@testable import Daemon

@Suite("The helper that keeps the history")
struct HistoryHelperTests {
  @Test(
    "It is started where the settings ask for a history, again where it ends, and with pauses that grow"
  )
  func helper() async throws {
    try await inWorld { world in
      try await world.start(settings: "[log]\nage = '7d'\ntexts = true")
      await world.pass(.seconds(1))
      let runs = world.platform.programs.runs
      #expect(runs.count == 1)
      #expect(runs[0].arguments.prefix(2) == ["/proc/self/exe", "history-helper"])
      var history = HistoryReport()
      history.file = "\(try #require(world.daemon).bonds.directory.path)/log.db"
      (history.age, history.size, history.hasTexts) = (604_800, 16, true)
      #expect(runs[0].input == HistoryTask(history).json)
      #expect(try await world.status().history == history)
      await world.pass(.seconds(3_600))
      let count = world.platform.programs.runs.count
      #expect(count > 1 && count < 16)
    }
  }

  @Test(
    "Clients read the history through a helper, page by page; without a history they learn why there is none"
  )
  func read() async throws {
    try await inWorld { world in
      try await world.start(settings: "[log]")
      world.platform.programs.behaviours["/proc/self/exe"] = .ends(
        lines: [#"{"events":[{"event":"battery","seq":1}],"next":"7"}"#])
      let page = try await world.call(
        ControlMethods.readHistory, HistoryQuery(since: WallTime(seconds: 5)))
      #expect(
        page.next == "7"
          && page.elements.map(\.json) == [Array(#"{"event":"battery","seq":1}"#.utf8)])
      let task = try HistoryTask(
        reading: JSONValue(parsing: try #require(world.platform.programs.runs.last).input))
      #expect(task.query == HistoryQuery(since: WallTime(seconds: 5)))
      world.platform.programs.behaviours["/proc/self/exe"] = .ends(
        .exit(66), lines: ["reading the history: it is damaged"])
      let failure = await #expect(throws: RPCError.self) {
        try await world.call(ControlMethods.readHistory, HistoryQuery())
      }
      #expect(failure?.message.contains("it is damaged") == true)
    }
    try await inWorld { world in
      try await world.start()
      let failure = await #expect(throws: RPCError.self) {
        try await world.call(ControlMethods.readHistory, HistoryQuery())
      }
      #expect(failure?.message.contains("[log]") == true)
    }
  }

  @Test("Nothing starts unless requested", arguments: ["", "[log]\non = false"])
  func none(settings: String) async throws {
    try await inWorld { world in
      try await world.start(settings: settings)
      await world.pass(.seconds(60))
      #expect(world.platform.programs.runs.isEmpty)
    }
  }
}
