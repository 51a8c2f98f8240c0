// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Reads the entries of one table by their keys. It collects faults, so one check of a file reports
/// all of them.
public struct TableReader {
  private var faults: [TOMLValue.Fault] = []
  /// Notes from the readers of keys for later, with their positions.
  public var noted: [(text: String, position: TOMLValue.Position)] = []

  private let position: TOMLValue.Position
  private let entries: [TOMLValue.Entry]
  /// The requested keys.
  private var known: [String] = []

  /// - Parameter value: the table; anything else is a fault.
  public init(_ value: TOMLValue) {
    position = value.position
    if case .table(let entries) = value.content {
      self.entries = entries
    } else {
      entries = []
      fail(position, "expected a table, not \(value.content.kind)")
    }
  }

  /// The value of a key, converted by `read`.
  ///
  /// - Parameters:
  ///   - expected: the description of a valid value, for the fault.
  ///   - read: converts a value; nil if it is invalid.
  public mutating func value<Value>(_ key: String, expected: String, _ read: (TOMLValue.Content) -> Value?) -> Value? {
    guard let entry = entry(key) else { return nil }
    if let value = read(entry.value.content) { return value }
    fail(entry.value.position, "\(key) must be \(expected), not \(entry.value.content.shown)")
    return nil
  }

  /// The entry of a key, whose value the caller converts.
  public mutating func entry(_ key: String) -> TOMLValue.Entry? {
    known.append(key)
    return entries.first { $0.key == key }
  }

  public mutating func truth(_ key: String) -> Bool? {
    value(key, expected: "true or false") { $0.truth }
  }

  public mutating func text(_ key: String) -> String? {
    value(key, expected: "a string in quotes") { $0.text }
  }

  /// A text, or an array of texts, each converted by `read`.
  public mutating func list<Value>(_ key: String, expected: String, _ read: (String) -> Value?) -> [Value]? {
    guard let entry = entry(key) else { return nil }
    var values: [Value] = []
    for element in entry.value.content.array ?? [entry.value] {
      guard let value = element.content.text.flatMap(read) else {
        fail(element.position, "\(key) must be \(expected), not \(element.content.shown)")
        return nil
      }
      values.append(value)
    }
    return values
  }

  /// The position of a key; the table's if the key is missing.
  public func position(of key: String) -> TOMLValue.Position {
    entries.first { $0.key == key }?.value.position ?? position
  }

  public func has(_ key: String) -> Bool { entries.contains { $0.key == key } }

  public mutating func fail(of key: String, _ message: String) { fail(position(of: key), message) }

  public mutating func fail(_ position: TOMLValue.Position, _ message: String) {
    faults.append(.init(position: position, message: message))
  }

  /// The faults, including keys that were never requested.
  public consuming func finish() -> [TOMLValue.Fault] {
    for entry in entries where !known.contains(entry.key) {
      let hint = nearest(to: entry.key, among: known).map { "did you mean \($0)?" }
      fail(
        entry.keyPosition,
        "there is no setting “\(entry.key)” here; "
          + (hint ?? "choose from \(known.joined(separator: ", "))"))
    }
    return faults
  }
}

extension TOMLValue.Content {
  public var truth: Bool? { if case .boolean(let value) = self { value } else { nil } }
  public var text: String? { if case .string(let value) = self { value } else { nil } }
  public var array: [TOMLValue]? { if case .array(let values) = self { values } else { nil } }

  /// The text, or the texts of an array; nil for anything else.
  public var texts: [String]? {
    if let text { return [text] }
    guard let array else { return nil }
    let texts = array.compactMap(\.content.text)
    return texts.count == array.count ? texts : nil
  }

  /// The value for a message: itself if short.
  public var shown: String {
    switch self {
    case .string(let text) where text.count <= 40: "“\(text)”"
    case .integer(let number): "\(number)"
    case .float(let number): "\(number)"
    case .boolean(let value): "\(value)"
    case .array(let elements) where elements.isEmpty: "an empty array"
    default: kind
    }
  }
}
