// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Control
import Testing
import VirtualKernel
import VirtualPhone

@testable import Daemon

@Suite("Connection parameters of a link")
struct LinkTuningTests {
  @Test("Fast at first, calm later, fast again for a burst; nothing when the link is over")
  func paces() async throws {
    try await inWorld { world in
      try await Bonds.make(world)
      let controller = try #require(world.platform.controller)
      let handle = try #require(world.phone.connection?.handle)
      func wanted(_ paces: LinkTuner.Pace...) -> [HCICommand] {
        paces.map { .connectionUpdate(handle, $0.parameters) }
      }
      await world.pass(.seconds(60))
      #expect(controller.requests == wanted(.fast, .calm))
      try world.phone.phone.perform(.burst(20, NotificationContents()))
      await world.pass(.seconds(5))
      #expect(controller.requests == wanted(.fast, .calm, .fast))
      world.phone.leave()
      try await world.until(.disconnected)
      await world.pass(.seconds(60))
      #expect(controller.requests == wanted(.fast, .calm, .fast))
    }
  }

  @Test("A controller that refuses is not asked again on that link")
  func refused() async throws {
    try await inWorld { world in
      try await world.start()
      try await world.until(.advertising)
      let controller = try #require(world.platform.controller)
      controller.accepts = false
      world.phone.connect(to: world.adapter)
      try await world.until(.subscribed)
      await world.pass(.seconds(60))
      #expect(controller.requests.count == 1)
    }
  }
}
