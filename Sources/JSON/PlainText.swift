// SPDX-License-Identifier: GPL-3.0-or-later

/// Checks word by word whether a text needs no escapes, as nearly all texts don't: `JSONWriter` examines single bytes
/// only in the others.
enum PlainText {
  /// Whether a single-byte character is escaped.
  static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F
  }

  /// Whether nothing in a UTF-8 text is escaped. It may return false for a text with characters from U+00A0 to U+00BF,
  /// which start like C1.
  static func holds(_ text: RawSpan) -> Bool {
    guard text.byteCount >= 8 else { return holdsInBytes(text) }
    // Two words at a time. The last ones may overlap those before.
    let last = text.byteCount - 8
    for place in stride(from: 0, to: text.byteCount, by: 16) {
      let first = word(of: text, at: min(place, last))
      let second = word(of: text, at: min(place + 8, last))
      if mayHaveEscaped(Words(first, second)) { return false }
    }
    return true
  }

  private typealias Words = SIMD2<UInt64>

  private static func word(of text: RawSpan, at place: Int) -> UInt64 {
    text.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)
  }

  private static func holdsInBytes(_ text: RawSpan) -> Bool {
    for place in text.byteOffsets {
      let byte = text.unsafeLoad(fromByteOffset: place, as: UInt8.self)
      if isEscaped(byte) || byte == 0xC2 { return false }
    }
    return true
  }

  /// Whether a byte of the words is escaped or 0xC2. False positives only occur above a true one.
  private static func mayHaveEscaped(_ words: Words) -> Bool {
    func each(_ byte: UInt8) -> Words { Words(repeating: Self.each(byte)) }
    // Each of the three has the highest bit set in the bytes that it is named after, and in some from 0x80 on.
    let controlOrQuote = (words ^ each(0x02)) &- each(0x21)
    let backslash = (words ^ each(0x5C)) &- each(0x01)
    let delete = words &+ each(0x01)
    let c1 = words ^ each(0xC2)
    let found = (controlOrQuote | backslash | delete) & ~words | (c1 &- each(0x01)) & ~c1
    return (found.x | found.y) & highBits != 0
  }

  /// The index of a word's lowest byte that equals either of two; nil if none does.
  static func first(_ one: UInt8, or other: UInt8, in word: UInt64) -> Int? {
    let found = (equal(word, one) | equal(word, other)) & highBits
    return found == 0 ? nil : found.trailingZeroBitCount / 8
  }

  private static var highBits: UInt64 { each(0x80) }

  /// A word filled with this byte.
  private static func each(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }

  /// The highest bit of each byte that equals `byte`, and possibly of others above it.
  private static func equal(_ word: UInt64, _ byte: UInt8) -> UInt64 {
    let difference = word ^ each(byte)
    return (difference &- each(0x01)) & ~difference
  }
}
