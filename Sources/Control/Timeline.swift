// SPDX-License-Identifier: GPL-3.0-or-later
public import ATT
public import JSON
public import Wire

// The result of `timeline`: what the daemon remembers of its latest links, for `ancsd report`. It has opcodes,
// handles, lengths and reasons, but no content: no attribute values, no text, no keys.

/// The result of `timeline`.
public struct TimelineReport: JSONObjectCodable, Hashable, Sendable {
  /// What happened to the adapters and the daemon itself.
  public var board = LinkTimeline()
  /// The latest links, oldest first, including the last one on which a phone paired.
  public var links: [LinkTimeline] = []

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("board", &board)
    try json.list("links", &links)
  }
}

/// The history of a link: its beginning, and the latest entries.
public struct LinkTimeline: JSONObjectCodable, Hashable, Sendable {
  public var adapter: String?
  /// The phone's address: its identity once that is known.
  public var phone: Address?
  /// When the link began; `TimelineEntry.time` counts from here.
  public var started = WallTime(seconds: 0)
  /// Whether a phone has begun to pair on it.
  public var hasPairing = false
  public var isOver = false
  /// The first entries, up to the limit.
  public var beginning: [TimelineEntry] = []
  /// The number of entries dropped between `beginning` and `latest`.
  public var omitted = 0
  /// The latest entries that are not in `beginning`.
  public var latest: [TimelineEntry] = []

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("adapter", &adapter)
    try json.optional("phone", &phone)
    try json.required("started", &started)
    try json.required("pairing", &hasPairing)
    try json.required("over", &isOver)
    try json.list("beginning", &beginning)
    try json.required("omitted", &omitted)
    try json.list("latest", &latest)
  }
}

/// An entry.
public struct TimelineEntry: JSONObjectCodable, Hashable, Sendable {
  /// Microseconds since the link began.
  public var time: Int64
  public var moment: Moment

  public init() { self.init(.step(.link, name: "", detail: ""), at: 0) }

  public init(_ moment: Moment, at time: Int64) {
    self.time = time
    self.moment = moment
  }

  public enum Moment: Hashable, Sendable {
    case att(TracedPDU)
    /// Anything else, by name, with a detail if the name does not say everything. It is indirect, so PDUs, which
    /// nearly all entries are, are passed on without handling two strings.
    indirect case step(Layer, name: String, detail: String)
  }

  /// Where it happened.
  public enum Layer: String, JSONNamed, Sendable {
    public static let jsonKind = "a layer"

    /// The kernel's events about the link, and the controller's.
    case link
    /// Pairing and encryption.
    case smp
    case att
    /// What the adapter or the link waits for from now on.
    case wait
    /// Events that the daemon published.
    case event
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("time", &time)
    var layer = layer
    try json.required("layer", &layer)
    switch layer {
    case .att:
      var pdu = TracedPDU()
      if case .att(let traced) = moment { pdu = traced }
      try pdu.members(&json)
      moment = .att(pdu)
    case .link, .smp, .wait, .event:
      var (name, detail) = ("", String?.none)
      if case .step(_, let written, let more) = moment {
        (name, detail) = (written, more.isEmpty ? nil : more)
      }
      try json.required("name", &name)
      try json.optional("detail", &detail)
      moment = .step(layer, name: name, detail: detail ?? "")
    }
  }

  private var layer: Layer {
    switch moment {
    case .att: .att
    case .step(let layer, _, _): layer
    }
  }
}

/// What a history keeps of each PDU: the bytes that `TracedPDU` decodes on demand, without those of a value.
public struct PDUHead: Hashable, Sendable {
  /// Whether the board has sent it.
  public let isSent: Bool
  /// In bytes, with the opcode.
  public let length: UInt16
  /// The number of kept bytes, and the bytes, the first one lowest.
  private let kept: UInt8
  private let bytes: UInt64

