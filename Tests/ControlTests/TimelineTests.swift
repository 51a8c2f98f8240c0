// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import JSON
import Testing
import Wire

@testable import Control

@Suite("Timelines")
struct TimelineTests {
  /// PDUs, and what is kept of them in words.
  static let pdus: [(pdu: [UInt8], text: String)] = [
    ([0x02, 0x05, 0x02], "Exchange MTU Request 517, 3 bytes"),
    ([0x08, 1, 0, 0xFF, 0xFF, 0x03, 0x28], "Read By Type Request 0x0001–0xffff, type 2803, 7 bytes"),
    (
      [0x08, 1, 0, 0xFF, 0xFF] + [UInt8](repeating: 0x2A, count: 16),
      "Read By Type Request 0x0001–0xffff, a type of 128 bits, 21 bytes"
    ),
    ([0x06, 1, 0, 0xFF, 0xFF, 0x00, 0x28, 0x0D, 0x18], "Find By Type Value Request 0x0001–0xffff, type 2800, 9 bytes"),
    ([0x12, 0x1F, 0, 1, 0], "Write Request 0x001f (here), 5 bytes"),
    ([0x01, 0x12, 0x1F, 0, 0x03], "Error Response to Write Request 0x001f (here): Write Not Permitted, 5 bytes"),
    ([0x13], "Write Response, 1 byte"), ([0x1B, 0x1F], "Handle Value Notification, 2 bytes"),
    ([], "opcode 0x00, 0 bytes"),
  ]

  @Test("A PDU is known by opcode, handles and length, without its values", arguments: pdus.indices)
  func traced(index: Int) {
    let (pdu, text) = Self.pdus[index]
    let traced = PDUHead(pdu[...], isSent: true)
    #expect(traced.text { $0 == 0x1F ? "here" : nil } == text)
  }

  @Test("Nothing of a value is kept", arguments: [0x1B, 0x1D, 0x12, 0x16, 0x0B, 0x09] as [UInt8])
  func values(opcode: UInt8) {
    let first = opcode == 0x0B || opcode == 0x09 ? 1 : 3
    let heads = [UInt8(0x11), 0x22].map { value in
      PDUHead([opcode, 0x1F, 0].prefix(first) + Array(repeating: value, count: 6), isSent: false)
    }
    #expect(heads[0] == heads[1])
  }

  @Test("An entry is written as documented, and read again")
  func roundTrip() throws {
    let entry = TimelineEntry(.att(PDUHead([0x12, 0x1F, 0, 0x41], isSent: true)), at: 5)
    #expect(
      String(decoding: entry.json, as: UTF8.self)
        == #"{"time":5,"layer":"att","sent":true,"opcode":18,"length":4,"handle":31}"#)
    #expect(try TimelineEntry(reading: JSONValue(parsing: entry.json)) == entry)
  }
}
