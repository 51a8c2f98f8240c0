// SPDX-License-Identifier: GPL-3.0-or-later
import CTOML

/// A value in a TOML 1.0 file (toml.io), with its position. toml++ parses the file.
public struct TOMLValue: Sendable {
  public let content: Content
  public let position: Position

  /// A position in a text. Both numbers start at 1; columns count characters.
  public struct Position: Hashable, Sendable, CustomStringConvertible {
    public let line: Int
    public let column: Int

    public init(line: Int, column: Int) {
      self.line = line
      self.column = column
    }

    /// `3:14`, a format that editors understand.
    public var description: String { "\(line):\(column)" }
  }

  public enum Content: Sendable {
    case string(String)
    case integer(Int64)
    case float(Double)
    case boolean(Bool)
    /// A date, a time, or both. No setting has this type.
    case time
    case array([TOMLValue])
    /// Entries in the order of the file.
    case table([Entry])
  }

  /// A key of a table and its value.
  public struct Entry: Sendable {
    public let key: String
    public let keyPosition: Position
    public let value: TOMLValue
  }

  /// Why a text is not valid TOML, or a value not what is expected, and where.
  public struct Fault: Error, Hashable, Sendable {
    public let position: Position
    public let message: String
  }

  /// The table of a whole text.
  ///
  /// - Throws: the first syntax error, which may be invalid UTF-8.
  public init(parsing bytes: [UInt8]) throws(Fault) {
    let document = bytes.withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { ctoml_read($0.baseAddress, $0.count) }
    }
    defer { ctoml_free(document) }
    guard let root = ctoml_root(document) else {
      var position = ctoml_position(line: 1, column: 1)
      let reason = String(ctoml_error(document, &position))
      let place = Position(position)
      let isOpen =
        reason.hasPrefix("Error while parsing") && reason.split(separator: " ").contains("string:")
        && Self.isEnd(place, of: bytes)
      throw Fault(position: place, message: isOpen ? "the text has no closing quotation mark" : reason)
    }
    self.init(root)
  }

  /// Whether a line ends at this position.
  private static func isEnd(_ position: Position, of bytes: [UInt8]) -> Bool {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.indices.contains(position.line - 1) else { return true }
    let line = String(decoding: lines[position.line - 1], as: UTF8.self)
    return line.unicodeScalars.count < position.column
  }

  private init(_ node: OpaquePointer) {
    let value = ctoml_value_of(node)
    position = Position(value.position)
    content =
      switch value.kind {
      case CTOML_STRING: .string(String(value.string))
      case CTOML_INTEGER: .integer(value.integer)
      case CTOML_FLOAT: .float(value.real)
      case CTOML_BOOLEAN: .boolean(value.boolean)
      case CTOML_ARRAY: .array(Self.children(of: node).map(\.value))
      case CTOML_TABLE:
        .table(
          Self.children(of: node).sorted { one, other in
            (one.keyPosition.line, one.keyPosition.column) < (other.keyPosition.line, other.keyPosition.column)
          })
      default: .time
      }
  }

  private static func children(of node: OpaquePointer) -> [Entry] {
    var entries: [Entry] = []
    withUnsafeMutablePointer(to: &entries) { entries in
      ctoml_children(node, entries) { context, key, position, value in
        guard let value else { return }
        context?.assumingMemoryBound(to: [Entry].self).pointee.append(
          Entry(key: String(key), keyPosition: Position(position), value: TOMLValue(value)))
      }
    }
    return entries
  }
}

extension TOMLValue.Content {
  /// The type in words, for messages.
  public var kind: String {
    switch self {
    case .string: "a string"
    case .integer: "an integer"
    case .float: "a float"
    case .boolean: "true or false"
    case .time: "a date or time"
    case .array: "an array"
    case .table: "a table"
    }
  }
}

extension TOMLValue.Position {
  fileprivate init(_ position: ctoml_position) {
    self.init(line: Int(position.line), column: Int(position.column))
  }
}

extension String {
  fileprivate init(_ text: ctoml_text) {
    self = String(decoding: UnsafeRawBufferPointer(start: text.bytes, count: text.length), as: UTF8.self)
  }
}
