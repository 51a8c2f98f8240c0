// SPDX-License-Identifier: GPL-3.0-or-later
import JSON

/// Why a JSON value is not of the shape that is expected: the member, and what it should be.
public struct ShapeError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// The members of an object, taken out by name and kind.
package struct Fields {
  package let object: JSONObject

  package init(_ value: JSONValue?) throws(ShapeError) {
    guard let object = value?.object else { throw ShapeError("not an object") }
    self.object = object
  }

  /// The member, as `read` takes it; nil where it is absent or null.
  package func optional<Value>(
    _ name: String, _ kind: String, _ read: (JSONValue) -> Value?
  ) throws(ShapeError) -> Value? {
    guard let value = object[name], !value.isNull else { return nil }
    guard let result = read(value) else { throw ShapeError("\(name) is not \(kind)") }
    return result
  }

  /// The member, as `read` takes it.
  package func required<Value>(
    _ name: String, _ kind: String, _ read: (JSONValue) -> Value?
  ) throws(ShapeError) -> Value {
    guard let value = try optional(name, kind, read) else { throw ShapeError("\(name) is missing") }
    return value
  }

  package func optionalString(_ name: String) throws(ShapeError) -> String? {
    try optional(name, "a string", \.string)
  }

  package func string(_ name: String) throws(ShapeError) -> String {
    try required(name, "a string", \.string)
  }

  package func optionalBool(_ name: String) throws(ShapeError) -> Bool? {
    try optional(name, "true or false", \.bool)
  }

  package func bool(_ name: String) throws(ShapeError) -> Bool {
    try required(name, "true or false", \.bool)
  }

  package func optionalNumber(_ name: String) throws(ShapeError) -> Double? {
    try optional(name, "a number", \.double)
  }

  package func number(_ name: String) throws(ShapeError) -> Double {
    try required(name, "a number", \.double)
  }

  package func optionalInteger<Value: FixedWidthInteger>(_ name: String) throws(ShapeError)
    -> Value?
  {
    try optional(name, "a whole number in range") { $0.int.flatMap(Value.init(exactly:)) }
  }

  package func integer<Value: FixedWidthInteger>(_ name: String) throws(ShapeError) -> Value {
    try required(name, "a whole number in range") { $0.int.flatMap(Value.init(exactly:)) }
  }

  /// A value written as text, such as an address.
  package func optionalText<Value: LosslessStringConvertible>(
    _ name: String, _ kind: String
  ) throws(ShapeError) -> Value? {
    try optional(name, kind) { $0.string.flatMap(Value.init) }
  }

  /// The elements of an array, each as `read` takes it; none where it is absent.
  package func list<Element>(
    _ name: String, _ kind: String, _ read: (JSONValue) -> Element?
  ) throws(ShapeError) -> [Element] {
    try optional(name, "an array of \(kind)") { value in
      guard let values = value.array else { return nil }
      let elements = values.compactMap(read)
      return elements.count == values.count ? elements : nil
    } ?? []
  }

  package func strings(_ name: String) throws(ShapeError) -> [String] {
    try list(name, "strings", \.string)
  }
}

extension JSONObject {
  /// Adds a text; nothing where it is absent.
  package mutating func add(_ name: String, _ text: String?) { add(name, text.map { .string($0) }) }

  /// Adds a number; nothing where it is absent.
  package mutating func add(_ name: String, _ number: (some BinaryInteger)?) {
    add(name, number.map { .number($0) })
  }

  /// Adds `true` or `false`; nothing where it is absent.
  package mutating func add(_ name: String, _ flag: Bool?) { add(name, flag.map { .bool($0) }) }
}

extension Fields {
  /// The elements of an array, each an object that `read` takes; none where it is absent.
  package func reports<Report>(
    _ name: String, _ read: (JSONValue) throws(ShapeError) -> Report
  ) throws(ShapeError) -> [Report] {
    var reports: [Report] = []
    for value in try optional(name, "an array", \.array) ?? [] { reports.append(try read(value)) }
    return reports
  }
}
