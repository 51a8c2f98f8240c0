// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Reads a capture incrementally: btsnoop (monitor, H1 and H4), pcap and pcapng (link types 187, 201,
/// 251, 254 and 256), and PacketLogger. The format is recognised from the first bytes.
///
///     reader.feed(bytes)                             // or, at the end of the file, reader.finish()
///     while let record = try reader.next() { … }     // after each of both
///
/// A damaged file is read as far as possible: `next` returns the records before the fault, then throws
/// the error that says where and what it is. Records are returned as soon as they are complete; those of PacketLogger,
/// which have to be sorted, after the end of the file.
public struct CaptureReader: Sendable {
  private enum State {
    /// More bytes may come.
    case open
    /// The file ends with those that came.
    case ended
    /// All records were read, or the file cannot be read any further for this reason.
    case over(CaptureFileError?)
  }

  private var buffer = FileBuffer()
  private var state = State.open
  /// Nil until the file's header was read.
  private var format: (any CaptureFormat)?
  /// Records of PacketLogger that were not returned yet: they come from several threads of the phone, so that a
  /// response often precedes its request. Their times are right.
  private var held: [CaptureRecord] = []
  /// The assumed kind of a peer if nothing on the link shows it. PacketLogger records an Apple device, so there the
  /// peer is the accessory. Known with the first record.
  public private(set) var assumedPeer = LinkName.PeerKind.phone

  public init() {}

  /// Appends the next bytes of the file.
  public mutating func feed(_ bytes: some Collection<UInt8>) { buffer.append(bytes) }

  /// The next record; nil if more bytes are needed, or after the end. Once it has thrown, it only
  /// throws that error.
  public mutating func next() throws(CaptureFileError) -> CaptureRecord? {
    do throws(CaptureFileError) {
      if let record = try read() { return record }
    } catch {
      if case (.open, .cut) = (state, error.reason) { return nil }
      end(error)
    }
    if let record = held.popLast() { return record }
    if case .over(let fault?) = state { throw fault }
    return nil
  }

  /// Call at the end of the file, when `next` has returned nil. From then on `next` returns the records
  /// that were held back, and throws if the file does not end where a record ends.
  public mutating func finish() { if case .open = state { state = .ended } }

  /// The next record; nil after the end. Those of PacketLogger are held back.
  private mutating func read() throws(CaptureFileError) -> CaptureRecord? {
    if case .over = state { return nil }
    if format == nil {
      let begun = try recognised().init(&buffer)
      if begun is PacketLogger { assumedPeer = .accessory }
      format = begun
    }
    let isSorted = format is PacketLogger
    while let record = try format?.next(&buffer) {
      guard isSorted else { return record }
      held.append(record)
    }
    return nil
  }

  /// Ends the reading at an error, or at the end of the last record, behind which the next one lacks all bytes.
  private mutating func end(_ error: CaptureFileError) {
    let fault =
      switch error.reason {
      case .cut(_, needed: _, available: 0): format.map(\.complaint) ?? buffer.error(.empty)
      case .cut: format?.complaint ?? error
      // A file without a header is recognised only by its records.
      case .broken where format is PacketLogger && held.isEmpty:
        CaptureFileError(offset: 0, .notACapture)
      default: error
      }
    state = .over(fault)
    // The next one is last; those with the same time stay in the order in which they came.
    held = held.enumerated().sorted { ($0.element.time, $0.offset) > ($1.element.time, $1.offset) }
      .map(\.element)
  }

  private static let formats: [any CaptureFormat.Type] = [
    PcapngReader.self, Pcap.self, PacketLogger.self, Btsnoop.self,
  ]

  /// The format that the file may have by its first bytes.
  private func recognised() throws(CaptureFileError) -> any CaptureFormat.Type {
    let begun = try buffer.peek(min(buffer.count, 8), "the file header")
    if let format = Self.formats.first(where: { $0.recognises(begun) }) { return format }
    if case .open = state { _ = try buffer.peek(4, "the file header") }
    throw buffer.error(.notACapture)
  }
}

