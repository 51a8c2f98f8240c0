// SPDX-License-Identifier: GPL-3.0-or-later

/// Reads the members of an object by name and type.
public struct JSONReader: JSONMembers {
  public let object: JSONObject

  public init(_ value: JSONValue?) throws(JSONError) {
    guard let object = value?.object else { throw JSONError("not an object") }
    self.object = object
  }

  /// The member, converted by `read`; nil if it is missing or null.
  public func optional<Value>(
    _ name: String, _ kind: String, _ read: (JSONValue) -> Value?
  ) throws(JSONError) -> Value? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let result = read(value) else { throw JSONError("not \(kind)", at: name) }
    return result
  }

  /// The member, converted by `read`.
  public func required<Value>(
    _ name: String, _ kind: String, _ read: (JSONValue) -> Value?
  ) throws(JSONError) -> Value {
    guard let value = try optional(name, kind, read) else { throw JSONError("missing", at: name) }
    return value
  }

  /// The member; nil if it is missing or null.
  public func optional<Value: JSONCodable>(
    _ name: String, as type: Value.Type = Value.self
  ) throws(JSONError) -> Value? {
    guard let value = object[name] else { return nil }
    // null only has a meaning for a value that is itself optional.
    if value.isNull { return Value(json: value) }
    do {
      return try Value(reading: value)
    } catch { throw error.within(name) }
  }

  /// The member.
  public func required<Value: JSONCodable>(
    _ name: String, as type: Value.Type = Value.self
  ) throws(JSONError) -> Value {
    guard let value = try optional(name, as: type) else { throw JSONError("missing", at: name) }
    return value
  }

  public static var isReading: Bool { true }

  public mutating func required<Value: JSONCodable>(_ name: StaticString, _ value: inout Value) throws(JSONError) {
    value = try required(name.description, as: Value.self)
  }

  public mutating func optional<Value: JSONCodable>(_ name: StaticString, _ value: inout Value?) throws(JSONError) {
    value = try optional(name.description, as: Value.self)
  }

  public mutating func optional(
    _ name: StaticString, utf8: ArraySlice<UInt8>?, set: (String?) -> Void
  ) throws(JSONError) {
    set(try optional(name.description, as: String.self))
  }

  public mutating func nullable<Value: JSONCodable>(_ name: StaticString, _ value: inout Value?) throws(JSONError) {
    value = try optional(name.description, as: Value.self)
  }

  public mutating func nullable(_ name: StaticString, _ value: inout Double?, places: Int) throws(JSONError) {
    value = try optional(name.description, as: Double.self)
  }
}