  public init(_ pdu: borrowing ArraySlice<UInt8>, isSent: Bool) {
    self.isSent = isSent
    length = UInt16(clamping: pdu.count)
    let span = pdu.span
    var bytes: UInt64 = 0
    if span.count >= 8 {
      bytes = UInt64(
        littleEndian: span.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt64.self))
    } else {
      for place in span.indices { bytes |= UInt64(span[place]) << (8 * UInt64(place)) }
    }
    let head = Self.headLength(Opcode(rawValue: UInt8(truncatingIfNeeded: bytes)))
    let kept = min(span.count, head)
    self.bytes = bytes & (1 << (8 * UInt64(kept)) - 1)
    self.kept = UInt8(truncatingIfNeeded: kept)
  }

  /// The number of bytes before any value.
  private static func headLength(_ opcode: Opcode) -> Int {
    switch opcode {
    case .handleValueNotification: 3
    case .errorResponse: 5
    case .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest,
      .readByGroupTypeRequest:
      7
    case .exchangeMTURequest, .exchangeMTUResponse, .readRequest, .readBlobRequest, .writeRequest,
      .writeCommand, .signedWriteCommand, .prepareWriteRequest, .prepareWriteResponse,
      .handleValueIndication, .readMultipleRequest, .readMultipleVariableRequest,
      .multipleHandleValueNotification:
      3
    default: 1
    }
  }

  var opcode: Opcode { Opcode(rawValue: UInt8(truncatingIfNeeded: bytes)) }

  func byte(at place: Int) -> UInt8? {
    place < kept ? UInt8(truncatingIfNeeded: bytes >> (8 * UInt64(place))) : nil
  }

  /// A number of two bytes.
  func number(at place: Int) -> UInt16? {
    place + 2 <= kept ? UInt16(truncatingIfNeeded: bytes >> (8 * UInt64(place))) : nil
  }
}

/// An ATT PDU without its values: its kind and the attributes involved.
public struct TracedPDU: Hashable, Sendable {
  /// Whether the board has sent it.
  public var isSent = false
  public var opcode = Opcode(rawValue: 0)
  /// In bytes, with the opcode.
  public var length = 0
  /// The attribute; the first one for a search, the refused one for an error.
  public var handle: Handle?
  /// The last attribute of a search.
  public var end: Handle?
  /// The type of attribute that a search is for, unless it is one of 128 bits; the MTU; the opcode of the request that
  /// an error refuses.
  public var parameter: UInt16?
  /// The code of an error.
  public var error: ErrorCode?

  init() {}

  /// Decodes as much of a PDU as was kept.
  public init(_ head: PDUHead) {
    isSent = head.isSent
    opcode = head.opcode
    length = Int(head.length)
    switch opcode {
    case .errorResponse:
      parameter = head.byte(at: 1).map(UInt16.init)
      handle = head.number(at: 2)
      error = head.byte(at: 4).map { ErrorCode($0) }
    case .exchangeMTURequest, .exchangeMTUResponse: parameter = head.number(at: 1)
    case .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest,
      .readByGroupTypeRequest:
      handle = head.number(at: 1)
      end = head.number(at: 3)
      // A 128-bit type would be sixteen bytes; only Find By Type Value has more data after it.
      if length == 7 || opcode == .findByTypeValueRequest { parameter = head.number(at: 5) }
    default: handle = head.number(at: 1)
    }
  }

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.flag("sent", &isSent)
    var (code, failure) = (opcode.rawValue, error?.rawValue)
    try json.required("opcode", &code)
    try json.required("length", &length)
    try json.optional("handle", &handle)
    try json.optional("end", &end)
    try json.optional("parameter", &parameter)
    try json.optional("error", &failure)
    opcode = Opcode(rawValue: code)
    error = failure.map { ErrorCode($0) }
  }
}

// MARK: - Text

extension TracedPDU {
  /// The PDU in words: `Write Request 0x001f (Notification Source), 5 bytes`.
  ///
  /// - Parameter name: the name of an attribute, if it is known.
  public func text(name: (Handle) -> String?) -> String {
    func hex(_ number: UInt16) -> String { String(number, digits: 4, radix: 16) }
    var text = "\(opcode)"
    if opcode == .errorResponse, let parameter {
      text += " to \(Opcode(rawValue: UInt8(truncatingIfNeeded: parameter)))"
    }
    if let handle {
      text += " 0x" + hex(handle)
      if let end { text += "–0x" + hex(end) }
      if end == nil, let name = name(handle) { text += " (\(name))" }
    }
    if let error { text += ": \(error)" }
    switch opcode {
    case .exchangeMTURequest, .exchangeMTUResponse: if let parameter { text += " \(parameter)" }
    case .findByTypeValueRequest, .readByTypeRequest, .readByGroupTypeRequest:
      text += parameter.map { ", type \(hex($0))" } ?? ", a type of 128 bits"
    default: break
    }
    return "\(text), \(length.counted("byte"))"
  }
}
