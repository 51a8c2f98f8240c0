// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Testing
import Wire

@testable import FuzzTargets

@Suite("Captured ATT on dynamic channels")
struct EnhancedBearerTests {
  /// A link on which the phone has opened two enhanced bearers: the phone's 0x50 and 0x51 are the
  /// board's 0x60 and 0x61.
  private static func opened() -> DecodedLink {
    var link = DecodedLink()
    link.connect()
    let request: [UInt8] = [0x27, 0, 64, 0, 64, 0, 3, 0, 0x50, 0, 0x51, 0]
    let asked = link.receive([0x17, 5, 12, 0] + request, channel: 5)
    #expect(asked?.value("source_cids") == "0x0050, 0x0051")
    let response: [UInt8] = [64, 0, 64, 0, 3, 0, 0, 0, 0x60, 0, 0x61, 0]
    let answered = link.send([0x18, 5, 12, 0] + response, channel: 5)
    #expect(answered?.value("destination_cids") == "0x0060, 0x0061")
    return link
  }

  private static func sdu(_ pdu: [UInt8]) -> [UInt8] { Sample.little(UInt16(pdu.count)) + pdu }

  @Test("Each bearer has its own transactions; the attributes are common")
  func transactions() {
    var link = Self.opened()
    _ = link.send([0x0A, 0x07, 0x00])
    _ = link.send(Self.sdu([0x0A, 0x08, 0x00]), channel: 0x50)
    _ = link.send(Self.sdu([0x08, 1, 0, 0xFF, 0xFF, 0, 0x2A]), channel: 0x51)
    let found = link.receive(Self.sdu([0x09, 4, 8, 0, 0x61, 0x62]), channel: 0x61)
    #expect(found?.attributes.first?.uuid == UUID(0x2A00))
    let second = link.receive(Self.sdu([0x0B, 2]), channel: 0x60)
    #expect(second?.attributes.first?.handle == 8)
    #expect(second?.attributes.first?.uuid == UUID(0x2A00))
    #expect(link.receive([0x0B, 1])?.attributes.first?.handle == 7)
  }

  @Test("A PDU longer than a frame is reassembled from segments")
  func segments() {
    var link = Self.opened()
    let whole = Self.sdu([0x1B, 0x09, 0x00] + [UInt8](repeating: 7, count: 100))
    let frame = link.frame(
      .aclReceived, Sample.acl(0x40, 0b10, Sample.frame(0x60, Array(whole.prefix(64)))))
    #expect(frame.units.isEmpty)
    #expect(frame.notes == ["a segment: 62 of 103 bytes of channel 96"])
    let unit = link.receive(Array(whole.dropFirst(64)), channel: 0x60)
    #expect(unit?.name == "Handle Value Notification")
    #expect(unit?.attributes.first?.value?.count == 100)
  }

  @Test("A channel that was closed, refused or opened for another PSM carries no ATT")
  func others() {
    var link = Self.opened()
    _ = link.receive([0x06, 6, 4, 0, 0x60, 0, 0x50, 0], channel: 5)
    _ = link.send([0x07, 6, 4, 0, 0x60, 0, 0x50, 0], channel: 5)
    #expect(link.receive(Self.sdu([0x0A, 3, 0]), channel: 0x60)?.layer == .l2cap)
    #expect(link.receive(Self.sdu([0x0A, 3, 0]), channel: 0x61)?.layer == .att)
    _ = link.send([0x17, 7, 10, 0, 0x27, 0, 64, 0, 64, 0, 3, 0, 0x62, 0], channel: 5)
    _ = link.receive([0x18, 7, 10, 0, 64, 0, 64, 0, 3, 0, 4, 0, 0, 0], channel: 5)
    #expect(link.receive(Self.sdu([0x0A, 3, 0]), channel: 0x62)?.layer == .l2cap)
    _ = link.send([0x14, 8, 10, 0, 0x80, 0, 0x63, 0, 64, 0, 64, 0, 3, 0], channel: 5)
    _ = link.receive([0x15, 8, 10, 0, 0x52, 0, 64, 0, 64, 0, 3, 0, 0, 0], channel: 5)
    #expect(link.receive(Self.sdu([0x0A, 3, 0]), channel: 0x63)?.layer == .l2cap)
  }

  @Test("ATT on BR/EDR has frames without a length, on the channel that PSM 31 opened")
  func classic() {
    var link = DecodedLink()
    // Two commands in one frame, as is allowed there; the response says "pending" first.
    let frame = link.frame(
      .aclTransmitted,
      Sample.acl(0x40, 0b00, Sample.frame(1, [0x0A, 1, 2, 0, 2, 0] + [0x02, 2, 4, 0, 0x1F, 0, 0x41, 0])))
    #expect(frame.units.map(\.name) == ["Information Request", "Connection Request"])
    _ = link.receive([0x03, 2, 8, 0, 0x42, 0, 0x41, 0, 1, 0, 0, 0], channel: 1)
    #expect(link.receive([0x0A, 3, 0], channel: 0x41)?.layer == .l2cap)
    _ = link.receive([0x03, 2, 8, 0, 0x42, 0, 0x41, 0, 0, 0, 0, 0], channel: 1)
    #expect(link.receive([0x0A, 3, 0], channel: 0x41)?.name == "Read Request")
    #expect(link.send([0x0B, 1], channel: 0x42)?.attributes.first?.handle == 3)
  }
}
