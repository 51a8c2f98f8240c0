// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import JSON
import Mgmt
import System
import Wire

/// The bonds of every adapter, on the disk.
///
/// A bond is saved before it is reported. Only `forget` removes it, or a new pairing of the same
/// phone. A file that can't be used still shows that the board was bonded.
@LoopActor final class BondStore {
  /// What is on the disk of an adapter's bonds.
  struct Bonds {
    /// Those that can be used.
    var usable: [Bond] = []
    /// How many there are, or were, that can't be.
    var unusable = 0
  }

  let directory: StateDirectory

  init(_ directory: StateDirectory) { self.directory = directory }

  /// The bonds of the adapter with this address.
  func bonds(of adapter: Address) -> Bonds {
    let folder = Self.folder(adapter)
    var found = Bonds()
    found.unusable = directory.names(in: folder) { BondFile.isSetAside($0) }.count
    for name in directory.names(in: folder, where: { $0.hasSuffix(BondFile.suffix) }) {
      do {
        guard var bond: Bond = try directory.read("\(folder)/\(name)") else { continue }
        if let seen = lastSeen(bond.identity, adapter) {
          bond.lastSeen = max(bond.lastSeen ?? seen, seen)
        }
        adopt(bond, in: name, of: adapter)
        found.usable.removeAll { $0.identity == bond.identity }
        found.usable.append(bond)
      } catch {
        found.unusable += 1
      }
    }
    return found
  }

  /// The addresses of the adapters that have bonds here, present or not.
  var adapters: [Address] {
    directory.names(in: "") { Address(folder: $0) != nil }.compactMap { Address(folder: $0) }
  }

  /// Moves a bond that an earlier version has filed by the address alone to where it belongs.
  private func adopt(_ bond: Bond, in name: String, of adapter: Address) {
    let former = Self.address(bond.identity)
    guard name == former + BondFile.suffix else { return }
    do {
      try save(bond, of: adapter)
      let cache = "\(Self.folder(adapter))/\(former)\(Self.cacheSuffix)"
      if let memory: PhoneMemory = directory.load(cache) {
        remember(memory, of: bond.identity, on: adapter)
      }
      for suffix in [Self.cacheSuffix, BondFile.suffix] {
        try directory.remove("\(Self.folder(adapter))/\(former)\(suffix)")
      }
    } catch {
      directory.report("a bond's new place", error)
    }
  }

  /// Saves a bond, replacing an earlier one with the same phone.
  func save(_ bond: Bond, of adapter: Address) throws(SystemError) {
    try directory.save(bond, to: file(bond.identity, adapter, BondFile.suffix))
  }

  /// Keeps when a phone was last connected. That is every day's work, for which the file with its keys is not
  /// written again.
  func saw(_ phone: DeviceAddress, of adapter: Address, at seconds: Int64) {
    do {
      try directory.save(Sighting(lastSeen: seconds), to: file(phone, adapter, Self.sightingSuffix))
    } catch {
      directory.report("when \(phone) was last connected", error)
    }
  }

  private func lastSeen(_ phone: DeviceAddress, _ adapter: Address) -> Int64? {
    directory.load(file(phone, adapter, Self.sightingSuffix), as: Sighting.self)?.lastSeen
  }

  /// Removes a phone's keys and everything remembered of it. The keys go first.
  func forget(_ phone: DeviceAddress, of adapter: Address) throws(SystemError) {
    try directory.remove(file(phone, adapter, BondFile.suffix))
    try directory.remove(file(phone, adapter, Self.cacheSuffix))
    try directory.remove(file(phone, adapter, Self.sightingSuffix))
  }

  /// What was remembered of a phone.
  func memory(of phone: DeviceAddress, on adapter: Address) -> PhoneMemory? {
    directory.load(file(phone, adapter, Self.cacheSuffix))
  }

  /// Saves what is to be remembered of a phone. Losing it costs no more than a discovery.
  func remember(_ memory: PhoneMemory, of phone: DeviceAddress, on adapter: Address) {
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
    for bond in bonds(of: nobody).usable {
      do {
        try save(bond, of: adapter)
        try forget(bond.identity, of: nobody)
      } catch {
        directory.report("a bond's new place", error)
      }
    }
  }

  private static let cacheSuffix = ".cache.json"
  private static let sightingSuffix = ".seen.json"

  private static func folder(_ adapter: Address) -> String { adapter.folder }
  private static func address(_ phone: DeviceAddress) -> String { phone.address.folder }

  /// A public address and a random one may be the same number, of two phones.
  private func file(_ phone: DeviceAddress, _ adapter: Address, _ suffix: String) -> String {
    "\(Self.folder(adapter))/\(phone.type)-\(Self.address(phone))\(suffix)"
  }
}

extension Address {
  /// The twelve digits by which a file or folder is named.
  fileprivate var folder: String { littleEndian.reversed().hex }

  fileprivate init?(folder: String) {
    guard let bytes = [UInt8](hex: folder), bytes.count == 6 else { return nil }
    self.init(bytes.reduce(0) { $0 << 8 | UInt64($1) })
  }
}

/// When a phone was last connected, in seconds since 1970 (UTC).
private struct Sighting: JSONObjectCodable {
  var lastSeen: Int64 = 0

  init() {}
  init(lastSeen: Int64) { self.lastSeen = lastSeen }

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("last_seen", &lastSeen)
  }
}

private struct StoredAddress: JSONObjectCodable {
  var address = Address(0)

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("address", &address)
  }
}
