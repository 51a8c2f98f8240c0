// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Reads the entries of one table, each by its key. Whatever is wrong becomes a fault, so that one look
/// at a file tells all that is wrong with it.
public struct TableReader {
  private var faults: [Fault] = []
  /// What the readers of keys have noted for later, with its place.
  public var noted: [(text: String, position: TOMLValue.Position)] = []
  /// Something that is wrong, and where.
  public typealias Fault = (position: TOMLValue.Position, message: String)

  private let position: TOMLValue.Position
  private let entries: [TOMLValue.Entry]
  /// The keys that were asked for.
  private var known: [String] = []

  /// - Parameter value: the table; anything else is a fault.
  public init(_ value: TOMLValue) {
    position = value.position
    if case .table(let entries) = value.content {
      self.entries = entries
    } else {
      entries = []
      fail(position, "a table is expected here, not \(value.content.kind)")
    }
  }

  /// The value of a key, as `read` reads it.
  ///
  /// - Parameters:
  ///   - expected: what it must be, for the fault.
  ///   - read: nil if it is something else.
  public mutating func value<Value>(
    _ key: String, expected: String, _ read: (TOMLValue.Content) -> Value?
  ) -> Value? {
    known.append(key)
    guard let entry = entries.first(where: { $0.key == key }) else { return nil }
    if let value = read(entry.value.content) { return value }
    fail(entry.value.position, "\(key) must be \(expected), not \(entry.value.content.shown)")
    return nil
  }

  public mutating func truth(_ key: String) -> Bool? {
    value(key, expected: "true or false") { $0.truth }
  }

  public mutating func text(_ key: String) -> String? {
    value(key, expected: "a text in quotes") { $0.text }
  }

  /// A text, or an array of texts, each read by `read`.
  public mutating func list<Value>(
    _ key: String, expected: String, _ read: (String) -> Value?
  ) -> [Value]? {
    value(key, expected: expected) { content in
      guard let texts = content.texts else { return nil }
      let values = texts.compactMap(read)
      return values.count == texts.count ? values : nil
    }
  }

  /// The place of a key that was read; the table's if it has none.
  public func position(of key: String) -> TOMLValue.Position {
    entries.first { $0.key == key }?.value.position ?? position
  }

  public func has(_ key: String) -> Bool { entries.contains { $0.key == key } }

  public mutating func fail(of key: String, _ message: String) { fail(position(of: key), message) }

  public mutating func fail(_ position: TOMLValue.Position, _ message: String) {
    faults.append((position, message))
  }

  /// The faults, with those keys that nobody asked for.
  public consuming func finish() -> [Fault] {
    for entry in entries where !known.contains(entry.key) {
      let hint = nearest(to: entry.key, among: known).map { "did you mean \($0)?" }
      fail(
        entry.keyPosition,
        "there is no setting “\(entry.key)” here; "
          + (hint ?? "there are \(known.joined(separator: ", "))"))
    }
    return faults
  }
}

extension TOMLValue.Content {
  public var truth: Bool? { if case .boolean(let value) = self { value } else { nil } }
  public var text: String? { if case .string(let value) = self { value } else { nil } }
  public var array: [TOMLValue]? { if case .array(let values) = self { values } else { nil } }

  /// A text, or those of an array; nil for anything else.
  public var texts: [String]? {
    if let text { return [text] }
    guard let array else { return nil }
    let texts = array.compactMap(\.content.text)
    return texts.count == array.count ? texts : nil
  }

  /// The value for a message: itself where that is short.
  public var shown: String {
    switch self {
    case .string(let text) where text.count <= 40: "“\(text)”"
    case .integer(let number): "\(number)"
    case .float(let number): "\(number)"
    case .boolean(let value): "\(value)"
    default: kind
    }
  }
}
