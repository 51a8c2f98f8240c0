// SPDX-License-Identifier: GPL-3.0-or-later
import Control
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
      #expect(runs[0].arguments.prefix(3) == ["/proc/self/exe", "log", "record"])
      #expect(runs[0].arguments.suffix(5) == ["--age", "604800", "--size", "16", "--texts"])
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
