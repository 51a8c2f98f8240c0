// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@testable import Mgmt

@Suite("Events from bytes")
struct EventTests {
  static let vectors: [(UInt16, String, MgmtEvent)] = [
    (0x01, "0500 00 130a0000", .commandComplete(.setPowered, .success, reply: [0x13, 0x0A, 0, 0])),
    (0x02, "0500 03", .commandStatus(.setPowered, .failed)), (0x04, "", .indexAdded), (0x05, "", .indexRemoved),
    (0x06, "130a0000", .newSettings(ControllerSettings(rawValue: 0xA13))),
    (0x0A, Sample.newLongTermKey.hex, .newLongTermKey(Sample.longTermKey(), store: true)),
    (
      0x0A, "00 \(Sample.phoneWire) 00 01 07 3412 0807060504030201 \(Sample.keyBytes)",
      .newLongTermKey(
        Sample.longTermKey(
          .legacy, isCentral: true, size: 7, diversifier: 0x1234, random: 0x0102_0304_0506_0708),
        store: false)
    ),
    (
      0x18, Sample.newIdentityResolvingKey.hex,
      .newIdentityResolvingKey(
        Sample.identityResolvingKey(), privateAddress: Sample.privateAddress.address, store: true)
    ),
    (
      0x0B, "\(Sample.phoneWire) 08000000 0300 020106",
      .deviceConnected(Sample.phone, .initiated, data: [2, 1, 6])
    ),
    (0x0C, "\(Sample.phoneWire) 03", .deviceDisconnected(Sample.phone, .remote)),
    (
      0x0F, "\(Sample.phoneWire) 01 00000000",
      .userConfirmRequest(Sample.phone, hint: true, Passkey(value: 0))
    ),
    (
      0x0F, "\(Sample.phoneWire) 00 40e20100",
      .userConfirmRequest(Sample.phone, hint: false, Passkey(value: 123456))
    ),
    (0x10, Sample.phoneWire, .userPasskeyRequest(Sample.phone)),
    (0x11, "\(Sample.phoneWire) 05", .authenticationFailed(Sample.phone, .authenticationFailed)),
    (
      0x12, "\(Sample.phoneWire) c4 00000000 0300 020106",
      .deviceFound(Sample.phone, rssi: -60, [], data: [2, 1, 6])
    ),
    (
      0x12, "\(Sample.phoneWire) 7f 04000000 0000",
      .deviceFound(Sample.phone, rssi: nil, .notConnectable, data: [])
    ),
    (
      0x2F, "0100 \(Sample.phoneWire) c4 00000000 0300 020106",
      .deviceFound(Sample.phone, rssi: -60, [], data: [2, 1, 6])
    ), (0x13, "06 01", .discovering(true)),
    (0x15, "00 00 00 00 00 00 00", .deviceUnblocked(DeviceAddress(Address(0), .classic))),
    (
      0x17, "\(Sample.phoneWire) 40e20100 02",
      .passkeyNotify(Sample.phone, Passkey(value: 123456), entered: 2)
    ),
    (0x1D, "", .unconfiguredIndexAdded),
    (0x24, "01", .advertisingRemoved(instance: 1)),
    (0x03, "07", .other(Sample.packet(0x03, "07"))),
    (0x2C, "0100", .other(Sample.packet(0x2C, "0100"))),
    (0xFFFF, "", .other(Sample.packet(0xFFFF, ""))),
  ]

  @Test(
    "Every event is decoded; those that nobody handles are kept as packets",
    arguments: vectors.indices)
  func layout(of number: Int) throws {
    let (code, hex, event) = Self.vectors[number]
    #expect(try MgmtEvent(decoding: Sample.packet(code, hex)) == event)
  }

  @Test("An event that is too short or too long is an error", arguments: vectors.indices)
  func wrongLength(of number: Int) {
    let (code, hex, event) = Self.vectors[number]
    if case .other = event { return }
    let body = Sample.bytes(hex)
    if case .commandComplete = event {
      #expect(throws: DecodeError.self) { try Self.decode(code, body.prefix(2)) }
      return
    }
    for length in 0..<body.count {
      #expect(throws: DecodeError.self) { try Self.decode(code, body.prefix(length)) }
    }
    #expect(throws: DecodeError.self) { try Self.decode(code, body[...] + [0]) }
  }

  @Test("An unknown address type is an error with its offset")
  func addressKind() {
    #expect(throws: DecodeError(offset: 6, .invalid("address type 7"))) {
      try Self.decode(0x10, [1, 2, 3, 4, 5, 6, 7])
    }
  }

  static func decode(_ code: UInt16, _ body: ArraySlice<UInt8>) throws -> MgmtEvent {
    try MgmtEvent(decoding: Packet(code: code, index: Sample.hci0, body: Array(body)))
  }
}

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
  func secrets() {
    let ltk = Sample.longTermKey()
    let command = MgmtCommand.loadLongTermKeys([ltk])
    let event = MgmtEvent.newLongTermKey(ltk, store: true)
    var dumped = ""
    dump((ltk, command, event, command.packet(index: Sample.hci0)), to: &dumped)
    let malformed = MalformedPacket(
      bytes: [0x0A, 0, 0, 0, 36, 0] + ltk.entry, error: DecodeError(offset: 0, .trailing(1)))
    let other = MgmtEvent.other(Packet(code: 0x09, index: Sample.hci0, body: [1] + ltk.entry))
    dump(other, to: &dumped)
    let texts = [
      "\(other)", String(reflecting: other), dumped, "\(ltk)", "\(command)", "\(event)", String(reflecting: command),
      "\(command.packet(index: Sample.hci0))", String(reflecting: event), "\(malformed)",
    ]
    for text in texts {
      #expect(!text.contains("170") && !text.lowercased().contains("aabb"), "\(text)")
    }
  }

  @Test("What failed may be that the radio is blocked", arguments: [MgmtStatus.failed, .rfkilled])
  func blocked(status: MgmtStatus) {
    #expect("\(MgmtError.status(.setPowered, status))".contains("rfkill unblock"))
  }

  @Test("A name is cut between two characters")
  func names() {
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
