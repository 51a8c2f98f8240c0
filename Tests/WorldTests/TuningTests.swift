// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Control
import GAP
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon
@testable import Mgmt

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

  @Test("The first request follows encryption by a second, however long the set-up takes")
  func first() async throws {
    try await inWorld { world in
      try await Bonds.makeAndLeave(world)
      await world.pass(.seconds(1))
      let controller = try #require(world.platform.controller)
      let before = controller.requests.count
      // The phone answers nothing but the MTU.
      world.phone.transform = { pdu, toPhone in toPhone && pdu.first != 0x02 ? nil : pdu }
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.milliseconds(900))
      #expect(world.phone.connection?.isEncrypted == true && controller.requests.count == before)
      await world.pass(.milliseconds(700))
      #expect(controller.requests.count == before + 1)
    }
  }

  @Test(
    "The kernel is silent, whatever interval the phone begins with",
    arguments: [12, 24, 60] as [UInt16])
  func kernelIsSilent(interval: UInt16) async throws {
    try await inWorld { world in
      world.phone.interval = interval
      try await Bonds.make(world)
      #expect(world.phone.connection?.parameterRequest == nil)
      try await world.stop()
      // Other programs find the kernel's own range again.
      #expect(world.adapter.intervalRange == 24...40)
    }
  }

  @Test(
    "If the controller refuses, status says so, and the kernel sends the request from the next link on"
  )
  func refused() async throws {
    try await inWorld { world in
      try await world.start()
      try await world.until(.advertising)
      let controller = try #require(world.platform.controller)
      controller.response = 0x0C
      world.phone.connect(to: world.adapter)
      try await world.until(.subscribed)
      await world.pass(.seconds(60))
      #expect(controller.requests.count == 1)
      #expect(world.phone.connection?.parameterRequest == nil)
      let adapter = try await world.call(ControlMethods.status, NoParameters()).adapters[0]
      #expect(adapter.parametersRefusal == 0x0C)
      #expect(adapter.parametersRefusalText?.contains("0x0C, Command Disallowed") == true)
      // The next link.
      try await Bonds.returnsEncrypted(world)
      #expect(world.phone.connection?.parameterRequest == 36...48)
      // And also after the adapter was set up again.
      world.kernel.failHardware(of: world.adapter)
      await world.pass(.seconds(5))
      #expect(world.phone.connect(to: world.adapter))
      await world.pass(.seconds(5))
      #expect(world.phone.connection?.parameterRequest == 36...48)
    }
  }

  @Test("A request for a link that has just gone is no refusal of the controller's")
  func lateRequest() async throws {
    try await inWorld { world in
      try await world.start()
      try await world.until(.advertising)
      world.platform.controller?.response = 0x02  // Unknown Connection Identifier
      world.phone.connect(to: world.adapter)
      try await world.until(.subscribed)
      await world.pass(.seconds(5))
      let adapter = try await world.call(ControlMethods.status, NoParameters()).adapters[0]
      #expect(adapter.parametersRefusal == nil)
    }
  }
}
