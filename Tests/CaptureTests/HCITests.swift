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
      ("030c 00", "Reset (0x03|0x0003) plen 0", ""),
      (
        "0604 03 4000 13", "Disconnect (0x01|0x0006) plen 3",
        "handle: 64; reason: Remote User Terminated Connection (0x13)"
      ), ("0a20 01 01", "LE Set Advertising Enable (0x08|0x000a) plen 1", "advertising: yes"),
      // Link Key Request Reply of BR/EDR: what has no name may be a key.
      (
        "0b04 16 060504030201" + String(repeating: "ab", count: 16), "Command 0x040b (0x01|0x000b) plen 22", ""
      ),
      ("01fc 01 aa", "Vendor (0x3f|0x0001) plen 1", "data: aa"),
      (
        "1320 0e 4000 0c00 1800 0400 5802 00000000",
        "LE Connection Update (0x08|0x0013) plen 14",
        "handle: 64; minimum_interval: 15 ms; maximum_interval: 30 ms; latency: 4; "
          + "supervision_timeout: 6000 ms"
      ),
      // Extended advertising is stopped as a whole with no set, and by sets with each of them.
      (
        "3920 02 00 00", "LE Set Extended Advertising Enable (0x08|0x0039) plen 2", "advertising: no; number_of_sets: 0"
      ),
      (
        "3920 06 01 01 02 0000 00", "LE Set Extended Advertising Enable (0x08|0x0039) plen 6",
        "advertising: yes; number_of_sets: 1; advertising_handle: 2; duration: 0 ms; "
          + "maximum_events: 0"
      ),
      // With ANCS solicitation, and a structure that is cut.
      (
        "0820 1c 1a 020106 1115 d0002d121e4b0fa4994eceb531f40579 0509621b61 00",
        "LE Set Advertising Data (0x08|0x0008) plen 28",
        "data: 26; flags: LE General Discoverable, BR/EDR Not Supported (0x06); "
          + "solicited_128_bit_uuids: Apple Notification Center Service "
          + "(7905F431-B5CE-4E99-A40F-4B1E122D00D0); cut: a structure of 5 bytes, 4 are left"
      ),
    ])
  func commands(hex: String, title: String, said: String) throws {
    var link = DecodedLink()
    let frame = link.frame(.command, try #require([UInt8](hex: hex)))
    #expect(frame.title == "HCI Command: \(title)")
    #expect(frame.units.first?.said == said)
    #expect(frame.units.first?.problem == nil)
  }

  @Test("A command that is cut says so")
  func cutCommand() {
    var link = DecodedLink()
    #expect(link.frame(.command, [0x39, 0x20, 2, 0, 1]).units.first?.problem != nil)
  }

  @Test(
    "An event has its name and its parameters",
    arguments: [
      ("0e 04 01 030c 00", "command: Reset (0x0c03); ncmd: 1; status: Success (0x00)"),
      (
        "0f 04 0c 01 1320",
        "command: LE Connection Update (0x2013); ncmd: 1; status: Command Disallowed (0x0c)"
      ),
      (
        "05 04 00 4000 3d",
        "status: Success (0x00); handle: 64; "
          + "reason: Connection Terminated due to MIC Failure (0x3d)"
      ),
      ("08 04 00 4000 01", "status: Success (0x00); handle: 64; encryption: On (0x01)"),
      ("08 04 06 4000 00", "status: PIN or Key Missing (0x06)"),
      (
        "0c 08 00 4000 0e 4c00 1e00",
        "status: Success (0x00); handle: 64; version: 0x0e; manufacturer: 76; subversion: 0x001e"
      ), ("13 05 01 4000 0200", "completed: ; handle: 64; count: 2"),
      (
        "3e 0c 02 01 00 01 998877665544 00 c4",
        "subevent: LE Advertising Report (0x02); reports: ; "
          + "event_type: Connectable undirected (0x00); address: 44:55:66:77:88:99 (resolvable); "
          + "data: 0; rssi: -60 dBm"
      ),
      (
        "3e 0a 03 00 4000 2400 0400 9001",
        "subevent: LE Connection Update Complete (0x03); status: Success (0x00); handle: 64; "
          + "interval: 45 ms; latency: 4; supervision_timeout: 4000 ms"
      ),
      (
        "3e 0c 04 00 4000 ff79014100000000",
        "subevent: LE Read Remote Features Complete (0x04); status: Success (0x00); handle: 64; "
          + "features: 0x00000000410179ff"
      ),
      (
        "3e 0b 06 4000 1800 2800 0200 9001",
        "subevent: LE Remote Connection Parameter Request (0x06); handle: 64; "
          + "minimum_interval: 30 ms; maximum_interval: 50 ms; latency: 2; "
          + "supervision_timeout: 4000 ms"
      ),
      (
        "3e 0b 07 4000 fb00 4808 1b00 4801",
        "subevent: LE Data Length Change (0x07); handle: 64; tx_octets: 251; tx_time: 2120; "
          + "rx_octets: 27; rx_time: 328"
      ),
      (
        "3e 06 0c 00 4000 02 01",
        "subevent: LE PHY Update Complete (0x0c); status: Success (0x00); handle: 64; "
          + "tx_phy: LE 2M (0x02); rx_phy: LE 1M (0x01)"
      ),
    ])
  func events(hex: String, said: String) throws {
    var link = DecodedLink()
    let unit = link.frame(.event, try #require([UInt8](hex: hex))).units.first
    #expect(unit?.said == said)
    #expect(unit?.problem == nil)
  }

  @Test("Of an event without a name, which may have a key, number and length are shown")
  func namelessEvent() {
    var link = DecodedLink()
    let frame = link.frame(.event, [0x18, 23] + [UInt8](repeating: 0xAB, count: 23))
    #expect(frame.title == "HCI Event: Event 0x18 (0x18) plen 23" && frame.units.first?.said == "")
  }

  @Test("A phone has its identity and its address on the air, from the connection or from pairing")
  func identities() {
    let identity = Address(0x1122_3344_5566)
    let air = Address(0x4A00_0000_0001)
    var resolved = DecodedLink()
    let event: [UInt8] =
      [0x3E, 31, 0x0A, 0x00, 0x40, 0x00, 0x01, 0x02] + identity.littleEndian
      + [UInt8](repeating: 0, count: 6) + air.littleEndian + [24, 0, 0, 0, 0xF4, 0x01, 0]
    _ = resolved.frame(.event, event)
    var paired = DecodedLink()
    paired.connect(DeviceAddress(air, .random))
    let unit = paired.receive([0x09, 0x00] + identity.littleEndian, channel: 6)
    #expect(unit?.name == "Identity Address Information")
    for var link in [resolved, paired] {
      let name = link.receive([0x1E])?.link
      #expect(name?.isWith(identity) == true && name?.isWith(air) == true)
      #expect(name?.isWith(Address(0)) == false)
    }
  }

  @Test(
    "The kernel's packets are decoded; of mgmt only the names are shown",
    arguments: [
      (
        .newIndex, "00 01 060504030201 68636930 00000000",
        "New Index: 01:02:03:04:05:06 (Primary,USB,hci0)"
      ),
      (
        .indexInformation, "060504030201 0f00",
        "Index Info: 01:02:03:04:05:06 (manufacturer 15)"
      ),
      (.systemNote, "4c696e757800", "Note: Linux"),
      (.userLogging, "06 06 616e63736400 68656c6c6f00", "User Logging: ancsd: hello"),
      (
        .controlCommand, "01000000 1300" + String(repeating: "ab", count: 38),
        "MGMT Command: Load Long Term Keys (0x0013) plen 38 {0x0001}"
      ),
      (
        .controlEvent, "01000000 0b00 01",
        "MGMT Event: Device Connected (0x000b) plen 1 {0x0001}"
      ),
    ] as [(MonitorOpcode, String, String)])
  func kernel(opcode: MonitorOpcode, hex: String, title: String) throws {
    var link = DecodedLink()
    #expect(link.frame(opcode, try #require([UInt8](hex: hex))).title == title)
  }
}
