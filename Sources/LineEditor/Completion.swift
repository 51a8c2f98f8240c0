// SPDX-License-Identifier: GPL-3.0-or-later

/// What may stand where the cursor is.
public struct Completion: Hashable, Sendable {
  /// How much of the line before the cursor is the beginning of the word, in characters.
  public var typed: Int
  /// The words that it may become, whole.
  public var words: [String]

  public init(typed: Int, words: [String]) {
    self.typed = typed
    self.words = words
  }

  /// What can be put in right now: what all words have in common behind what was typed, and a blank
  /// where there is but one.
  var insertion: String {
    guard var common = words.first else { return "" }
    for word in words.dropFirst() {
      common = String(zip(common, word).prefix { $0.0 == $0.1 }.map(\.0))
    }
    guard common.count >= typed else { return "" }
    return common.dropFirst(typed) + (words.count == 1 ? " " : "")
  }

  /// The words in columns, for so wide a terminal.
  func listing(width: Int) -> String {
    let column = (words.map(\.count).max() ?? 0) + 2
    let perLine = max(1, width / column)
    var lines: [String] = []
    for (place, word) in words.enumerated() {
      let isLast = place % perLine == perLine - 1 || place == words.count - 1
      let cell = isLast ? word : word + String(repeating: " ", count: column - word.count)
      if place % perLine == 0 { lines.append(cell) } else { lines[lines.count - 1] += cell }
    }
    return lines.joined(separator: "\n")
  }
}
