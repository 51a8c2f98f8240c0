// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Wire

extension FuzzTarget {
  /// Captures: files that somebody else sends in. Each target is one format; its input is the file behind
  /// the head, which the first byte of the input chooses.
  static let captures =
    [
      FuzzTarget("capture", longest: 4096) { input in try read(input) },
      format("btsnoop", [1001, 1002].map { Sample.btsnoopHCI($0, of: []) } + [Sample.btsnoop([])]),
      format("pcap", linkTypes.map { Sample.pcap($0, of: []) }),
      format("pcapng", linkTypes.map { Sample.pcapng($0, of: []) }), format("packet-logger", [[0, 0, 0], [0, 0]]),
    ] + [FuzzTarget("capture-packets", longest: 2048, packets)]

  private static let linkTypes: [UInt32] = [187, 201, 251, 254, 256]

  private static func format(_ name: String, _ heads: [[UInt8]]) -> FuzzTarget {
    FuzzTarget("capture-\(name)", longest: 2048) { bytes in
      var input = FuzzInput(bytes)
      let head = heads[Int(input.byte()) % heads.count]
      try read(head + input.all())
    }
  }

  /// Reads and decodes a file. However it is cut, it holds the same.
  private static func read(_ file: [UInt8]) throws {
    let whole = Sample.read(file)
    let cut = Sample.read(file, step: 7)
    try ensure(whole == cut, "in pieces: \(cut.records.count) records, else \(whole.records.count)")
    try ensure(whole.records.count <= file.count, "\(whole.records.count) records")
    try decode(whole.records)
    let again = Sample.read(Sample.btsnoop(whole.records))
    try ensure(again.error == nil, "a copy can't be read: \(again.error.map { "\($0)" } ?? "")")
    try ensure(again.records.map(\.data) == whole.records.map(\.data), "a copy has other packets in it")
  }

  private static func decode(_ records: [CaptureRecord]) throws {
    var decoder = CaptureDecoder()
    for record in records {
      let frame = decoder.decode(record)
      try ensure(frame.record.data == record.data, "\(frame.title) has other bytes")
    }
  }

  /// Input: packets from the kernel's monitor, each with its kind in its first byte.
  @Sendable private static func packets(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    try decode(
      input.packets().map { packet, isShort in
        let kind = packet.first ?? 0
        return CaptureRecord(
          kind == 20 ? .air : MonitorOpcode(rawValue: UInt16(kind % 20)), Array(packet.dropFirst()),
          time: WallTime(microseconds: 0), missing: isShort ? 3 : 0)
      })
  }
}

/// Captures and packets for the targets and the tests of captures.
enum Sample {
  static let time = WallTime(seconds: 1_795_241_100, nanoseconds: 42_137_000)
  static let phone = DeviceAddress(Address(0x4455_6677_8899), .random)

  /// The result of reading a file.
  struct Reading: Equatable {
    var records: [CaptureRecord] = []
    var error: CaptureFileError?
    var assumedPeer = LinkName.PeerKind.phone
  }

  /// Reads a whole file, fed in pieces of `step` bytes.
  static func read(_ file: [UInt8], step: Int = .max) -> Reading {
    var reader = CaptureReader()
    var reading = Reading()
    var rest = file[...]
    do throws(CaptureFileError) {
      repeat {
        reader.feed(rest.prefix(step))
        rest = rest.dropFirst(step)
        while let record = try reader.next() { reading.records.append(record) }
      } while !rest.isEmpty
      reader.finish()
      while let record = try reader.next() { reading.records.append(record) }
    } catch { reading.error = error }
    reading.assumedPeer = reader.assumedPeer
    return reading
  }

  /// A few packets of each kind: event, ACL both ways, command.
  static let records: [CaptureRecord] = [
    CaptureRecord(.command, [0x03, 0x0C, 0x00], time: time),
    CaptureRecord(.event, [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00], time: time),
    CaptureRecord(.aclTransmitted, acl(0x0040, 0b00, att([0x02, 0x05, 0x02])), time: time),
    CaptureRecord(.aclReceived, acl(0x0040, 0b10, att([0x03, 0xB9, 0x00])), time: time),
  ]

  /// An ACL packet with this packet boundary flag.
  static func acl(_ handle: UInt16, _ boundary: UInt16, _ data: [UInt8]) -> [UInt8] {
    let head = handle | boundary << 12
    return little(head) + little(UInt16(data.count)) + data
  }

  /// An L2CAP frame.
  static func frame(_ channel: UInt16, _ payload: [UInt8]) -> [UInt8] {
    little(UInt16(payload.count)) + little(channel) + payload
  }

  static func att(_ pdu: [UInt8]) -> [UInt8] { frame(4, pdu) }

  static func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    stride(from: 0, to: Number.bitWidth, by: 8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  static func big<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    little(number).reversed()
  }

  // MARK: Files

  static func btsnoop(_ records: [CaptureRecord] = records) -> [UInt8] {
    BtsnoopWriter.header + records.flatMap(BtsnoopWriter.record)
  }

  /// A btsnoop file of HCI packets: H4 (1002) or H1 (1001).
  static func btsnoopHCI(_ datalink: UInt32, of records: [CaptureRecord] = records) -> [UInt8] {
    var file = Array("btsnoop\0".utf8) + big(UInt32(1)) + big(datalink)
    for record in records {
      let packet = datalink == 1002 ? [uart(record.opcode)] + record.data : record.data
      let control: UInt32 = record.opcode == .command || record.opcode == .event ? 2 : 0
      let received: UInt32 = record.opcode.direction == .received ? 1 : 0
      file += big(UInt32(packet.count)) + big(UInt32(packet.count)) + big(control | received)
      file += big(UInt32(0)) + big(record.time.microseconds + 0x00DC_DDB3_0F2F_8000) + packet
    }
    return file
  }

