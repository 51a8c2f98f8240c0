// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A complete response on the Data Source: its subject, and the attributes of the command (ANCS specification, Get
/// Notification Attributes and Get App Attributes).
public struct DataSourceResponse: Hashable, Sendable {
  /// The subject of the response.
  public enum Subject: Hashable, Sendable {
    case notification(NotificationUID)
    case app(identifier: String)
  }

  /// An attribute and its bytes, none if it is empty.
  public struct Attribute: Hashable, Sendable {
    /// A `NotificationAttributeID` or `AppAttributeID`, depending on the subject.
    public let id: UInt8
    /// A slice of the response.
    public let value: ArraySlice<UInt8>

    public init(id: UInt8, value: ArraySlice<UInt8>) {
      self.id = id
      self.value = value
    }

    public init(id: UInt8, value: [UInt8]) { self.init(id: id, value: value[...]) }
  }

  /// The bytes before fragmentation: the header of the command, then id, length (two bytes) and value of each
  /// attribute.
  public let encoded: [UInt8]
  /// Where the first attribute begins.
  private let body: Int

  /// A response with these attributes. A value too long for its length field is truncated.
  public init(_ subject: Subject, _ attributes: [Attribute]) {
    var writer = ByteWriter()
    writer.bytes(subject.head)
    body = writer.bytes.count
    for attribute in attributes {
      let value = attribute.value.prefix(Int(UInt16.max))
      writer.u8(attribute.id)
      writer.u16(UInt16(truncatingIfNeeded: value.count))
      writer.bytes(value)
    }
    encoded = writer.bytes
  }

  /// A received response, with its lengths already validated.
  fileprivate init(checked encoded: [UInt8], body: Int) {
    self.encoded = encoded
    self.body = body
  }

  /// Its subject, decoded from the header.
  public var subject: Subject {
    var reader = ByteReader(encoded[1..<body])
    return encoded[0] == ControlPointCommand.ID.getNotificationAttributes
      ? .notification(NotificationUID(rawValue: (try? reader.u32()) ?? 0))
      : .app(identifier: String(decoding: encoded[1..<body - 1], as: UTF8.self))
  }

  /// The attributes, each a slice of the response.
  public var attributes: [Attribute] {
    var attributes: [Attribute] = []
    forEach { attributes.append(Attribute(id: $0, value: encoded[$1])) }
    return attributes
  }

  /// Calls `use` with the id of each attribute and its range in `encoded`.
  func forEach(_ use: (_ id: UInt8, _ place: Range<Int>) -> Void) {
    var place = body
    while place < encoded.count {
      let start = place + 3
      let end = start + (Int(encoded[place + 1]) | Int(encoded[place + 2]) << 8)
      use(encoded[place], start..<end)
      place = end
    }
  }

  /// The response as notifications of at most `length` bytes each (MTU − 3).
  public func fragments(ofAtMost length: Int) -> [[UInt8]] {
    let bytes = encoded
    let step = max(1, length)
    return stride(from: 0, to: bytes.count, by: step).map {
      Array(bytes[$0..<min($0 + step, bytes.count)])
    }
  }
}

extension DataSourceResponse.Subject {
  /// The header of a response: its command up to the list of attributes.
  fileprivate var head: [UInt8] {
    switch self {
    case .notification(let uid): ControlPointCommand.getNotificationAttributes(uid, []).encoded
    case .app(let identifier):
      ControlPointCommand.getAppAttributes(appIdentifier: identifier, []).encoded
    }
  }
}

