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
    case unknown
    case reading(any CaptureFormat)
    /// The file has ended, or cannot be read any further for this reason.
    case over(CaptureFileError?)
  }

  private var buffer = FileBuffer()
  private var state = State.unknown
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
      end(error)
    }
    guard case .over(let fault) = state else { return nil }
    if let record = held.popLast() { return record }
    if let fault { throw fault }
    return nil
  }

  /// Call at the end of the file, when `next` has returned nil. From then on `next` returns the records
  /// that were held back, and throws if the file does not end where a record ends.
  public mutating func finish() {
    if case .over = state { return }
    do throws(CaptureFileError) {
      try checkEnd()
      end(nil)
    } catch {
      end(error)
    }
  }

  private mutating func end(_ fault: CaptureFileError?) {
    state = .over(fault)
    // The next one is last; those with the same time stay in the order in which they came.
    held = held.enumerated().sorted { ($0.element.time, $0.offset) > ($1.element.time, $1.offset) }
      .map(\.element)
  }

  private func checkEnd() throws(CaptureFileError) {
    let needed: (part: String, length: Int)
    switch state {
    case .unknown:
      guard buffer.count > 0 else { throw buffer.error(.empty) }
      guard format != nil else { throw buffer.error(.notACapture) }
      needed = ("the file header", Btsnoop.headerLength)
    case .over: return
    case .reading(let format):
      if let complaint = format.complaint { throw complaint }
      needed = format.needed(buffer)
    }
    guard buffer.count > 0 else { return }
    throw buffer.error(.cut(needed.part, needed: needed.length, available: buffer.count))
  }

  private mutating func read() throws(CaptureFileError) -> CaptureRecord? {
    switch state {
    case .unknown: return try recognise() ? try read() : nil
    case .over: return nil
    case .reading(var format):
      defer { state = .reading(format) }
      guard format is PacketLogger else { return try format.next(&buffer) }
      try hold(&format)
      return nil
    }
  }

  /// Holds back what was read of a PacketLogger file.
  private mutating func hold(_ format: inout any CaptureFormat) throws(CaptureFileError) {
    do throws(CaptureFileError) {
      while let record = try format.next(&buffer) { held.append(record) }
    } catch {
      // A file without a header is recognised only by its records.
      throw held.isEmpty ? CaptureFileError(offset: 0, .notACapture) : error
    }
  }

  private static let formats: [any CaptureFormat.Type] = [
    PcapngReader.self, Pcap.self, PacketLogger.self, Btsnoop.self,
  ]

  /// The format that the file may have by its first bytes.
  private var format: (any CaptureFormat.Type)? {
    guard let begun = buffer.peek(min(buffer.count, 8)) else { return nil }
    return Self.formats.first { $0.recognises(begun) }
  }

  /// Recognises the format; false while the file header is incomplete.
  private mutating func recognise() throws(CaptureFileError) -> Bool {
    guard buffer.count >= 4 else { return false }
    guard let format else { throw buffer.error(.notACapture) }
    guard let begun = try format.init(&buffer) else { return false }
    if begun is PacketLogger { assumedPeer = .accessory }
    state = .reading(begun)
    return true
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

  /// Whether nothing of the file can be read.
  public var isHopeless: Bool {
    switch reason {
    case .empty, .notACapture, .unsupported: true
    case .cut, .broken: offset == 0
    }
  }

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
  /// Reads the file's header; nil while it is incomplete.
  init?(_ buffer: inout FileBuffer) throws(CaptureFileError)
  /// The next record; nil while it is incomplete.
  mutating func next(_ buffer: inout FileBuffer) throws(CaptureFileError) -> CaptureRecord?
  /// The size of the next part, for the error about a truncated file.
  func needed(_ buffer: FileBuffer) -> (part: String, length: Int)
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

  func next(_ buffer: inout FileBuffer) throws(CaptureFileError) -> CaptureRecord? {
    while let head = head(buffer) {
      guard head.included >= 0 else {
        throw buffer.error(.broken("a record shorter than its header"))
      }
      guard head.included <= CaptureRecord.longestPacket else {
        throw buffer.error(.broken("a packet of \(head.included) bytes"))
      }
      let length = Self.recordHeadLength + head.included
      guard let record = buffer.peek(length) else { return nil }
      buffer.drop(length)
      let packet = record.dropFirst(Self.recordHeadLength)
      if let record = payload.record(packet, head) { return record }
    }
    return nil
  }

  func needed(_ buffer: FileBuffer) -> (part: String, length: Int) {
    guard let head = head(buffer) else { return ("a record header", Self.recordHeadLength) }
    return ("a record", Self.recordHeadLength + min(head.included, 1 << 30))
  }

  private func head(_ buffer: FileBuffer) -> CapturePayload.Envelope? {
    guard let bytes = buffer.peek(Self.recordHeadLength) else { return nil }
    var reader = ByteReader(bytes, order: order)
    return try? envelope(&reader)
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

  /// The next `count` bytes, without consuming them; nil while there are fewer.
  func peek(_ count: Int) -> ArraySlice<UInt8>? {
    guard count >= 0, self.count >= count else { return nil }
    return bytes[start..<start + count]
  }

  /// Consumes bytes.
  mutating func drop(_ count: Int) {
    let count = min(count, self.count)
    start += count
    offset += Int64(count)
  }

  /// An error at the next byte.
  func error(_ reason: CaptureFileError.Reason) -> CaptureFileError {
    CaptureFileError(offset: offset, reason)
  }
}
