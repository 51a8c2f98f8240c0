// SPDX-License-Identifier: GPL-3.0-or-later

/// Scans a JSON text without parsing it, which takes a twentieth of the time. It does not check that the text is JSON.
enum JSONScan {
  /// Calls `visit` with each bracket, brace and comma outside strings, its offset, and the nesting depth after it,
  /// until `visit` returns false.
  static func marks<E: Error>(
    of text: RawSpan, _ visit: (_ mark: UInt8, _ place: Int, _ depth: Int) throws(E) -> Bool
  ) throws(E) {
    var (place, depth) = (0, 0)
    while place < text.byteCount {
      let byte = text.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self)
      switch byte {
      case quote:
        place = endOfString(in: text, from: place + 1)
        continue
      case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      case UInt8(ascii: ","): break
      default:
        place += 1
        continue
      }
      guard try visit(byte, place, depth) else { return }
      place += 1
    }
  }

  /// The offset after the closing quotation mark, searching eight bytes at a time.
  private static func endOfString(in text: RawSpan, from start: Int) -> Int {
    var place = start
    while place + 8 <= text.byteCount {
      let word = text.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)
      guard let found = PlainText.first(quote, or: backslash, in: UInt64(littleEndian: word)) else {
        place += 8
        continue
      }
      place += found
      let byte = text.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self)
      if byte == quote { return place + 1 }
      place += 2
    }
    while place < text.byteCount {
      switch text.unsafeLoad(fromUncheckedByteOffset: place, as: UInt8.self) {
      case quote: return place + 1
      case backslash: place += 2
      default: place += 1
      }
    }
    return place
  }

  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")
}

/// How much a text may hold. It is checked before the text is parsed, since parsing costs much more than looking for
/// brackets and commas.
public struct JSONLimits: Hashable, Sendable {
  /// How deep arrays and objects may be nested.
  public var depth: Int
  /// What its values may cost together, by the time that they take: a number or a string 1, an array or an object 3.
  public var cost: Int

  /// The default limits. Depth is limited because arrays and objects are read recursively.
  static let ofAnyText = JSONLimits(depth: 64, cost: .max)

  public init(depth: Int, cost: Int) {
    self.depth = depth
    self.cost = cost
  }

  /// Throws if a text has more; whether it is JSON at all is not checked.
  public func check(_ text: [UInt8]) throws(JSONError) {
    var sum = 1
    try JSONScan.marks(of: text.span.bytes) { mark, _, open throws(JSONError) in
      if open > depth { throw JSONError("nested deeper than \(depth) levels") }
      switch mark {
      case UInt8(ascii: ","): sum += 1
      case UInt8(ascii: "["), UInt8(ascii: "{"): sum += 2
      default: break
      }
      if sum > cost {
        throw JSONError("more than \(cost) values (an array or an object counts as 3)")
      }
      return true
    }
  }
}

extension JSONValue {
  /// The elements of an array without blanks, each as its bytes, and the rest after the array; nil if the array has no
  /// end.
  ///
  /// - Parameter text: the text after the opening bracket.
  public static func elements(
    ofArray text: ArraySlice<UInt8>
  ) -> (elements: [ArraySlice<UInt8>], rest: ArraySlice<UInt8>)? {
    var elements: [ArraySlice<UInt8>] = []
    var start = text.startIndex
    var isWhole = false
    JSONScan.marks(of: text.span.bytes) { mark, place, depth in
      isWhole = depth < 0
      guard isWhole || depth == 0 && mark == UInt8(ascii: ",") else { return true }
      let end = text.startIndex + place
      if end > start { elements.append(text[start..<end]) }
      start = end + 1
      return !isWhole
    }
    return isWhole ? (elements, text[start...]) : nil
  }
}
