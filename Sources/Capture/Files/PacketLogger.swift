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

  /// No record is longer than 65,535 bytes, so that half of its length is zero.
  static func recognises(_ head: ArraySlice<UInt8>) -> Bool {
    let length = Array(head.prefix(4))
    guard length.count == 4, length != [0, 0, 0, 0] else { return false }
    return length.starts(with: [0, 0]) || length.reversed().starts(with: [0, 0])
  }

  /// Finds out the byte order: the first length is plausible in one at most.
  init(_ buffer: inout FileBuffer) throws(CaptureFileError) {
    let head = try buffer.peek(Self.recordHeadLength, "a record header")
    let order = [ByteOrder.bigEndian, .littleEndian].first { order in
      var reader = ByteReader(head, order: order)
      guard let length = try? reader.u32(), (try? reader.skip(4)) != nil,
        let microseconds = try? reader.u32()
      else { return false }
      return (UInt32(Self.timeLength)..<1 << 16).contains(length) && microseconds < 1_000_000
    }
    guard let order else { throw buffer.error(.notACapture) }
    self.order = order
  }

  func envelope(_ reader: inout ByteReader) throws(DecodeError) -> CapturePayload.Envelope {
    let length = Int(clamping: try reader.u32()) - Self.timeLength
    let seconds = try reader.u32()
    let time = WallTime(seconds: seconds, microseconds: try reader.u32())
    return CapturePayload.Envelope(time: time, included: length, original: length)
  }
}
