// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import Control
public import TOML

// Keys that [mqtt] and [[forward]] share.

extension TableReader {
  /// How much of a notification leaves the board.
  public mutating func contentLevel(_ key: String) -> ContentLevel? {
    let names = ContentLevel.allCases.map(\.rawValue).joined(separator: ", ")
    return value(key, expected: "one of \(names)") { $0.text.flatMap(ContentLevel.init) }
  }

  /// For how many seconds something is worth sending.
  public mutating func maxAge(_ key: String) -> UInt32? {
    value(key, expected: "a number of seconds from 1 to 86400") { content in
      guard case .integer(let seconds) = content, (1...86_400).contains(seconds) else { return nil }
      return UInt32(seconds)
    }
  }

  /// The path of a file.
  public mutating func absolutePath(_ key: String) -> String? {
    value(key, expected: "an absolute path") { content in
      content.text.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
  }

  /// What a condition names, of which one has to apply; none if it is not set. An empty array would be no condition.
  mutating func alternatives<Value>(_ key: String, expected: String, _ read: (String) -> Value?) -> [Value] {
    let values = list(key, expected: expected, read)
    if values?.isEmpty == true { fail(of: key, "\(key) must be \(expected), not an empty array") }
    return values ?? []
  }

  /// Patterns of an app's identifier (`app`); none if they are not set.
  public mutating func apps() -> [Glob] {
    alternatives("app", expected: "a pattern of an app's identifier, or an array of them") {
      Glob($0)
    }
  }

  /// `category`; none if it is not set.
  public mutating func categories() -> Set<Category> {
    let names = Category.names.joined(separator: ", ")
    return Set(alternatives("category", expected: "a category (\(names)), or an array of them") { Category($0) })
  }
}
