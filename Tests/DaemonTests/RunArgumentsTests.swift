// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import Mgmt
import Testing
import Wire

@testable import Daemon

@Suite("The daemon's command line")
struct RunArgumentsTests {
  private func parse(_ line: String) throws(Failure) -> RunOptions {
    var options = RunOptions()
    try Grammar.run.parse(line.split(separator: " ").map(String.init), into: &options)
    return options
  }

  @Test("Nothing said is the default of everything")
  func defaults() throws {
    let options = try parse("")
    #expect(options == RunOptions())
    #expect(options.source == .radio && options.adapters.isEmpty && !options.once)
    #expect(options.pairable == .firstPhone && options.advertise == nil && options.io == nil)
    #expect(options.fetch == .all && options.format == nil && options.logLevel == .notice)
  }

  @Test("Adapters by number and by address, each once")
  func adapters() throws {
    let options = try parse("--hci0 --hci12 --adapter hci0 --adapter=00:1a:7d:da:71:13")
    #expect(
      options.adapters == [
        .index(0), .index(12), .address(Address(0x001A_7DDA_7113)),
      ])
  }

  @Test("Every option of the contract")
  func everything() throws {
    let options = try parse(
      """
      --att unix:/tmp/phone --once --name Kitchen --pairable=60 --allow-legacy --io keyboard
      --advertise solicit+hr --format json --fetch date,app,title --early --max-length 512
      --socket /tmp/s --state-dir /tmp/d --btsnoop /tmp/b --log-level debug
      """.split(separator: "\n").joined(separator: " "))
    #expect(options.source == .att(path: "/tmp/phone") && options.once)
    #expect(options.name == "Kitchen" && options.pairable == .seconds(60) && options.allowLegacy)
    #expect(options.io == .keyboard && options.advertise == .solicitHeartRate)
    #expect(options.format == .json && options.early)
    #expect(options.fetch.attributes == [.appIdentifier, .title, .date])
    #expect(options.fetch.maximumLengths == [.title: 512, .subtitle: 512, .message: 512])
    #expect(options.socket == "/tmp/s" && options.stateDirectory == "/tmp/d")
    #expect(options.btsnoop == "/tmp/b" && options.logLevel == .debug)
  }

  @Test("An optional value needs its equals sign")
  func pairable() throws {
    #expect(try parse("--pairable").pairable == .always)
    #expect(try parse("--pairable --once").pairable == .always)
    #expect(try parse("--pairable=5").pairable == .seconds(5))
  }

  @Test("Lazy fetching, and the phone that is built in")
  func lazy() throws {
    #expect(try parse("--fetch none").fetch.attributes.isEmpty)
    #expect(try parse("--max-length 7 --fetch all").fetch.maximumLengths[.message] == 7)
    #expect(try parse("--virtual-phone").source == .virtualPhone)
  }

  @Test(
    "How much is said",
    arguments: [
      ("-v", .info), ("-vv", .debug), ("-v -v -v", .debug), ("-q", .error), ("--quiet", .error),
      ("--verbose", .info), ("--log-level=warning", .warning),
    ] as [(String, LogLevel)])
  func levels(line: String, level: LogLevel) throws {
    #expect(try parse(line).logLevel == level)
  }

  @Test(
    "What is wrong is one line that names it",
    arguments: [
      ("--hci", "ancsd: --hci: unknown option; did you mean --hciN?"),
      ("--hcix", "ancsd: --hcix: unknown option; did you mean --hciN?"),
      ("--hci99999", "ancsd: --hci99999: unknown option"),
      ("--sockt /tmp/x", "ancsd: --sockt: unknown option; did you mean --socket?"),
      ("--nmae x", "ancsd: --nmae: unknown option; did you mean --name?"),
      ("--frobnicate", "ancsd: --frobnicate: unknown option"),
      ("-x", "ancsd: -x: unknown option"),
      ("--adapter", "ancsd: --adapter: hciN|ADDRESS is missing behind it"),
      ("--adapter --once", "ancsd: --adapter: hciN|ADDRESS is missing behind it"),
      ("--adapter usb0", "ancsd: --adapter usb0: not hciN nor an address (AA:BB:CC:DD:EE:FF)"),
      ("--att /tmp/x", "ancsd: --att /tmp/x: not unix:PATH"),
      ("--att unix:", "ancsd: --att unix:: not unix:PATH"),
      ("--pairable=soon", "ancsd: --pairable soon: not a number of seconds"),
      ("--pairable=-1", "ancsd: --pairable -1: not a number of seconds"),
      ("--io yes", "ancsd: --io yes: not one of none, display, keyboard, yesno"),
      ("--once=1", "ancsd: --once=1: --once takes no value"),
      ("--fetch app,,date", "ancsd: --fetch app,,date: not all, none, nor names with commas"),
      ("--max-length 0", "ancsd: --max-length 0: not a number of bytes from 1 to 65535"),
      ("--max-length 65536", "ancsd: --max-length 65536: not a number of bytes from 1 to 65535"),
      ("--name ", "ancsd: --name: NAME is missing behind it"),
      ("--exec added=/bin/true", "ancsd: --exec added=/bin/true: not EVENT=PROGRAM, with the name"),
      ("--exec-jobs 0", "ancsd: --exec-jobs 0: not a number from 1 to 64"),
      ("--hci0 --virtual-phone", "ancsd: hci0: --att and --virtual-phone do without an adapter"),
      ("--att unix:/x --hci1", "ancsd: hci1: --att and --virtual-phone do without an adapter"),
      ("--once hci0", "ancsd: hci0: nothing is expected there"),
      ("-- --hci0", "ancsd: --hci0: nothing is expected there"),
    ])
  func errors(line: String, error: String) {
    let failure = #expect(throws: Failure.self) { try parse(line) }
    #expect(failure?.status == .usage)
    #expect(failure?.line.hasPrefix(error) == true, "\(failure?.line ?? "")")
  }

  @Test("The help lists the options that there are, within the width", arguments: [60, 80, 120])
  func help(width: Int) {
    let page = Command.run.help([], width)
    #expect(page.hasPrefix("Usage: ancsd [run] [--hciN]... [OPTIONS]\n"))
    #expect(page.contains("\n  --pairable[=SECONDS]"))
    #expect(page.contains("\n  -v, --verbose"))
    #expect(page.split(separator: "\n").allSatisfy { $0.count <= width })
  }

  @Test("No argument, however odd, is more than an error")
  func odd() {
    let odd = ["", "-", "--", "=", "--=", "-=", "--\0", "--\u{1b}[2J", "-é", "--io=", "---"]
    for one in odd {
      for other in odd {
        var options = RunOptions()
        do {
          try Grammar.run.parse([one, other], into: &options)
        } catch {
          #expect(error.status == .usage && !error.line.contains("\u{1b}"))
        }
      }
    }
  }
}
