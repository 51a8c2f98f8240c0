// SPDX-License-Identifier: GPL-3.0-or-later

/// Why a JSON value does not have the expected shape: the place and the problem.
public struct ShapeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path of the value, as in `links[1].mtu`; empty for the whole value.
  public let path: String
  /// The problem, to follow "is": `missing`, `not a string`.
  public let problem: String

  public init(_ problem: String, at path: String = "") {
    self.path = path
    self.problem = problem
  }

  /// The same error, seen from the object or array around it.
  func within(_ name: String) -> ShapeError {
    ShapeError(
      problem, at: path.isEmpty ? name : path.first == "[" ? name + path : "\(name).\(path)")
  }

  public var description: String { path.isEmpty ? problem : "\(path) is \(problem)" }
}

/// Reads the members of an object by name and type.
public struct JSONReader: JSONMembers {
  public let object: JSONObject

  public init(_ value: JSONValue?) throws(ShapeError) {
    guard let object = value?.object else { throw ShapeError("not an object") }
    self.object = object
  }

  /// The member, converted by `read`; nil if it is missing or null.
  public func optional<Value>(
    _ name: String, _ kind: String, _ read: (JSONValue) -> Value?
  ) throws(ShapeError) -> Value? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let result = read(value) else { throw ShapeError("not \(kind)", at: name) }
    return result
  }

  /// The member, converted by `read`.
  public func required<Value>(
    _ name: String, _ kind: String, _ read: (JSONValue) -> Value?
  ) throws(ShapeError) -> Value {
    guard let value = try optional(name, kind, read) else { throw ShapeError("missing", at: name) }
    return value
  }

  /// The member; nil if it is missing or null.
  public func optional<Value: JSONCodable>(
    _ name: String, as type: Value.Type = Value.self
  ) throws(ShapeError) -> Value? {
    guard let value = object[name] else { return nil }
    // null only has a meaning for a value that is itself optional.
    if value.isNull { return Value(json: value) }
    do {
      return try Value(reading: value)
    } catch {
      throw error.within(name)
    }
  }

  /// The member.
  public func required<Value: JSONCodable>(
    _ name: String, as type: Value.Type = Value.self
  ) throws(ShapeError) -> Value {
    guard let value = try optional(name, as: type) else { throw ShapeError("missing", at: name) }
    return value
  }

  public static var isReading: Bool { true }

  public mutating func required<Value: JSONCodable>(
    _ name: StaticString, _ value: inout Value
  ) throws(ShapeError) {
    value = try required(name.description, as: Value.self)
  }

  public mutating func optional<Value: JSONCodable>(
    _ name: StaticString, _ value: inout Value?
  ) throws(ShapeError) {
    value = try optional(name.description, as: Value.self)
  }

  public mutating func optional(
    _ name: StaticString, utf8: ArraySlice<UInt8>?, set: (String?) -> Void
  ) throws(ShapeError) {
    set(try optional(name.description, as: String.self))
  }

  public mutating func nullable<Value: JSONCodable>(
    _ name: StaticString, _ value: inout Value?
  ) throws(ShapeError) {
    value = try optional(name.description, as: Value.self)
  }

  public mutating func nullable(
    _ name: StaticString, _ value: inout Double?, places: Int
  ) throws(ShapeError) {
    value = try optional(name.description, as: Double.self)
  }
}
