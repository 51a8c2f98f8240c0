// SPDX-License-Identifier: GPL-3.0-or-later

/// The btsnoop file format, version 1: a header of 16 bytes, then records of 24 bytes and a packet
/// each, all numbers big endian (RFC 1761's snoop with other datalinks; BlueZ doc/btsnoop.txt).
///
///     ┌──────────┬──────────┬───────┬───────┬───────────────┬─────────┐
///     │ original │ included │ flags │ drops │ time          │ packet… │
///     └──────────┴──────────┴───────┴───────┴───────────────┴─────────┘
///       4          4          4       4       8, µs
///
/// In the monitor format the flags are the adapter's number and the packet's kind; in the others bit 0
/// says received and bit 1 command or event.
enum Btsnoop {
  static let magic: [UInt8] = Array("btsnoop\0".utf8)
  static let headerLength = 16
  static let recordHeaderLength = 24
  /// The monitor format's datalink.
  static let monitor: UInt32 = 2001
  /// Microseconds from the time's zero to 1970. The format says that zero begins the year 0; BlueZ and
  /// Wireshark count 719,540 days, twelve more than the Gregorian calendar has, and files are theirs.
  static let epoch: Int64 = 0x00DC_DDB3_0F2F_8000
  /// No packet of HCI is longer; a record that claims to be is broken.
  static let longestPacket = 1 << 18
}

/// Reads the records of a btsnoop file behind its header.
struct BtsnoopReader {
  let payload: CapturePayload

  /// Reads the header; nil as long as it is not all there.
  init?(_ intake: inout Intake) throws(CaptureFileError) {
    guard let header = intake.peek(Btsnoop.headerLength) else { return nil }
    let version = header.u32(8, .bigEndian)
    guard version == 1 else { throw intake.error(.unsupported("btsnoop version \(version)")) }
    let datalink = header.u32(12, .bigEndian)
    guard let payload = CapturePayload(datalink: datalink) else {
      throw intake.error(.unsupported("btsnoop datalink \(datalink)"))
    }
    self.payload = payload
    intake.drop(Btsnoop.headerLength)
  }

  /// The next record; nil as long as it is not all there.
  func next(_ intake: inout Intake) throws(CaptureFileError) -> CaptureRecord? {
    while let header = intake.peek(Btsnoop.recordHeaderLength) {
      let original = header.u32(0, .bigEndian)
      let included = header.u32(4, .bigEndian)
      guard included <= Btsnoop.longestPacket else {
        throw intake.error(.broken("a packet of \(included) bytes"))
      }
      let length = Btsnoop.recordHeaderLength + Int(included)
      guard let record = intake.peek(length) else { return nil }
      intake.drop(length)
      let flags = header.u32(8, .bigEndian)
      let stamp = Int64(bitPattern: header.u64(16, .bigEndian))
      let (time, overflow) = stamp.subtractingReportingOverflow(Btsnoop.epoch)
      var envelope = CapturePayload.Envelope(
        time: CaptureTime(microseconds: overflow ? .min : time),
        missing: original > included ? Int(clamping: original - included) : 0)
      if payload == .monitor {
        envelope.monitor = (
          UInt16(truncatingIfNeeded: flags >> 16),
          MonitorOpcode(rawValue: UInt16(truncatingIfNeeded: flags))
        )
      } else {
        envelope.direction = flags & 1 == 0 ? .sent : .received
        envelope.isControl = flags & 2 != 0
      }
      let packet = record.slice(Btsnoop.recordHeaderLength)
      if let record = payload.record(packet, envelope) { return record }
    }
    return nil
  }

  /// What the record at the intake's place needs, for the error of a file that ends in it.
  func needed(_ intake: Intake) -> (String, Int)? {
    guard let header = intake.peek(Btsnoop.recordHeaderLength) else {
      return ("a record's head", Btsnoop.recordHeaderLength)
    }
    return (
      "a record",
      Btsnoop.recordHeaderLength + Int(clamping: min(header.u32(4, .bigEndian), 1 << 30))
    )
  }
}

/// Writes btsnoop's monitor format: bytes to append to a file.
public enum BtsnoopWriter {
  /// What the file begins with.
  public static let header: [UInt8] =
    Btsnoop.magic + bytes(UInt32(1)) + bytes(Btsnoop.monitor)

  /// One record.
  public static func record(_ record: CaptureRecord) -> [UInt8] {
    let included = record.data.prefix(Btsnoop.longestPacket)
    let missing = max(0, record.missing) + record.data.count - included.count
    let (time, overflow) = record.time.microseconds.addingReportingOverflow(Btsnoop.epoch)
    var encoded: [UInt8] = []
    encoded.reserveCapacity(Btsnoop.recordHeaderLength + included.count)
    encoded += bytes(UInt32(clamping: included.count + missing))
    encoded += bytes(UInt32(clamping: included.count))
    encoded += bytes(UInt32(record.adapter) << 16 | UInt32(record.opcode.rawValue))
    encoded += bytes(UInt32(0))
    encoded += bytes(UInt64(bitPattern: overflow ? .max : time))
    encoded += included
    return encoded
  }

  /// A number, most significant byte first.
  private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    stride(from: Number.bitWidth - 8, through: 0, by: -8).map {
      UInt8(truncatingIfNeeded: number >> $0)
    }
  }
}
