// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import JSON
import Mgmt
import OnLoop
import Testing
import VirtualKernel
import Wire

@testable import Daemon

@Suite("When a bonded phone was last here")
struct SightingTests {
  @LoopActor private func bond(_ world: World) -> [UInt8]? {
    world.platform.disk.content { $0.hasSuffix(".bond.json") }
  }

  @LoopActor private func lastSeen(_ world: World) throws -> Int64? {
    let bytes = try #require(world.platform.disk.content { $0.hasSuffix(".seen.json") })
    return try JSONValue(parsing: bytes)["last_seen"]?.int
  }

  @Test("It is kept beside the keys, which are not written again, and survives a restart")
  func beside() async throws {
    try await inWorld { world in
      try await world.meet()
      try await world.until(.subscribed)
      await world.pass(.seconds(60))
      let keys = bond(world)
      world.phone.leave()
      try await world.until(.disconnected)
      let first = try #require(try lastSeen(world))
      await world.pass(.seconds(3_600))
      #expect(world.phone.connect(to: world.adapter))
      try await world.until(.subscribed)
      await world.pass(.seconds(60))
      world.phone.leave()
      try await world.until(.disconnected)
      #expect(try #require(try lastSeen(world)) >= first + 3_600)
      #expect(bond(world) == keys && keys != nil)
      let known = world.daemon?.radio?.adapters.values.first?.bonds.first?.lastSeen
      try await world.stop()
      try await world.start()
      #expect(world.daemon?.radio?.adapters.values.first?.bonds.first?.lastSeen == known)
      let files = {
        world.platform.disk.paths.filter { $0.contains("seen") || $0.contains("bond") }
      }
      #expect(files().count == 2)
      let phone = PhoneSelector(world.phone.kind.identity.address.description)
      _ = try await world.call(ControlMethods.forgetPhone, ForgetParameters(phone: phone))
      #expect(files().isEmpty)
    }
  }
}
