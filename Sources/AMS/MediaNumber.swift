// SPDX-License-Identifier: GPL-3.0-or-later

/// Numbers as phones write them into media attributes: `12.345`, `-.1`, `21.`, and on phones of some
/// countries `1,5`.
public enum MediaNumber {
  /// Longer than any number that means something.
  private static let longest = 64

  /// The number, always finite; nil for what is none, an empty text included. A NUL ends the text.
  public static func double(_ text: some Sequence<UInt8>) -> Double? {
    var plain: [UInt8] = []
    var digits = 0
    var hasPoint = false
    for byte in text.prefix(while: { $0 != 0 }) {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        digits += 1
        plain.append(byte)
      case UInt8(ascii: "-") where plain.isEmpty:
        plain.append(byte)
      case UInt8(ascii: ".") where !hasPoint, UInt8(ascii: ",") where !hasPoint:
        hasPoint = true
        // Double's own parser wants a digit on both sides of the point.
        plain.append(contentsOf: (digits == 0 ? "0." : ".").utf8)
      default:
        return nil
      }
      if plain.count > longest { return nil }
    }
    guard digits > 0 else { return nil }
    if hasPoint { plain.append(UInt8(ascii: "0")) }
    return Double(String(decoding: plain, as: UTF8.self))
  }

  /// The number as a whole one; nil where it is none, or below zero, or beyond 32 bits.
  public static func count(_ text: some Sequence<UInt8>) -> Int? {
    guard let number = double(text), number >= 0, number <= Double(Int32.max),
      number == number.rounded()
    else { return nil }
    return Int(number)
  }

  /// The number as phones write it, with three decimals: `71.147`. What is no number is nothing.
  public static func text(_ number: Double) -> String {
    let thousandths = (number * 1000).rounded()
    guard thousandths.magnitude < 1e15 else { return "" }
    let whole = Int(thousandths.magnitude)
    let decimals = String(1000 + whole % 1000).dropFirst()
    return "\(thousandths < 0 ? "-" : "")\(whole / 1000).\(decimals)"
  }
}
