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

/// Whether bytes are UTF-8.
public enum UTF8Text {
  /// Whether a text is valid UTF-8. ASCII, which nearly all of most texts is, is found out word by word; what is between
  /// is the library's.
  public static func isValid(_ text: Span<UInt8>) -> Bool {
    var place = 0
    while place < text.count {
      let start = place
      while place < text.count, !isASCII(text, at: place) { place = min(place + 8, text.count) }
      if place > start, (try? UTF8Span(validating: text.extracting(start..<place))) == nil {
        return false
      }
      while place < text.count, isASCII(text, at: place) { place = min(place + 8, text.count) }
    }
    return true
  }

  /// Whether the next eight bytes, or those that are left, are ASCII. Behind them begins a character. Where less than
  /// eight are left, the ones before them are looked at again, so that it may say no where it could say yes.
  private static func isASCII(_ text: Span<UInt8>, at place: Int) -> Bool {
    guard text.count >= 8 else {
      var bits: UInt8 = 0
      for index in place..<text.count { bits |= text[index] }
      return bits < 0x80
    }
    let word = text.bytes.unsafeLoadUnaligned(
      fromByteOffset: min(place, text.count - 8), as: UInt64.self)
    return word & 0x8080_8080_8080_8080 == 0
  }
}
