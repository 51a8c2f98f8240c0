// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Control
import EventLoop
import GAP
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Mgmt

@Suite("Connection parameters of a link", .inWorld)
struct LinkTuningTests: InWorld {
  @Test("Fast at first, idle later, fast again for a burst; nothing when the link is over")
  func paces() async throws {
    try await world.begin(.paired)
    let controller = try #require(world.platform.controller)
    let handle = try #require(world.phone.connection?.handle)
    func wanted(_ parameters: ConnectionParameters...) -> [HCICommand] {
      parameters.map { .connectionUpdate(handle, $0) }
    }
    await world.pass(.seconds(60))
    #expect(controller.requests == wanted(.fast, .idle))
    try world.phoneDoes(.burst(20, NotificationContents()))
    await world.pass(.seconds(5))
    #expect(controller.requests == wanted(.fast, .idle, .fast))
    try await world.phoneLeaves()
    await world.pass(.seconds(60))
    #expect(controller.requests == wanted(.fast, .idle, .fast))
  }

  @Test("The first request follows encryption by a second, however long the set-up takes")
  func first() async throws {
    try await world.begin(.phoneLeft)
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

  @Test(
    "The kernel is silent, whatever interval the phone begins with",
    arguments: [12, 24, 60] as [UInt16])
  func kernelIsSilent(interval: UInt16) async throws {
    world.phone.interval = interval
    try await world.bond()
    #expect(world.phone.connection?.parameterRequest == nil)
    try await world.stop()
    // Other programs find the kernel's own range again.
    #expect(world.adapter.intervalRange == 24...40)
  }

  @Test(
    "If the controller refuses, status says so, and the kernel sends the request from the next link on"
  )
  func refused() async throws {
    try await world.begin(.onAir)
    let controller = try #require(world.platform.controller)
    controller.response = 0x0C
    try await world.phoneComes()
    await world.pass(.seconds(60))
    #expect(controller.requests.count == 1)
    #expect(world.phone.connection?.parameterRequest == nil)
    let adapter = try await world.status().adapters[0]
    #expect(adapter.parametersRefusalText?.contains("0x0C, Command Disallowed") == true)
    // The next link.
    try await world.phoneReturnsEncrypted()
    #expect(world.phone.connection?.parameterRequest == 36...48)
    // And also after the adapter was set up again.
    world.kernel.failHardware(of: world.adapter)
    await world.phoneConnects(after: .seconds(5))
    await world.pass(.seconds(5))
    #expect(world.phone.connection?.parameterRequest == 36...48)
  }

  @Test(
    "Where the kernel survives it, L2CAP requests what the controller refuses to, on later links at once",
    arguments: [0x0C, 0x1A])
  func signals(status: Int) async throws {
    try await world.begin(.onAir)
    let controller = try #require(world.platform.controller)
    controller.signals = true
    if status == 0x1A { controller.result = 0x1A } else { controller.response = 0x0C }
    try await world.phoneComes()
    await world.pass(.seconds(5))
    let first = try await world.status()
    #expect(first.links.first?.timeout == 6_000)
    #expect(first.adapters[0].parametersRefusal == nil)
    #expect(controller.requests.count == 1 && controller.signalled.count == 1)
    try await world.phoneReturnsEncrypted()
    await world.pass(.seconds(5))
    #expect(controller.requests.count == 1 && controller.signalled.count > 1)
    #expect(controller.signalled.allSatisfy { $0.timeout == 600 })
  }

  @Test(
    "A controller that refuses, if only at the end, is not asked again; that a link has just gone is no refusal",
    arguments: [
      (response: 0x0C, result: 0, refusal: 0x0C), (0, 0x1A, 0x1A),
      (0x02, 0, nil),  // Unknown Connection Identifier
    ] as [(response: UInt8, result: UInt8, refusal: Int?)])
  func refusals(_ says: (response: UInt8, result: UInt8, refusal: Int?)) async throws {
    try await world.begin(.onAir)
    let controller = try #require(world.platform.controller)
    (controller.response, controller.result) = (says.response, says.result)
    try await world.phoneComes()
    await world.pass(.seconds(60))
    #expect(says.refusal == nil || controller.requests.count == 1)
    #expect(try await world.status().adapters[0].parametersRefusal.map { Int($0) } == says.refusal)
  }

  @Test(
    "A phone that drops two links soon after a request is not asked for a day",
    arguments: [0x28, 0x08, 0x22, 0x13])
  func drops(reason: Int) async throws {
    try await world.begin(.phoneLeft)
    let controller = try #require(world.platform.controller)
    @LoopActor func link() async throws -> Int {
      let before = controller.requests.count
      await world.phoneConnects()
      let handle = try #require(world.phone.connection?.handle)
      await world.pass(.seconds(4))
      world.phone.goOutOfRange()
      controller.onEvent?(.disconnected(handle: handle, reason: UInt8(reason)))
      try await world.until(.disconnected)
      return controller.requests.count - before
    }
    let isOrdinary = reason == 0x13
    #expect(try await link() == 1)
    #expect(try await link() == 1)
    #expect(try await link() == (isOrdinary ? 1 : 0))
    await world.pass(.seconds(1))
    try await world.phoneComes()
    let link2 = try await world.status().links[0]
    #expect((link2.parametersPause != nil) == !isOrdinary)
    world.phone.leave()
    await world.pass(.seconds(24 * 3600))
    #expect(try await link() == 1)
  }

  @Test(
    "An end that the kernel has no error for is one by different keys only if the controller says so",
    arguments: [(0x28, "Instant Passed"), (0x3D, "Connection Terminated due to MIC Failure")])
  func unnamedEnd(reason: Int, name: String) async throws {
    try await world.begin(.phoneLeft)
    world.phone.encryptsAfter = nil
    for _ in 0..<StaleBondWatch.drops {
      await world.phoneConnects(after: .seconds(2))
      let handle = try #require(world.phone.connection?.handle)
      await world.pass(.seconds(1))
      world.platform.controller?.onEvent?(.disconnected(handle: handle, reason: UInt8(reason)))
      world.phone.dropUnnamed()
      try await world.until(.disconnected)
      #expect(world.last(.disconnected) == .disconnected(reason: name))
    }
    await world.pass(.seconds(2))
    #expect((world.wait == "keys-differ") == (reason == 0x3D))
  }

  @Test("With the quirk phy=1m the controller is told so once")
  func onlyPHY1M() async throws {
    try await world.start { $0.onlyPHY1M = true }
    #expect(world.platform.controller?.requests == [.onlyPHY1M])
    let adapter = try await world.status().adapters[0]
    #expect(adapter.phy == "1m" && "\(adapter.lines(TextStyle()))".contains("PHY 1m"))
  }

  @Test("After a MIC failure the board is quiet for a second")
  func quietAfterMICFailure() async throws {
    try await world.begin(.phoneLeft)
    world.phone.spoilKey(of: world.adapter)
    await world.phoneConnects()
    try await world.until(.disconnected)
    await world.pass(.milliseconds(500))
    #expect(!world.adapter.isOnAir && world.wait == "resting")
    await world.pass(.milliseconds(600))
    #expect(world.adapter.isOnAir && world.wait == "bonded-phone")
  }
}
