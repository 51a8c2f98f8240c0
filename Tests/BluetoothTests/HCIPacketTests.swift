// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Testing
import Wire

@testable import Bluetooth

@Suite("Raw HCI and rfkill")
struct HCIPacketTests {
  @Test("Commands have the specification's layout, after the indicator")
  func commands() {
    let wanted = ConnectionParameters(
      minimumInterval: 24, maximumInterval: 40, latency: 4, timeout: 600)
    #expect(
      HCICommand.connectionUpdate(1, wanted).bytes.hex == "0113200e01001800280004005802"
        + "00000000")
  }

  @Test(
    "Events are decoded; unknown ones are kept",
    arguments: [
      ("040f0400011320", .commandStatus(opcode: 0x2013, status: 0)),
      (
        "043e0a03000100600004009001",
        .connectionUpdated(
          handle: 1, status: 0, ConnectionParameters(interval: 96, latency: 4, timeout: 400))
      ),
      (
        "043e1301004000010112233445566718000000480000",
        .connected(
          handle: 0x40, ConnectionParameters(interval: 24, latency: 0, timeout: 72))
      ),
      (
        "043e1f0a00400001011223344556670000000000000000000000001800000048" + "0000",
        .connected(
          handle: 0x40, ConnectionParameters(interval: 24, latency: 0, timeout: 72))
      ),
      ("043e020199", .other(code: 0x3E, [0x01, 0x99])),
      ("04ff00", .other(code: 0xFF, [])),
    ] as [(String, HCIEvent)])
  func events(packet: String, event: HCIEvent) throws {
    #expect(try HCIEvent(decoding: try #require([UInt8](hex: packet))) == event)
  }

  @Test("Truncated events are errors")
  func cutEvents() throws {
    for packet in ["040f0400011320", "043e0a03000100600004009001"] {
      let bytes = try #require([UInt8](hex: packet))
      for length in 0..<bytes.count {
        #expect(throws: DecodeError.self) { try HCIEvent(decoding: Array(bytes.prefix(length))) }
      }
    }
    // The claimed length is there, but the parameters are too short.
    #expect(throws: DecodeError.self) { try HCIEvent(decoding: [4, 0x0F, 1, 1]) }
    #expect(throws: DecodeError.self) { try HCIEvent(decoding: [4, 0x3E, 3, 3, 0, 1]) }
    #expect(throws: DecodeError.self) { try HCIEvent(decoding: [2, 0, 0]) }
  }

  @Test("An rfkill event has index, type and state; a hard block counts before a soft one")
  func switches() {
    let index = withUnsafeBytes(of: UInt32(7)) { Array($0) }
    #expect(RFKillEvent(index + [2, 0, 1, 0])?.state == .soft)
    #expect(RFKillEvent(index + [2, 2, 1, 1])?.state == .hard)
    #expect(RFKillEvent(index + [2, 2, 0, 0, 0])?.state == .unblocked)
    #expect(RFKillEvent(index + [2, 1, 0, 0])?.isRemoved == true)
    #expect(RFKillEvent(index + [1, 0, 0, 0])?.isBluetooth == false)
    #expect(RFKillEvent(index + [2, 0, 0, 0])?.index == 7)
    #expect(RFKillEvent([2, 0, 0]) == nil)
  }
}
