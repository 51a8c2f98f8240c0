// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import System
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

  @Test("L2CAP's request for parameters is an ACL packet with the specification's layout")
  func signal() {
    let wanted = ConnectionParameters(
      minimumInterval: 12, maximumInterval: 24, latency: 0, timeout: 600)
    #expect(
      ForeignPacket.parameterUpdateRequest(3, wanted).hex == "02030010000c000500"
        + "12c808000c00180000005802")
  }

  @Test(
    "Packets past the kernel are sent only where it is known to survive that",
    arguments: [
      ("6.1.0-56-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-11-01)", true),
      ("6.1.0-40-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.149-1 (2025-08-30)", false),
      ("5.10.0-32-amd64", "#1 SMP Debian 5.10.223-1 (2024-08-10)", false),
      ("5.15.0-156-generic", "#166-Ubuntu SMP", false), ("6.12.47+rpt-rpi-v8", "#1 SMP", true),
      ("6.12.47+rpt-rpi-v8", "#1 SMP PREEMPT Debian 1:6.12.47-1+rpt1 (2025-09-16)", true),
      ("6.12.25+rpt-rpi-2712", "#1 SMP PREEMPT Debian 1:6.12.25-1+rpt1 (2025-04-30)", false),
      ("6.1.21-v8+", "#1642 SMP PREEMPT Mon Apr  3 17:24:16 BST 2023", false),
      ("6.12.44", "#1 SMP", false), ("6.13.12", "", false), ("6.17.0", "", true),
      ("7.3.4", "#1 SMP", true), ("", "Debian", false),
    ])
  func survives(release: String, build: String, isSafe: Bool) {
    #expect(ForeignPacket.isSafe(on: KernelVersion(release: release, build: build)) == isSafe)
  }

  @Test(
    "Events are decoded; unknown ones are kept",
    arguments: [
      ("040f0400011320", .commandStatus(opcode: 0x2013, status: 0)),
      (
        "043e0a03000100600004009001",
        .connectionUpdated(handle: 1, status: 0, ConnectionParameters(interval: 96, latency: 4, timeout: 400))
      ),
      (
        "043e1301004000010112233445566718000000480000",
        .connected(handle: 0x40, ConnectionParameters(interval: 24, latency: 0, timeout: 72))
      ),
      (
        "043e1f0a00400001011223344556670000000000000000000000001800000048" + "0000",
        .connected(handle: 0x40, ConnectionParameters(interval: 24, latency: 0, timeout: 72))
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
