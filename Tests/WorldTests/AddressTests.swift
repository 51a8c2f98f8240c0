// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Testing
import Wire

@testable import Board
@testable import Daemon
@testable import VirtualKernel

@Suite("The board's own address on the air")
struct AddressTests {
  /// An adapter that has this address when it is found.
  private static func kind(
    _ address: UInt64, isUnconfigured: Bool = false, takesAddress: Bool = false
  ) -> VirtualAdapter.Kind {
    .init {
      $0.address = Address(address)
      $0.isUnconfigured = isUnconfigured
      $0.takesAddress = takesAddress
    }
  }

  /// A phone pairs, comes back, and comes back after the daemon was started again: the address is the same.
  @LoopActor private static func serves(
    _ world: World, _ address: AddressKind = .public
  ) async throws -> DeviceAddress {
    try await world.start { $0.address = address }
    try await world.until(.advertising)
    let found = world.adapter.address
    try await world.phoneComes()
    await world.pass(.seconds(10))
    try await Bonds.returnsEncrypted(world)
    let folder = found.address.description.filter { $0 != ":" }.lowercased()
    let bonds = world.platform.disk.paths.filter { $0.hasSuffix(".bond.json") }
    #expect(bonds.count == 1 && bonds.allSatisfy { $0.contains("/\(folder)/") }, "\(bonds)")
    world.phone.leave()
    try await world.stop()
    try await world.start { $0.address = address }
    await world.pass(.seconds(1))
    #expect(world.adapter.address == found)
    #expect(try await world.status().adapters.map(\.address) == [found.address])
    try await Bonds.connectsEncrypted(world)
    return found
  }

  @Test("The phones of an adapter that another program serves stay that program's")
  func others() async throws {
    try await inWorld { world in
      let other = world.kernel.plug(Self.kind(0x0000_5E00_5377))
      let theirs = world.kernel.listen(at: other.address) { _ in }
      try await world.start { $0.adapters = [AdapterChoice(ControllerIndex(0))] }
      try await world.until(.advertising)
      #expect(world.kernel.listener(at: other.address) === theirs)
      #expect(world.kernel.listener(at: world.adapter.address) !== theirs)
    }
  }

  @Test(
    "A placeholder is replaced by a public address where the driver can set one, which is kept",
    arguments: [true, false])
  func placeholder(isUnconfigured: Bool) async throws {
    let kind = Self.kind(
      0xAAAA_AAAA_AAAA, isUnconfigured: isUnconfigured, takesAddress: true)
    try await inWorld(adapter: kind) { world in
      let address = try await Self.serves(world)
      #expect(address.type == .public && address.address.value >> 40 & 3 == 2)
    }
  }

  @Test("One that needs more than an address is reported, and served when it can be")
  func external() async throws {
    let kind = Self.kind(0, isUnconfigured: true)
    try await inWorld(adapter: kind) { world in
      world.launch()
      guard case .error("adapter", _, let message, _) = try await world.until(.error).content else {
        return
      }
      #expect(message.contains("vendor"), "\(message)")
      await world.pass(.seconds(5))
      #expect(world.wait == "no-adapter")
    }
  }

  @Test(
    "Where it cannot, and where there is no address, a static random one is used",
    arguments: [0xAAAA_AAAA_AAAA, 0] as [UInt64])
  func staticRandom(address: UInt64) async throws {
    try await inWorld(adapter: Self.kind(address)) { world in
      let address = try await Self.serves(world)
      #expect(address.type == .random && address.address.value >> 46 == 3)
    }
  }

  @Test("--address static: also where there is a public one, and back again")
  func chosen() async throws {
    try await inWorld { world in
      let address = try await Self.serves(world, .static)
      #expect(address.type == .random && address.address.value >> 46 == 3)
      try await world.stop()
      // The adapter is left as it was found.
      #expect(world.adapter.address == DeviceAddress(world.adapter.kind.address, .public))
      try await world.start()
      await world.pass(.seconds(1))
      #expect(world.adapter.address.type == .public && world.wait == "first-phone")
    }
  }

  @Test("Two adapters without an address have different ones")
  func two() async throws {
    try await inWorld(adapter: Self.kind(0)) { world in
      let second = world.kernel.plug(Self.kind(0))
      try await world.start()
      await world.pass(.seconds(5))
      #expect(world.adapter.isOnAir && second.isOnAir)
      #expect(world.adapter.address != second.address)
    }
  }

  @Test("Bonds that were kept under no address move to the one on the air")
  func adopted() async throws {
    try await inWorld(adapter: Self.kind(0), after: .paired) { world in
      world.phone.leave()
      try await world.stop()
      let disk = world.platform.disk
      let path = try #require(disk.paths.first { $0.hasSuffix(".bond.json") })
      let bytes = try disk.read(path, limit: 1 << 20)
      let parts = path.split(separator: "/").map(String.init)
      let old =
        "/"
        + (parts.dropLast(2) + ["000000000000", parts[parts.count - 1]])
        .joined(separator: "/")
      try disk.remove(path)
      try disk.makeDirectory(
        "/" + (parts.dropLast(2) + ["000000000000"]).joined(separator: "/"), mode: 0o700)
      try disk.save(bytes, to: old, mode: 0o600)
      try await world.start()
      await world.pass(.seconds(1))
      try await Bonds.connectsEncrypted(world)
      #expect(disk.paths.contains(path) && !disk.paths.contains(old))
    }
  }
}
