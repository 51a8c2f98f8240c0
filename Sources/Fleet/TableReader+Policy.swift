// SPDX-License-Identifier: GPL-3.0-or-later
public import TOML

// Keys that [mqtt] and [[forward]] share.

extension TableReader {
  /// How much of a notification leaves the board.
  public mutating func contentLevel(_ key: String) -> ContentLevel? {
    let expected = "one of \(ContentLevel.names.joined(separator: ", "))"
    return value(key, expected: expected) { $0.text.flatMap { ContentLevel(name: $0) } }
  }

  /// For how many seconds something is worth sending.
  public mutating func maxAge(_ key: String) -> Int64? {
    value(key, expected: "a number of seconds from 1 to 86400") { content in
      guard case .integer(let seconds) = content, (1...86_400).contains(seconds) else { return nil }
      return seconds
    }
  }

  /// The path of a file.
  public mutating func absolutePath(_ key: String) -> String? {
    value(key, expected: "an absolute path") { content in
      content.text.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
  }
}
