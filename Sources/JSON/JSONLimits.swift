// SPDX-License-Identifier: GPL-3.0-or-later

/// How much a text may hold. It is checked before the text is parsed, since parsing costs much more than
/// looking for brackets and commas.
public struct JSONLimits: Hashable, Sendable {
  /// How deep arrays and objects may be nested.
  public var depth: Int
  /// How many values there may be: numbers, strings and so on, and the arrays and objects themselves.
  public var values: Int

  /// What holds where nothing narrower is said: arrays and objects are read by recursion.
  public static let ofAnyText = JSONLimits(depth: 64, values: .max)

  public init(depth: Int, values: Int) {
    self.depth = depth
    self.values = values
  }

  /// Throws if a text has more; whether it is JSON at all is not checked.
  func check(_ text: [UInt8]) throws(JSONError) {
    var count = 1
    try JSONScan.marks(of: text.span.bytes) { mark, _, open throws(JSONError) in
      if open > depth { throw JSONError("nested deeper than \(depth) levels") }
      if mark != UInt8(ascii: "]"), mark != UInt8(ascii: "}") { count += 1 }
      if count > values { throw JSONError("more than \(values) values") }
      return true
    }
  }
}
