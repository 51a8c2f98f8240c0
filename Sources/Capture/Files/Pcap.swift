// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The classic pcap format in either byte order, with microseconds or nanoseconds
/// (draft-ietf-opsawg-pcap): a header of 24 bytes, then records of 16 bytes and a packet each.
struct Pcap: RecordFormat {
  private static let headerLength = 24
  static let recordHeadLength = 16

  let order: ByteOrder
  let payload: CapturePayload
  private let hasNanoseconds: Bool

  /// The numbers that files begin with.
  private static let magics: [[UInt8]: (order: ByteOrder, hasNanoseconds: Bool)] = [
    [0xD4, 0xC3, 0xB2, 0xA1]: (.littleEndian, false), [0xA1, 0xB2, 0xC3, 0xD4]: (.bigEndian, false),
    [0x4D, 0x3C, 0xB2, 0xA1]: (.littleEndian, true), [0xA1, 0xB2, 0x3C, 0x4D]: (.bigEndian, true),
  ]

  static func recognises(_ head: ArraySlice<UInt8>) -> Bool { magics[Array(head.prefix(4))] != nil }

  init(_ buffer: inout FileBuffer) throws(CaptureFileError) {
    let header = try buffer.peek(Self.headerLength, "the file header")
    guard let variant = Self.magics[Array(header.prefix(4))] else {
      throw buffer.error(.notACapture)
    }
    (order, hasNanoseconds) = variant
    var reader = ByteReader(header.dropFirst(4), order: order)
    guard let version = try? reader.u16(), (try? reader.skip(14)) != nil,
      let link = try? reader.u32()
    else { throw buffer.error(.notACapture) }
    guard version == 2 else { throw buffer.error(.unsupported("pcap version \(version)")) }
    // The upper bits are about frame check sequences.
    let linkType = link & 0xFFFF
    guard let payload = CapturePayload.linkTypes[linkType] else {
      throw buffer.error(.unsupported(CapturePayload.name(ofLinkType: linkType)))
    }
    self.payload = payload
    buffer.drop(Self.headerLength)
  }

  func envelope(_ reader: inout ByteReader) throws(DecodeError) -> CapturePayload.Envelope {
    let seconds = try reader.u32()
    let fraction = try reader.u32()
    return CapturePayload.Envelope(
      time: hasNanoseconds
        ? WallTime(seconds: seconds, nanoseconds: fraction) : WallTime(seconds: seconds, microseconds: fraction),
      included: Int(clamping: try reader.u32()), original: Int(clamping: try reader.u32()))
  }
}

/// Reads the pcapng format (draft-ietf-opsawg-pcapng): blocks, each preceded by its type and
/// length, and followed by its length. A section begins with its byte order, an interface has a
/// link type and a unit of time, and a packet names its interface. Other blocks, and packets of
/// interfaces with an unsupported link type, are skipped.
struct PcapngReader: CaptureFormat {
  private static let sectionHeader: [UInt8] = [0x0A, 0x0D, 0x0D, 0x0A]
  /// Larger blocks are not read into memory.
  private static let longestBlock = 1 << 24
  /// The type and length in front of a block's body.
  private static let headLength = 8

  private struct Interface {
    var linkType: UInt32
    /// The unit of time stamps.
    var unitsPerSecond: UInt64 = 1_000_000
    /// Seconds to add to time stamps.
    var offset: Int64 = 0
  }

  private var order = ByteOrder.littleEndian
  private var interfaces: [Interface] = []
  private var records = 0
  /// Packets of interfaces with an unsupported link type.
  private var skipped = 0

  static func recognises(_ head: ArraySlice<UInt8>) -> Bool { head.starts(with: sectionHeader) }

  /// The first section's header is a block like the others.
  init(_ buffer: inout FileBuffer) {}

  mutating func next(_ buffer: inout FileBuffer) throws(CaptureFileError) -> CaptureRecord {
    while true {
      let head = try buffer.peek(12, "a block header")
      if Self.recognises(head) { try beginSection(head, buffer) }
      var reader = ByteReader(head, order: order)
      let type = (try? reader.u32()) ?? 0
      let claimed = (try? reader.u32()) ?? 0
      guard claimed >= 12, claimed % 4 == 0, claimed <= Self.longestBlock else {
        throw buffer.error(.broken("a block of \(claimed) bytes"))
      }
      let length = Int(claimed)
      let block = try buffer.peek(length, "a block")
      var trailer = ByteReader(block.suffix(4), order: order)
      guard (try? trailer.u32()) == claimed else {
        throw buffer.error(.broken("a block whose two lengths differ"))
      }
      defer { buffer.drop(length) }
      var body = ByteReader(block.dropFirst(Self.headLength).dropLast(4), order: order)
      switch type {
      case 1:
        guard let interface = try? interface(&body) else {
          throw buffer.error(.broken("an interface without link type"))
        }
        if interfaces.count < 1 << 16 { interfaces.append(interface) }
      case 2, 6: if let record = try? packet(&body, type: type) { return record }
      case 3: if let record = try? simplePacket(&body) { return record }
      default: break
      }
    }
  }

