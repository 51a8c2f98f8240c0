// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Testing
import Wire

@testable import FuzzTargets

@Suite("Captured L2CAP")
struct L2CAPTests {
  @Test("A fragment without direction continues the incomplete frame")
  func unknownDirection() {
    var decoder = CaptureDecoder()
    let frame = Sample.att([0x12, 0x2A, 0x00, 1, 2, 3])
    func decode(_ boundary: UInt16, _ data: [UInt8]) -> DecodedFrame {
      decoder.decode(
        CaptureRecord(
          boundary == 0 ? .aclTransmitted : .aclReceived, Sample.acl(0x40, boundary, data),
          time: Sample.time, isDirectionKnown: false))
    }
    #expect(decode(0b00, Array(frame.prefix(5))).units.isEmpty)
    let second = decode(0b01, Array(frame.dropFirst(5)))
    #expect(second.units.map(\.name) == ["Write Request"])
    #expect(second.record.opcode == .aclTransmitted)
  }

  @Test("A fragment may end within the L2CAP header")
  func cutHeader() {
    var link = DecodedLink()
    let frame = Sample.att([0x02, 0x17, 0x00])
    #expect(
      link.frame(.aclTransmitted, Sample.acl(0x40, 0b00, Array(frame.prefix(2)))).units.isEmpty)
    #expect(
      link.frame(.aclTransmitted, Sample.acl(0x40, 0b01, Array(frame.dropFirst(2)))).units
        .map(\.name) == ["Exchange MTU Request"])
  }

  @Test("Incomplete frames and fragments without a beginning are noted")
  func brokenFrames() {
    var link = DecodedLink()
    let frame = Sample.att([0x12, 0x2A, 0x00, 1, 2, 3])
    let stray = link.frame(.aclReceived, Sample.acl(0x40, 0b01, [1, 2, 3]))
    #expect(stray.notes == ["it goes on with a frame whose beginning was not captured"])
    _ = link.frame(.aclReceived, Sample.acl(0x40, 0b10, Array(frame.prefix(6))))
    let next = link.frame(.aclReceived, Sample.acl(0x40, 0b10, Sample.att([0x1E])))
    #expect(next.notes == ["the frame before it ended after 6 bytes"])
    #expect(next.units.map(\.name) == ["Handle Value Confirmation"])
  }

  @Test("A PDU that was captured in part has a name only")
  func snapped() {
    var link = DecodedLink()
    let data = Sample.acl(0x40, 0b10, Sample.att([0x1B, 0x2A, 0x00, 1, 2, 3, 4]))
    let frame = link.decoder.decode(CaptureRecord(.aclReceived, Array(data.dropLast(3)), time: Sample.time, missing: 3))
    #expect(frame.units.first?.name == "Handle Value Notification")
    #expect(frame.units.first?.problem == "truncated in the capture")
    #expect(frame.notes == ["3 bytes were not captured"])
  }

  @Test(
    "Signalling and pairing have names and parameters",
    arguments: [
      (
        5, "12 01 0800 1800 2800 0000 2a00", "Connection Parameter Update Request",
        "identifier: 1; minimum_interval: 30 ms; maximum_interval: 50 ms; latency: 0; "
          + "supervision_timeout: 420 ms", nil
      ),
      (
        5, "13 01 0200 0100", "Connection Parameter Update Response",
        "identifier: 1; result: Rejected (0x01)", nil
      ),
      (
        5, "13 01 0200 0001", "Connection Parameter Update Response",
        "identifier: 1; result: 256", nil
      ),
      // A result that is cut does not replace the identifier.
      (5, "13 01 0200 01", "Connection Parameter Update Response", "identifier: 1", "1 of 2 bytes"),
      (5, "13 01", "Connection Parameter Update Response", "", "2 bytes, four needed"),
      (
        6, "01 04 00 0d 10 0b 0b", "Pairing Request",
        "io_capability: KeyboardDisplay (0x04); oob_data: no; "
          + "authentication: bonding, MITM, Secure Connections (0x0d); maximum_key_size: 16; "
          + "initiator_keys: EncKey, IdKey, LinkKey (0x0b); "
          + "responder_keys: EncKey, IdKey, LinkKey (0x0b)", nil
      ),
      (6, "05 05", "Pairing Failed", "reason: Pairing Not Supported (0x05)", nil),
      (0x40, "010203", "Channel 64", "", nil),
    ] as [(UInt16, String, String, String, String?)])
  func channels(
    channel: UInt16, hex: String, name: String, said: String, problem: String?
  ) throws {
    var link = DecodedLink()
    let unit = link.receive(try #require([UInt8](hex: hex)), channel: channel)
    #expect(unit?.name == name && unit?.problem == problem)
    #expect(unit?.said == said)
  }

  @Test(
    "No byte of keys, or of what they are derived from, is shown",
    arguments: [
      UInt8(0x03), 0x04, 0x06, 0x07, 0x08, 0x0A, 0x0C, 0x0D,
    ])
  func keys(code: UInt8) {
    var link = DecodedLink()
    let unit = link.receive([code] + [UInt8](repeating: 0xA7, count: 64), channel: 6)
    #expect(unit?.said == "")
    #expect(unit?.attributes == [])
    // LE Long Term Key Request Reply, and LE Enable Encryption.
    for opcode: [UInt8] in [[0x1A, 0x20], [0x19, 0x20], [0x17, 0x20], [0x27, 0x20]] {
      let frame = link.frame(.command, opcode + [40] + [UInt8](repeating: 0xA7, count: 40))
      #expect(frame.units.first?.said.contains("a7a7") == false)
    }
  }
}
