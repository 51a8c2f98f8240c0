// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import Mgmt
import System
import Testing
import Wire

@testable import Board
@testable import Daemon

@Suite("The daemon's command line")
struct RunArgumentsTests {
  private func parse(_ line: String) throws(Failure) -> RunOptions {
    var options = RunOptions()
    try Grammar.run.parse(line.split(separator: " ").map(String.init), into: &options)
    return options
  }

  @Test("Every option of the contract")
  func everything() throws {
    let options = try parse(
      """
      --att unix:/tmp/phone --once --name Kitchen --pairable=60 --allow-legacy --io keyboard
      --advertise solicit+hr --format json --fetch date,app,title --early --max-length 512
      --socket /tmp/s --state-dir /tmp/d --btsnoop /tmp/b --log-level debug
      """.split(separator: "\n").joined(separator: " "))
    #expect(options.start.source == .att(path: "/tmp/phone") && options.start.once)
    #expect(
      options.start.name == "Kitchen" && options.radio.pairable == .seconds(60)
        && options.radio.allowLegacy)
    #expect(options.radio.io == .keyboardOnly && options.radio.advertise == .solicitHeartRate)
    #expect(options.start.output.format == .json && options.live.early)
    #expect(options.live.fetch.attributes == [.appIdentifier, .title, .date])
    #expect(options.live.fetch.maximumLengths == [.title: 512, .subtitle: 512, .message: 512])
    #expect(options.start.socket == "/tmp/s" && options.start.stateDirectory == "/tmp/d")
    #expect(options.start.btsnoop == "/tmp/b" && options.live.logLevel == .debug)
  }

  @Test("Paths that programs in another directory are given are absolute from the beginning")
  func relativePaths() throws {
    let options = try parse("--socket run/s --state-dir d")
    #expect(options.start.socket == Files.absolute("run/s"))
    #expect(options.start.stateDirectory == Files.absolute("d"))
    #expect(options.start.stateDirectory?.first == "/")
    #expect(try parse("--socket @name").start.socket == "@name")
  }

  /// A line, and what it changes.
  struct Line: CustomStringConvertible, Sendable {
    let text: String
    let change: @Sendable (inout RunOptions) -> Void
    var description: String { text }

    init(_ text: String, _ change: @escaping @Sendable (inout RunOptions) -> Void) {
      (self.text, self.change) = (text, change)
    }
  }

  @Test(
    "A line changes only what it names: in any case, by shorter words, each adapter once",
    arguments: [
      Line("--hci0 --hci12 --adapter hci0 --adapter=00:1a:7d:da:71:13") {
        $0.radio.adapters = ["hci0", "hci12", "00:1A:7D:DA:71:13"].compactMap { AdapterChoice($0) }
      },
      Line("--pairable") { $0.radio.pairable = .always },
      Line("--pairable=5") { $0.radio.pairable = .seconds(5) },
      Line("--format JSON") { $0.start.output.format = .json },
      Line("--json") { $0.start.output.format = .json },
      Line("--json --text") { $0.start.output.format = .text },
      Line("--io YesNo") { $0.radio.io = .displayYesNo },
      Line("--advertise Solicit+HR") { $0.radio.advertise = .solicitHeartRate },
      Line("--fetch App,Title") { $0.live.fetch.attributes = [.appIdentifier, .title] },
      Line("--fetch none") { $0.live.fetch.attributes = [] },
      Line("--virtual-phone") { $0.start.source = .virtualPhone },
      Line("-v") { $0.live.logLevel = .info },
      Line("--verbose") { $0.live.logLevel = .info },
      Line("-vv") { $0.live.logLevel = .debug },
      Line("-v -v -v") { $0.live.logLevel = .debug },
      Line("-q") { $0.live.logLevel = .error },
      Line("--quiet") { $0.live.logLevel = .error },
      Line("--log-level=Warning") { $0.live.logLevel = .warning },
    ])
  func changes(line: Line) throws {
    var expected = RunOptions()
    line.change(&expected)
    #expect(try parse(line.text) == expected)
  }

  @Test(
    "What is wrong is one line that names it",
    arguments: [
      ("--hci", "ancsd: unknown option “--hci”; did you mean --hciN?"),
      ("--hcix", "ancsd: unknown option “--hcix”; did you mean --hciN?"),
      ("--hci99999", "ancsd: unknown option “--hci99999”"),
      ("--sockt /tmp/x", "ancsd: unknown option “--sockt”; did you mean --socket?"),
      ("--frobnicate", "ancsd: unknown option “--frobnicate”"),
      ("-x", "ancsd: unknown option “-x”"), ("--\u{1B}[2J", "ancsd: unknown option “--␛[2J”"),
      ("--adapter", "ancsd: --adapter needs a value (hciN|ADDRESS)"),
      ("--adapter --once", "ancsd: --adapter needs a value (hciN|ADDRESS)"),
      (
        "--adapter usb0",
        "ancsd: --adapter must be hciN or an address (AA:BB:CC:DD:EE:FF), not “usb0”"
      ),
      ("--att /tmp/x", "ancsd: --att must be unix:PATH, not “/tmp/x”"),
      ("--att unix:", "ancsd: --att must be unix:PATH, not “unix:”"),
      (
        "--pairable=soon",
        "ancsd: --pairable must be a time such as 30, 90s, 10m, 2h or 1d, not “soon”"
      ),
      ("--pairable 60", "ancsd: unexpected argument “60”; did you mean --pairable=60?"),
      ("--io yes", "ancsd: --io must be none, display, keyboard or yesno, not “yes”; did you mean"),
      (
        "--format jsno",
        "ancsd: --format must be text or json, not “jsno”; did you mean --format json?"
      ),
      (
        "--log-level warn",
        "ancsd: --log-level must be error, warning, notice, info or debug, not “warn”; did"
      ),
      ("--once=1", "ancsd: --once takes no value"),
      ("--fetch app,,date", "ancsd: --fetch must be all, none, or names separated by commas"),
      (
        "--fetch titel",
        "ancsd: --fetch must be all, none, or names separated by commas, not “titel”; did you mean "
          + "--fetch title?"
      ),
      ("--max-length 0", "ancsd: --max-length must be a number of bytes from 1 to 65535, not “0”"),
      ("--max-length 65536", "ancsd: --max-length must be a number of bytes from 1 to 65535"),
      ("--name ", "ancsd: --name needs a value (NAME)"),
      ("--exec added=/bin/true", "ancsd: --exec must be EVENT=PROGRAM, an event's name"),
      ("--exec-jobs 0", "ancsd: --exec-jobs must be a number from 1 to 64, not “0”"),
      ("--hci0 --virtual-phone", "ancsd: --hci0 can't be combined with --att or --virtual-phone"),
      ("--att unix:/x --hci1", "ancsd: --hci1 can't be combined with --att or --virtual-phone"),
      ("--once hci0", "ancsd: unexpected argument “hci0”"),
      ("-- --hci0", "ancsd: unexpected argument “--hci0”"),
    ])
  func errors(line: String, error: String) {
    let failure = #expect(throws: Failure.self) { try parse(line) }
    #expect(failure?.status == .usage)
    #expect(failure?.line.hasPrefix(error) == true, "\(failure?.line ?? "")")
  }

  @Test(
    "The help lists the options that there are, within the width", arguments: [40, 60, 80, 120])
  func help(width: Int) {
    let page = Command.run.help([], width)
    #expect(page.hasPrefix("Usage: ancsd [run] [--hciN]... [OPTIONS]\n"))
    #expect(page.contains("\n  --pairable[=TIME]"))
    #expect(page.contains("\n  -v, --verbose"))
    for title in ["Connection", "Pairing", "Output", "Hooks", "Files", "Logging"] {
      #expect(page.contains("\n\n\(title):\n"))
    }
    // Examples are to be copied as they are.
    let lines = page.split(separator: "\n").prefix { $0 != "Examples:" }
    #expect(lines.allSatisfy { $0.count <= width })
  }
}

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