  var complaint: CaptureFileError? {
    guard records == 0, skipped > 0, let type = interfaces.first?.linkType else { return nil }
    return CaptureFileError(offset: 0, .unsupported(CapturePayload.name(ofLinkType: type)))
  }

  // MARK: Blocks

  private mutating func beginSection(_ head: ArraySlice<UInt8>, _ buffer: FileBuffer) throws(CaptureFileError) {
    switch Array(head.dropFirst(Self.headLength)) {
    case [0x4D, 0x3C, 0x2B, 0x1A]: order = .littleEndian
    case [0x1A, 0x2B, 0x3C, 0x4D]: order = .bigEndian
    default: throw buffer.error(.broken("a section without byte order"))
    }
    interfaces = []
  }

  /// An Interface Description block.
  private func interface(_ body: inout ByteReader) throws(DecodeError) -> Interface {
    var interface = Interface(linkType: UInt32(try body.u16()))
    try body.skip(6)
    for (code, value) in options(&body) {
      switch code {
      case 9:  // if_tsresol: a power of ten, or of two if the highest bit is set
        let resolution = value.first ?? 0
        let power = UInt64(resolution & 0x7F)
        if resolution & 0x80 != 0 {
          if power < 64 { interface.unitsPerSecond = 1 << power }
        } else if power < 20 {
          interface.unitsPerSecond = (0..<power).reduce(1) { units, _ in units * 10 }
        }
      case 14 where value.count == 8:  // if_tsoffset
        var reader = ByteReader(value, order: order)
        interface.offset = Int64(bitPattern: try reader.u64())
      default: break
      }
    }
    return interface
  }

  /// An Enhanced Packet block (6), or an obsolete Packet block (2). Nil if it has no packet that can
  /// be read.
  private mutating func packet(_ body: inout ByteReader, type: UInt32) throws(DecodeError) -> CaptureRecord? {
    let number = type == 6 ? Int(clamping: try body.u32()) : Int(try body.u16())
    if type == 2 { try body.skip(2) }  // dropped packets
    let stamp = UInt64(try body.u32()) << 32 | UInt64(try body.u32())
    let captured = Int(clamping: try body.u32())
    let original = Int(clamping: try body.u32())
    guard number < interfaces.count else { return nil }
    let interface = interfaces[number]
    let packet = try padded(min(captured, body.remaining), &body)
    var envelope = CapturePayload.Envelope(time: time(stamp, interface), included: packet.count, original: original)
    envelope.adapter = UInt16(truncatingIfNeeded: number)
    for (code, value) in options(&body) where code == 2 && value.count == 4 {  // epb_flags
      var reader = ByteReader(value, order: order)
      switch try reader.u32() & 3 {
      case 1: envelope.direction = .received
      case 2: envelope.direction = .sent
      default: break
      }
    }
    return record(packet, envelope, interface)
  }

  /// A Simple Packet block: a packet of the first interface, without a time.
  private mutating func simplePacket(_ body: inout ByteReader) throws(DecodeError) -> CaptureRecord? {
    let original = Int(clamping: try body.u32())
    guard let interface = interfaces.first else { return nil }
    let packet = body.rest().prefix(original)
    let envelope = CapturePayload.Envelope(time: WallTime(seconds: 0), included: packet.count, original: original)
    return record(packet, envelope, interface)
  }

  private mutating func record(
    _ packet: ArraySlice<UInt8>, _ envelope: CapturePayload.Envelope, _ interface: Interface
  ) -> CaptureRecord? {
    guard let payload = CapturePayload.linkTypes[interface.linkType] else {
      skipped += 1
      return nil
    }
    guard let record = payload.record(packet, envelope) else { return nil }
    records += 1
    return record
  }

  private func time(_ stamp: UInt64, _ interface: Interface) -> WallTime {
    let (seconds, rest) = stamp.quotientAndRemainder(dividingBy: interface.unitsPerSecond)
    // In floating point, since a product in integers may overflow.
    let nanoseconds = Double(rest) / Double(interface.unitsPerSecond) * 1e9
    return WallTime(
      seconds: Int64(clamping: seconds).addingReportingOverflow(interface.offset).partialValue,
      nanoseconds: Int32(min(nanoseconds.rounded(), 999_999_999)))
  }

  /// The options at the end of a block: code, length and value, padded to four bytes.
  private func options(_ body: inout ByteReader) -> [(code: UInt16, value: ArraySlice<UInt8>)] {
    var options: [(code: UInt16, value: ArraySlice<UInt8>)] = []
    while let code = try? body.u16(), code != 0, let length = try? body.u16(),
      let value = try? padded(Int(length), &body)
    {
      options.append((code, value))
    }
    return options
  }

  /// Bytes that are padded to a multiple of four; the padding may be missing.
  private func padded(_ length: Int, _ body: inout ByteReader) throws(DecodeError) -> ArraySlice<UInt8> {
    let bytes = try body.bytes(length)
    try body.skip(min(-length & 3, body.remaining))
    return bytes
  }
}
