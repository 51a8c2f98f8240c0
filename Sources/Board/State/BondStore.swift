// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import JSON
import Mgmt
import System
import Wire

/// The bonds of all adapters on the disk.
///
/// A bond is saved before it is reported. Only `forget` removes it, or a new pairing of the same
/// phone. An unusable file still shows that the board was bonded. Changes that could not be written are valid while
/// the daemon runs, and are retried every minute.
@LoopActor package final class BondStore {
  /// An adapter's bonds on the disk.
  struct Bonds {
    /// The usable ones, those of the phones that were here last at the end.
    var usable: [Bond] = []
    /// The number of existing or former unusable ones.
    var unusable = 0
    /// The number of those that can't be read now, but perhaps later.
    var unreadable = 0
    var count: Int { usable.count + unusable + unreadable }
  }

  package let directory: StateDirectory
  private let scheduler: any Scheduler
  /// The forgotten bonds whose files could not be removed yet: they are no longer used.
  private var forgotten: Set<Place> = []
  /// The bonds that could not be saved yet.
  private var unsaved: [Place: Bond] = [:]
  /// Data about phones that is not on the disk yet.
  private var unwritten: [Place: PhoneCache] = [:]
  /// Runs while there is something to save.
  private lazy var timer = Deadline(scheduler) { [weak self] in self?.saveAll() }
  private static let pause: Duration = .seconds(60)
  /// The boards' own addresses, by their files.
  private var addresses: [AddressFile: (address: Address, isReplacement: Bool)] = [:]
  /// The adapters' addresses that were generated because the file with the previous one is unusable: there may be
  /// bonds under that one.
  private var replacements: Set<Address> = []

  /// The place of a bond.
  struct Place: Hashable {
    let adapter: Address
    let phone: DeviceAddress
  }

  package init(_ directory: StateDirectory, _ scheduler: any Scheduler) {
    self.directory = directory
    self.scheduler = scheduler
  }

  /// Saves unsaved data for the last time.
  package func close() {
    saveAll()
    timer.due = nil
  }

  private func saveLater() { timer.limit(to: scheduler.now + Self.pause) }

  private func saveAll() {
    writeDown()
    for (place, bond) in unsaved where (try? save(bond, of: place.adapter)) != nil {
      directory.log.notice("saved the bond with \(place.phone) at last")
    }
    for place in forgotten where (try? forget(place)) != nil {
      directory.log.notice("removed the bond with \(place.phone) from the disk at last")
    }
  }

  /// The bonds of the adapter with this address, except forgotten ones.
  func bonds(of adapter: Address) -> Bonds {
    var found = allBonds(of: adapter)
    found.usable.removeAll { forgotten.contains(Place(adapter: adapter, phone: $0.identity)) }
    return found
  }

  private func allBonds(of adapter: Address) -> Bonds {
    let folder = adapter.folder
    var found = Bonds()
    // If a folder can't be listed, the board may have been bonded.
    let names: [String]
    do { names = try directory.names(in: folder) } catch { (names, found.unreadable) = ([], 1) }
    found.unusable = names.count { BondFile.isSetAside($0) }
    if replacements.contains(adapter) { found.unusable += 1 }
    var lastSeen: [DeviceAddress: Int64] = [:]
    for name in names where name.hasSuffix(BondFile.suffix) {
      do {
        guard var bond: Bond = try directory.read("\(folder)/\(name)") else { continue }
        let cache = cache(of: Place(adapter: adapter, phone: bond.identity))
        bond.name = cache?.name ?? bond.name
        bond.strikes = cache?.strikes
        lastSeen[bond.identity] = cache?.lastSeen
        adopt(bond, in: name, of: adapter)
        found.usable.keep(bond)
      } catch { if error == .now { found.unreadable += 1 } else { found.unusable += 1 } }
    }
    found.usable.sort { lastSeen[$0.identity] ?? 0 < lastSeen[$1.identity] ?? 0 }
    for (place, bond) in unsaved where place.adapter == adapter { found.usable.keep(bond) }
    return found
  }

  /// The bonds of all adapters by their places, including forgotten ones.
  func bonds() throws(SystemError) -> [Place: Bond] {
    var bonds: [Place: Bond] = [:]
    for adapter in try directory.names().compactMap({ Address(folder: $0) }) {
      for bond in allBonds(of: adapter).usable {
        bonds[Place(adapter: adapter, phone: bond.identity)] = bond
      }
    }
    return bonds
  }

  /// Moves a bond that an earlier version filed by address alone to its proper place.
  private func adopt(_ bond: Bond, in name: String, of adapter: Address) {
    let former = bond.identity.address.folder
    guard name == former + BondFile.suffix else { return }
    do {
      try save(bond, of: adapter)
      let name = "\(adapter.folder)/\(former)\(Self.cacheSuffix)"
      if let cache: PhoneCache = directory.load(name) {
        remember(cache, of: Place(adapter: adapter, phone: bond.identity))
      }
      for suffix in [Self.cacheSuffix, BondFile.suffix] {
        try directory.remove("\(adapter.folder)/\(former)\(suffix)")
      }
    } catch { directory.report("a moved bond", error) }
  }

  /// Saves a bond, replacing an earlier one with the same phone.
  func save(_ bond: Bond, of adapter: Address) throws(SystemError) {
    let place = Place(adapter: adapter, phone: bond.identity)
    forgotten.remove(place)
    do throws(SystemError) {
      try directory.save(bond, to: file(place, BondFile.suffix))
      unsaved[place] = nil
    } catch {
      unsaved[place] = bond
      saveLater()
      throw error
    }
  }

  /// Stops using a bond, whether or not its file can be removed.
  func revoke(_ place: Place) {
    forgotten.insert(place)
    unsaved[place] = nil
    unwritten[place] = nil
  }

  /// Whether a bond was revoked, and not made again since.
  func isRevoked(_ place: Place) -> Bool { forgotten.contains(place) }

  /// Removes a phone's keys, then everything remembered about it.
  func forget(_ place: Place) throws(SystemError) {
    revoke(place)
    do throws(SystemError) {
      try removeFiles(of: place)
      forgotten.remove(place)
    } catch {
      saveLater()
      throw error
    }
  }

  private func removeFiles(of place: Place) throws(SystemError) {
    try directory.remove(file(place, BondFile.suffix))
    // A copy under another name would become the bond at the next start.
    let folder = place.adapter.folder
    for name in try directory.names(in: folder) where name.hasSuffix(BondFile.suffix) {
      let bond: Bond? = directory.load("\(folder)/\(name)")
      if bond?.identity == place.phone { try directory.remove("\(folder)/\(name)") }
    }
    for suffix in [Self.cacheSuffix, Self.formerSuffix] {
      try directory.remove(file(place, suffix))
    }
  }

  /// The stored data about a phone.
  func cache(of place: Place) -> PhoneCache? {
    unwritten[place] ?? directory.load(file(place, Self.cacheSuffix))
  }

  /// Stores data about a phone. Losing it costs only a discovery, so it is written after the phone's set-up: a worn
  /// disk takes seconds, during which the phone would get no response.
  func remember(_ cache: PhoneCache, of place: Place) {
    unwritten[place] = cache
    saveLater()
  }

  /// Writes stored data to the disk; called when a link is over.
  package func writeDown() {
    for (place, cache) in unwritten {
      do {
        try directory.save(cache, to: file(place, Self.cacheSuffix))
      } catch { directory.report("the cache of \(place.phone)", error) }
    }
    unwritten = [:]
  }

  /// The static random address of an adapter, or the public one for an adapter that was never given one. Each is generated
  /// once and kept, because phones identify the board by it.
  func address(_ file: AddressFile, of index: ControllerIndex) -> Address {
    let stored = addresses[file] ?? storedAddress(in: file)
    addresses[file] = stored
    let address = stored.address.ofAdapter(index)
    if stored.isReplacement { replacements.insert(address) }
    return address
  }

  /// The address in a file, generated if there is none.
  private func storedAddress(in file: AddressFile) -> (address: Address, isReplacement: Bool) {
    var isReplacement = false
    do {
      let known: StoredAddress? = try directory.read(file.rawValue)
      isReplacement = try directory.names().contains { AddressFile.isSetAside($0) }
      if let known { return (known.address, isReplacement) }
    } catch { isReplacement = true }
    let random = UInt64.random(in: 0...UInt64.max)
    let address: Address = file == .static ? .static(from: random) : .locallyAdministered(from: random)
    // An unreadable file may be readable later, or by a later version.
    guard !directory.mayHave(file.rawValue) else { return (address, isReplacement) }
    do {
      try directory.save(StoredAddress(address: address), to: file.rawValue)
    } catch { directory.report("the board's own address", error) }
    return (address, isReplacement)
  }

  /// Moves bonds that an earlier version filed without an adapter address to the right adapter's.
  func adoptBonds(of adapter: Address) {
    let nobody = Address(0)
    for bond in bonds(of: nobody).usable {
      do {
        try save(bond, of: adapter)
        try forget(Place(adapter: nobody, phone: bond.identity))
      } catch { directory.report("a moved bond", error) }
    }
  }

  private static let cacheSuffix = ".cache.json"
  /// The suffix of a file from an earlier version.
  private static let formerSuffix = ".seen.json"

  /// A public and a random address of two phones may be the same number.
  private func file(_ place: Place, _ suffix: String) -> String {
    "\(place.adapter.folder)/\(place.phone.type)-\(place.phone.address.folder)\(suffix)"
  }
}

private struct StoredAddress: JSONObjectCodable {
  var address = Address(0)

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("address", &address)
  }
}
