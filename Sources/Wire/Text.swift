// SPDX-License-Identifier: GPL-3.0-or-later

extension String {
  /// UTF-8 text that may have been cut inside a character, as ANCS and AMS limit their texts in bytes.
  ///
  /// An incomplete or invalid character at the end is dropped; other invalid bytes become U+FFFD.
  public init(cutUTF8 bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while !rest.isEmpty, !Self.endsInCharacter(rest) { rest.removeLast() }
    self.init(decoding: rest, as: UTF8.self)
  }

  /// The same for any sequence of bytes.
  public init(cutUTF8 bytes: some Sequence<UInt8>) { self.init(cutUTF8: Array(bytes)[...]) }

  /// Whether the last one to four bytes are a character.
  private static func endsInCharacter(_ bytes: ArraySlice<UInt8>) -> Bool {
    if let last = bytes.last, last < 0x80 { return true }
    for length in 1...4 {
      let character = bytes.suffix(length)
      guard let first = character.first, character.count == length else { return false }
      let isContinuation = first & 0b1100_0000 == 0b1000_0000
      if !isContinuation { return String(validating: character, as: UTF8.self) != nil }
    }
    return false
  }

  /// The text in at most `limit` bytes of UTF-8, cut at a character boundary; NULs are left out, since
  /// fixed-width fields end at the first one.
  public func utf8(atMost limit: Int) -> [UInt8] {
    var fitting: [UInt8] = []
    for scalar in unicodeScalars where scalar != "\0" {
      let bytes = Array(String(scalar).utf8)
      guard fitting.count + bytes.count <= limit else { break }
      fitting += bytes
    }
    return fitting
  }
}

extension String {
  /// A number with leading zeros up to this number of digits.
  public init(_ number: some BinaryInteger, digits: Int, radix: Int = 10, uppercase: Bool = false) {
    let text = String(number, radix: radix, uppercase: uppercase)
    self = String(repeating: "0", count: Swift.max(0, digits - text.utf8.count)) + text
  }

  /// This number of spaces.
  public init(spaces count: Int) {
    self.init(decoding: [UInt8](repeating: 0x20, count: count), as: UTF8.self)
  }
}

extension FixedWidthInteger {
  /// A number of digits alone; the standard library also reads one with a sign.
  public init?(digits: some StringProtocol, radix: Int = 10) {
    guard let first = digits.utf8.first, !"+-".utf8.contains(first) else { return nil }
    self.init(digits, radix: radix)
  }
}

extension StringProtocol {
  /// Whether a text occurs in this one, byte by byte. (The standard library's method is in its module for regular
  /// expressions, which the release leaves out.)
  public func contains(text: String) -> Bool {
    let (bytes, wanted) = (Array(utf8), Array(text.utf8))
    guard bytes.count >= wanted.count else { return false }
    return (0...bytes.count - wanted.count).contains { bytes[$0...].starts(with: wanted) }
  }
}

/// Checks of a text, word by word.
public enum UTF8Text {
  /// Whether a text is ASCII without control characters.
  public static func isPrintableASCII(_ text: Span<UInt8>) -> Bool {
    var place = 0
    while place + 8 <= text.count {
      let word = text.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)
      // Each has the highest bit of bytes: below 0x20, 0x7F, and from 0x80 on.
      let found = (word &- 0x2020_2020_2020_2020) | (word &+ 0x0101_0101_0101_0101) | word
      guard found & 0x8080_8080_8080_8080 == 0 else { return false }
      place += 8
    }
    for index in place..<text.count where !(0x20..<0x7F).contains(text[index]) { return false }
    return true
  }

  /// Whether a text is valid UTF-8. ASCII, the bulk of most texts, is skipped word by word; the standard library
  /// checks the rest.
  public static func isValid(_ text: Span<UInt8>) -> Bool {
    var place = endOfASCII(in: text, from: 0)
    while place < text.count {
      // A non-ASCII run extends to the next ASCII word, before which a character ends.
      var end = place + 8
      while end + 8 <= text.count, !isASCII(text, at: end) { end += 8 }
      if end + 8 > text.count { end = text.count }
      if (try? UTF8Span(validating: text.extracting(place..<end))) == nil { return false }
      place = endOfASCII(in: text, from: end)
    }
    return true
  }

  /// The length of the ASCII prefix, in steps of eight bytes; the whole length if all of it is ASCII.
  private static func endOfASCII(in text: Span<UInt8>, from start: Int) -> Int {
    var place = start
    while place + 8 <= text.count {
      guard isASCII(text, at: place) else { return place }
      place += 8
    }
    // If fewer than eight bytes are left, the word overlaps earlier ones.
    if text.count >= 8, isASCII(text, at: text.count - 8) { return text.count }
    for index in place..<text.count where text[index] >= 0x80 { return place }
    return text.count
  }

  /// Whether the eight bytes from there are ASCII.
  private static func isASCII(_ text: Span<UInt8>, at place: Int) -> Bool {
    let word = text.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)
    return word & 0x8080_8080_8080_8080 == 0
  }
}

/// A hash of texts that is the same in every run and on every machine, for stored data: it multiplies eight bytes at a
/// time, and folds both halves of the product.
public struct StableHash {
  public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  public init() {}

  /// Adds a text. Nil differs from an empty text, and boundaries between texts count.
  public mutating func combine(_ text: ArraySlice<UInt8>?) {
    guard let bytes = text?.span.bytes else { return combine(.max) }
    var place = 0
    while place + 8 <= bytes.byteCount {
      let word = bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)
      combine(UInt64(littleEndian: word))
      place += 8
    }
    var rest = UInt64(bytes.byteCount)
    for place in place..<bytes.byteCount {
      rest = rest << 8 | UInt64(bytes.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self))
    }
    combine(rest)
  }

  private mutating func combine(_ word: UInt64) {
    let product = (value ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    value = product.high ^ product.low
  }
}
