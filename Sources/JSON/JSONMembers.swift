// SPDX-License-Identifier: GPL-3.0-or-later

/// A value with one JSON form: written as bytes, without a tree of values in between, and read from a
/// parsed value.
public protocol JSONCodable {
  /// What a reader expects, for its error: `a string`.
  static var jsonKind: String { get }
  /// Appends the value's JSON text.
  func write(to json: inout JSONWriter)
  /// Reads what `write(to:)` writes; nil for anything else.
  init?(json: JSONValue)
  /// The same, with the reason where it is something else.
  init(reading json: JSONValue) throws(JSONError)
}

/// A type whose values are JSON objects. `members` names each member once, and so both writes and reads
/// them:
///
///     struct Adapter: JSONObjectCodable {
///       var name = ""
///       var address: Address?
///       mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
///         try json.required("adapter", &name)
///         try json.optional("address", &address)
///       }
///     }
public protocol JSONObjectCodable: JSONCodable {
  /// A value to be filled by reading.
  init()
  /// Goes through the members, in the order in which they are written.
  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure)
}

/// The members of an object while it is read (`JSONReader`) or written (`JSONWriter`). Writing never fails.
public protocol JSONMembers {
  associatedtype Failure: Error

  /// Whether the members are read, not written.
  static var isReading: Bool { get }

  /// A required member.
  mutating func required<Value: JSONCodable>(_ name: StaticString, _ value: inout Value) throws(Failure)
  /// A member that is omitted if the value is nil.
  mutating func optional<Value: JSONCodable>(_ name: StaticString, _ value: inout Value?) throws(Failure)
  /// The same for a text that is stored as UTF-8, which must be valid. Only reading calls `set`.
  mutating func optional(_ name: StaticString, utf8: ArraySlice<UInt8>?, set: (String?) -> Void) throws(Failure)
  /// A member that is null if the value is nil.
  mutating func nullable<Value: JSONCodable>(_ name: StaticString, _ value: inout Value?) throws(Failure)
  /// A number with at most `places` decimals, without a point if it is whole; null if it is nil.
  mutating func nullable(_ name: StaticString, _ value: inout Double?, places: Int) throws(Failure)
}

extension JSONMembers {
  /// A member that is omitted if the value is false.
  @inlinable public mutating func flag(
    _ name: StaticString, _ value: inout Bool
  ) throws(Failure) {
    var flag = value ? true : nil
    try optional(name, &flag)
    value = flag ?? false
  }

  /// An array; when read, a missing one is empty.
  @inlinable public mutating func list<Element: JSONCodable>(
    _ name: StaticString, _ elements: inout [Element]
  ) throws(Failure) {
    guard Self.isReading else { return try required(name, &elements) }
    var list: [Element]?
    try optional(name, &list)
    elements = list ?? []
  }
}

extension JSONObjectCodable {
  public static var jsonKind: String { "an object" }

  @inlinable public func write(to json: inout JSONWriter) {
    var value = self
    json.object { json in value.members(&json) }
  }

  public init?(json: JSONValue) { try? self.init(reading: json) }

  public init(reading json: JSONValue) throws(JSONError) {
    var reader = try JSONReader(json)
    self.init()
    try members(&reader)
  }
}

extension JSONCodable {
  public init(reading json: JSONValue) throws(JSONError) {
    guard let value = Self(json: json) else { throw JSONError("not \(Self.jsonKind)") }
    self = value
  }

  /// The value as JSON text on one line.
  public var json: [UInt8] {
    var json = JSONWriter()
    write(to: &json)
    return json.bytes
  }
}

// MARK: - JSON's own types

extension String: JSONCodable {
  public static var jsonKind: String { "a string" }
  public func write(to json: inout JSONWriter) { json.string(self) }
  public init?(json: JSONValue) {
    guard let text = json.string else { return nil }
    self = text
  }
}

extension Bool: JSONCodable {
  public static var jsonKind: String { "true or false" }
  public func write(to json: inout JSONWriter) { json.text(self ? "true" : "false") }
  public init?(json: JSONValue) {
    guard let flag = json.bool else { return nil }
    self = flag
  }
}

extension Double: JSONCodable {
  public static var jsonKind: String { "a number" }
  public func write(to json: inout JSONWriter) { json.text(isFinite ? description : "null") }
  public init?(json: JSONValue) {
    guard let number = json.double else { return nil }
    self = number
  }
}

extension JSONCodable where Self: FixedWidthInteger {
  public static var jsonKind: String { "a whole number in range" }
  @inlinable public func write(to json: inout JSONWriter) { json.integer(self) }
  public init?(json: JSONValue) {
    guard let number = json.int.flatMap(Self.init(exactly:)) else { return nil }
    self = number
  }
}

extension Int: JSONCodable {}
extension Int64: JSONCodable {}
extension UInt8: JSONCodable {}
extension UInt16: JSONCodable {}
extension UInt32: JSONCodable {}
extension UInt64: JSONCodable {}

extension JSONValue: JSONCodable {
  public static var jsonKind: String { "a value" }
  public init?(json: JSONValue) { self = json }
}

/// An optional value: null if nil.
extension Optional: JSONCodable where Wrapped: JSONCodable {
  public static var jsonKind: String { Wrapped.jsonKind }
  @inlinable public func write(to json: inout JSONWriter) {
    if let self { self.write(to: &json) } else { json.text("null") }
  }
  public init?(json: JSONValue) { try? self.init(reading: json) }
  public init(reading json: JSONValue) throws(JSONError) {
    self = json.isNull ? nil : try Wrapped(reading: json)
  }
}

extension Array: JSONCodable where Element: JSONCodable {
  public static var jsonKind: String { "an array" }
  public func write(to json: inout JSONWriter) { json.array(self) }
  public init?(json: JSONValue) { try? self.init(reading: json) }
  public init(reading json: JSONValue) throws(JSONError) {
    guard let values = json.array else { throw JSONError("not \(Self.jsonKind)") }
    self.init()
    for (index, value) in values.enumerated() {
      do {
        append(try Element(reading: value))
      } catch { throw error.within("[\(index)]") }
    }
  }
}

// MARK: - Values that are strings in JSON

/// An enumeration whose raw values are its names in JSON, and need no escape.
public protocol JSONNamed: JSONCodable, RawRepresentable<String> {}

extension JSONNamed {
  @inlinable public func write(to json: inout JSONWriter) { json.word(rawValue) }
  public init?(json: JSONValue) {
    guard let value = json.string.flatMap(Self.init(rawValue:)) else { return nil }
    self = value
  }
}

/// A value that JSON represents by its description.
public protocol JSONText: JSONCodable, LosslessStringConvertible {}

extension JSONText {
  @inlinable public func write(to json: inout JSONWriter) { json.string(description) }
  public init?(json: JSONValue) {
    guard let value = json.string.flatMap({ Self($0) }) else { return nil }
    self = value
  }
}
