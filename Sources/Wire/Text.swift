// SPDX-License-Identifier: GPL-3.0-or-later

extension String {
  /// Text that a device sent as UTF-8 and may have cut in the middle of a character.
  ///
  /// ANCS and AMS limit their texts in bytes, so the last character may be there in part only: such a
  /// tail, and whatever else at the end is no character, is dropped. What is not UTF-8 before that
  /// becomes U+FFFD; no bytes make this fail.
  public init(cutUTF8 bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while !rest.isEmpty, !Self.endsInCharacter(rest) { rest.removeLast() }
    self.init(decoding: rest, as: UTF8.self)
  }

  /// The same of bytes that are in no array.
  public init(cutUTF8 bytes: some Sequence<UInt8>) { self.init(cutUTF8: Array(bytes)[...]) }

  /// Whether the last one to four bytes are a character. UTF-8 tells that without looking further back.
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
}
