// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A value as it is typed: bytes in hexadecimal, a text, or a number.
enum WrittenValue {
  /// What the forms are, for errors and help.
  static let forms =
    "hexadecimal bytes (0102ff, 01 02 ff), text:…, or u8: u16: u32: i8: i16: i32: "
    + "and a number"

  /// Reads `01 02 ff`, `0102ff`, `0x0102ff` (the bytes in the order written), `text:hello`, `u16:300`
  /// and the like (little endian); nil for anything else.
  ///
  /// - Parameter words: the blanks between them are part of a text, and nothing to bytes.
  static func bytes(_ words: [String]) -> [UInt8]? {
    guard let first = words.first else { return nil }
    if first.hasPrefix("text:") {
      return Array(words.joined(separator: " ").utf8.dropFirst(5))
    }
    if let colon = first.firstIndex(of: ":") {
      guard words.count == 1 else { return nil }
      return number(first[..<colon], String(first[first.index(after: colon)...]))
    }
    var bytes: [UInt8] = []
    for word in words {
      guard let part = [UInt8](hex: word.hasPrefix("0x") ? String(word.dropFirst(2)) : word) else {
        return nil
      }
      bytes += part
    }
    return bytes
  }

  private static func number(_ type: Substring, _ text: String) -> [UInt8]? {
    switch type {
    case "u8": integer(text, UInt8.self)
    case "u16": integer(text, UInt16.self)
    case "u32": integer(text, UInt32.self)
    case "i8": integer(text, Int8.self)
    case "i16": integer(text, Int16.self)
    case "i32": integer(text, Int32.self)
    default: nil
    }
  }

  /// Decimal, or hexadecimal behind `0x`.
  private static func integer<Number: FixedWidthInteger>(
    _ text: String, _: Number.Type
  ) -> [UInt8]? {
    let number =
      text.hasPrefix("0x") ? Number(text.dropFirst(2), radix: 16) : Number(text, radix: 10)
    return number.map { number in
      (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
  }
}