  static func uart(_ opcode: MonitorOpcode) -> UInt8 {
    switch opcode {
    case .command: 1
    case .event: 4
    default: 2
    }
  }

  /// A packet as a pcap link type has it.
  static func linkPacket(_ record: CaptureRecord, _ linkType: UInt32) -> [UInt8] {
    switch linkType {
    case 187: return [uart(record.opcode)] + record.data
    case 201:
      let received: UInt32 = record.opcode.direction == .received ? 1 : 0
      return big(received) + [uart(record.opcode)] + record.data
    case 251, 256: return record.data
    default: return big(record.adapter) + big(record.opcode.rawValue) + record.data
    }
  }

  static func pcap(
    _ linkType: UInt32, isBig: Bool = false, nanoseconds: Bool = false, of records: [CaptureRecord] = records
  ) -> [UInt8] {
    func number<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
      isBig ? big(value) : little(value)
    }
    var file = number((nanoseconds ? 0xA1B2_3C4D : 0xA1B2_C3D4) as UInt32)
    file += number(UInt16(2)) + number(UInt16(4)) + [UInt8](repeating: 0, count: 8)
    file += number(UInt32(65535)) + number(linkType)
    for record in records {
      let packet = linkPacket(record, linkType)
      let part = nanoseconds ? record.time.nanoseconds : record.time.nanoseconds / 1000
      file += number(UInt32(record.time.seconds)) + number(part)
      file += number(UInt32(packet.count)) + number(UInt32(packet.count)) + packet
    }
    return file
  }

  /// A PacketLogger file.
  static func packetLogger(_ records: [CaptureRecord] = records, isBig: Bool = true) -> [UInt8] {
    records.flatMap { record in
      let kinds: [MonitorOpcode: UInt8] = [
        .command: 0, .event: 1, .aclTransmitted: 2, .aclReceived: 3, .scoTransmitted: 8,
        .scoReceived: 9,
      ]
      return packetLogger(kinds[record.opcode] ?? 0xFC, record.data, record.time, isBig: isBig)
    }
  }

  /// A record of a PacketLogger file.
  static func packetLogger(_ type: UInt8, _ data: [UInt8], _ time: WallTime = time, isBig: Bool = true) -> [UInt8] {
    let head = [UInt32(data.count + 9), UInt32(time.seconds), UInt32(time.nanoseconds / 1000)]
    return head.flatMap { isBig ? big($0) : little($0) } + [type] + data
  }

  static func pcapng(
    _ linkType: UInt32, isBig: Bool = false, resolution: UInt8? = nil, of records: [CaptureRecord] = records
  ) -> [UInt8] {
    func number<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
      isBig ? big(value) : little(value)
    }
    func block(_ kind: UInt32, _ body: [UInt8]) -> [UInt8] {
      let filled = body + [UInt8](repeating: 0, count: (4 - body.count % 4) % 4)
      let length = number(UInt32(filled.count + 12))
      return number(kind) + length + filled + length
    }
    var file = block(
      0x0A0D_0D0A,
      number(UInt32(0x1A2B_3C4D)) + number(UInt16(1)) + number(UInt16(0)) + number(Int64(-1)))
    var options: [UInt8] = []
    if let resolution {
      options = number(UInt16(9)) + number(UInt16(1)) + [resolution, 0, 0, 0]
      options += number(UInt32(0))
    }
    file += block(1, number(UInt16(linkType)) + number(UInt16(0)) + number(UInt32(0)) + options)
    file += block(5, [1, 2, 3, 4])  // statistics, which are passed over
    for record in records {
      let packet = linkPacket(record, linkType)
      let units: UInt64 =
        resolution == 9
        ? UInt64(record.time.seconds) * 1_000_000_000 + UInt64(record.time.nanoseconds)
        : UInt64(record.time.microseconds)
      let received = record.opcode.direction == .received
      let padding = [UInt8](repeating: 0, count: (4 - packet.count % 4) % 4)
      file += block(
        6,
        number(UInt32(0)) + number(UInt32(units >> 32)) + number(UInt32(units & 0xFFFF_FFFF))
          + number(UInt32(packet.count)) + number(UInt32(packet.count)) + packet + padding
          + number(UInt16(2)) + number(UInt16(4)) + number(UInt32(received ? 1 : 2))
          + number(UInt32(0)))
    }
    return file
  }

  /// A file of each supported format.
  static let files: [(name: String, bytes: [UInt8])] = [
    ("btsnoop monitor", btsnoop()), ("btsnoop H4", btsnoopHCI(1002)), ("btsnoop H1", btsnoopHCI(1001)),
    ("pcap 187", pcap(187)), ("pcap 201, big endian", pcap(201, isBig: true)),
    ("pcap 254, nanoseconds", pcap(254, nanoseconds: true)),
    ("pcap 187, big endian, nanoseconds", pcap(187, isBig: true, nanoseconds: true)), ("pcapng 187", pcapng(187)),
    ("pcapng 201, big endian", pcapng(201, isBig: true)), ("pcapng 254, nanoseconds", pcapng(254, resolution: 9)),
    ("PacketLogger, big endian", packetLogger()), ("PacketLogger, little endian", packetLogger(isBig: false)),
  ]
}
