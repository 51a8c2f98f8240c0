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
  func check(_ text: some Sequence<UInt8>) throws(JSONError) {
    var (scan, count) = (JSONScan(), 1)
    for byte in text {
      if !scan.isInString {
        switch byte {
        case UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: ","): count += 1
        default: break
        }
      }
      scan.step(byte)
      if scan.depth > depth { throw JSONError("nested deeper than \(depth) levels") }
      if count > values { throw JSONError("more than \(values) values") }
    }
  }
}
