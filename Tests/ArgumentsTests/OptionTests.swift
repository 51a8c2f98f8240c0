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
    let failure = #expect(throws: Failure.self) {
      try output.format(variable: "xml")
    }
    #expect(failure?.line == "ancsd: ANCSD_FORMAT must be text or json, not “xml”")
    output.format = .text
    #expect(try output.format(variable: "xml") == .text)
  }

  @Test("Colours are for terminals, unless an option requests them")
  func colours() {
    var output = OutputOptions()
    #expect(output.hasColor(noColor: nil, terminal: "xterm", isTerminal: true))
    #expect(!output.hasColor(noColor: "1", terminal: "xterm", isTerminal: true))
    #expect(output.hasColor(noColor: "", terminal: nil, isTerminal: true))
    #expect(!output.hasColor(noColor: nil, terminal: "dumb", isTerminal: true))
    #expect(!output.hasColor(noColor: nil, terminal: "xterm", isTerminal: false))
    output.color = .always
    #expect(output.hasColor(noColor: "1", terminal: "dumb", isTerminal: false))
    output.color = .never
    #expect(!output.hasColor(noColor: nil, terminal: "xterm", isTerminal: true))
  }
}
