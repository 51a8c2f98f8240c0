// SPDX-License-Identifier: GPL-3.0-or-later

/// The completions at the cursor.
public struct Completion: Hashable, Sendable {
  /// How many characters of the word are before the cursor.
  public var typed: Int
  /// The words that it can become.
  public var words: [String]

  public init(typed: Int, words: [String]) {
    self.typed = typed
    self.words = words
  }

  /// What can be inserted at once: what all words have in common after the cursor, and a space if
  /// there is only one.
  var insertion: String {
    guard var common = words.first else { return "" }
    for word in words.dropFirst() {
      common = String(zip(common, word).prefix { $0.0 == $0.1 }.map(\.0))
    }
    guard common.count >= typed else { return "" }
    return common.dropFirst(typed) + (words.count == 1 ? " " : "")
  }

  /// The words in columns, for a terminal of this width.
  func listing(width: Int) -> String {
    let column = (words.map(\.count).max() ?? 0) + 2
    let perLine = max(1, width / column)
    let lines = stride(from: 0, to: words.count, by: perLine).map { start in
      let row = words[start..<min(start + perLine, words.count)]
      let cells = row.dropLast().map { $0 + String(repeating: " ", count: column - $0.count) }
      return cells.joined() + (row.last ?? "")
    }
    return lines.joined(separator: "\n")
  }
}
