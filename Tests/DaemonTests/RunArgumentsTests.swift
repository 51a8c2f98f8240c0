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

  private static func adapters(_ names: String...) -> [AdapterChoice] {
    names.compactMap { AdapterChoice($0) }
  }

  @Test("Paths that programs in another directory are given are absolute from the beginning")
  func relativePaths() throws {
    let options = try parse("--socket run/s --state-dir d")
    #expect(options.start.socket == Files.absolute("run/s"))
    #expect(options.start.stateDirectory == Files.absolute("d"))
    #expect(options.start.stateDirectory?.first == "/")
    #expect(try parse("--socket @name").start.socket == "@name")
  }

  @Test(
    "A line changes only what it names: in any case, by shorter words, each adapter once",
    arguments: [
      (
        "--hci0 --hci12 --adapter hci0 --adapter=00:1a:7d:da:71:13",
        { @Sendable options in
          options.radio.adapters = adapters("hci0", "hci12", "00:1A:7D:DA:71:13")
        }
      ),
      ("--pairable", { $0.radio.pairable = .always }),
      ("--pairable=5", { $0.radio.pairable = .seconds(5) }),
      ("--format JSON", { $0.start.output.format = .json }),
      ("--json", { $0.start.output.format = .json }),
      ("--json --text", { $0.start.output.format = .text }),
      ("--io YesNo", { $0.radio.io = .displayYesNo }),
      ("--advertise Solicit+HR", { $0.radio.advertise = .solicitHeartRate }),
      ("--fetch App,Title", { $0.live.fetch.attributes = [.appIdentifier, .title] }),
      ("--fetch none", { $0.live.fetch.attributes = [] }), ("--virtual-phone", { $0.start.source = .virtualPhone }),
      ("-v", { $0.live.logLevel = .info }), ("--verbose", { $0.live.logLevel = .info }),
      ("-vv", { $0.live.logLevel = .debug }), ("-v -v -v", { $0.live.logLevel = .debug }),
      ("-q", { $0.live.logLevel = .error }), ("--quiet", { $0.live.logLevel = .error }),
      ("--log-level=Warning", { $0.live.logLevel = .warning }),
      ("--att unix:/tmp/phone", { $0.start.source = .att(path: "/tmp/phone") }), ("--once", { $0.start.once = true }),
      ("--name Kitchen", { $0.start.name = "Kitchen" }), ("--allow-legacy", { $0.radio.allowLegacy = true }),
      ("--early", { $0.live.early = true }),
      ("--max-length 512", { $0.live.fetch.maximumLengths = [.title: 512, .subtitle: 512, .message: 512] }),
      ("--socket /tmp/s", { $0.start.socket = "/tmp/s" }),
      ("--state-dir /tmp/d", { $0.start.stateDirectory = "/tmp/d" }),
      ("--btsnoop /tmp/b", { $0.start.btsnoop = "/tmp/b" }),
    ] as [(String, @Sendable (inout RunOptions) -> Void)])
  func changes(line: String, change: @Sendable (inout RunOptions) -> Void) throws {
    var expected = RunOptions()
    change(&expected)
    #expect(try parse(line) == expected)
  }

  @Test(
    "What is wrong is one line that names it",
    arguments: [
      ("--hci", "unknown option “--hci”; did you mean --hciN?"),
      ("--hci99999", "unknown option “--hci99999”"),
      ("--sockt /tmp/x", "unknown option “--sockt”; did you mean --socket?"),
      ("-x", "unknown option “-x”"),
      ("--\u{1B}[2J", "unknown option “--␛[2J”"), ("--adapter", "--adapter needs a value (hciN|ADDRESS)"),
      ("--adapter usb0", "--adapter must be hciN or an address (AA:BB:CC:DD:EE:FF), not “usb0”"),
      ("--att /tmp/x", "--att must be unix:PATH, not “/tmp/x”"),
      ("--att unix:", "--att must be unix:PATH, not “unix:”"),
      ("--pairable=soon", "--pairable must be a time such as 30, 90s, 10m, 2h or 1d, not “soon”"),
      ("--pairable 60", "unexpected argument “60”; did you mean --pairable=60?"),
      ("--io yes", "--io must be none, display, keyboard or yesno, not “yes”; did you mean"),
      ("--format jsno", "--format must be text or json, not “jsno”; did you mean --format json?"),
      ("--once=1", "--once takes no value"),
      ("--fetch app,,date", "--fetch must be all, none, or names separated by commas"),
      (
        "--fetch titel",
        "--fetch must be all, none, or names separated by commas, not “titel”; did you mean "
          + "--fetch title?"
      ),
      ("--max-length 0", "--max-length must be a number of bytes from 1 to 65535, not “0”"),
      ("--name ", "--name needs a value (NAME)"),
      ("--exec added=/bin/true", "--exec must be EVENT=PROGRAM, an event's name"),
      ("--exec-jobs 0", "--exec-jobs must be a number from 1 to 64, not “0”"),
      ("--hci0 --virtual-phone", "--hci0 can't be combined with --att or --virtual-phone"),
      ("--once hci0", "unexpected argument “hci0”"),
    ])
  func errors(line: String, error: String) {
    let failure = #expect(throws: Failure.self) { try parse(line) }
    #expect(failure?.status == .usage)
    #expect(failure?.line.hasPrefix("ancsd: \(error)") == true, "\(failure?.line ?? "")")
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
      "", "sharing-advertisement=on", "probe", "probe=", "probe=0", "probe=-1", "probe=x", "probe=1e99", "ancs=middle",
      "player-name=yes", "handles=trust", "nothing=1",
    ])
  func refuses(text: String) {
    var options = RunOptions()
    let isSet = options.setQuirk(text)
    #expect(!isSet)
    #expect(options == RunOptions())
  }
}
