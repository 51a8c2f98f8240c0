// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Board
import Patterns
import TOML

/// A place in a file of settings.
package struct SettingsPlace: Hashable, Sendable, CustomStringConvertible {
  let file: String
  package let line: Int
  let column: Int

  /// As in `/etc/ancsd/ancsd.toml:3:14`, which editors know.
  package var description: String { "\(file):\(line):\(column)" }
}

/// Something in a file of settings that is wrong, or may not be what is meant.
package struct SettingsFault: Hashable, Sendable, CustomStringConvertible {
  package let place: SettingsPlace
  /// What it is, and what was expected.
  package let message: String
  package var description: String { "\(place): \(message)" }
}

/// Reads the entries of one table, each by its key. Whatever is wrong becomes a fault, so that one look
/// at a file tells all that is wrong with it.
struct TableReader {
  private(set) var faults: [(position: TOMLValue.Position, message: String)] = []
  /// The programs that were read.
  private(set) var programs: [(path: String, position: TOMLValue.Position)] = []
  private let position: TOMLValue.Position
  private let entries: [TOMLValue.Entry]
  /// The keys that were asked for.
  private var known: [String] = []

  /// - Parameter value: the table; anything else is a fault.
  init(_ value: TOMLValue) {
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
  mutating func value<Value>(
    _ key: String, expected: String, _ read: (TOMLValue.Content) -> Value?
  ) -> Value? {
    known.append(key)
    guard let entry = entries.first(where: { $0.key == key }) else { return nil }
    if let value = read(entry.value.content) { return value }
    fail(entry.value.position, "\(key) must be \(expected), not \(entry.value.content.shown)")
    return nil
  }

  mutating func truth(_ key: String) -> Bool? {
    value(key, expected: "true or false") { $0.truth }
  }

  mutating func text(_ key: String) -> String? {
    value(key, expected: "a text in quotes") { $0.text }
  }

  /// A text, or an array of texts, each read by `read`.
  mutating func list<Value>(
    _ key: String, expected: String, _ read: (String) -> Value?
  ) -> [Value]? {
    value(key, expected: expected) { content in
      guard let texts = content.texts else { return nil }
      let values = texts.compactMap(read)
      return values.count == texts.count ? values : nil
    }
  }

  /// A program's absolute path, or an array of it and its arguments.
  mutating func program(_ key: String) -> [String]? {
    let program = value(
      key, expected: "a program's absolute path, or an array of it and its arguments"
    ) { content in content.texts.flatMap { Hook.isProgram($0) ? $0 : nil } }
    if let path = program?.first { programs.append((path, position(of: key))) }
    return program
  }

  /// A text that is a regular expression.
  mutating func pattern(_ key: String) -> TextPattern? {
    guard let text = text(key) else { return nil }
    do throws(TextPattern.SyntaxError) {
      return try TextPattern(text)
    } catch {
      fail(of: key, "\(key): \(error)")
      return nil
    }
  }

  /// The place of a key that was read; the table's if it has none.
  func position(of key: String) -> TOMLValue.Position {
    entries.first { $0.key == key }?.value.position ?? position
  }

  func has(_ key: String) -> Bool { entries.contains { $0.key == key } }

  mutating func fail(of key: String, _ message: String) { fail(position(of: key), message) }

  private mutating func fail(_ position: TOMLValue.Position, _ message: String) {
    faults.append((position, message))
  }

  /// The faults, with those keys that nobody asked for.
  consuming func finish() -> [(position: TOMLValue.Position, message: String)] {
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
  var truth: Bool? { if case .boolean(let value) = self { value } else { nil } }
  var text: String? { if case .string(let value) = self { value } else { nil } }
  var array: [TOMLValue]? { if case .array(let values) = self { values } else { nil } }

  /// A text, or those of an array; nil for anything else.
  var texts: [String]? {
    if let text { return [text] }
    guard let array else { return nil }
    let texts = array.compactMap(\.content.text)
    return texts.count == array.count ? texts : nil
  }

  /// The value for a message: itself where that is short.
  var shown: String {
    switch self {
    case .string(let text) where text.count <= 40: "“\(text)”"
    case .integer(let number): "\(number)"
    case .float(let number): "\(number)"
    case .boolean(let value): "\(value)"
    default: kind
    }
  }
}
