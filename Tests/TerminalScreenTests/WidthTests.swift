// SPDX-License-Identifier: GPL-3.0-or-later
import CCurses
import Control
import Glibc
import Testing

@Suite("Widths on a screen") struct WidthTests {
  @Test(
    "No character is wider for ncurses, which asks wcwidth(3), than the layout of a row expects")
  func everyScalar() throws {
    try #require(setlocale(LC_CTYPE, "C.UTF-8") != nil)
    let wider = (0x20..<0x11_0000 as Range<UInt32>).compactMap(Unicode.Scalar.init).filter {
      wcwidth(wchar_t($0.value)) > Character($0).displayWidth
    }
    #expect(wider.isEmpty, "\(wider.map { String($0.value, radix: 16) })")
  }

  @Test(
    "Joined and modified emoji are drawn as their first, and marks stay with their letters",
    arguments: [
      ("👨‍👩‍👧‍👦", "👨"), ("👍🏽", "👍"), ("🏳️‍🌈", "🏳"), ("❤️", "❤"), ("🇩🇪", "🇩🇪"), ("1️⃣", "1\u{20E3}"),
      ("e\u{301}\u{302}", "e\u{301}\u{302}"), ("दी", "दी"), ("क्\u{200D}ष", "क्\u{200D}ष"),
      ("\u{1F3F4}\u{E0067}\u{E007F}", "\u{1F3F4}"),
    ])
  func unjoined(text: String, drawn: String) throws {
    try #require(setlocale(LC_CTYPE, "C.UTF-8") != nil)
    let scalars = text.flatMap(\.unjoined)
    #expect(scalars == Array(drawn.unicodeScalars))
    #expect(scalars.reduce(0) { $0 + Int(wcwidth(wchar_t($1.value))) } <= text.displayWidth)
  }
}
