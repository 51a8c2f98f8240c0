// SPDX-License-Identifier: GPL-3.0-or-later
import FoundationEssentials

/// Why a text is not valid JSON, on one line.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

extension JSONValue {
  /// The notation of a text.
  public enum Notation: Sendable {
    /// RFC 8259: the control socket, the virtual phone and the daemon's own files.
    case strict
    /// JSON5 (https://spec.json5.org), for files that people write: comments, names without quotes,
    /// trailing commas.
    case json5
  }

  /// Parses a text. The members of objects are sorted by name, since the library does not tell their
  /// order.
  ///
  /// Arrays and objects nested deeper than 64 levels are rejected, as is invalid Unicode.
  public init(parsing text: some Sequence<UInt8>, as notation: Notation = .strict) throws(JSONError)
  {
    let text = Data(text)
    // The library traps on some of it in a JSON5 name, and takes it in a comment.
    guard String(validating: text, as: UTF8.self) != nil else { throw JSONError("no Unicode text") }
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = notation == .json5
    do {
      self = try decoder.decode(JSONValue.self, from: text)
    } catch DecodingError.dataCorrupted(let context) {
      throw JSONError(context)
    } catch {
      throw JSONError("not valid JSON")
    }
  }

  /// Parses a text.
  public init(parsing text: String, as notation: Notation = .strict) throws(JSONError) {
    try self.init(parsing: text.utf8, as: notation)
  }
}

extension JSONError {
  /// The library reports only that something is wrong. An error of `JSONValue` itself also has the path
  /// to the value.
  fileprivate init(_ context: DecodingError.Context) {
    guard !context.codingPath.isEmpty else {
      self.init("not valid JSON")
      return
    }
    let path = context.codingPath.map { key in key.intValue.map { "[\($0)]" } ?? key.stringValue }
    self.init("not valid JSON at \(path.joined(separator: "."))")
  }
}

extension JSONValue: Decodable {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// How deep arrays and objects may be nested. The library allows 512, but its errors hold the whole
  /// path to a value, and guessing the type of each value makes many errors.
  private static let maximumDepth = 64

  /// Tries the most common types first, since each wrong guess costs an error.
  public init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count <= Self.maximumDepth else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "nested too deeply"))
    }
    let single = try decoder.singleValueContainer()
    if let value = try? single.decode(String.self) {
      self = .string(value)
    } else if let value = try? single.decode(Int64.self) {
      self = .int(value)
    } else if let container = try? decoder.container(keyedBy: Name.self) {
      var object = JSONObject()
      for name in container.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
        object.add(name.stringValue, try container.decode(JSONValue.self, forKey: name))
      }
      self = .object(object)
    } else if var container = try? decoder.unkeyedContainer() {
      var values: [JSONValue] = []
      while !container.isAtEnd { values.append(try container.decode(JSONValue.self)) }
      self = .array(values)
    } else if let value = try? single.decode(Bool.self) {
      self = .bool(value)
    } else if single.decodeNil() {
      self = .null
    } else if let value = try? single.decode(Double.self) {
      self = .double(value)
    } else {
      // The scanner took it for a string or a number, and it is neither.
      throw DecodingError.dataCorruptedError(
        in: single, debugDescription: "no Unicode text, or a number out of range")
    }
  }
}
