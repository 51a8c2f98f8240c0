// SPDX-License-Identifier: GPL-3.0-or-later
import Control
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
      #expect(runs[0].input == history.json)
      #expect(try await world.call(ControlMethods.status, NoParameters()).history == history)
      await world.pass(.seconds(3_600))
      let count = world.platform.programs.runs.count
      #expect(count > 1 && count < 16)
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
