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
    case att(PDUHead)
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
      var pdu = PDUHead()
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

/// An ATT PDU without its values: its kind and the attributes involved.
public struct PDUHead: Hashable, Sendable {
  /// Whether the board has sent it.
  public private(set) var isSent = false
  /// In bytes, with the opcode.
  public private(set) var length: UInt16 = 0
  /// Its first bytes, up to any value, the first one lowest.
  private var bytes: UInt64 = 0

  init() {}

  public init(_ pdu: borrowing ArraySlice<UInt8>, isSent: Bool) {
    self.isSent = isSent
    length = UInt16(clamping: pdu.count)
    let span = pdu.span
    if span.count >= 8 {
      bytes = UInt64(
        littleEndian: span.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt64.self))
    } else {
      for place in span.indices { bytes |= UInt64(span[place]) << (8 * UInt64(place)) }
    }
    bytes &= (1 &<< (8 &* UInt64(layout.end(in: length)))) &- 1
  }

  /// Its fields before any value.
  private enum Layout {
    /// Opcode of the refused request, handle, error code.
    case error
    case mtu
    /// First and last handle, and perhaps a type of 16 bits.
    case search(hasType: Bool)
    case handle
    case opcode

    /// Where the last field ends that is complete.
    func end(in length: UInt16) -> UInt16 {
      let end: UInt16 =
        switch self {
        case .error: 5
        case .search(let hasType): hasType ? 7 : 5
        case .mtu, .handle: 3
        case .opcode: 1
        }
      if length >= end { return end }
      if case .error = self { return length }
      return length == 0 ? 0 : (length - 1) | 1
    }
  }

  private var layout: Layout {
    switch opcode {
    case .handleValueNotification: .handle
    case .errorResponse: .error
    case .exchangeMTURequest, .exchangeMTUResponse: .mtu
    // A 128-bit type would be sixteen bytes; only Find By Type Value has more data after it.
    case .findByTypeValueRequest: .search(hasType: true)
    case .findInformationRequest, .readByTypeRequest, .readByGroupTypeRequest:
      .search(hasType: length == 7)
    case .readRequest, .readBlobRequest, .writeRequest, .writeCommand, .signedWriteCommand,
      .prepareWriteRequest, .prepareWriteResponse, .handleValueIndication, .readMultipleRequest,
      .readMultipleVariableRequest, .multipleHandleValueNotification:
      .handle
    default: .opcode
    }
  }

  public var opcode: Opcode { Opcode(rawValue: UInt8(truncatingIfNeeded: bytes)) }

  /// The attribute; the first one for a search, the refused one for an error.
  public var handle: Handle? {
    switch layout {
    case .error: number(at: 2)
    case .search, .handle: number(at: 1)
    case .mtu, .opcode: nil
    }
  }

  /// The last attribute of a search.
  public var end: Handle? { if case .search = layout { number(at: 3) } else { nil } }

  /// The type of attribute that a search is for, unless it is one of 128 bits; the MTU; the opcode of the request that
  /// an error refuses.
  public var parameter: UInt16? {
    switch layout {
    case .error: byte(at: 1)
    case .mtu: number(at: 1)
    case .search(let hasType): hasType ? number(at: 5) : nil
    case .handle, .opcode: nil
    }
  }

  /// The code of an error.
  public var error: ErrorCode? {
    if case .error = layout {
      byte(at: 4).map { ErrorCode(UInt8(truncatingIfNeeded: $0)) }
    } else {
      nil
    }
  }

  private func byte(at place: UInt16) -> UInt16? {
    place < length ? UInt16(truncatingIfNeeded: bytes >> (8 * UInt64(place)) & 0xFF) : nil
  }

  private func number(at place: UInt16) -> UInt16? {
    place + 2 <= length ? UInt16(truncatingIfNeeded: bytes >> (8 * UInt64(place))) : nil
  }

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.flag("sent", &isSent)
    var (code, count, failure) = (opcode.rawValue, Int(length), error?.rawValue)
    var (handle, end, parameter) = (handle, end, parameter)
    try json.required("opcode", &code)
    try json.required("length", &count)
    try json.optional("handle", &handle)
    try json.optional("end", &end)
    try json.optional("parameter", &parameter)
    try json.optional("error", &failure)
    (length, bytes) = (UInt16(clamping: count), UInt64(code))
    let fields: [(UInt16?, place: Int)] =
      switch layout {
      case .error: [(parameter.map { $0 & 0xFF }, 1), (handle, 2), (failure.map(UInt16.init), 4)]
      case .mtu: [(parameter, 1)]
      case .search: [(handle, 1), (end, 3), (parameter, 5)]
      case .handle: [(handle, 1)]
      case .opcode: []
      }
    for (value, place) in fields { bytes |= UInt64(value ?? 0) << (8 * UInt64(place)) }
  }
}

// MARK: - Text

extension PDUHead {
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
    return "\(text), \(Int(length).counted("byte"))"
  }
}
