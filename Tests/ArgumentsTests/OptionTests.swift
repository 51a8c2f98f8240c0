// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Testing

@Suite("The values of options")
struct OptionTests {
  @Test("Seconds as people write them", arguments: ["1", "0.5", "1e3"])
  func seconds(text: String) { #expect(Duration(seconds: text) != nil) }

  @Test("What is no number of seconds", arguments: ["", "0", "-1", "inf", "nan", "1e300", "soon"])
  func noSeconds(text: String) { #expect(Duration(seconds: text) == nil) }
}
