// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Wire

extension FuzzTarget {
  /// Captures: files that somebody else sends in. Each target is one format; its input is the file behind
  /// the head, which the first byte of the input chooses.
  static let captures =
    [
      FuzzTarget("capture", longest: 4096) { input in try read(input) },
      format(
        "btsnoop",
        [1001, 1002].map { Sample.btsnoopHCI($0, of: []) } + [Sample.btsnoop([])]),
      format("pcap", linkTypes.map { Sample.pcap($0, of: []) }),
      format("pcapng", linkTypes.map { Sample.pcapng($0, of: []) }),
      format("packet-logger", [[0, 0, 0], [0, 0]]),
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
    try ensure(
      again.records.map(\.data) == whole.records.map(\.data), "a copy has other packets in it")
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
