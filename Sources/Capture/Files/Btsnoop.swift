// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The btsnoop file format, version 1: a header of 16 bytes, then records of 24 bytes and a packet
/// each. All numbers are big endian (RFC 1761's snoop with other datalinks; BlueZ doc/btsnoop.txt).
///
///     ┌──────────┬──────────┬───────┬───────┬───────────────┬─────────┐
///     │ original │ included │ flags │ drops │ time          │ packet… │
///     └──────────┴──────────┴───────┴───────┴───────────────┴─────────┘
///       4          4          4       4       8, µs
///
/// In the monitor format the flags are the adapter's number and the packet's kind. In the others bit 0
/// is set if the packet was received, and bit 1 if it is a command or an event.
struct Btsnoop: RecordFormat {
  static let magic: [UInt8] = Array("btsnoop\0".utf8)
  private static let headerLength = 16
  static let recordHeadLength = 24
  /// The datalink of the monitor format.
  static let monitor: UInt32 = 2001
  /// Microseconds from the format's epoch to 1970. The format says that the epoch is the year 0; BlueZ
  /// and Wireshark write 719,540 days, which is twelve more than in the Gregorian calendar.
  static let epoch: Int64 = 0x00DC_DDB3_0F2F_8000

  let order = ByteOrder.bigEndian
  let payload: CapturePayload

  static func recognises(_ head: ArraySlice<UInt8>) -> Bool { magic.starts(with: head) }

  init(_ buffer: inout FileBuffer) throws(CaptureFileError) {
    let header = try buffer.peek(Self.headerLength, "the file header")
    var reader = ByteReader(header.dropFirst(Self.magic.count), order: order)
    guard let version = try? reader.u32(), let datalink = try? reader.u32() else {
      throw buffer.error(.notACapture)
    }
    guard version == 1 else { throw buffer.error(.unsupported("btsnoop version \(version)")) }
    guard let payload = CapturePayload.datalinks[datalink] else {
      throw buffer.error(.unsupported("btsnoop datalink \(datalink)"))
    }
    self.payload = payload
    buffer.drop(Self.headerLength)
  }

  func envelope(_ reader: inout ByteReader) throws(DecodeError) -> CapturePayload.Envelope {
    let original = Int(clamping: try reader.u32())
    let included = Int(clamping: try reader.u32())
    let adapter = try reader.u16()
    let flags = try reader.u16()
    try reader.skip(4)
    let (time, overflow) = Int64(bitPattern: try reader.u64())
      .subtractingReportingOverflow(Self.epoch)
    var envelope = CapturePayload.Envelope(
      time: WallTime(microseconds: overflow ? .min : time), included: included, original: original)
    if payload == .monitor {
      envelope.adapter = adapter
      envelope.opcode = MonitorOpcode(rawValue: flags)
    } else {
      envelope.direction = flags & 1 == 0 ? .sent : .received
      envelope.isControl = flags & 2 != 0
    }
    return envelope
  }
}

/// Encodes btsnoop's monitor format.
public enum BtsnoopWriter {
  /// The header of the file.
  public static let header: [UInt8] = {
    var writer = ByteWriter(order: .bigEndian)
    writer.bytes(Btsnoop.magic)
    writer.u32(1)
    writer.u32(Btsnoop.monitor)
    return writer.bytes
  }()

  /// How many bytes of a record precede its packet.
  public static var recordHeadLength: Int { Btsnoop.recordHeadLength }

  /// The length of the record that begins with these bytes; nil if there are too few.
  public static func recordLength(head: [UInt8]) -> Int? {
    guard head.count >= recordHeadLength else { return nil }
    var reader = ByteReader(head, order: .bigEndian)
    guard (try? reader.u32()) != nil, let included = try? reader.u32() else { return nil }
    return Int(clamping: UInt64(recordHeadLength) + UInt64(included))
  }

  /// A record.
  public static func record(_ record: CaptureRecord) -> [UInt8] {
    let included = record.data.prefix(CaptureRecord.longestPacket)
    let missing = max(0, record.missing) + record.data.count - included.count
    let (time, overflow) = record.time.microseconds.addingReportingOverflow(Btsnoop.epoch)
    var writer = ByteWriter(capacity: Btsnoop.recordHeadLength + included.count, order: .bigEndian)
    writer.u32(UInt32(clamping: included.count + missing))
    writer.u32(UInt32(clamping: included.count))
    writer.u16(record.adapter)
    writer.u16(record.opcode.rawValue)
    writer.u32(0)
    writer.u64(UInt64(bitPattern: overflow ? .max : time))
    writer.bytes(included)
    return writer.bytes
  }
}
