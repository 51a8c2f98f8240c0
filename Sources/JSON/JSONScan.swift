// SPDX-License-Identifier: GPL-3.0-or-later

/// Where in a text of JSON a byte stands: how deep in arrays and objects, and whether in a string. It takes a
/// twentieth of parsing; whether the text is JSON at all is not checked.
struct JSONScan {
  /// How many arrays and objects are open.
  private(set) var depth = 0
  private(set) var isInString = false
  private var isEscaped = false

  /// Goes on behind a byte.
  mutating func step(_ byte: UInt8) {
    if isInString {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isInString = false
      }
      return
    }
    switch byte {
    case UInt8(ascii: "\""): isInString = true
    case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
    case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
    default: break
    }
  }
}

extension JSONValue {
  /// The elements of an array that was written without blanks, each as its bytes, and what stands behind the array;
  /// nil where it has no end.
  ///
  /// - Parameter text: from behind the opening bracket on.
  public static func elements(
    ofArray text: ArraySlice<UInt8>
  ) -> (elements: [ArraySlice<UInt8>], rest: ArraySlice<UInt8>)? {
    var elements: [ArraySlice<UInt8>] = []
    var scan = JSONScan()
    var start = text.startIndex
    for place in text.indices {
      let byte = text[place]
      let isEnd = byte == UInt8(ascii: "]")
      if scan.depth == 0, !scan.isInString, isEnd || byte == UInt8(ascii: ",") {
        if place > start { elements.append(text[start..<place]) }
        start = place + 1
        if isEnd { return (elements, text[start...]) }
      }
      scan.step(byte)
    }
    return nil
  }
}
