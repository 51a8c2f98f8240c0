// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The format of Apple's PacketLogger (.pklg), which is also that of the Bluetooth capture in an
/// iPhone's sysdiagnose: records without a header of the file. It is not published; this is what
/// Wireshark reads (wiretap/packetlogger.c).
///
///     ┌────────┬─────────┬──────────────┬──────┬─────────┐
///     │ length │ seconds │ microseconds │ type │ packet… │
///     └────────┴─────────┴──────────────┴──────┴─────────┘
///       4        4         4              1
///
/// The length is that of the rest. Older files are big endian, newer ones little endian.
struct PacketLogger: RecordFormat {
  static let recordHeadLength = 12
  /// The part of the length that is seconds and microseconds.
  private static let timeLength = 8

  let order: ByteOrder
  let payload = CapturePayload.packetLogger

  /// The format of a file that begins with these bytes; nil if it is not this one. As no record is
  /// longer than 65,535 bytes, the first length is plausible in one byte order at most.
  init?(_ head: ArraySlice<UInt8>) {
    let order = [ByteOrder.bigEndian, .littleEndian].first { order in
      var reader = ByteReader(head, order: order)
      guard let length = try? reader.u32(), (try? reader.skip(4)) != nil,
        let microseconds = try? reader.u32()
      else { return false }
      return (UInt32(Self.timeLength)..<1 << 16).contains(length) && microseconds < 1_000_000
    }
    guard let order else { return nil }
    self.order = order
  }

  /// Whether a file with only these bytes so far, less than a record header, may have this format.
  static func mayBegin(with head: ArraySlice<UInt8>) -> Bool {
    let length = Array(head.prefix(4))
    guard length.count == 4, length != [0, 0, 0, 0] else { return false }
    return length.starts(with: [0, 0]) || length.reversed().starts(with: [0, 0])
  }

  func recordHead(_ reader: inout ByteReader) throws(DecodeError) -> RecordHead {
    let length = Int(clamping: try reader.u32()) - Self.timeLength
    let seconds = try reader.u32()
    return RecordHead(
      length, of: length, at: WallTime(seconds: seconds, microseconds: try reader.u32()))
  }
}
