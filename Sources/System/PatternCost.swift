// SPDX-License-Identifier: GPL-3.0-or-later

/// What the C library has to do to compile an extended regular expression of POSIX (regex(7)), about. It writes out
/// `a{3}` as `aaa` and `a+` as `aa*`, so that repetitions of repetitions multiply; and for what may be empty it goes
/// through every way in which it may, so that `^(.*?){300}` never ends.
struct PatternCost {
  /// How many characters there are once all is written out.
  private var size = 0
  /// In how many ways it may be empty.
  private var ways = 1

  private static let largest = 4000
  private static let mostWays = 5000
  /// The compiler copies what is around an anchor.
  private static let anchor = PatternCost(size: 100, ways: 1)
  private static let character = PatternCost(size: 1, ways: 0)
  /// An alternative that is never taken.
  private static let none = PatternCost(size: 0, ways: 0)

  /// Whether it is less than a fraction of a second's work.
  var isAffordable: Bool { size <= Self.largest && ways <= Self.mostWays }

  private init(size: Int = 0, ways: Int = 1) {
    // What is too much stays too much, whatever it is multiplied by.
    self.size = min(size, 1 << 20)
    self.ways = min(ways, 1 << 20)
  }

  private func followed(by next: PatternCost) -> PatternCost {
    PatternCost(size: size + next.size, ways: ways * next.ways)
  }

  private func or(_ other: PatternCost) -> PatternCost {
    PatternCost(size: size + other.size, ways: ways + other.ways)
  }

  private var optional: PatternCost { PatternCost(size: size + 1, ways: ways + 1) }

  /// Any number of it. A loop over what may be empty leads back to each part of that.
  private var endless: PatternCost {
    PatternCost(size: (ways > 0 ? size * size : size) + 1, ways: ways + 1)
  }

  private func repeated(_ least: Int, _ most: Int) -> PatternCost {
    let one = least == most ? self : optional
    var all = PatternCost()
    for _ in 0..<max(least, most) {
      all = all.followed(by: one)
      if !all.isAffordable { break }
    }
    if ways == 0 { all.ways = least == 0 ? most + 1 : 0 }
    return all
  }

  // MARK: Reading an expression

  /// A group that is open: the alternatives before this one, what is before the last element, and that.
  private struct Group {
    var others = PatternCost.none
    var before = PatternCost()
    var last: PatternCost?

    var sequence: PatternCost { last.map(before.followed) ?? before }
    var whole: PatternCost { others.or(sequence) }

    mutating func append(_ element: PatternCost) {
      before = sequence
      last = element
    }

    mutating func change(_ change: (PatternCost) -> PatternCost) { last = last.map(change) }
  }

  init(of expression: String) {
    var rest = Array(expression.utf8)[...]
    var open: [Group] = []
    var group = Group()
    func closeGroup() {
      let inner = group.whole
      group = open.popLast() ?? Group()
      group.append(inner)
    }
    while let character = rest.popFirst() {
      switch character {
      case UInt8(ascii: "*"): group.change(\.endless)
      case UInt8(ascii: "?"): group.change(\.optional)
      case UInt8(ascii: "+"): group.change { $0.followed(by: $0.endless) }
      case UInt8(ascii: "{"):
        let counts = rest.prefix { $0 != UInt8(ascii: "}") }
          .split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
          .map { UInt16(String(decoding: $0, as: UTF8.self)).map(Int.init) }
        rest = rest.drop { $0 != UInt8(ascii: "}") }.dropFirst()
        let least = (counts.first ?? nil) ?? 0
        switch (counts.count, counts.last ?? nil) {
        case (1, _): group.change { $0.repeated(least, least) }
        case (_, let most?): group.change { $0.repeated(least, most) }
        case (_, nil): group.change { $0.repeated(least, least).followed(by: $0.endless) }
        }
      case UInt8(ascii: "|"): group = Group(others: group.whole)
      case UInt8(ascii: "("):
        open.append(group)
        group = Group()
      case UInt8(ascii: ")"): closeGroup()
      case UInt8(ascii: "^"), UInt8(ascii: "$"): group.append(Self.anchor)
      case UInt8(ascii: "\\"):
        let isAnchor = rest.first.map { Array("bB<>`'".utf8).contains($0) } ?? false
        rest = rest.dropFirst()
        group.append(isAnchor ? Self.anchor : Self.character)
      case UInt8(ascii: "["):
        group.append(Self.character)
        // A bracket right at the beginning is one of its characters.
        rest = rest.drop { $0 == UInt8(ascii: "^") }.dropFirst()
        rest = rest.drop { $0 != UInt8(ascii: "]") }.dropFirst()
      default: group.append(Self.character)
      }
    }
    while !open.isEmpty { closeGroup() }
    self = group.whole
  }
}
