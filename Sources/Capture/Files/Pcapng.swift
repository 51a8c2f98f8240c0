// SPDX-License-Identifier: GPL-3.0-or-later

/// Reads the pcapng format (draft-ietf-opsawg-pcapng): blocks, each with its kind and its length in
/// front and its length behind. A section begins with its byte order; interfaces say their link type
/// and the unit of their time; packets name their interface. Blocks of other kinds, and packets of
/// interfaces of another link type, are passed over.
struct PcapngReader {
  static let sectionHeader: UInt32 = 0x0A0D_0D0A
  private static let byteOrderMagic: UInt32 = 0x1A2B_3C4D
  /// Greater blocks than this are not read into memory.
  private static let longestBlock = 1 << 24

  private struct Interface {
    /// Nil for one whose link type is not read.
    var payload: CapturePayload?
    var linkType: UInt32
    /// Parts of a second that the time counts.
    var unitsPerSecond: UInt64 = 1_000_000
    /// Seconds to add to the time.
    var offset: Int64 = 0
  }

  private var order = ByteOrder.littleEndian
  private var interfaces: [Interface] = []
  private var records = 0
  /// Packets of interfaces whose link type is not read.
  private var foreign = 0

  /// Whether a file that begins so is one.
  static func recognises(_ bytes: FileBytes) -> Bool {
    bytes.u32(0, .bigEndian) == sectionHeader
  }

  /// The next record; nil as long as it is not all there.
  mutating func next(_ intake: inout Intake) throws(CaptureFileError) -> CaptureRecord? {
    while let head = intake.peek(12) {
      if Self.recognises(head) { try beginSection(head, intake) }
      let length = try blockLength(head, intake)
      guard let block = intake.peek(length) else { return nil }
      guard block.u32(length - 4, order) == UInt32(length) else {
        throw intake.error(.broken("a block whose two lengths differ"))
      }
      defer { intake.drop(length) }
      // Kind, length and body; the second length is left off.
      let body = FileBytes(block.slice(8, length - 12))
      switch head.u32(0, order) {
      case 1: try addInterface(body, intake)
      case 2, 6: if let record = packet(body, kind: head.u32(0, order)) { return record }
      case 3: if let record = simplePacket(body) { return record }
      default: break
      }
    }
    return nil
  }

  /// What the block at the intake's place needs, for the error of a file that ends in it.
  func needed(_ intake: Intake) -> (String, Int)? {
    guard let head = intake.peek(12) else { return ("a block's head", 12) }
    return ("a block", Int(clamping: head.u32(4, order)))
  }

  /// The file's one complaint where it has packets, and none of HCI.
  var complaint: CaptureFileError? {
    guard records == 0, foreign > 0, let type = interfaces.first?.linkType else { return nil }
    return CaptureFileError(offset: 0, .unsupported(CapturePayload.name(ofLinkType: type)))
  }

  private mutating func beginSection(
    _ head: FileBytes, _ intake: Intake
  ) throws(CaptureFileError) {
    switch Self.byteOrderMagic {
    case head.u32(8, .littleEndian): order = .littleEndian
    case head.u32(8, .bigEndian): order = .bigEndian
    default: throw intake.error(.broken("a section without byte order"))
    }
    interfaces = []
  }

  private func blockLength(_ head: FileBytes, _ intake: Intake) throws(CaptureFileError) -> Int {
    let length = head.u32(4, order)
    guard length >= 12, length % 4 == 0, length <= Self.longestBlock else {
      throw intake.error(.broken("a block of \(length) bytes"))
    }
    return Int(length)
  }

