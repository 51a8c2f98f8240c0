// SPDX-License-Identifier: GPL-3.0-or-later
import Testing

@testable import System

@Suite("Regular expressions")
struct TextPatternTests {
  @Test(
    "They are looked for anywhere, whatever the case, by characters",
    arguments: [
      ("mum", "From Mum", true), ("^mum$", "Mum", true), ("^mum$", "Mum!", false),
      ("casino|lottery", "The LOTTERY", true), ("[0-9]{6}", "code 123456", true),
      ("[0-9]{7}", "code 123456", false), ("^.$", "é", true), ("ÄRGER", "ärger", true),
      ("", "anything", true), ("a.*b", "a\nb", true),
    ])
  func matching(_ pattern: String, _ text: String, _ isMatch: Bool) throws {
    #expect(try TextPattern(pattern).matches(text) == isMatch)
  }

  @Test(
    "Repetitions of repetitions, and of what may be empty, are refused before they take all",
    arguments: [
      "^[rave]++++*+++++~", "^(((a*)+)+)+++", "^(.*?){300}", "^((a*)+){18}", "^((a*){1000})+",
      "^(((a*)+){30})+",
      "^((a|^)(a|$)(a|\\b)){100}", "^(a|\\b){100}", "^((a*|b*|^)?x*|^){60}", "^(a*){10000}",
      "^(a*++){9}|x",
      "a" + String(repeating: "+", count: 90), "^Spam(900" + String(repeating: "+", count: 40),
      "((a{255}){255}){255}", "(((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+", "(a{9,255}b){200}",
    ])
  func tooLarge(_ pattern: String) {
    let error = #expect(throws: TextPattern.SyntaxError.self) { try TextPattern(pattern) }
    #expect(error?.description.contains("too often") == true)
  }

  @Test(
    "Ordinary repetitions are taken",
    arguments: [
      "([0-9]{1,3}[.]){3}[0-9]{1,3}", "(a+b*)+c?", "[]+*{]{3}", "[^]+++++++++++++++++++++++]+",
      "\\+\\+\\+\\+",
      "^\\+49(900|901)+", "x{255}", "^.*?(code|pin).*?[0-9]{4,8}.*?$", "^( *[a-z]+,?)+$", "(a|b?)*",
      "(x{3,}y?)*",
      "\\bmum\\b|\\bdad\\b|^(re|fwd?): ", "(a*)+", "^(a*){0,9}$", "()", "a|", "(|a){9}",
    ])
  func repeated(_ pattern: String) throws { _ = try TextPattern(pattern) }

  @Test(
    "What is none is refused with a reason",
    arguments: ["(", "[a", "a{2", "*a", "a\0b", "\\", "a{-5,-7}", "a{0,9223372036854775807}"])
  func malformed(_ pattern: String) {
    let error = #expect(throws: TextPattern.SyntaxError.self) { try TextPattern(pattern) }
    #expect(error?.description.isEmpty == false)
  }
}
