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
      bytes = UInt64(littleEndian: span.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: 0, as: UInt64.self))
    } else {
      for place in span.indices { bytes |= UInt64(span[place]) << (8 * UInt64(place)) }
    }
    bytes &= (1 &<< (8 &* UInt64(layout.end(in: length)))) &- 1
  }

  /// Where its fields before any value begin.
  private struct Layout {
    var handle, end, parameter, error: UInt16?
    /// Where the last one ends.
    var length: UInt16 = 1

    /// Where the last one ends that is complete in a PDU of this length.
    func end(in total: UInt16) -> UInt16 {
      if total >= length { return length }
      if error != nil { return total }
      return total == 0 ? 0 : (total - 1) | 1
    }
  }

  private var layout: Layout {
    switch opcode {
    case .handleValueNotification: Layout(handle: 1, length: 3)
    case .errorResponse: Layout(handle: 2, parameter: 1, error: 4, length: 5)
    case .exchangeMTURequest, .exchangeMTUResponse: Layout(parameter: 1, length: 3)
    // A 128-bit type would be sixteen bytes; only Find By Type Value has more data after it.
    case .findByTypeValueRequest: Layout(handle: 1, end: 3, parameter: 5, length: 7)
    case .findInformationRequest, .readByTypeRequest, .readByGroupTypeRequest:
      length == 7
        ? Layout(handle: 1, end: 3, parameter: 5, length: 7) : Layout(handle: 1, end: 3, length: 5)
    case .readRequest, .readBlobRequest, .writeRequest, .writeCommand, .signedWriteCommand,
      .prepareWriteRequest, .prepareWriteResponse, .handleValueIndication, .readMultipleRequest,
      .readMultipleVariableRequest, .multipleHandleValueNotification:
      Layout(handle: 1, length: 3)
    default: Layout()
    }
  }

  public var opcode: Opcode { Opcode(rawValue: UInt8(truncatingIfNeeded: bytes)) }

  /// The attribute; the first one for a search, the refused one for an error.
  public var handle: Handle? { layout.handle.flatMap(number) }

  /// The last attribute of a search.
  public var end: Handle? { layout.end.flatMap(number) }

  /// The type of attribute that a search is for, unless it is one of 128 bits; the MTU; the opcode of the request that
  /// an error refuses.
  public var parameter: UInt16? { layout.parameter.flatMap(layout.error == nil ? number : byte) }

  /// The code of an error.
  public var error: ErrorCode? {
    layout.error.flatMap(byte).map { ErrorCode(UInt8(truncatingIfNeeded: $0)) }
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
    let layout = layout
    let fields = [
      (handle, layout.handle), (end, layout.end),
      (layout.error == nil ? parameter : parameter.map { $0 & 0xFF }, layout.parameter),
      (failure.map(UInt16.init), layout.error),
    ]
    for case (let value?, let place?) in fields { bytes |= UInt64(value) << (8 * UInt64(place)) }
  }

  // MARK: Text

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
