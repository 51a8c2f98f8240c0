// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@testable import Bluetooth

@Suite("Raw HCI and the radio switch")
struct HCIPacketTests {
  @Test("Commands are laid out as the specification says, their indicator first")
  func commands() {
    let wanted = ConnectionParameters(
      minimumInterval: 24, maximumInterval: 40, latency: 4, timeout: 600)
    #expect(
      HCICommand.connectionUpdate(1, wanted).bytes.hex == "0113200e01001800280004005802"
        + "00000000")
  }

  @Test(
    "Events are read; unknown ones are kept",
    arguments: [
      ("040f0400011320", .commandStatus(opcode: 0x2013, status: 0)),
      (
        "043e0a03000100600004009001",
        .connectionUpdated(handle: 1, status: 0, interval: 96, latency: 4, timeout: 400)
      ),
      (
        "043e1301004000010112233445566718000000480000",
        .connected(handle: 0x40, interval: 24, latency: 0, timeout: 72)
      ),
      (
        "043e1f0a00400001011223344556670000000000000000000000001800000048" + "0000",
        .connected(handle: 0x40, interval: 24, latency: 0, timeout: 72)
      ),
      ("043e020199", .other(code: 0x3E, [0x01, 0x99])),
      ("04ff00", .other(code: 0xFF, [])),
    ] as [(String, HCIEvent)])
  func events(packet: String, event: HCIEvent) throws {
    #expect(try HCIEvent(decoding: try #require([UInt8](hex: packet))) == event)
  }

  @Test("Cut events are errors, wherever they are cut")
  func cutEvents() throws {
    for packet in ["040f0400011320", "043e0a03000100600004009001"] {
      let bytes = try #require([UInt8](hex: packet))
      for length in 0..<bytes.count {
        #expect(throws: DecodeError.self) { try HCIEvent(decoding: Array(bytes.prefix(length))) }
      }
    }
    // The length that it claims is there, what it stands for is not.
    #expect(throws: DecodeError.self) { try HCIEvent(decoding: [4, 0x0F, 1, 1]) }
    #expect(throws: DecodeError.self) { try HCIEvent(decoding: [4, 0x3E, 3, 3, 0, 1]) }
    #expect(throws: DecodeError.self) { try HCIEvent(decoding: [2, 0, 0]) }
  }

  @Test("A switch's event tells index, kind and block; the hard block counts before the soft one")
  func switches() {
    let index = withUnsafeBytes(of: UInt32(7)) { Array($0) }
    #expect(RadioEvent(index + [2, 0, 1, 0])?.block == .soft)
    #expect(RadioEvent(index + [2, 2, 1, 1])?.block == .hard)
    #expect(RadioEvent(index + [2, 2, 0, 0, 0])?.block == RadioBlock.none)
    #expect(RadioEvent(index + [2, 1, 0, 0])?.change == .removed)
    #expect(RadioEvent(index + [1, 0, 0, 0])?.isBluetooth == false)
    #expect(RadioEvent(index + [2, 0, 0, 0])?.index == 7)
    #expect(RadioEvent([2, 0, 0]) == nil)
  }
}
