// SPDX-License-Identifier: GPL-3.0-or-later

/// Finds out word by word whether a text needs no escape, as nearly all texts do: `JSONWriter` looks at single bytes
/// only where one may.
enum PlainText {
  /// Whether a character of one byte is escaped.
  static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F
  }

  /// Whether nothing in a text of UTF-8 is escaped. It may be wrong about a text that has characters of U+00A0 to
  /// U+00BF, which begin like C1: then it says no.
  static func holds(_ text: RawSpan) -> Bool {
    guard text.byteCount >= 8 else { return holdsInBytes(text) }
    let last = text.byteCount - 8
    var place = 0
    while place < last {
      if mayHaveEscaped(word(of: text, at: place)) { return false }
      place += 8
    }
    // Some of its bytes were looked at already.
    return !mayHaveEscaped(word(of: text, at: last))
  }

  private static func word(of text: RawSpan, at place: Int) -> UInt64 {
    text.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self)
  }

  private static func holdsInBytes(_ text: RawSpan) -> Bool {
    for place in text.byteOffsets {
      let byte = text.unsafeLoad(fromByteOffset: place, as: UInt8.self)
      if isEscaped(byte) || byte == 0xC2 { return false }
    }
    return true
  }

  /// Whether one of a word's bytes is escaped or 0xC2. A byte that is not may be taken for one only above one that is.
  private static func mayHaveEscaped(_ word: UInt64) -> Bool {
    let below = (word &- 0x2020_2020_2020_2020) & ~word
    let others = equal(word, 0x22) | equal(word, 0x5C) | equal(word, 0x7F) | equal(word, 0xC2)
    return (below | others) & highBits != 0
  }

  /// The place of the first of a word's bytes, from the lowest on, that is one of two; nil if none is.
  static func first(_ one: UInt8, or other: UInt8, in word: UInt64) -> Int? {
    let found = (equal(word, one) | equal(word, other)) & highBits
    return found == 0 ? nil : found.trailingZeroBitCount / 8
  }

  private static let highBits: UInt64 = 0x8080_8080_8080_8080

  /// The highest bit of each byte that is `byte`, and perhaps others above such a byte.
  private static func equal(_ word: UInt64, _ byte: UInt8) -> UInt64 {
    zero(word ^ (UInt64(byte) &* 0x0101_0101_0101_0101))
  }

  /// The highest bit of each byte that is zero, and perhaps others above such a byte.
  private static func zero(_ word: UInt64) -> UInt64 { (word &- 0x0101_0101_0101_0101) & ~word }
}
