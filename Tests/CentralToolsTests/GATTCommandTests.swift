// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Control
import GATT
import JSON
import LineEditor
import Mgmt
import Testing
import Wire

@testable import CentralTools

@Suite("ancsd gatt: commands")
struct GATTCommandTests {
  private func options(_ line: String) throws(Failure) -> GATTOptions {
    var options = GATTOptions()
    try Grammar.gatt.parse(CommandLineWords.split(line), into: &options)
    return options
  }

  @Test("A device, an adapter, a level of security and a command")
  func whole() throws {
    let options = try options(
      "--hci1 --connect c4:11:22:33:44:55/random --security medium --mtu 100 -n 3 --timeout 1.5 "
        + "--indicate --format json subscribe 2A37 0x0012")
    #expect(options.adapter == AdapterChoice("hci1"))
    #expect(options.target == .device(DeviceAddress(Address(0xC411_2233_4455), .random)))
    #expect(options.security == .medium)
    #expect(options.mtu == 100)
    #expect(options.count == 3)
    #expect(options.timeout == .milliseconds(1500))
    #expect(options.prefersIndications)
    #expect(options.output.format == .json)
    #expect(options.command == .subscribe([.type(0x2A37), .handle(0x12)]))
  }

  @Test("Without a command there is a prompt, with or without a device; a socket is a device too")
  func prompt() throws {
    #expect(try options("").command == nil)
    #expect(try options("--att unix:@phone").target == .socket("@phone"))
  }

