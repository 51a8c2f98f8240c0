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
  private static func record(_ pdu: [UInt8], isReceived: Bool = false, clock: UInt8 = 0xDB)
    -> [UInt8]
  {
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

  /// A PDU that was sent or received, its name, and its fields as text.
  struct Sent: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var pdu: [UInt8]
    var fields: [String]

    init(_ name: String, _ pdu: [UInt8], _ fields: [String]) {
      (testDescription, self.pdu, self.fields) = (name, pdu, fields)
    }
  }

  // As in the capture of an iPhone18,2 with iOS 26.5.1.
  static let sent = [
    Sent(
      "LL_VERSION_IND", [0x0C, 0x0E, 0x4C, 0x00, 0x1E, 0x00],
      ["Version: 0x0e", "Company: 76", "Subversion: 0x001e"]),
    Sent(
      "LL_CONNECTION_UPDATE_IND",
      [0x00, 0x08, 0x16, 0x00, 0x18, 0x00, 0x00, 0x00, 0xC8, 0x00, 0x2C, 0x00],
      [
        "WinSize: 8", "WinOffset: 22", "Interval: 30 ms", "Latency: 0", "Timeout: 2000 ms",
        "Instant: 44",
      ]),
    Sent(
      "LL_CHANNEL_MAP_IND", [0x01, 0xFF, 0xFF, 0x00, 0xFF, 0x1F, 0x10, 0x02],
      ["ChM: 0x1fff00ffff", "Instant: 528"]),
    Sent(
      "LL_LENGTH_REQ", [0x14, 0xFB, 0x00, 0x48, 0x08, 0xFB, 0x00, 0x48, 0x08],
      ["MaxRxOctets: 251", "MaxRxTime: 2120", "MaxTxOctets: 251", "MaxTxTime: 2120"]),
    Sent(
      "LL_PHY_UPDATE_IND", [0x18, 0x02, 0x02, 0x10, 0x00],
      ["C to P: LE 2M (0x02)", "P to C: LE 2M (0x02)", "Instant: 16"]),
    Sent("LL_TERMINATE_IND", [0x02, 0x13], ["Reason: Remote User Terminated Connection (0x13)"]),
    Sent("LL_PING_REQ", [0x12], []),
    // A PDU of which only the name is known, and one that is longer than the fields that are.
    Sent("LL_CTE_REQ", [0x1A, 0x25], ["Data: 25"]),
    Sent(
      "LL_ENC_REQ",
      [
        0x03, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 3, 4, 5,
        6,
      ], ["Rand: 0x0000000000000001", "EDIV: 0x0002", "Data: a1a2a3a4a5a6a7a803040506"]),
    Sent("a vendor's LL Control PDU 0xff", [0xFF, 0xF0, 0x3B, 0, 0, 0], ["Data: f03b000000"]),
  ]

  @Test("Each has its name, its fields, its link and the clock", arguments: sent, [false, true])
  func fields(sent: Sent, isReceived: Bool) throws {
    let record = Self.record(sent.pdu, isReceived: isReceived)
    let frame = try #require(try Self.decode([(0x0A, record)]).frames.first)
    let unit = try #require(frame.units.first)
    #expect(unit.layer == .linkLayer && unit.name == sent.testDescription)
    #expect(unit.length == sent.pdu.count)
    #expect(
      unit.details.flatMap { $0.lines(indent: 0) } == sent.fields + ["Clock: 12469467"])
    #expect(unit.link?.handle == 1027)
    #expect(unit.link?.peer == Address(0xDA62_1FC9_B8DD))
    #expect(frame.record.opcode.direction == (isReceived ? .received : .sent))
    #expect(
      frame.title == "LE Control \(isReceived ? "RX" : "TX"): Handle 1027 \(sent.testDescription)")
  }

  @Test("It belongs to the link that HCI's event began")
  func link() throws {
    let peer = Array(Self.address.reversed())
    let complete: [UInt8] =
      [0x3E, 19, 0x01, 0, 3, 4, 0, 1] + peer + [24, 0, 0, 0, 0xC8, 0, 0]
    let frames = try Self.decode([
      (1, complete), (0x0A, Self.record([0x12])), (1, [0x05, 4, 0, 3, 4, 0x16]),
    ]).frames
    #expect(frames.map { $0.units.first?.link?.handle } == [1027, 1027, 1027])
    #expect(
      frames.map { $0.units.first?.link?.peer }
        == .init(repeating: Address(0xDA62_1FC9_B8DD), count: 3))
  }

  /// What two link layers agree on, and the event of HCI that says so: its code and parameters up to the handle and behind
  /// it, and the labels of what is the same in both.
  struct Agreement: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var pdu: [UInt8]
    var event: (head: [UInt8], rest: [UInt8])
    var labels: [(pdu: String, event: String)]
  }

  static let agreements = [
    Agreement(
      testDescription: "LL_CONNECTION_UPDATE_IND",
      pdu: [0x00, 8, 22, 0, 36, 0, 4, 0, 0x90, 1, 0x2C, 0x01],
      event: ([0x3E, 0x03, 0], [36, 0, 4, 0, 0x90, 1]),
      labels: [
        ("Interval", "Interval"), ("Latency", "Latency"), ("Timeout", "Supervision Timeout"),
      ]),
    Agreement(
      testDescription: "LL_CONNECTION_PARAM_REQ",
      pdu: [0x0F, 24, 0, 40, 0, 2, 0, 0x90, 1] + [UInt8](repeating: 0xFF, count: 15),
      event: ([0x3E, 0x06], [24, 0, 40, 0, 2, 0, 0x90, 1]),
      labels: [
        ("Interval min", "Minimum Interval"), ("Interval max", "Maximum Interval"),
        ("Latency", "Latency"), ("Timeout", "Supervision Timeout"),
      ]),
    Agreement(
      testDescription: "LL_PHY_UPDATE_IND", pdu: [0x18, 0x02, 0x01, 0x10, 0x02],
      event: ([0x3E, 0x0C, 0], [0x02, 0x01]), labels: [("C to P", "TX PHY"), ("P to C", "RX PHY")]),
    Agreement(
      testDescription: "LL_LENGTH_RSP", pdu: [0x15, 0x1B, 0, 0x48, 1, 0xFB, 0, 0x48, 8],
      event: ([0x3E, 0x07], [0xFB, 0, 0x48, 8, 0x1B, 0, 0x48, 1]),
      labels: [
        ("MaxRxOctets", "RX Octets"), ("MaxRxTime", "RX Time"), ("MaxTxOctets", "TX Octets"),
        ("MaxTxTime", "TX Time"),
      ]),
    Agreement(
      testDescription: "LL_VERSION_IND", pdu: [0x0C, 0x0E, 0x4C, 0x00, 0x1E, 0x00],
      event: ([0x0C, 0], [0x0E, 0x4C, 0x00, 0x1E, 0x00]),
      labels: [
        ("Version", "Version"), ("Company", "Manufacturer"), ("Subversion", "Subversion"),
      ]),
    Agreement(
      testDescription: "LL_FEATURE_RSP", pdu: [0x09, 0xFF, 0x79, 1, 0x41, 0, 0, 0, 0],
      event: ([0x3E, 0x04, 0], [0xFF, 0x79, 1, 0x41, 0, 0, 0, 0]),
      labels: [("FeatureSet", "Features")]),
    Agreement(
      testDescription: "LL_START_ENC_RSP", pdu: [0x06], event: ([0x08, 0], [0x01]), labels: []),
  ]

  @Test("It agrees with the event of HCI that it causes, on one link", arguments: agreements)
  func agreement(one: Agreement) throws {
    let (head, rest) = one.event
    let parameters = head.dropFirst() + [0x03, 0x04] + rest
    let frames = try Self.decode([
      (0x0A, Self.record(one.pdu)), (1, [head[0], UInt8(parameters.count)] + parameters),
    ]).frames
    let units = frames.compactMap(\.units.first)
    try #require(units.count == 2)
    #expect(units[0].name == one.testDescription && units[0].link == units[1].link)
    #expect(units.allSatisfy { $0.problem == nil && $0.link?.handle == 1027 })
    func value(_ unit: DecodedUnit, _ label: String) -> Detail.Value? {
      unit.details.first { $0.label == label }?.value
    }
    for (pdu, event) in one.labels {
      let found = try #require(value(units[0], pdu), "\(pdu)")
      #expect(found.description == value(units[1], event)?.description, "\(pdu)")
    }
    switch one.pdu[0] {
    case 0x00: #expect(value(units[0], "Instant") == .number(300))
    case 0x18: #expect(value(units[0], "Instant") == .number(528))
    case 0x06: #expect(value(units[1], "Encryption")?.description == "On (0x01)")
    default: #expect(value(units[0], "Instant") == nil)
    }
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
      #expect(
        unit.details.flatMap { $0.lines(indent: 0) }
          == (record.isEmpty ? [] : ["Data: \(record.hex)"]))
      #expect(decoder.unknownControlRecords == 1 && decoder.unknownControlPDUs.isEmpty)
      #expect(frames.first?.record.opcode.direction == nil)
    }
  }
}
