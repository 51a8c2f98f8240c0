// SPDX-License-Identifier: GPL-3.0-or-later
import Testing

@testable import Patterns

@Suite("Regular expressions")
struct TextPatternTests {
  @Test(
    "They are looked for anywhere, whatever the case, by characters",
    arguments: [
      ("mum", "From Mum", true), ("^mum$", "Mum", true), ("^mum$", "Mum!", false),
      ("casino|lottery", "The LOTTERY", true), ("[0-9]{6}", "code 123456", true), ("[0-9]{7}", "code 123456", false),
      ("^.$", "é", true), ("ÄRGER", "ärger", true), ("^.$", "\u{1F600}", true), ("[à-ü]", "É", true),
      ("", "anything", true), ("", "", true), ("^$", "", true), (".", "", false), ("\\bmum\\b", "mumble", false),
      ("^\\w+$", "Ärger", true), ("\\d{6}", "code 123456", true), ("^(?!.*mum)", "Dad", true),
      // What was written as an expression of POSIX means the same.
      ("a.*b", "a\nb", true), ("^b", "a\nb", false), ("a$", "a\n", false), ("[]a]", "]", true),
      ("^[^]a]$", "]", false), ("[[:digit:]]+", "a1", true), ("^[[:alpha:]]$", "É", true),
      ("^[[:space:][:punct:]]+$", " !", true), ("(a|b)\\1", "bb", true), ("a|", "x", true),
      ("()", "x", true), ("a{2,3}", "caa", true), ("^\\+49 900", "+49 900 1", true),
      ("(?=(?1))|(a\\K)", "ab", true),
    ])
  func matching(_ pattern: String, _ text: String, _ isMatch: Bool) throws {
    #expect(try TextPattern(pattern).matches(text) == isMatch)
  }

  @Test("A zero character, and bytes that were no UTF-8, are characters like others")
  func hostileText() throws {
    #expect(try TextPattern("casino").matches("\0casino"))
    #expect(try TextPattern("^a.b$").matches("a\0b"))
    let text = String(decoding: [0x61, 0xFF, 0xED, 0xA0, 0x80, 0x62], as: UTF8.self)
    #expect(try TextPattern("^a\u{FFFD}+b$").matches(text))
    #expect(try TextPattern("a\0b").matches("A\0B"))
  }

  @Test(
    "What would be too large is refused, however it is written",
    arguments: [
      "[^^]((a{255}){255}){255}", "((a{255}){255}){255}", "((a|b){9,255}c){255}",
      "^((((a|b){99}){99}){99}){99}", "(?:" + String(repeating: "[^a]", count: 500) + "){255}",
    ])
  func tooLarge(_ pattern: String) {
    let error = #expect(throws: TextPattern.SyntaxError.self) { try TextPattern(pattern) }
    #expect(error?.description == "it is too large: use fewer repetitions or alternatives")
  }

  @Test("Its length and the depth of its groups have limits")
  func extremes() throws {
    let length = TextPattern.length
    #expect(try TextPattern(String(repeating: "a", count: length)).matches("a") == false)
    let long = #expect(throws: TextPattern.SyntaxError.self) {
      try TextPattern(String(repeating: "a", count: length + 1))
    }
    #expect(long?.description == "it has more than 4096 bytes")
    func nested(_ depth: Int) -> String {
      String(repeating: "(", count: depth) + "a" + String(repeating: ")", count: depth)
    }
    #expect(try TextPattern(nested(TextPattern.depth)).matches("a"))
    let deep = #expect(throws: TextPattern.SyntaxError.self) {
      try TextPattern(nested(TextPattern.depth + 1))
    }
    #expect(deep?.description.hasPrefix("parentheses are too deeply nested") == true)
  }

  @Test(
    "A search that has no end in sight ends at its limit, in a text of any length",
    arguments: [
      ("(a*)*b", "ab"), ("(a|aa)+[bc]", ""), ("^(.*?){300}[bc]", ""), ("((a*)+)+[bc]", ""),
      ("[a]+[bc]", ""), ("^(a?){30}a{30}[bc]", ""), ("a.*a.*a.*[0-9]", ""), ("(a|(?R))*[bc]", ""),
      ("(?=(a+))\\1b|(a+)+$", "x"), ("(*LIMIT_MATCH=4000000000)(a+)+[bc]", ""),
    ])
  func catastrophic(_ pattern: String, _ end: String) throws {
    let text = String(repeating: "a", count: 1 << 16) + "x" + end
    let pattern = try TextPattern(pattern)
    #expect(throws: TextPattern.LimitReached.self) { try pattern.matches(text) }
  }

  @Test("Ordinary expressions stay far below the limit in the longest message requested")
  func ordinary() throws {
    let text = String(repeating: "your code is 12, ", count: 60)
    for pattern in [
      "^.*?(code|pin).*?[0-9]{4,8}.*?$", "([0-9]{1,3}[.]){3}[0-9]{1,3}", "(a+b*)+d?z",
      "\\bmum\\b|\\bdad\\b|^(re|fwd?): ", "code.*[0-9]{6}", "(x{3,}y?)*z", "^\\+49(900|901)+",
    ] {
      #expect(try TextPattern(pattern).matches(text) == false)
    }
  }

  @Test(
    "What is none is refused with a reason and its place",
    arguments: [
      ("ab(", "missing closing parenthesis, at character 3"),
      ("ä[b", "missing terminating ] for character class, at character 3"),
      ("a\\", "\\ at end of pattern, at character 2"), ("ab)c", "unmatched closing parenthesis, at character 2"),
      ("*a", "quantifier does not follow a repeatable item, at character 1"),
      ("a{0,9223372036854775807}", "number too big in {} quantifier, at character 9"),
      ("\\C", "using \\C is disabled by the application, at character 2"),
      ("[b-a]", "range out of order in character class, at character 3"),
    ])
  func malformed(_ pattern: String, _ reason: String) {
    let error = #expect(throws: TextPattern.SyntaxError.self) { try TextPattern(pattern) }
    #expect(error?.description == reason)
  }
}
