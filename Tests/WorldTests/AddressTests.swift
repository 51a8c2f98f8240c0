// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import Mgmt
import Testing
import Wire

@testable import Board
@testable import Daemon
@testable import VirtualKernel

@Suite("The board's own address on the air", .inWorld)
struct AddressTests: InWorld {
  /// Has an adapter that has this address when it is found.
  private func find(_ address: UInt64, isUnconfigured: Bool = false, takesAddress: Bool = false) {
    world.useAdapter {
      $0.address = Address(address)
      ($0.isUnconfigured, $0.takesAddress) = (isUnconfigured, takesAddress)
    }
  }

  /// A phone pairs, comes back, and comes back after the daemon was started again: the address is the same.
  private func serves(_ address: AddressKind = .public) async throws -> DeviceAddress {
    try await world.start { $0.address = address }
    try await world.until(.advertising)
    let found = world.adapter.address
    try await world.phoneComes()
    await world.pass(.seconds(10))
    try await world.phoneReturnsEncrypted()
    let folder = found.address.description.filter { $0 != ":" }.lowercased()
    let bonds = world.bondFiles
    #expect(bonds.count == 1 && bonds.allSatisfy { $0.contains("/\(folder)/") }, "\(bonds)")
    world.phone.leave()
    try await world.stop()
    try await world.start { $0.address = address }
    await world.pass(.seconds(1))
    #expect(world.adapter.address == found)
    #expect(try await world.status().adapters.map(\.address) == [found.address])
    try await world.phoneConnectsEncrypted()
    return found
  }

  @Test("The phones of an adapter that another program serves stay that program's")
  func others() async throws {
    let other = world.plugSecond()
    let theirs = world.kernel.listen(at: other.address) { _ in }
    try await world.start { $0.adapters = [AdapterChoice(ControllerIndex(0))] }
    try await world.until(.advertising)
    #expect(world.kernel.listener(at: other.address) === theirs)
    #expect(world.kernel.listener(at: world.adapter.address) !== theirs)
  }

  @Test(
    "A placeholder is replaced by a public address where the driver can set one, which is kept",
    arguments: [true, false])
  func placeholder(isUnconfigured: Bool) async throws {
    find(0xAAAA_AAAA_AAAA, isUnconfigured: isUnconfigured, takesAddress: true)
    let address = try await serves()
    #expect(address.type == .public && address.address.value >> 40 & 3 == 2)
  }

  @Test("One that needs more than an address is reported, and served when it can be")
  func external() async throws {
    find(0, isUnconfigured: true)
    world.launch()
    let error = try await world.until(.error)
    #expect("\(error)".contains("vendor"), "\(error)")
    await world.pass(.seconds(5))
    #expect(world.wait == "no-adapter")
  }

  @Test(
    "Where it cannot, and where there is no address, a static random one is used",
    arguments: [0xAAAA_AAAA_AAAA, 0] as [UInt64])
  func staticRandom(address: UInt64) async throws {
    find(address)
    let address = try await serves()
    #expect(address.type == .random && address.address.value >> 46 == 3)
  }

  @Test("--address static: also where there is a public one, and back again")
  func chosen() async throws {
    let address = try await serves(.static)
    #expect(address.type == .random && address.address.value >> 46 == 3)
    try await world.stop()
    // The adapter is left as it was found.
    #expect(world.adapter.address == DeviceAddress(world.adapter.kind.address, .public))
    try await world.start()
    await world.pass(.seconds(1))
    #expect(world.adapter.address.type == .public && world.wait == "first-phone")
  }

  @Test("Two adapters without an address have different ones")
  func two() async throws {
    find(0)
    let second = world.kernel.plug(world.adapter.kind)
    try await world.start()
    await world.pass(.seconds(5))
    #expect(world.adapter.isOnAir && second.isOnAir)
    #expect(world.adapter.address != second.address)
  }

  @Test("Bonds that were kept under no address move to the one on the air")
  func adopted() async throws {
    find(0)
    try await world.begin(.phoneLeft)
    try await world.stop()
    let bonds = world.bondFiles
    let folder = bonds.first?.split(separator: "/").dropLast().last ?? ""
    world.platform.disk.rename { $0.replacing(folder, with: "000000000000") }
    #expect(world.bondFiles != bonds)
    try await world.start()
    await world.pass(.seconds(1))
    try await world.phoneConnectsEncrypted()
    #expect(world.bondFiles == bonds)
  }
}
