// SPDX-License-Identifier: GPL-3.0-or-later

/// Reads the classic pcap format in either byte order, with microseconds or nanoseconds
/// (draft-ietf-opsawg-pcap): a header of 24 bytes, then records of 16 bytes and a packet each.
struct PcapReader {
  static let headerLength = 24
  private static let recordHeaderLength = 16

  let payload: CapturePayload
  private let order: ByteOrder
  private let hasNanoseconds: Bool

  /// The byte order and the time's unit of a file that begins so; nil where it is no pcap.
  static func recognise(_ bytes: FileBytes) -> (order: ByteOrder, hasNanoseconds: Bool)? {
    for order in [ByteOrder.littleEndian, .bigEndian] {
      switch bytes.u32(0, order) {
      case 0xA1B2_C3D4: return (order, false)
      case 0xA1B2_3C4D: return (order, true)
      default: continue
      }
    }
    return nil
  }

  /// Reads the header; nil as long as it is not all there.
  init?(_ intake: inout Intake) throws(CaptureFileError) {
    guard let header = intake.peek(Self.headerLength),
      let recognised = Self.recognise(header)
    else { return nil }
    (order, hasNanoseconds) = recognised
    let version = header.u16(4, order)
    guard version == 2 else { throw intake.error(.unsupported("pcap version \(version)")) }
    // The upper bits say whether frames end with a check sum.
    let linkType = header.u32(20, order) & 0xFFFF
    guard let payload = CapturePayload(linkType: linkType) else {
      throw intake.error(.unsupported(CapturePayload.name(ofLinkType: linkType)))
    }
    self.payload = payload
    intake.drop(Self.headerLength)
  }

  /// The next record; nil as long as it is not all there.
  func next(_ intake: inout Intake) throws(CaptureFileError) -> CaptureRecord? {
    while let header = intake.peek(Self.recordHeaderLength) {
      let included = header.u32(8, order)
      let original = header.u32(12, order)
      guard included <= Btsnoop.longestPacket else {
        throw intake.error(.broken("a packet of \(included) bytes"))
      }
      let length = Self.recordHeaderLength + Int(included)
      guard let record = intake.peek(length) else { return nil }
      intake.drop(length)
      let part = header.u32(4, order)
      let time = CaptureTime(
        seconds: Int64(header.u32(0, order)),
        nanoseconds: hasNanoseconds ? part : part < 1_000_000 ? part * 1000 : .max)
      let packet = record.slice(Self.recordHeaderLength)
      let envelope = CapturePayload.Envelope(
        time: time, missing: original > included ? Int(clamping: original - included) : 0)
      if let record = payload.record(packet, envelope) { return record }
    }
    return nil
  }

  /// What the record at the intake's place needs, for the error of a file that ends in it.
  func needed(_ intake: Intake) -> (String, Int)? {
    guard let header = intake.peek(Self.recordHeaderLength) else {
      return ("a record's head", Self.recordHeaderLength)
    }
    return ("a record", Self.recordHeaderLength + Int(clamping: min(header.u32(8, order), 1 << 30)))
  }
}
