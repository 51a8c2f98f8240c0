// SPDX-License-Identifier: GPL-3.0-or-later

/// The name of a board or a phone in topics: 1 to 32 of the characters `a` to `z`, `0` to `9` and `-`, so it can be
/// one level of a topic and a part of Home Assistant's ids.
public struct TopicName: Hashable, Sendable, LosslessStringConvertible {
  public let description: String

  /// The maximum length in characters.
  static let longest = 32

  /// Nil if the text is not a valid name.
  public init?(_ text: String) {
    let isName = text.utf8.allSatisfy(Self.isPart) && (1...Self.longest).contains(text.utf8.count)
    guard isName else { return nil }
    description = text
  }

  /// Makes a name from any text: `Anna’s Küche` becomes `anna-s-k-che`. A text without such letters or digits becomes
  /// `fallback`.
  public init(from text: String, or fallback: TopicName) {
    var bytes: [UInt8] = []
    for byte in text.lowercased().utf8 {
      // The first byte of a multi-byte character stands for all.
      if byte & 0xC0 == 0x80 { continue }
      let letter = Self.isPart(byte) ? byte : UInt8(ascii: "-")
      if letter != UInt8(ascii: "-") || bytes.last.map({ $0 != letter }) ?? false {
        bytes.append(letter)
      }
    }
    bytes = Array(bytes.prefix(Self.longest))
    while bytes.last == UInt8(ascii: "-") { bytes.removeLast() }
    self = TopicName(String(decoding: bytes, as: UTF8.self)) ?? fallback
  }

  /// A name that the program itself assigns.
  init(known text: StaticString) { description = text.description }

  private static func isPart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// A board whose host has no name. No phone may have this name, because it stands for the board next to the phones'
  /// names.
  public static let board = TopicName(known: "board")
  /// A phone without a configured name.
  static let phone = TopicName(known: "iphone")
}
