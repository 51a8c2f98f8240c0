// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import JSON
import Mgmt
import System
import Wire

/// The bonds of every adapter, on the disk.
///
/// A bond is saved before it is announced, and goes only when somebody says `forget`, or when the same
/// phone has paired anew.
@LoopActor
public final class BondStore {
  private let directory: StateDirectory

  public init(_ directory: StateDirectory) { self.directory = directory }

  /// The phones that are bonded to the adapter with this address.
  public func bonds(of adapter: Address) -> [Bond] {
    let folder = Self.folder(adapter)
    return directory.files(in: folder, suffix: Self.suffix).compactMap { name in
      directory.load("\(folder)/\(name)") { (json) throws(ShapeError) in try Bond(json: json) }
    }
  }

  /// Saves a bond, in place of an earlier one with the same phone.
  public func save(_ bond: Bond, of adapter: Address) throws(SystemError) {
    try directory.save(bond.json, to: file(bond.identity.address, adapter, Self.suffix))
  }

  /// Forgets a phone: its keys and what was remembered of it.
  public func forget(_ phone: Address, of adapter: Address) throws(SystemError) {
    try directory.remove(file(phone, adapter, Self.suffix))
    try directory.remove(file(phone, adapter, Self.cacheSuffix))
  }

  /// What was remembered of a phone.
  public func memory(of phone: Address, on adapter: Address) -> PhoneMemory? {
    directory.load(file(phone, adapter, Self.cacheSuffix)) { (json) throws(ShapeError) in
      try PhoneMemory(json: json)
    }
  }

  /// Remembers something of a phone. It may be lost: that costs a discovery, and is only logged.
  public func remember(_ memory: PhoneMemory, of phone: Address, on adapter: Address) {
    do {
      try directory.save(memory.json, to: file(phone, adapter, Self.cacheSuffix))
    } catch {
      directory.log.warning("what was learned of \(phone) could not be saved: \(error)")
    }
  }

  /// The address of adapters that have none of their own: made once, and the same from then on, since
  /// phones know the board by it.
  public func staticAddress() -> Address {
    let file = "static-address.json"
    let known = directory.load(file) { (json) throws(ShapeError) in
      try Fields(json).required("address", "an address") { $0.string.flatMap(Address.init) }
    }
    if let known { return known }
    let address = AdapterSetup.staticAddress(from: .random(in: 0...UInt64.max))
    do {
      try directory.save(["address": .string(address.description)], to: file)
    } catch {
      directory.log.warning("the static address could not be saved: \(error)")
    }
    return address
  }

  private static let suffix = ".bond.json"
  private static let cacheSuffix = ".cache.json"

  private static func folder(_ adapter: Address) -> String {
    adapter.littleEndian.reversed().hex
  }

  private func file(_ phone: Address, _ adapter: Address, _ suffix: String) -> String {
    "\(Self.folder(adapter))/\(phone.littleEndian.reversed().hex)\(suffix)"
  }
}

extension Bond {
  /// The bond as it lies on the disk: keys in the kernel's own form, as hexadecimal digits.
  var json: JSONValue {
    var object = JSONObject()
    object.add("version", 1)
    object.add("phone", .string(identity.description))
    object.add("name", name.map { .string($0) })
    object.add("long_term_keys", .strings(longTermKeys.map(\.entry.hex)))
    object.add("identity_resolving_key", identityResolvingKey.map { .string($0.entry.hex) })
    object.add("first_seen", firstSeen.map { .number($0) })
    object.add("last_seen", lastSeen.map { .number($0) })
    return .object(object)
  }

  /// Reads what `json` writes.
  init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    guard try fields.number("version") == 1 else {
      throw ShapeError("version is of a later program")
    }
    let keys = try fields.list("long_term_keys", "keys") { value in
      value.string.flatMap { [UInt8](hex: $0) }.flatMap { try? LongTermKey(entry: $0) }
    }
    guard !keys.isEmpty else { throw ShapeError("long_term_keys is empty") }
    self.init(
      identity: try fields.required("phone", "an address") {
        $0.string.flatMap(DeviceAddress.init)
      },
      longTermKeys: keys,
      identityResolvingKey: try fields.optional("identity_resolving_key", "a key") { value in
        value.string.flatMap { [UInt8](hex: $0) }.flatMap { try? IdentityResolvingKey(entry: $0) }
      },
      name: try fields.optionalString("name"),
      firstSeen: try fields.optionalInteger("first_seen"),
      lastSeen: try fields.optionalInteger("last_seen"))
  }
}
