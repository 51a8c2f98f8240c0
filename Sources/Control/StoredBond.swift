// SPDX-License-Identifier: GPL-3.0-or-later
import JSON
import Mgmt
import Wire

/// A bond as it is stored: keys in mgmt's format, as hexadecimal digits.
extension Bond: JSONObjectCodable {
  public init() { self.init(identity: DeviceAddress(Address(0), .public), longTermKeys: []) }

  public init(reading json: JSONValue) throws(ShapeError) {
    var reader = try JSONReader(json)
    self.init()
    try members(&reader)
    if longTermKeys.isEmpty { throw ShapeError("empty", at: "long_term_keys") }
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var version = FileVersion()
    try json.required("version", &version)
    try json.required("phone", &identity)
    try json.optional("name", &name)
    try json.list("long_term_keys", &longTermKeys)
    try json.optional("identity_resolving_key", &identityResolvingKey)
    try json.optional("first_seen", &firstSeen)
    try json.optional("last_seen", &lastSeen)
  }
}

/// How bonds are filed in an adapter's folder of the state directory.
public enum BondFile {
  /// The end of their names.
  public static let suffix = ".bond.json"

  /// Whether a file is a bond that was set aside because it was damaged: `NAME.bad`, or `NAME.bad.1` and so on.
  public static func isSetAside(_ name: String) -> Bool {
    let parts = name.split(separator: ".")
    let isNumbered = parts.last.flatMap { UInt($0) } != nil
    return parts.dropLast(isNumbered ? 1 : 0).suffix(3) == ["bond", "json", "bad"]
  }
}

/// The content of a file of the state directory.
public enum StoredFile<Value: JSONCodable> {
  case value(Value)
  /// Of a later version of this program.
  case later
  /// The text says why.
  case damaged(String)

  public init(_ bytes: [UInt8]) {
    let json: JSONValue
    do throws(JSONError) {
      json = try JSONValue(parsing: bytes)
    } catch {
      self = .damaged("\(error)")
      return
    }
    do throws(ShapeError) {
      let isLater = json["version"]?.int.map { $0 > FileVersion.current } == true
      self = isLater ? .later : .value(try Value(reading: json))
    } catch {
      self = .damaged("\(error)")
    }
  }
}

/// The version of a file's format. A file of a later version can't be read.
public struct FileVersion: JSONCodable {
  /// The version that this program writes.
  public static let current: Int64 = 1

  public static let jsonKind = "of this program: it is a later one's"
  public func write(to json: inout JSONWriter) { json.text("\(Self.current)") }
  public init() {}
  public init?(json: JSONValue) { if json.int != Self.current { return nil } }
}

extension DeviceAddress: JSONText {
  public static let jsonKind = "an address"
}

extension LongTermKey: JSONCodable {
  public static let jsonKind = "a key"
  public func write(to json: inout JSONWriter) { json.string(entry.hex) }
  public init?(json: JSONValue) {
    guard let entry = json.string.flatMap({ [UInt8](hex: $0) }) else { return nil }
    try? self.init(entry: entry)
  }
}

extension IdentityResolvingKey: JSONCodable {
  public static let jsonKind = "a key"
  public func write(to json: inout JSONWriter) { json.string(entry.hex) }
  public init?(json: JSONValue) {
    guard let entry = json.string.flatMap({ [UInt8](hex: $0) }) else { return nil }
    try? self.init(entry: entry)
  }
}
