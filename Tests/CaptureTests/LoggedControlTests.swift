// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Testing
import Wire

@testable import FuzzTargets

@Suite("Control PDUs of the link layer in PacketLogger files")
struct LoggedControlTests {
  /// The peer, and the same as the file has it.
  private static let address: [UInt8] = [0xDA, 0x62, 0x1F, 0xC9, 0xB8, 0xDD]

  /// A record's packet; the last byte is what the buffer had before.
  private static func record(_ pdu: [UInt8], isReceived: Bool = false, clock: UInt8 = 0xDB) -> [UInt8] {
    [isReceived ? 0x81 : 0x80, clock, 0x44, 0xBE, 0x00] + address + [0x03, 0x04] + pdu + [0xEC]
  }

  private static func decode(_ packets: [(type: UInt8, data: [UInt8])]) throws -> (
    frames: [DecodedFrame], decoder: CaptureDecoder
  ) {
    let reading = Sample.read(packets.flatMap { Sample.packetLogger($0.type, $0.data) })
    if let error = reading.error { throw error }
    var decoder = CaptureDecoder()
    return (reading.records.map { decoder.decode($0) }, decoder)
  }

  @Test(
    "Each has its name, its fields, its link and the clock",
    // As in the capture of an iPhone18,2 with iOS 26.5.1.
    arguments: [
      (
        "LL_CONNECTION_UPDATE_IND", "00 08 1600 1800 0000 c800 2c00",
        "WinSize: 8; WinOffset: 22; Interval: 30 ms; Latency: 0; Timeout: 2000 ms; Instant: 44; "
      ), ("LL_CHANNEL_MAP_IND", "01 ffff00ff1f 1002", "ChM: 0x1fff00ffff; Instant: 528; "),
      ("LL_TERMINATE_IND", "02 13", "Reason: Remote User Terminated Connection (0x13); "),
      ("LL_FEATURE_RSP", "09 ff79014100000000", "FeatureSet: 0x00000000410179ff; "),
      ("LL_VERSION_IND", "0c 0e 4c00 1e00", "Version: 0x0e; Company: 76; Subversion: 0x001e; "),
      (
        "LL_CONNECTION_PARAM_REQ", "0f 1800 2800 0200 9001 ffff",
        "Interval min: 30 ms; Interval max: 50 ms; Latency: 2; Timeout: 4000 ms; Data: ffff; "
      ), ("LL_PING_REQ", "12", ""),
      (
        "LL_LENGTH_REQ", "14 fb00 4808 1b00 4801",
        "MaxRxOctets: 251; MaxRxTime: 2120; MaxTxOctets: 27; MaxTxTime: 328; "
      ), ("LL_PHY_UPDATE_IND", "18 02 01 1002", "C to P: LE 2M (0x02); P to C: LE 1M (0x01); Instant: 528; "),
      // A PDU of which only the name is known, and one that is longer than the fields that are.
      ("LL_CTE_REQ", "1a 25", "Data: 25; "),
      (
        "LL_ENC_REQ", "03 0100000000000000 0200 a1a2a3a4a5a6a7a8 03040506",
        "Rand: 0x0000000000000001; EDIV: 0x0002; Data: a1a2a3a4a5a6a7a803040506; "
      ),
      ("a vendor's LL Control PDU 0xff", "ff f03b000000", "Data: f03b000000; "),
    ])
  func fields(name: String, hex: String, fields: String) throws {
    let pdu = try #require([UInt8](hex: hex))
    for isReceived in [false, true] {
      let record = Self.record(pdu, isReceived: isReceived)
      let frame = try #require(try Self.decode([(0x0A, record)]).frames.first)
      let unit = try #require(frame.units.first)
      #expect(unit.layer == .linkLayer && unit.name == name && unit.length == pdu.count)
      let lines = unit.details.flatMap { $0.lines(indent: 0) }
      #expect(lines.joined(separator: "; ") == fields + "Clock: 12469467")
      #expect(unit.link?.handle == 1027 && unit.link?.peer == Address(0xDA62_1FC9_B8DD))
      #expect(frame.record.opcode.direction == (isReceived ? .received : .sent))
      #expect(frame.title == "LE Control \(isReceived ? "RX" : "TX"): Handle 1027 \(name)")
    }
  }

  @Test("It belongs to the link that HCI's event began")
  func link() throws {
    let peer = Array(Self.address.reversed())
    let complete: [UInt8] = [0x3E, 19, 0x01, 0, 3, 4, 0, 1] + peer + [24, 0, 0, 0, 0xC8, 0, 0]
    let frames = try Self.decode([(1, complete), (0x0A, Self.record([0x12])), (1, [0x05, 4, 0, 3, 4, 0x16])]).frames
    #expect(frames.map { $0.units.first?.link?.handle } == [1027, 1027, 1027])
    #expect(frames.map { $0.units.first?.link?.peer } == .init(repeating: Address(0xDA62_1FC9_B8DD), count: 3))
  }

  @Test("What is not understood is counted")
  func unknown() throws {
    let decoder = try Self.decode([
      (0x0A, Self.record([0xFF, 1])), (0x0A, Self.record([0x7A])), (0x0A, Self.record([0x12])),
      (0x0A, Self.record([0xFF, 2])),
    ]).decoder
    #expect(decoder.unknownControlPDUs == [0xFF: 2, 0x7A: 1])
  }

  @Test("A PDU that ends early says so; records of another form are shown as bytes, and counted")
  func damaged() throws {
    let cut = try Self.decode([(0x0A, Self.record([0x0C, 0x0E]))]).frames.first?.units.first
    #expect(cut?.problem?.isEmpty == false)
    var noHandle = Self.record([0x12])
    noHandle[12] = 0x0F
    for record in [noHandle, Array(Self.record([0x12]).dropLast(2)), [0x80], [], [0x42, 0, 1]] {
      let (frames, decoder) = try Self.decode([(0x0A, record)])
      let unit = try #require(frames.first?.units.first)
      #expect(unit.layer == .linkLayer && unit.link == nil && frames.count == 1)
      #expect(unit.details.flatMap { $0.lines(indent: 0) } == (record.isEmpty ? [] : ["Data: \(record.hex)"]))
      #expect(decoder.unknownControlRecords == 1 && decoder.unknownControlPDUs.isEmpty)
      #expect(frames.first?.record.opcode.direction == nil)
    }
  }
}
