// SPDX-License-Identifier: GPL-3.0-or-later
import CJansson

/// Why a text is not valid JSON, or a value does not have the expected shape: the place and the problem, on one line.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path of the value, as in `links[1].mtu`; empty for the whole value or text.
  public let path: String
  /// The problem; with a path to follow "is": `missing`, `not a string`.
  public let problem: String

  public init(_ problem: String, at path: String = "") {
    self.path = path
    self.problem = problem
  }

  /// The same error, seen from the object or array around it.
  func within(_ name: String) -> JSONError {
    JSONError(problem, at: path.isEmpty ? name : path.first == "[" ? name + path : "\(name).\(path)")
  }

  public var description: String { path.isEmpty ? problem : "\(path) is \(problem)" }

  fileprivate init(_ error: inout json_error_t) {
    let reason = json_reason(&error).map { String(cString: $0) } ?? "out of memory"
    self.init("not valid JSON, line \(error.line), column \(error.column): \(reason)")
  }
}

extension JSONValue {
  /// Parses a text of RFC 8259, which jansson reads.
  ///
  /// Members keep the order of the text. Duplicate names, a zero character in a name and invalid UTF-8 are errors. A
  /// whole number that fits into 64 bits is an `int`, even if written as `2.0`.
  public init(parsing text: some Sequence<UInt8>) throws(JSONError) {
    let text = Array(text)
    try JSONLimits.ofAnyText.check(text)
    var error = json_error_t()
    var tree = Self.read(text, JSON_DECODE_ANY, &error)
    if tree == nil, json_is_overflow(&error) {
      // jansson rejects integers of more than 64 bits, unless it reads all integers as `double`.
      tree = Self.read(text, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &error)
    }
    guard let tree else { throw JSONError(&error) }
    defer { json_decref(tree) }
    self.init(tree)
  }

  /// Parses a text.
  public init(parsing text: String) throws(JSONError) { try self.init(parsing: text.utf8) }

  private static func read(
    _ text: [UInt8], _ flags: Int32, _ error: inout json_error_t
  ) -> UnsafeMutablePointer<json_t>? {
    text.withUnsafeBytes { text in
      json_loadb(text.baseAddress, text.count, Int(flags | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES), &error)
    }
  }

  fileprivate init(_ node: UnsafeMutablePointer<json_t>) {
    self =
      switch node.pointee.type {
      case JSON_OBJECT: .object(JSONObject(node))
      case JSON_ARRAY:
        .array(
          (0..<json_array_size(node)).compactMap { json_array_get(node, $0).map(JSONValue.init) })
      case JSON_STRING: .string(String(json_string_value(node), json_string_length(node)))
      case JSON_INTEGER: .int(json_integer_value(node))
      case JSON_REAL: JSONValue(json_real_value(node))
      case JSON_TRUE: .bool(true)
      case JSON_FALSE: .bool(false)
      default: .null
      }
  }

  private init(_ number: Double) {
    self = Int64(exactly: number).map { .int($0) } ?? .double(number)
  }
}

extension JSONObject {
  fileprivate init(_ node: UnsafeMutablePointer<json_t>) {
    self.init()
    var member = json_object_iter(node)
    while let place = member, let value = json_object_iter_value(place) {
      let name = String(json_object_iter_key(place), json_object_iter_key_len(place))
      add(name, JSONValue(value))
      member = json_object_iter_next(node, place)
    }
  }
}

extension String {
  /// A text from jansson, which is valid UTF-8.
  fileprivate init(_ bytes: UnsafePointer<CChar>?, _ count: Int) {
    self.init(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }
}
