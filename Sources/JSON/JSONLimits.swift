// SPDX-License-Identifier: GPL-3.0-or-later

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
