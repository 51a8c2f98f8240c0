// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Testing
import Wire

@testable import FuzzTargets

@Suite("Captured HCI")
struct HCITests {
  @Test(
    "A command has its name and its parameters",
    arguments: [
      ([0x03, 0x0C, 0x00], "HCI Command: Reset (0x03|0x0003) plen 0", []),
      (
        [0x06, 0x04, 0x03, 0x40, 0x00, 0x13],
        "HCI Command: Disconnect (0x01|0x0006) plen 3",
        ["handle: 64", "reason: Remote User Terminated Connection (0x13)"]
      ),
      (
        [0x0A, 0x20, 0x01, 0x01], "HCI Command: LE Set Advertising Enable (0x08|0x000a) plen 1",
        ["advertising: yes"]
      ),
      ([0x01, 0xFC, 0x01, 0xAA], "HCI Command: Vendor (0x3f|0x0001) plen 1", ["data: aa"]),
      (
        [0x13, 0x20, 0x0E, 0x40, 0x00, 0x0C, 0x00, 0x18, 0x00, 0x04, 0x00, 0x58, 0x02]
          + [0, 0, 0, 0],
        "HCI Command: LE Connection Update (0x08|0x0013) plen 14",
        [
          "handle: 64", "minimum_interval: 15 ms", "maximum_interval: 30 ms", "latency: 4",
          "supervision_timeout: 6000 ms",
        ]
      ),
    ] as [([UInt8], String, [String])])
  func commands(bytes: [UInt8], title: String, said: [String]) {
    var link = DecodedLink()
    let frame = link.frame(.command, bytes)
    #expect(frame.title == title)
    #expect(frame.units.first?.said == said)
    #expect(frame.units.first?.problem == nil)
  }

  @Test(
    "An event has its name and its parameters",
    arguments: [
      (
        [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00],
        ["command: Reset (0x0c03)", "ncmd: 1", "status: Success (0x00)"]
      ),
      (
        [0x0F, 0x04, 0x0C, 0x01, 0x13, 0x20],
        [
          "command: LE Connection Update (0x2013)", "ncmd: 1",
          "status: Command Disallowed (0x0c)",
        ]
      ),
      (
        [0x05, 0x04, 0x00, 0x40, 0x00, 0x3D],
        [
          "status: Success (0x00)", "handle: 64",
          "reason: Connection Terminated due to MIC Failure (0x3d)",
        ]
      ),
      (
        [0x08, 0x04, 0x00, 0x40, 0x00, 0x01],
        ["status: Success (0x00)", "handle: 64", "encryption: On (0x01)"]
      ),
      ([0x08, 0x04, 0x06, 0x40, 0x00, 0x00], ["status: PIN or Key Missing (0x06)"]),
      (
        [0x13, 0x05, 0x01, 0x40, 0x00, 0x02, 0x00],
        ["completed: ", "handle: 64", "count: 2"]
      ),
      (
        [0x3E, 0x0C, 0x02, 0x01, 0x00, 0x01] + [0x99, 0x88, 0x77, 0x66, 0x55, 0x44]
          + [0x00, 0xC4],
        [
          "subevent: LE Advertising Report (0x02)", "reports: ",
          "event_type: Connectable undirected (0x00)",
          "address: 44:55:66:77:88:99 (resolvable)", "data: 0", "rssi: -60 dBm",
        ]
      ),
    ] as [([UInt8], [String])])
  func events(bytes: [UInt8], said: [String]) {
    var link = DecodedLink()
    let frame = link.frame(.event, bytes)
    #expect(frame.units.first?.said == said)
    #expect(frame.units.first?.problem == nil)
  }