/// Why a capture cannot be read, or cannot be read any further, and where.
public struct CaptureFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The offset in the file of what cannot be read.
  public let offset: Int64
  public let reason: Reason

  public enum Reason: Hashable, Sendable {
    case empty
    /// The file is in none of the formats.
    case notACapture
    /// The text names what is not supported.
    case unsupported(String)
    /// The file ends within the named part.
    case cut(String, needed: Int, available: Int)
    /// The text says what is invalid.
    case broken(String)
  }

  public init(offset: Int64, _ reason: Reason) {
    self.offset = offset
    self.reason = reason
  }

  /// Whether nothing of the file can be read: not even its beginning.
  public var isHopeless: Bool { offset == 0 }

  public var description: String {
    switch reason {
    case .empty: "it is empty"
    case .notACapture: "it is not a btsnoop, pcap, pcapng or PacketLogger file"
    case .unsupported(let what): "\(what) is not supported"
    case .cut(let what, let needed, let available):
      "truncated at byte \(offset): \(what) needs \(needed) bytes, \(available) are left"
    case .broken(let what): "damaged at byte \(offset): \(what)"
    }
  }
}

/// A file format, and how far a file of it was read.
protocol CaptureFormat: Sendable {
  /// Whether a file that begins with these bytes, up to eight, may have this format. Only btsnoop is recognised by fewer
  /// than four.
  static func recognises(_ head: ArraySlice<UInt8>) -> Bool
  /// Reads the file's header. While it is incomplete, the file is cut.
  init(_ buffer: inout FileBuffer) throws(CaptureFileError)
  /// The next record. While it is incomplete, the file is cut.
  mutating func next(_ buffer: inout FileBuffer) throws(CaptureFileError) -> CaptureRecord
  /// An error if the file has packets, but none that can be read.
  var complaint: CaptureFileError? { get }
}

/// A file format that consists of a header and then records, each with a fixed-length header and a packet.
protocol RecordFormat: CaptureFormat {
  static var recordHeadLength: Int { get }
  var order: ByteOrder { get }
  var payload: CapturePayload { get }
  func envelope(_ reader: inout ByteReader) throws(DecodeError) -> CapturePayload.Envelope
}

extension RecordFormat {
  var complaint: CaptureFileError? { nil }

  func next(_ buffer: inout FileBuffer) throws(CaptureFileError) -> CaptureRecord {
    while true {
      var reader = ByteReader(try buffer.peek(Self.recordHeadLength, "a record header"), order: order)
      guard let head = try? envelope(&reader), head.included >= 0 else {
        throw buffer.error(.broken("a record shorter than its header"))
      }
      guard head.included <= CaptureRecord.longestPacket else {
        throw buffer.error(.broken("a packet of \(head.included) bytes"))
      }
      let length = Self.recordHeadLength + head.included
      let packet = try buffer.peek(length, "a record").dropFirst(Self.recordHeadLength)
      buffer.drop(length)
      if let record = payload.record(packet, head) { return record }
    }
  }
}

extension CaptureRecord {
  /// No HCI packet is longer. A record that claims to be is damaged.
  static let longestPacket = 1 << 18
}

/// The bytes of a file that were read but not consumed yet.
struct FileBuffer {
  private var bytes: [UInt8] = []
  private var start = 0
  /// The number of bytes that were consumed.
  private(set) var offset: Int64 = 0

  var count: Int { bytes.count - start }

  mutating func append(_ more: some Collection<UInt8>) {
    // Consumed bytes are removed only when they are most of the array, to keep the cost linear.
    if start > 1 << 16, start > bytes.count / 2 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes.append(contentsOf: more)
  }

  /// The next `count` bytes, without consuming them. With fewer, the file is cut within the named part.
  func peek(_ count: Int, _ part: String) throws(CaptureFileError) -> ArraySlice<UInt8> {
    guard self.count >= count else { throw error(.cut(part, needed: count, available: self.count)) }
    return bytes[start..<start + count]
  }

  /// Consumes bytes.
  mutating func drop(_ count: Int) {
    start += count
    offset += Int64(count)
  }

  /// An error at the next byte.
  func error(_ reason: CaptureFileError.Reason) -> CaptureFileError {
    CaptureFileError(offset: offset, reason)
  }
}
