// SPDX-License-Identifier: GPL-3.0-or-later
@testable import Mgmt
import Testing
import Wire

@Suite("Packets, keys and names of the management protocol")
struct PacketTests {
  @Test(
    "A packet whose length is wrong is an error with its offset",
    arguments: [
      ("", DecodeError(offset: 0, .truncated(needed: 2, available: 0))),
      ("0500 0000 0200 00", DecodeError(offset: 6, .truncated(needed: 2, available: 1))),
      ("0500 0000 0100 0000", DecodeError(offset: 7, .trailing(1))),
    ])
  func badLength(hex: String, error: DecodeError) {
    #expect(throws: error) { try Packet(decoding: Sample.bytes(hex)) }
  }

  @Test("No key shows in a description, a dump or a packet's text")
  func secrets() throws {
    let ltk = try LongTermKey(entry: Array(Sample.newLongTermKey[1..<37]))
    let command = MgmtCommand.loadLongTermKeys([ltk])
    let event = MgmtEvent.newLongTermKey(ltk, store: true)
    var dumped = ""
    dump((ltk, command, event, command.packet(index: Sample.hci0)), to: &dumped)
    let malformed = MalformedPacket(
      bytes: [0x0A, 0, 0, 0, 36, 0] + ltk.entry, error: DecodeError(offset: 0, .trailing(1)))
    let other = MgmtEvent.other(
      Packet(code: 0x09, index: Sample.hci0, body: [1] + ltk.entry))
    dump(other, to: &dumped)
    let texts = [
      "\(other)", String(reflecting: other),
      dumped, "\(ltk)", "\(command)", "\(event)", String(reflecting: command),
      "\(command.packet(index: Sample.hci0))", String(reflecting: event), "\(malformed)",
    ]
    for text in texts {
      #expect(!text.contains("170") && !text.lowercased().contains("aabb"), "\(text)")
    }
  }

  @Test("A name is cut between two characters")
  func names() throws {
    let long = LocalName(String(repeating: "é", count: 200), short: "Küchenuhr")
    let body = MgmtCommand.setLocalName(long).parameters
    #expect(body.count == 260)
    #expect(body[246] == 0xC3 && body[247] == 0xA9 && body[248] == 0)
    #expect(String(decoding: body[249...].prefix { $0 != 0 }, as: UTF8.self) == "Küchenuhr")
    let cut = MgmtCommand.setLocalName(LocalName("x", short: "Küchenuhr ü")).parameters
    #expect(String(decoding: cut[249...].prefix { $0 != 0 }, as: UTF8.self) == "Küchenuhr")
  }

  @Test(
    "A passkey is six digits; spaces and hyphens are ignored",
    arguments: [
      ("012345", 12345), ("012 345", 12345), ("999-999", 999999), ("12345", nil), ("1234567", nil),
      ("12345a", nil), ("", nil), ("１２３４５６", nil), ("+12345", nil),
    ] as [(String, UInt32?)])
  func passkeys(text: String, value: UInt32?) {
    #expect(Passkey(text)?.value == value)
  }
}
