// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@testable import Control

@Suite("Text on a terminal")
struct TextTests {
  @Test(
    "No control character of a notification reaches the terminal",
    arguments: [
      ("plain text, naïve 日本 👩‍👩‍👧", "plain text, naïve 日本 👩‍👩‍👧"), ("\u{1b}[2J\u{1b}]0;owned\u{7}", "␛[2J␛]0;owned␇"),
      ("a\0b\u{8}c\u{7f}d", "a␀b␈c␡d"), ("\u{9b}31m\u{90}x\u{9c}", "�31m�x�"),
      ("one\r\ntwo\nthree\tfour\u{2028}five\u{85}six", "one two three four five six"),
      ("\u{202a}+49 123\u{202c}", "+49 123"), ("gpj\u{202e}.exe\u{2066}x\u{2069}\u{200e}\u{61c}", "gpj.exex"),
      ("“quoted” – dash…", "“quoted” – dash…"),
    ])
  func printable(text: String, shown: String) {
    #expect(text.printable == shown)
  }

  @Test("Line ends stay where they are asked for, one for each")
  func lines() {
    #expect("one\r\ntwo\n\nthree\r".printableLines == "one\ntwo\n\nthree\n")
  }

  @Test(
    "Width is counted in columns",
    arguments: [
      ("abc", 3), ("naïve", 5), ("e\u{301}", 1), ("日本", 4), ("👩‍👩‍👧", 2), ("❤️", 2), ("🇩🇪", 2),
      ("👍🏽", 2), ("⏰⚓", 4), ("1️⃣", 2), ("हिन्दी", 5), ("\u{1112}\u{1161}\u{11AB}", 2), ("\u{600}1", 2),
      ("한글", 4), ("ﾊﾝ", 2), ("\u{200b}", 0), ("…", 1), ("█", 1),
    ])
  func width(text: String, columns: Int) {
    #expect(text.displayWidth == columns)
  }

  @Test("A text is cut between characters, with an ellipsis")
  func cut() {
    #expect("hello".cut(toDisplayWidth: 5) == "hello")
    #expect("hello!".cut(toDisplayWidth: 5) == "hell…")
    #expect("日本語".cut(toDisplayWidth: 4) == "日…")
  }

  @Test("Lines break at blanks, long words inside, and hang under the first")
  func wrapping() {
    let style = TextStyle(width: 20)
    let text = StyledText("one two three four five six seven")
    #expect(text.lines(style, indent: 4) == ["one two three four", "    five six seven"])
    #expect(
      StyledText("https://example.org/a/long/path").lines(style, indent: 10)
        == ["https://example.org/", "          a/long/pat", "          h"])
    #expect(StyledText("").lines(style).isEmpty)
    #expect(StyledText("日本語日本語日本語日本語").lines(TextStyle(width: 21)) == ["日本語日本語日本語日", "本語"])
  }

  @Test("What is more than the lines allowed is cut with an ellipsis")
  func maximum() {
    let style = TextStyle(width: 20)
    let text = StyledText("one two three four five six seven eight nine")
    #expect(text.lines(style, maximum: 1) == ["one two three four…"])
    #expect(StyledText("aaaaaaaaaa bbbbbbbbb c").lines(style, maximum: 1) == ["aaaaaaaaaa bbbbbbbb…"])
    #expect(StyledText("short").lines(style, maximum: 1) == ["short"])
  }

  @Test("Without a terminal nothing is wrapped, and without colour nothing painted")
  func plain() {
    var text = StyledText("strong", .strong)
    text.add("and plain")
    #expect(text.lines(TextStyle()) == ["strong and plain"])
    #expect(text.lines(TextStyle(colour: true)) == ["\u{1b}[1mstrong\u{1b}[0m and plain"])
    #expect(StyledText("one two", .bad).lines(TextStyle(colour: true)) == ["\u{1b}[31mone two\u{1b}[0m"])
  }

  @Test("A progress bar fills with the time, whatever the phone claims")
  func progress() {
    #expect(ProgressBar(elapsed: 30, duration: 120).text(width: 24) == "0:30 ████░░░░░░░░░░ 2:00")
    #expect(ProgressBar(elapsed: 500, duration: 120).text(width: 16) == "8:20 ██████ 2:00")
    #expect(ProgressBar(elapsed: -5, duration: 120).text(width: 16) == "0:00 ░░░░░░ 2:00")
    #expect(ProgressBar(elapsed: 5, duration: 120).text(width: 10) == "0:05/2:00")
    #expect(ProgressBar(elapsed: 3_700, duration: nil).text(width: 60) == "1:01:40")
    #expect(ProgressBar(elapsed: .nan, duration: .infinity).text(width: 60) == "0:00")
    #expect(ProgressBar(elapsed: .nan, duration: 1e300).text(width: 30).hasPrefix("0:00 ░"))
    #expect(ProgressBar(elapsed: nil, duration: 60).text(width: 16) == "-:-- ░░░░░░ 1:00")
  }

  @Test(
    "A time is read as RFC 3339, and written so in UTC with milliseconds",
    arguments: [
      ("2026-11-21T07:00:00.042999999Z", "2026-11-21T07:00:00.042Z"),
      ("2026-11-21T07:00:00Z", "2026-11-21T07:00:00.000Z"),
      ("2026-11-21T08:00:00+01:00", "2026-11-21T07:00:00.000Z"),
      ("2026-11-21T05:30:00.0-01:30", "2026-11-21T07:00:00.000Z"),
      ("", nil), ("Z", nil), ("2026-11-21", nil), ("2026-11-21Z", nil),
      ("2026-11-21T07:00:00", nil), ("2026-11-21T07:00:00.042", nil),
      ("2026-11-21T07:00:00.-42Z", nil), ("2026-11-21T07:00:00.Z", nil),
      ("2026-11-21T07:00:00+1:00", nil),
    ])
  func times(text: String, written: String?) {
    #expect(WallTime(rfc3339: text)?.rfc3339 == written)
  }
}
