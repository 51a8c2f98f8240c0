// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// An extended regular expression of POSIX (regex(7)), which is looked for anywhere in a text. Case does not
/// matter.
public struct TextPattern: Hashable, Sendable {
  /// The expression.
  public let source: String
  private let compiled: Compiled

  /// Why a text is no regular expression.
  public struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
  }

  /// A compiled expression. Matching does not change it.
  private final class Compiled: @unchecked Sendable {
    var expression = regex_t()
    var isValid = false
    deinit { if isValid { regfree(&expression) } }
  }

  public init(_ source: String) throws(SyntaxError) {
    guard !source.utf8.contains(0) else {
      throw SyntaxError(description: "it contains a zero character")
    }
    guard Self.size(source) <= Self.largest else {
      throw SyntaxError(description: "it repeats what is repeated too often")
    }
    self.source = source
    compiled = Compiled()
    let compiled = compiled
    let failure = Self.withCharacters {
      regcomp(&compiled.expression, source, REG_EXTENDED | REG_ICASE | REG_NOSUB)
    }
    guard failure == 0 else {
      var text = [CChar](repeating: 0, count: 200)
      _ = regerror(failure, &compiled.expression, &text, text.count)
      throw SyntaxError(
        description: String(
          decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
    compiled.isValid = true
  }

  /// How large an expression may be, by `size`.
  private static let largest = 20_000

  /// About how many characters the C library makes of an expression when it compiles it: it writes out `a{3}` as
  /// `aaa` and `a+` as `aa*`, so that repetitions of repetitions multiply, and `a++++…` took all memory.
  private static func size(_ source: String) -> Int {
    var rest = Array(source.utf8)[...]
    // What is before the groups that are open; what is before the last character or group, and that itself.
    var open: [Int] = []
    var (before, last) = (0, 0)
    func skip(through end: UInt8) { rest = rest.drop { $0 != end }.dropFirst() }
    while let character = rest.popFirst(), before + last <= largest {
      switch character {
      case UInt8(ascii: "*"), UInt8(ascii: "?"): last += 1
      case UInt8(ascii: "+"): last += last + 1
      case UInt8(ascii: "{"):
        let counts = rest.prefix { $0 != UInt8(ascii: "}") }.split(separator: UInt8(ascii: ","))
        skip(through: UInt8(ascii: "}"))
        let most = counts.compactMap { Int(String(decoding: $0, as: UTF8.self)) }.max() ?? 1
        last *= min(most, largest) + 1
      case UInt8(ascii: "("):
        open.append(before + last)
        (before, last) = (0, 0)
      case UInt8(ascii: ")"):
        (before, last) = (open.popLast() ?? 0, before + last + 1)
      default:
        before += last
        last = 1
        if character == UInt8(ascii: "\\") { rest = rest.dropFirst() }
        if character == UInt8(ascii: "[") {
          // A bracket right at the beginning is one of its characters.
          rest = rest.drop { $0 == UInt8(ascii: "^") }.dropFirst()
          skip(through: UInt8(ascii: "]"))
        }
      }
    }
    return open.reduce(before + last, +)
  }

  /// Whether the text has a match. What follows a zero character does not count.
  public func matches(_ text: String) -> Bool {
    let compiled = compiled
    return Self.withCharacters { regexec(&compiled.expression, text, 0, nil, 0) == 0 }
  }

  /// Calls `body` with texts in UTF-8; where the system lacks that locale, letters beyond ASCII are bytes.
  private static func withCharacters<Result>(_ body: () -> Result) -> Result {
    guard let locale = utf8 else { return body() }
    let former = uselocale(locale)
    defer { _ = uselocale(former) }
    return body()
  }

  private nonisolated(unsafe) static let utf8 = newlocale(1 << LC_CTYPE, "C.UTF-8", nil)

  public static func == (one: TextPattern, other: TextPattern) -> Bool {
    one.source == other.source
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(source) }
}
