// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import Testing

@testable import Arguments

@Suite("The values of options")
struct OptionTests {
  @Test(
    "A time as people type it, and what is none",
    arguments: [
      ("1", .seconds(1)), ("0.5", .milliseconds(500)), ("1e3", .seconds(1_000)),
      ("90s", .seconds(90)), ("10m", .seconds(600)), ("2H", .seconds(7_200)),
      ("1d", .seconds(86_400)),
      ("", nil), ("0", nil), ("-1", nil), ("inf", nil), ("nan", nil), ("1e300", nil),
      ("soon", nil), ("m", nil), ("5 m", nil), ("100d", nil), ("-5m", nil), ("nans", nil),
      ("1h30", nil), ("1h-5m", nil), ("15w", nil),
    ] as [(String, Duration?)])
  func times(text: String, duration: Duration?) { #expect(Duration(typed: text) == duration) }

  @Test("The command line decides about the format, then the environment, else it is text")
  func formats() throws {
    var output = OutputOptions()
    #expect(try output.format(variable: nil) == .text)
    #expect(try output.format(variable: "") == .text)
    #expect(try output.format(variable: "JSON") == .json)
    let failure = #expect(throws: Failure.self) { try output.format(variable: "xml") }
    #expect(failure?.line == "ancsd: ANCSD_FORMAT must be text or json, not “xml”")
    output.format = .text
    #expect(try output.format(variable: "xml") == .text)
  }

  @Test(
    "Colours are for terminals, unless an option requests them",
    arguments: [
      (.auto, nil, "xterm", true, true), (.auto, "1", "xterm", true, false), (.auto, "", nil, true, true),
      (.auto, nil, "dumb", true, false), (.auto, nil, "xterm", false, false), (.always, "1", "dumb", false, true),
      (.never, nil, "xterm", true, false),
    ] as [(ColorChoice, String?, String?, Bool, Bool)])
  func colours(
    choice: ColorChoice, noColor: String?, terminal: String?, isTerminal: Bool, hasColor: Bool
  ) {
    var output = OutputOptions()
    output.color = choice
    #expect(output.hasColor(noColor: noColor, terminal: terminal, isTerminal: isTerminal) == hasColor)
  }
}
