// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import JSON
import Mgmt
import System
import Wire

/// The bonds of every adapter, on the disk.
///
/// A bond is saved before it is reported. Only `forget` removes it, or a new pairing of the same
/// phone.
@LoopActor final class BondStore {
  let directory: StateDirectory

  init(_ directory: StateDirectory) { self.directory = directory }

  /// The phones that are bonded to the adapter with this address.
  func bonds(of adapter: Address) -> [Bond] {
    let folder = Self.folder(adapter)
    return directory.names(in: folder, suffix: Self.bondSuffix).compactMap {
      directory.load("\(folder)/\($0)")
    }
  }

  /// Saves a bond, replacing an earlier one with the same phone.
  func save(_ bond: Bond, of adapter: Address) throws(SystemError) {
    try directory.save(bond, to: file(bond.identity.address, adapter, Self.bondSuffix))
  }

  /// Removes a phone's keys and everything remembered of it.
  func forget(_ phone: Address, of adapter: Address) throws(SystemError) {
    try directory.remove(file(phone, adapter, Self.bondSuffix))
    try directory.remove(file(phone, adapter, Self.cacheSuffix))
  }

  /// What was remembered of a phone.
  func memory(of phone: Address, on adapter: Address) -> PhoneMemory? {
    directory.load(file(phone, adapter, Self.cacheSuffix))
  }

  /// Saves what is to be remembered of a phone. Losing it costs no more than a discovery.
  func remember(_ memory: PhoneMemory, of phone: Address, on adapter: Address) {
    do {
      try directory.save(memory, to: file(phone, adapter, Self.cacheSuffix))
    } catch {
      directory.report("what was learned of \(phone)", error)
    }
  }

  /// The static random address of an adapter. It is generated once and kept, because phones know the
  /// board by it.
  func staticAddress(of index: ControllerIndex) -> Address {
    address(in: "static-address.json") { .static(from: $0) }.ofAdapter(index)
  }

  /// The public address for an adapter that was never given one; generated once and kept.
  func publicAddress(of index: ControllerIndex) -> Address {
    address(in: "public-address.json") { .locallyAdministered(from: $0) }.ofAdapter(index)
  }

  private func address(in file: String, _ make: (_ random: UInt64) -> Address) -> Address {
    if let known = directory.load(file, as: StoredAddress.self) { return known.address }
    let address = make(.random(in: 0...UInt64.max))
    do {
      try directory.save(StoredAddress(address: address), to: file)
    } catch {
      directory.report("the board's own address", error)
    }
    return address
  }

  /// Moves bonds that an earlier version kept under no address to that of the adapter they are with.
  func adoptBonds(of adapter: Address) {
    let nobody = Address(0)
    for bond in bonds(of: nobody) {
      do {
        try save(bond, of: adapter)
        try forget(bond.identity.address, of: nobody)
      } catch {
        directory.report("a bond's new place", error)
      }
    }
  }

  /// The suffix of bond files.
  static let bondSuffix = ".bond.json"
  private static let cacheSuffix = ".cache.json"

  private static func folder(_ adapter: Address) -> String {
    adapter.littleEndian.reversed().hex
  }

  private func file(_ phone: Address, _ adapter: Address, _ suffix: String) -> String {
    "\(Self.folder(adapter))/\(phone.littleEndian.reversed().hex)\(suffix)"
  }
}

private struct StoredAddress: JSONObjectCodable {
  var address = Address(0)

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("address", &address)
  }
}
