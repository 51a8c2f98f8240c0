// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Mgmt
import TestLoop
import Testing
import Wire

@Suite("Events from bytes")
struct EventTests {
  static let vectors: [(UInt16, String, MgmtEvent)] = [
    (0x01, "0500 00 130a0000", .commandComplete(.setPowered, .success, reply: [0x13, 0x0A, 0, 0])),
    (0x02, "0500 03", .commandStatus(.setPowered, .failed)),
    (0x04, "", .indexAdded),
    (0x05, "", .indexRemoved),
    (0x06, "130a0000", .newSettings(ControllerSettings(rawValue: 0xA13))),
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
    ),
    (0x13, "06 01", .discovering(true)),
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

  @Test("New Long Term Key and New IRK keep every byte")
  func keys() throws {
    let ltk = try LongTermKey(entry: Array(Sample.newLongTermKey[1...]))
    #expect(
      try MgmtEvent(decoding: Packet(code: 0x0A, index: Sample.hci0, body: Sample.newLongTermKey))
        == .newLongTermKey(ltk, store: true))
    let irk = try IdentityResolvingKey(entry: Array(Sample.newIdentityResolvingKey[7...]))
    let packet = Packet(code: 0x18, index: Sample.hci0, body: Sample.newIdentityResolvingKey)
    #expect(
      try MgmtEvent(decoding: packet)
        == .newIdentityResolvingKey(
          irk, privateAddress: Sample.privateAddress.address, store: true))
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

  @Test("Random packets are events or errors, never a trap")
  func random() {
    var dice = SeededGenerator(seed: 0x5EED)
    for _ in 0..<20_000 {
      let length = Int(dice.next() % 64)
      var bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      if dice.next() % 4 != 0, bytes.count >= 6 {  // mostly a plausible header
        bytes[0] = UInt8(dice.next() % 0x34)
        bytes[1] = 0
        bytes[4] = UInt8(bytes.count - 6)
        bytes[5] = 0
      }
      guard let packet = try? Packet(decoding: bytes) else { continue }
      _ = (try? MgmtEvent(decoding: packet)).map { "\($0)" }
    }
  }

  static func decode(_ code: UInt16, _ body: ArraySlice<UInt8>) throws -> MgmtEvent {
    try MgmtEvent(decoding: Packet(code: code, index: Sample.hci0, body: Array(body)))
  }
}
