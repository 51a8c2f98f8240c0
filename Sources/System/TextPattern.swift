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
    guard PatternCost(of: source).isAffordable else {
      throw SyntaxError(description: "it repeats what is repeated, or what may be empty, too often")
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
