// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import JSON
import Mgmt
import OnLoop
import Testing
import VirtualKernel
import Wire

@testable import Board
@testable import Daemon

@Suite("What is kept of a bonded phone, and when the disk has to wait for it")
struct SightingTests {
  @Test(
    "Keys are saved when a phone pairs; what was learned of it once it is quiet, and at its end")
  func quiet() async throws {
    try await inWorld { world in
      let disk = world.platform.disk
      try await world.meet()
      try await world.until(.paired)
      #expect(disk.takeSaved() == ["bond"])
      try await world.until(.subscribed)
      await world.pass(.seconds(30))
      #expect(disk.takeSaved() == [])
      await world.pass(.seconds(60))
      #expect(disk.takeSaved() == ["cache"])
      for _ in 1...2 {
        try await world.phoneLeaves()
        await world.pass(.seconds(1))
        #expect(disk.takeSaved() == ["cache"])
        try await world.phoneComes()
        await world.pass(.seconds(600))
        #expect(disk.takeSaved() == [])
      }
    }
  }

  @LoopActor private func bond(_ world: World) -> [UInt8]? {
    world.platform.disk.content { $0.hasSuffix(".bond.json") }
  }

  @LoopActor private func memory(_ world: World) throws -> JSONValue {
    let bytes = try #require(world.platform.disk.content { $0.hasSuffix(".cache.json") })
    return try JSONValue(parsing: bytes)
  }

  @Test("When it was last here, and its name, are beside the keys, which are not written again")
  func beside() async throws {
    try await inWorld { world in
      try await world.serve()
      await world.pass(.seconds(60))
      let keys = bond(world)
      try await world.phoneLeaves()
      let first = try #require(try memory(world)["last_seen"]?.int)
      await world.pass(.seconds(3_600))
      try await world.phoneComes()
      await world.pass(.seconds(60))
      try await world.phoneLeaves()
      #expect(try #require(try memory(world)["last_seen"]?.int) >= first + 3_600)
      #expect(bond(world) == keys && keys != nil)
      try await world.stop()
      try await world.start()
      let name = try #require(try memory(world)["name"]?.string)
      #expect(world.daemon?.phoneReports.first?.name == name)
      let files = {
        world.platform.disk.paths.filter { $0.contains("cache") || $0.contains("bond") }
      }
      #expect(files().count == 2)
      try await ForgettingTests.forget(world)
      #expect(files().isEmpty)
    }
  }
}