  @Test("Extended advertising is stopped as a whole with no set, and by sets with each of them")
  func advertisingEnable() {
    var link = DecodedLink()
    func unit(_ parameters: [UInt8]) -> DecodedUnit? {
      link.frame(.command, [0x39, 0x20, UInt8(parameters.count)] + parameters).units.first
    }
    let all = unit([0, 0])
    #expect(all?.said == ["advertising: no", "number_of_sets: 0"])
    #expect(all?.problem == nil)
    let one = unit([1, 1, 2, 0, 0, 0])
    #expect(one?.value("advertising_handle") == "2")
    #expect(one?.problem == nil)
    #expect(unit([0, 1])?.problem != nil)
  }

  @Test("Advertising data, with ANCS solicitation")
  func advertisement() {
    let uuid = UUID("7905F431-B5CE-4E99-A40F-4B1E122D00D0")?.littleEndian ?? []
    let data: [UInt8] = [0x02, 0x01, 0x06, 0x11, 0x15] + uuid + [0x05, 0x09, 0x62, 0x1B, 0x61]
    var link = DecodedLink()
    let command = [0x08, 0x20, 0x20, UInt8(data.count)] + data + [0]
    let unit = link.frame(.command, command).units.first
    #expect(unit?.value("flags") == "LE General Discoverable, BR/EDR Not Supported (0x06)")
    #expect(
      unit?.value("solicited_128_bit_uuids")
        == "Apple Notification Center Service (7905F431-B5CE-4E99-A40F-4B1E122D00D0)")
    #expect(unit?.value("cut") == "a structure of 5 bytes, 4 are left")
  }

  @Test("A phone has its identity and its address on the air")
  func identity() {
    var link = DecodedLink()
    let identity = Address(0x1122_3344_5566)
    let air = Address(0x4A00_0000_0001)
    let event: [UInt8] =
      [0x3E, 31, 0x0A, 0x00, 0x40, 0x00, 0x01, 0x02] + identity.littleEndian
      + [UInt8](repeating: 0, count: 6) + air.littleEndian + [24, 0, 0, 0, 0xF4, 0x01, 0]
    _ = link.frame(.event, event)
    let name = link.receive([0x1E])?.link
    #expect(name?.isWith(identity) == true)
    #expect(name?.isWith(air) == true)
    #expect(name?.isWith(Address(0)) == false)
  }

  @Test("Pairing adds the identity of a phone with a private address")
  func pairedIdentity() {
    var link = DecodedLink()
    link.connect()
    let identity = Address(0x1122_3344_5566)
    let unit = link.receive([0x09, 0x00] + identity.littleEndian, channel: 6)
    #expect(unit?.name == "Identity Address Information")
    let next = link.receive([0x1E])?.link
    #expect(next?.isWith(identity) == true)
    #expect(next?.isWith(Sample.phone.address) == true)
  }

  @Test("The kernel's packets are decoded; of mgmt only the names are shown")
  func kernel() {
    var link = DecodedLink()
    func title(_ opcode: MonitorOpcode, _ data: [UInt8]) -> String {
      link.frame(opcode, data).title
    }
    let address: [UInt8] = [6, 5, 4, 3, 2, 1]
    #expect(
      title(.newIndex, [0, 1] + address + Array("hci0".utf8) + [0, 0, 0, 0])
        == "New Index: 01:02:03:04:05:06 (Primary,USB,hci0)")
    #expect(
      title(.indexInformation, address + [0x0F, 0x00])
        == "Index Info: 01:02:03:04:05:06 (manufacturer 15)")
    #expect(title(.systemNote, Array("Linux\0".utf8)) == "Note: Linux")
    #expect(
      title(.userLogging, [6, 6] + Array("ancsd\0hello\0".utf8)) == "User Logging: ancsd: hello")
    #expect(
      title(.controlCommand, [1, 0, 0, 0, 0x13, 0x00] + [UInt8](repeating: 0xAB, count: 38))
        == "MGMT Command: Load Long Term Keys (0x0013) plen 38 {0x0001}")
    #expect(
      title(.controlEvent, [1, 0, 0, 0, 0x0B, 0x00, 1])
        == "MGMT Event: Device Connected (0x000b) plen 1 {0x0001}")
  }
}
