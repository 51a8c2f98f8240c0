// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Wire

extension FuzzTarget {
  /// Captures: files that somebody else sends in. Each target is one format; its input is the file behind
  /// the head, which the first byte of the input chooses.
  static let captures =
    [
      FuzzTarget("capture", longest: 4096) { input in try read(input) },
      format("btsnoop", [1001, 1002, 2001].map { btsnoopHead($0) }),
      format("pcap", [187, 201, 251, 254, 256].map { pcapHead($0) }),
      format("pcapng", [187, 201, 251, 254, 256].map { pcapngHead($0) }),
      format("packet-logger", [[0, 0, 0], [0, 0]]),
    ] + [FuzzTarget("capture-packets", longest: 2048, packets)]

  private static func btsnoopHead(_ datalink: UInt32) -> [UInt8] {
    var head = ByteWriter(order: .bigEndian)
    head.bytes("btsnoop\0".utf8)
    head.u32(1)
    head.u32(datalink)
    return head.bytes
  }

  private static func pcapHead(_ linkType: UInt32) -> [UInt8] {
    var head = ByteWriter()
    head.u32(0xA1B2_C3D4)
    head.u16(2)
    head.u16(4)
    head.u64(0)
    head.u32(65_535)
    head.u32(linkType)
    return head.bytes
  }

  /// A section header and the description of an interface.
  private static func pcapngHead(_ linkType: UInt16) -> [UInt8] {
    var head = ByteWriter()
    for number: UInt32 in [0x0A0D_0D0A, 28, 0x1A2B_3C4D, 1, .max, .max, 28] { head.u32(number) }
    for number: UInt32 in [1, 20, UInt32(linkType), 65_535, 20] { head.u32(number) }
    return head.bytes
  }

  private static func format(_ name: String, _ heads: [[UInt8]]) -> FuzzTarget {
    FuzzTarget("capture-\(name)", longest: 2048) { bytes in
      var input = FuzzInput(bytes)
      let head = heads[Int(input.byte()) % heads.count]
      try read(head + input.all())
    }
  }

  private typealias Reading = (records: [CaptureRecord], error: CaptureFileError?)

  /// Reads and decodes a file. However it is cut, it holds the same.
  private static func read(_ file: [UInt8]) throws {
    let whole = records(in: file, step: file.count)
    let cut = records(in: file, step: 7)
    try ensure(whole == cut, "in pieces: \(cut.records.count) records, else \(whole.records.count)")
    try ensure(whole.records.count <= file.count, "\(whole.records.count) records")
    try decode(whole.records)
    var copy = BtsnoopWriter.header
    for record in whole.records { copy += BtsnoopWriter.record(record) }
    let again = records(in: copy, step: copy.count)
    try ensure(again.error == nil, "a copy can't be read: \(again.error.map { "\($0)" } ?? "")")
    try ensure(
      again.records.map(\.data) == whole.records.map(\.data), "a copy has other packets in it")
  }

  private static func records(in file: [UInt8], step: Int) -> Reading {
    var reader = CaptureReader()
    var records: [CaptureRecord] = []
    var rest = file[...]
    do throws(CaptureFileError) {
      while !rest.isEmpty {
        reader.feed(rest.prefix(step))
        rest = rest.dropFirst(step)
        while let record = try reader.next() { records.append(record) }
      }
      reader.finish()
      while let record = try reader.next() { records.append(record) }
    } catch {
      return (records, error)
    }
    return (records, nil)
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