/// Assembles the phone's response from Data Source notifications.
///
/// A response has neither a number nor a length: it is complete when it has every attribute of the command (ANCS
/// specification, Get Notification Attributes). They have the command's order, but any other is accepted. A fragment may end anywhere, even inside a
/// length, and the next one may begin with bytes that look like a new response; so the parser follows the list of
/// attributes and never searches for a header inside a response.
///
///     head ──▶ id ──▶ length ──▶ value ─┐      head: CommandID and UID, or CommandID, app id and NUL
///               ▲                       │
///               └── more asked for ─────┘
///
/// Only the rest of an earlier, abandoned response can precede a response. If that is possible (`lateBytesPossible`),
/// fragments are dropped until one begins with the right header.
///
/// The fragments are appended to one buffer, which then holds the texts of the notification: each byte is copied once,
/// however many fragments there are.
public struct DataSourceAssembler: Sendable {
  /// The result of a fragment.
  public enum Progress: Hashable, Sendable {
    /// More fragments are needed.
    case more
    /// The fragment is not part of the response, which is still pending.
    case dropped(DataSourceError)
    /// The response is complete; `trailing` bytes of the fragment follow it.
    case complete(DataSourceResponse, trailing: Int)
    /// This can't be the response, whatever follows.
    case failed(DataSourceError)
  }

  private enum State {
    /// The header is incomplete.
    case head
    /// The header is complete. The attributes with these places in the command are missing, one bit each; the next one
    /// begins at byte `next`, and is incomplete until there are `least` bytes.
    case attributes(missing: UInt64, next: Int, least: Int)
    /// The response was returned, or it was invalid.
    case ended
  }

  private var command = ControlPointCommand.probe
  /// The command as sent, and the length of its part before the list of attributes.
  private var sent: [UInt8] = []
  private var headLength = 0
  private var lateBytesPossible = false
  /// The response received so far.
  private var bytes: [UInt8] = []
  private var state = State.ended

  /// An assembler that expects nothing.
  init() {}

  /// An assembler for the response to `command`; nil if it has none (an action).
  public init?(for command: ControlPointCommand, lateBytesPossible: Bool = false) {
    begin(command, sent: command.encoded, lateBytesPossible: lateBytesPossible)
    if hasEnded { return nil }
  }

  /// Expects the response to a command, unless it has none (an action).
  ///
  /// - Parameter sent: the encoded command.
  mutating func begin(_ command: ControlPointCommand, sent: [UInt8], lateBytesPossible: Bool) {
    end()
    guard let length = command.headLength(of: sent) else { return }
    (self.command, self.sent, headLength) = (command, sent, length)
    self.lateBytesPossible = lateBytesPossible
    bytes.reserveCapacity(Self.usualSize)
    state = .head
  }

  /// Expects nothing more.
  mutating func end() { (bytes, state) = ([], .ended) }

  /// The expected header: the command up to the list of attributes.
  public var head: ArraySlice<UInt8> { sent.prefix(headLength) }

  /// Whether part of the response has arrived.
  @inline(__always) var hasBegun: Bool { !bytes.isEmpty }

  /// Whether nothing more is expected.
  @inline(__always) var hasEnded: Bool { if case .ended = state { true } else { false } }

  /// A buffer size that fits most responses, in bytes.
  private static let usualSize = 448

  /// Processes one notification of the Data Source.
  public mutating func receive(_ fragment: [UInt8]) -> Progress { receive(fragment[...]) }

  /// Processes one notification of the Data Source.
  public mutating func receive(_ fragment: ArraySlice<UInt8>) -> Progress {
    if case .ended = state { return fragment.isEmpty ? .more : .failed(.unexpectedData) }
    let begun = bytes.count
    bytes.append(contentsOf: fragment)
    // Most fragments of many only continue a text.
    if case .attributes(_, _, let least) = state, bytes.count < least { return .more }
    if case .head = state {
      if let error = mismatch(in: bytes.prefix(headLength)) {
        guard lateBytesPossible else { return fail(error) }
        bytes.removeAll(keepingCapacity: true)
        // The earlier bytes only looked like a header; this fragment may begin with one.
        return begun == 0 ? .dropped(error) : receive(fragment)
      }
      guard bytes.count >= headLength else { return .more }
      state = .attributes(missing: .max, next: headLength, least: 0)
    }
    switch command {
    case .getNotificationAttributes(_, let wanted):
      return parse(wanted.count) { (wanted[$0].id.rawValue, Int(wanted[$0].maximumLength ?? .max)) }
    case .getAppAttributes(_, let wanted):
      return parse(wanted.count) { (wanted[$0].rawValue, Int(UInt16.max)) }
    case .performNotificationAction: return .more
    }
  }