  private mutating func addInterface(
    _ body: FileBytes, _ intake: Intake
  ) throws(CaptureFileError) {
    guard body.count >= 8 else { throw intake.error(.broken("an interface without link type")) }
    let linkType = UInt32(body.u16(0, order))
    var interface = Interface(payload: CapturePayload(linkType: linkType), linkType: linkType)
    for (code, value) in options(of: body, from: 8) {
      switch code {
      case 9:  // if_tsresol: a power of ten, or of two where the highest bit is set
        let power = UInt64(value.u8(0) & 0x7F)
        if value.u8(0) & 0x80 != 0 {
          if power < 64 { interface.unitsPerSecond = 1 << power }
        } else if power < 20 {
          interface.unitsPerSecond = (0..<power).reduce(1) { units, _ in units * 10 }
        }
      case 14 where value.count == 8:  // if_tsoffset
        interface.offset = Int64(bitPattern: value.u64(0, order))
      default: break
      }
    }
    if interfaces.count < 1 << 16 { interfaces.append(interface) }
  }

  /// An Enhanced Packet (6), or an obsolete Packet (2), which differ in the interface's width.
  private mutating func packet(_ body: FileBytes, kind: UInt32) -> CaptureRecord? {
    let number = kind == 6 ? Int(clamping: body.u32(0, order)) : Int(body.u16(0, order))
    guard body.count >= 20, number < interfaces.count else { return nil }
    let interface = interfaces[number]
    let stamp = UInt64(body.u32(4, order)) << 32 | UInt64(body.u32(8, order))
    let captured = min(Int(clamping: body.u32(12, order)), body.count - 20)
    let original = Int(clamping: body.u32(16, order))
    let packet = body.slice(20, captured)
    var envelope = CapturePayload.Envelope(
      time: time(stamp, interface), missing: max(0, original - packet.count))
    envelope.adapter = UInt16(truncatingIfNeeded: number)
    for (code, value) in options(of: body, from: 20 + (captured + 3) / 4 * 4)
    where code == 2 && value.count == 4 {  // epb_flags: 1 inbound, 2 outbound
      switch value.u32(0, order) & 3 {
      case 1: envelope.direction = .received
      case 2: envelope.direction = .sent
      default: break
      }
    }
    return record(packet, envelope, interface)
  }

  /// A Simple Packet: of the first interface, without a time.
  private mutating func simplePacket(_ body: FileBytes) -> CaptureRecord? {
    guard let interface = interfaces.first, body.count >= 4 else { return nil }
    let original = Int(clamping: body.u32(0, order))
    let packet = body.slice(4, original)
    let envelope = CapturePayload.Envelope(
      time: CaptureTime(seconds: 0), missing: max(0, original - packet.count))
    return record(packet, envelope, interface)
  }

  private mutating func record(
    _ packet: ArraySlice<UInt8>, _ envelope: CapturePayload.Envelope, _ interface: Interface
  ) -> CaptureRecord? {
    guard let payload = interface.payload else {
      foreign += 1
      return nil
    }
    guard let record = payload.record(packet, envelope) else { return nil }
    records += 1
    return record
  }

  private func time(_ stamp: UInt64, _ interface: Interface) -> CaptureTime {
    let (seconds, rest) = stamp.quotientAndRemainder(dividingBy: interface.unitsPerSecond)
    // The parts of a second in nanoseconds, without a product that does not fit.
    let part = Double(rest) / Double(interface.unitsPerSecond) * 1e9
    return CaptureTime(
      seconds: Int64(clamping: seconds).addingReportingOverflow(interface.offset).partialValue,
      nanoseconds: UInt32(min(part.rounded(), 999_999_999)))
  }

  /// The options at the end of a block: code, length and value, filled up to four bytes.
  private func options(of body: FileBytes, from start: Int) -> [(UInt16, FileBytes)] {
    var found: [(UInt16, FileBytes)] = []
    var place = start
    while place + 4 <= body.count {
      let code = body.u16(place, order)
      let length = Int(body.u16(place + 2, order))
      guard code != 0, place + 4 + length <= body.count else { break }
      found.append((code, FileBytes(body.slice(place + 4, length))))
      place += 4 + (length + 3) / 4 * 4
    }
    return found
  }
}
