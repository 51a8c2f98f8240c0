// SPDX-License-Identifier: GPL-3.0-or-later

/// A JSON value (RFC 8259). Objects keep the order of their members, since the order of keys in the daemon's output is
/// documented.
public enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// An integer of up to 64 bits, whatever the width of the board's `Int`.
  case int(Int64)
  /// Any other number. Non-finite numbers are written as `null`.
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)
}

/// The members of a JSON object, in order.
///
/// Two objects are equal if they have the same members, in any order (RFC 8259, 4: an object is an
/// unordered collection).
public struct JSONObject: Hashable, Sendable {
  /// The members, in order.
  public private(set) var members: [(name: String, value: JSONValue)] = []

  /// An object without members.
  public init() {}

  /// The value of the member `name`. Setting it keeps the member's place, or adds it at the end; setting
  /// nil removes it.
  public subscript(name: String) -> JSONValue? {
    get { members.first { $0.name == name }?.value }
    set {
      guard let place = members.firstIndex(where: { $0.name == name }) else {
        return add(name, newValue)
      }
      if let newValue { members[place].value = newValue } else { members.remove(at: place) }
    }
  }

  /// Appends a member without checking for duplicates. If `value` is nil, nothing is appended.
  public mutating func add(_ name: String, _ value: JSONValue?) {
    if let value { members.append((name, value)) }
  }

  /// Appends the members of another object.
  public mutating func add(_ other: JSONObject) { members += other.members }

  public static func == (one: JSONObject, other: JSONObject) -> Bool {
    one.members.count == other.members.count
      && one.members.allSatisfy { other[$0.name] == $0.value }
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(Set(members.map(\.name))) }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// An object with these members in order, except those that are nil.
  public init(dictionaryLiteral elements: (String, JSONValue?)...) {
    for (name, value) in elements { add(name, value) }
  }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int64) { self = .int(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(nilLiteral: ()) { self = .null }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    var object = JSONObject()
    for (name, value) in elements { object.add(name, value) }
    self = .object(object)
  }
}

extension JSONValue {
  /// A number from an integer of any width.
  public static func number(_ value: some BinaryInteger) -> JSONValue {
    Int64(exactly: value).map { .int($0) } ?? .double(Double(value))
  }

  /// An array of strings.
  public static func strings(_ values: some Sequence<String>) -> JSONValue {
    .array(values.map { .string($0) })
  }

  /// A string; nil for any other value.
  public var string: String? { if case .string(let value) = self { value } else { nil } }

  /// `true` or `false`; nil for any other value.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// An integer, even if written as `2.0`; nil for any other value.
  public var int: Int64? {
    switch self {
    case .int(let value): value
    case .double(let value): Int64(exactly: value)
    default: nil
    }
  }

  /// A number; nil for any other value.
  public var double: Double? {
    switch self {
    case .int(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The elements of an array; nil for any other value.
  public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

  /// The members of an object; nil for any other value.
  public var object: JSONObject? { if case .object(let value) = self { value } else { nil } }

  /// The member `name` of an object; nil if it is missing, or this is not an object.
  public subscript(name: String) -> JSONValue? { object?[name] }

  /// Whether it is `null`.
  public var isNull: Bool { self == .null }
}
