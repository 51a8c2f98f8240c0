// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON
import Mgmt
public import Wire

/// A bond as it is stored: keys in mgmt's format, as hexadecimal digits.
extension Bond: JSONObjectCodable {
  public init() { self.init(identity: DeviceAddress(Address(0), .public), longTermKeys: []) }

  public init(reading json: JSONValue) throws(JSONError) {
    var reader = try JSONReader(json)
    self.init()
    try members(&reader)
    if longTermKeys.isEmpty { throw JSONError("empty", at: "long_term_keys") }
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var version = FileVersion()
    try json.required("version", &version)
    try json.required("phone", &identity)
    try json.optional("name", &name)
    try json.list("long_term_keys", &longTermKeys)
    try json.optional("identity_resolving_key", &identityResolvingKey)
    try json.optional("first_seen", &firstSeen)
  }
}

extension Address {
  /// The twelve digits that name a file or folder in the state directory.
  public var folder: String { littleEndian.reversed().hex }

  /// The address that a folder is named after; nil for other names.
  public init?(folder: String) {
    guard let bytes = [UInt8](hex: folder), bytes.count == 6 else { return nil }
    self.init(bytes.reduce(0) { $0 << 8 | UInt64($1) })
  }
}

/// The names of bond files in an adapter's folder of the state directory.
public enum BondFile {
  /// Their suffix.
  public static let suffix = ".bond.json"

  /// Whether a file is a damaged bond that was renamed.
  public static func isSetAside(_ name: String) -> Bool {
    nameBeforeSetAside(name)?.hasSuffix(suffix) == true
  }
}

/// The files in the state directory with the addresses generated for adapters that lack one.
public enum AddressFile: String, CaseIterable {
  case `static` = "static-address.json"
  case `public` = "public-address.json"

  /// Whether a file is such an address, damaged and renamed.
  public static func isSetAside(_ name: String) -> Bool {
    nameBeforeSetAside(name).flatMap(Self.init) != nil
  }
}

/// The original name of a renamed damaged file, which is now `NAME.bad`, or `NAME.bad.1` and so on.
private func nameBeforeSetAside(_ name: String) -> String? {
  var parts = name.split(separator: ".")[...]
  if parts.last.flatMap({ UInt($0) }) != nil { parts.removeLast() }
  return parts.popLast() == "bad" ? parts.joined(separator: ".") : nil
}

/// The content of a file of the state directory.
public enum StoredFile<Value: JSONCodable> {
  case value(Value)
  /// From a later version of this program.
  case later
  /// The text says why.
  case damaged(String)

  public init(_ bytes: [UInt8]) {
    do throws(JSONError) {
      let json = try JSONValue(parsing: bytes)
      let isLater = json["version"]?.int.map { $0 > FileVersion.current } == true
      self = isLater ? .later : .value(try Value(reading: json))
    } catch { self = .damaged("\(error)") }
  }
}

/// The version of a file's format. A file of a later version can't be read.
public struct FileVersion: JSONCodable {
  /// The version that this program writes.
  public static let current: Int64 = 1

  public static let jsonKind = "supported: it is from a later version"
  public func write(to json: inout JSONWriter) { json.text("\(Self.current)") }
  public init() {}
  public init?(json: JSONValue) { if json.int != Self.current { return nil } }
}

extension DeviceAddress: JSONText { public static let jsonKind = "an address" }

/// A key that is stored as mgmt has it.
public protocol StoredKey: JSONCodable {
  var entry: [UInt8] { get }
  init(entry: [UInt8]) throws(DecodeError)
}

extension StoredKey {
  public static var jsonKind: String { "a key" }
  public func write(to json: inout JSONWriter) { json.string(entry.hex) }
  public init?(json: JSONValue) {
    guard let entry = json.string.flatMap({ [UInt8](hex: $0) }) else { return nil }
    try? self.init(entry: entry)
  }
}

extension LongTermKey: StoredKey {}
extension IdentityResolvingKey: StoredKey {}