  @Test(
    "Commands as they are written",
    arguments: [
      ("primary", .primary(nil)), ("primary 180F", .primary(0x180F)), ("tree", .tree),
      ("read 0x002a 2A00", .read([.handle(0x2A), .type(0x2A00)])), ("write 3 0102", nil),
      ("write 0x3 0102ff", .write(.handle(3), [1, 2, 255], withResponse: true)),
      ("write 2A06 01 02", .write(.type(0x2A06), [1, 2], withResponse: true)),
      (
        "write-command 0x0003 'text:hello  you'",
        .write(.handle(3), Array("hello  you".utf8), withResponse: false)
      ),
      ("write 0x3 u16:300", .write(.handle(3), [0x2C, 1], withResponse: true)),
      ("write 0x3 i8:-2", .write(.handle(3), [0xFE], withResponse: true)),
      ("write 0x3 u32:0x01020304", .write(.handle(3), [4, 3, 2, 1], withResponse: true)),
      ("write 0x3 text:", .write(.handle(3), [], withResponse: true)),
      ("write 0x3 u8:256", nil), ("write 0x3 012", nil), ("write 0x3", nil), ("write", nil),
      ("read 0x0000", nil), ("read 0x12345", nil), ("read 12", nil), ("read", nil),
      (
        "read 6e400001-b5a3-f393-e0a9-e50e24dcca9e",
        .read([.type(UUID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E))])
      ),
      ("mtu", .mtu), ("mtu 5", nil), ("scan", .scan), ("quit", nil), ("connect", nil),
    ] as [(String, GATTCommand?)])
  func commands(line: String, wanted: GATTCommand?) {
    let found = try? GATTCommand(CommandLineWords.split(line), prompt: false)
    #expect(found == wanted)
  }

  @Test(
    "Commands of the prompt alone",
    arguments: [
      ("quit", .quit), ("exit", .quit), ("connect", .connect(nil)),
      ("unsubscribe", .unsubscribe([])),
      (
        "connect 00:11:22:33:44:55",
        .connect(.device(DeviceAddress(Address(0x11_2233_4455), .public)))
      ),
      ("security high", .security(.high)), ("security", .security(nil)), ("security best", nil),
      ("disconnect", .disconnect), ("help", .help(nil)), ("help read", .help("read")),
      ("help read write", nil),
    ] as [(String, GATTCommand?)])
  func atPrompt(line: String, wanted: GATTCommand?) {
    #expect((try? GATTCommand(CommandLineWords.split(line), prompt: true)) == wanted)
  }

  @Test(
    "Errors name the correct form",
    arguments: [
      ("raed 2A00", "did you mean “read”?"), ("read fred", "neither a handle"),
      ("read batery-level", "; did you mean battery-level?"), ("write 0x3 zz", "hexadecimal"),
      ("read 2A00", "--connect"), ("--att unix:/x scan", "not a socket"), ("--att /x mtu", "unix:PATH"),
      ("--connect 11:22 mtu", "AA:BB"), ("--mtu 22 mtu", "23 to 517"),
      ("--print hex tree", "for “read” and “subscribe” only"), ("--print dec read 2A00", "hex, text"),
      // As gatttool has it.
      ("-b 00:11:22:33:44:55 --primary", "--connect ADDRESS[/random]"),
      ("--char-read --handle=0x3", "“read HANDLE|UUID”"), ("char-desc", "“tree” here"),
    ])
  func wrong(line: String, part: String) {
    let failure = #expect(throws: Failure.self) { try options(line) }
    #expect(failure?.status == .usage)
    #expect(failure?.line.contains(part) == true, "\(failure?.line ?? "no failure")")
  }

  @Test("Each command has its own help, with examples that can be typed")
  func help() throws {
    let command = Command.gatt
    let overview = command.help([], 80)
    for form in GATTCommand.forms where !form.isForPrompt {
      #expect(overview.contains("  \(form.usage)"))
      let page = command.help(["--connect", "x", form.name, "--help"], 80)
      #expect(page.hasPrefix("Usage: ancsd gatt [--hciN] "))
      for example in form.examples {
        #expect(page.contains(example))
        let words = "--connect 00:11:22:33:44:55 " + example
        #expect(throws: Never.self) { try options(words) }
      }
    }
    #expect(command.help(["fred"], 80) == overview)
  }

  @Test("Quotation marks keep blanks")
  func words() {
    #expect(CommandLineWords.split(#"  a "b c"d 'e "f' ""#) == ["a", "b cd", #"e "f"#, ""])
    #expect(CommandLineWords.split("").isEmpty)
  }

  @Test("The prompt completes commands, handles and types of this device, and devices that were found")
  func completion() {
    let map = AttributeMap([1: 0x2800, 2: 0x2803, 3: 0x2A00, 4: 0x2803, 5: 0x2A19, 6: 0x2902])
    let completion = GATTCompletion(map: map, subscribed: [5], devices: ["C4:11:22:33:44:55/random"])
    #expect(completion.complete("wr") == Completion(typed: 2, words: ["write", "write-command"]))
    #expect(
      completion.complete("read ").words == [
        "0x0003", "0x0005", "0x0006", "2A00", "2A19", "2902", "battery-level",
        "client-characteristic-configuration", "device-name",
      ])
    #expect(completion.complete("read 0x0003 ").titles["0x0005"] == "Battery Level")
    #expect(completion.complete("read bat").words == ["battery-level"])
    #expect(completion.complete("read 0x0003 2a").words == ["2A00", "2A19"])
    #expect(completion.complete("write 0x0003 0").words.isEmpty)
    #expect(completion.complete("unsubscribe ").words == ["0x0005"])
    #expect(completion.complete("connect C").words == ["C4:11:22:33:44:55/random"])
    #expect(GATTCompletion().complete("read battery-le").words.contains("battery-level"))
    #expect(completion.complete("security h") == Completion(typed: 1, words: ["high"]))
    #expect(completion.complete("").words.count == GATTCommand.forms.count)
  }

  @Test("A device is printed once, and again when it advertises more")
  func found() {
    func device(_ data: [UInt8]) -> FoundDevice {
      FoundDevice(address: DeviceAddress(Address(1), .public), rssi: -60, isConnectable: true, data: data)
    }
    var found = FoundDevices()
    #expect(found.add(device([2, 1, 6])) == (true, true))
    #expect(found.add(device([2, 1, 6])) == (false, false))
    #expect(found.add(device([2, 1, 6, 2, 9, 0x41])) == (true, false))
    #expect(found.add(device([2, 1, 6])) == (false, false))
    #expect(found.devices.map(\.name) == ["A"])
  }

  @Test("What a device advertises, as text and as JSON")
  func advertised() {
    let device = FoundDevice(
      address: DeviceAddress(Address(0xC411_2233_4455), .random), rssi: -61, isConnectable: false,
      data: [UInt8](hex: "020106 03030d18 0509 41 1b 42 43 020a04 05ff4c001005") ?? [])
    let lines = device.text.split(separator: "\n").map(String.init)
    #expect(lines[0] == "C4:11:22:33:44:55/random  -61 dBm  “A␛BC”  (not connectable)")
    #expect(lines.contains("    16-bit Service UUIDs: Heart Rate (180D)"))
    #expect(lines.contains("    TX Power: 4 dBm"))
    let json = device.json
    #expect(json["address"] == "C4:11:22:33:44:55")
    #expect(json["type"] == "random")
    #expect(json["rssi"] == -61)
    #expect(json["connectable"] == false)
    #expect(json["advertised"]?["tx_power"] == 4)
    #expect(json["data"]?.string?.hasPrefix("02010603030d18") == true)
  }
}
