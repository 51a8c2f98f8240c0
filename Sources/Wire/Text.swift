// SPDX-License-Identifier: GPL-3.0-or-later

extension String {
  /// Text that a device sent as UTF-8 and may have cut in the middle of a character.
  ///
  /// ANCS and AMS limit their texts in bytes, so the last character may be there in part only: such a
  /// tail is dropped. Anything else that is not UTF-8 becomes U+FFFD; no bytes make this fail.
  public init(cutUTF8 bytes: some BidirectionalCollection<UInt8>) {
    self.init(decoding: bytes.dropLast(Self.brokenTail(of: bytes)), as: UTF8.self)
  }

  /// How many bytes at the end begin a character without ending it: 0 to 3.
  private static func brokenTail(of bytes: some BidirectionalCollection<UInt8>) -> Int {
    var length = 0
    for byte in bytes.reversed().prefix(3) {
      length += 1
      if byte & 0b1100_0000 == 0b1000_0000 { continue }
      let needed =
        switch byte {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 1
        }
      return needed > length ? length : 0
    }
    return 0
  }
}
