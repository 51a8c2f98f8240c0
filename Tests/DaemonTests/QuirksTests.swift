// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
@testable import Board
@testable import Daemon
import Testing

@Suite("Daemon: assumptions about iOS can be changed")
struct QuirksTests {
  @Test(
    "Every belief takes a value of its own, and changes something",
    arguments: [
      "sharing-advertisement=off", "encrypt-pause=2", "probe=1.5", "silence=60", "retry=1",
      "call=30", "ancs=first",
      "player-name=off", "own-changes=off", "search=off", "preexisting=30", "phy=1m",
      "response-proves=on", "handles=verify",
      "reconnect=off", "handles=hash", "handles=discover",
    ])
  func sets(text: String) {
    var options = RunOptions()
    let isSet = options.setQuirk(text)
    #expect(isSet)
    #expect(options != RunOptions())
  }

  @Test("Every belief has a value here")
  func complete() { #expect(Grammar.quirks.settingNames.count == 15) }

  @Test(
    "Any other text is refused and changes nothing",
    arguments: [
      "", "sharing-advertisement=on", "probe", "probe=", "probe=0", "probe=-1", "probe=x",
      "probe=1e99", "ancs=middle",
      "player-name=yes", "handles=trust", "nothing=1",
    ])
  func refuses(text: String) {
    var options = RunOptions()
    let isSet = options.setQuirk(text)
    #expect(!isSet)
    #expect(options == RunOptions())
  }
}