  /// Continues after the last complete attribute.
  ///
  /// - Parameters:
  ///   - count: of the requested attributes, at most 64.
  ///   - attribute: returns the id of a requested attribute, and its maximum length: the requested one, or none. The
  ///     owner truncates overlong attributes without a maximum (`NotificationLimits`).
  @inline(__always) private mutating func parse(
    _ count: Int, _ attribute: (Int) -> (id: UInt8, maximum: Int)
  ) -> Progress {
    guard case .attributes(var missing, next: var place, _) = state else { return .more }
    while true {
      // Nearly always the first that is missing is the next one.
      var index = missing.trailingZeroBitCount
      if index >= count { break }
      var least = place + 1
      if bytes.count >= least {
        var (id, maximum) = attribute(index)
        if id != bytes[place] {
          let other = (index..<count).first {
            missing >> $0 & 1 == 1 && attribute($0).id == bytes[place]
          }
          guard let other else { return fail(.unexpectedAttribute(bytes[place])) }
          index = other
          (id, maximum) = attribute(index)
        }
        least = place + 3
        if bytes.count >= least {
          let length = Int(bytes[place + 1]) | Int(bytes[place + 2]) << 8
          guard length <= maximum else {
            return fail(.attributeTooLong(id, length: length, maximum: maximum))
          }
          least += length
        }
      }
      guard bytes.count >= least else {
        state = .attributes(missing: missing, next: place, least: least)
        return .more
      }
      missing ^= 1 << index
      place = least
    }
    state = .ended
    let trailing = bytes.count - place
    bytes.removeLast(trailing)
    return .complete(DataSourceResponse(checked: bytes, body: headLength), trailing: trailing)
  }

  private mutating func fail(_ error: DataSourceError) -> Progress {
    state = .ended
    return .failed(error)
  }

  /// Why `bytes` can't be the beginning of the response; nil if they can.
  private func mismatch(in bytes: ArraySlice<UInt8>) -> DataSourceError? {
    guard let command = bytes.first, !head.starts(with: bytes) else { return nil }
    guard command == head.first else { return .commandMismatch(command) }
    switch self.command {
    case .getNotificationAttributes(let uid, _):
      var reader = ByteReader(bytes.dropFirst())
      guard let received = try? reader.u32() else { return nil }
      return .uidMismatch(expected: uid, received: NotificationUID(rawValue: received))
    case .getAppAttributes: return .appMismatch(Array(bytes.dropFirst()))
    case .performNotificationAction: return nil
    }
  }
}

extension ControlPointCommand {
  /// The length of the sent command before its list of attributes: for a notification, CommandID and UID. Nil for an
  /// action, which has no response.
  fileprivate func headLength(of sent: [UInt8]) -> Int? {
    switch self {
    case .getNotificationAttributes: 5
    case .getAppAttributes(_, let attributes): sent.count - attributes.count
    case .performNotificationAction: nil
    }
  }
}

/// Why bytes on the Data Source are not the expected response.
public enum DataSourceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No response is expected.
  case unexpectedData
  /// It begins with a different CommandID.
  case commandMismatch(UInt8)
  /// It is about another notification.
  case uidMismatch(expected: NotificationUID, received: NotificationUID)
  /// It is about another app; the bytes are those received so far.
  case appMismatch([UInt8])
  /// An attribute that was not requested, or twice.
  case unexpectedAttribute(UInt8)
  /// An attribute longer than its maximum.
  case attributeTooLong(UInt8, length: Int, maximum: Int)

  public var description: String {
    switch self {
    case .unexpectedData: "unsolicited data"
    case .commandMismatch(let command): "the response to another command (\(command))"
    case .uidMismatch(let expected, let received):
      "the response for notification \(received) instead of \(expected)"
    case .appMismatch: "the response for another app"
    case .unexpectedAttribute(let id): "attribute \(id) where another was requested"
    case .attributeTooLong(let id, let length, let maximum):
      "attribute \(id) of \(length) bytes where at most \(maximum) were requested"
    }
  }
}
