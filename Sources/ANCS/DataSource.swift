// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A whole answer of the Data Source: its subject, and the attributes in the order of the command (ANCS
/// specification, Get Notification Attributes and Get App Attributes).
public struct DataSourceResponse: Hashable, Sendable {
  /// What the answer is about.
  public enum Subject: Hashable, Sendable {
    case notification(NotificationUID)
    case app(identifier: String)
  }

  /// An attribute and its bytes, none if it is empty.
  public struct Attribute: Hashable, Sendable {
    /// A `NotificationAttributeID` or `AppAttributeID`, depending on the subject.
    public let id: UInt8
    /// A part of the answer that it came in.
    public let value: ArraySlice<UInt8>

    public init(id: UInt8, value: ArraySlice<UInt8>) {
      self.id = id
      self.value = value
    }

    public init(id: UInt8, value: [UInt8]) { self.init(id: id, value: value[...]) }
  }

  /// The bytes before they are cut into notifications: the head of the command, then id, length (two
  /// bytes) and value of each attribute.
  public let encoded: [UInt8]
  /// Where the first attribute begins.
  private let body: Int

  /// An answer of these attributes. A value too long for its length field is cut.
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

  /// An answer as it has come. That its lengths lead from one attribute to the next, and the last one to its end, was
  /// checked.
  fileprivate init(checked encoded: [UInt8], body: Int) {
    self.encoded = encoded
    self.body = body
  }

  /// What it is about, as its head says.
  public var subject: Subject {
    var reader = ByteReader(encoded[1..<body])
    return encoded[0] == ControlPointCommand.ID.getNotificationAttributes
      ? .notification(NotificationUID(rawValue: (try? reader.u32()) ?? 0))
      : .app(identifier: String(decoding: encoded[1..<body - 1], as: UTF8.self))
  }

  /// The attributes, each a part of the answer.
  public var attributes: [Attribute] {
    var attributes: [Attribute] = []
    forEach { attributes.append(Attribute(id: $0, value: encoded[$1])) }
    return attributes
  }

  /// Calls `use` with the number of each attribute and with where in `encoded` it is.
  func forEach(_ use: (_ id: UInt8, _ place: Range<Int>) -> Void) {
    var place = body
    while place < encoded.count {
      let start = place + 3
      let end = start + (Int(encoded[place + 1]) | Int(encoded[place + 2]) << 8)
      use(encoded[place], start..<end)
      place = end
    }
  }

  /// The answer as notifications of at most `length` bytes each (MTU − 3).
  public func fragments(ofAtMost length: Int) -> [[UInt8]] {
    let bytes = encoded
    let step = max(1, length)
    return stride(from: 0, to: bytes.count, by: step).map {
      Array(bytes[$0..<min($0 + step, bytes.count)])
    }
  }
}

extension DataSourceResponse.Subject {
  /// The bytes that an answer begins with: its command up to the list of attributes.
  fileprivate var head: [UInt8] {
    switch self {
    case .notification(let uid): ControlPointCommand.getNotificationAttributes(uid, []).encoded
    case .app(let identifier):
      ControlPointCommand.getAppAttributes(appIdentifier: identifier, []).encoded
    }
  }
}

/// Assembles the phone's answer from the notifications of the Data Source.
///
/// An answer has neither a number nor a length: it is complete when every attribute of the command is
/// there, in the command's order (ANCS specification, Get Notification Attributes). A fragment may end
/// anywhere, even inside a length, and the next one may begin with bytes that look like a new answer; so
/// the parser follows the list of attributes and never looks for a beginning inside an answer.
///
///     head ──▶ id ──▶ length ──▶ value ─┐      head: CommandID and UID, or CommandID, app id and NUL
///               ▲                       │
///               └── more asked for ─────┘
///
/// Only the rest of an earlier answer that was given up can precede an answer. If that is possible
/// (`lateBytesPossible`), fragments are dropped until one begins with the right head.
///
/// The fragments become one buffer, in which the texts of the notification stay: each byte is copied once, however
/// many fragments there are.
public struct DataSourceAssembler: Sendable {
  /// What a fragment led to.
  public enum Progress: Hashable, Sendable {
    /// The answer goes on.
    case more
    /// The fragment is not part of the answer, which is still to come.
    case dropped(DataSourceError)
    /// The answer is whole; `trailing` bytes of the fragment come after its end.
    case complete(DataSourceResponse, trailing: Int)
    /// This is not the answer, whatever follows.
    case failed(DataSourceError)
  }

  private enum State {
    /// The head is not whole.
    case head
    /// The head is there, and so many attributes; the next one begins at this byte, and is not whole before there
    /// are so many bytes.
    case attributes(Int, next: Int, least: Int)
    /// The answer was returned, or it was invalid.
    case ended
  }

  private let command: ControlPointCommand
  /// The command as it was sent, and how much of it is in front of the list of attributes.
  private let sent: [UInt8]
  private let headLength: Int
  private let lateBytesPossible: Bool
  /// The answer as far as it is there.
  private var bytes: [UInt8] = []
  private var state = State.head

  /// An assembler for the answer to `command`; nil if it has none (an action).
  public init?(for command: ControlPointCommand, lateBytesPossible: Bool = false) {
    self.init(for: command, sent: command.encoded, lateBytesPossible: lateBytesPossible)
  }

  /// The same for who has encoded the command already.
  init?(for command: ControlPointCommand, sent: [UInt8], lateBytesPossible: Bool) {
    guard let headLength = command.headLength(of: sent) else { return nil }
    self.command = command
    self.sent = sent
    self.lateBytesPossible = lateBytesPossible
    self.headLength = headLength
    bytes.reserveCapacity(Self.usualSize)
  }

  /// What the answer begins with: the command up to the list of attributes.
  public var head: ArraySlice<UInt8> { sent.prefix(headLength) }

  /// Whether anything of the answer is there.
  var hasBegun: Bool { !bytes.isEmpty }

  /// What most answers fit into, in bytes.
  private static let usualSize = 448

  /// Processes one notification of the Data Source.
  public mutating func receive(_ fragment: [UInt8]) -> Progress { receive(fragment[...]) }

  /// Processes one notification of the Data Source.
  public mutating func receive(_ fragment: ArraySlice<UInt8>) -> Progress {
    if case .ended = state { return fragment.isEmpty ? .more : .failed(.unexpectedData) }
    let begun = bytes.count
    bytes.append(contentsOf: fragment)
    if case .head = state {
      if let error = mismatch(in: bytes.prefix(headLength)) {
        guard lateBytesPossible else { return fail(error) }
        bytes.removeAll(keepingCapacity: true)
        // What began like a head was the end of something else; this fragment may begin with a head.
        return begun == 0 ? .dropped(error) : receive(fragment)
      }
      guard bytes.count >= headLength else { return .more }
      state = .attributes(0, next: headLength, least: 0)
    }
    switch command {
    case .getNotificationAttributes(_, let wanted):
      return parse(wanted.count) { (wanted[$0].id.rawValue, Int(wanted[$0].maximumLength ?? .max)) }
    case .getAppAttributes(_, let wanted):
      return parse(wanted.count) { (wanted[$0].rawValue, Int(UInt16.max)) }
    case .performNotificationAction: return .more
    }
  }

  /// Goes on behind the last attribute that is whole.
  ///
  /// - Parameter attribute: the number of an attribute that was asked for, and the most bytes that it may have: what was
  ///   asked for, or any. What is too long of an attribute without a maximum is cut by who keeps it
  ///   (`NotificationLimits`).
  @inline(__always) private mutating func parse(
    _ count: Int, _ attribute: (Int) -> (id: UInt8, maximum: Int)
  ) -> Progress {
    guard case .attributes(var whole, next: var place, let least) = state, bytes.count >= least
    else { return .more }
    while whole < count {
      var least = place + 1
      if bytes.count >= least {
        let (id, maximum) = attribute(whole)
        guard bytes[place] == id else { return fail(.unexpectedAttribute(bytes[place])) }
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
        state = .attributes(whole, next: place, least: least)
        return .more
      }
      whole += 1
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

  /// What is wrong with `bytes` as the beginning of the answer; nil while they may be its beginning.
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
  /// How many bytes are in front of the list of attributes in the command as it was sent: for a notification CommandID
  /// and UID. Nil for an action, which has no answer.
  fileprivate func headLength(of sent: [UInt8]) -> Int? {
    switch self {
    case .getNotificationAttributes: 5
    case .getAppAttributes(_, let attributes): sent.count - attributes.count
    case .performNotificationAction: nil
    }
  }
}

/// Why bytes of the Data Source are not the expected answer.
public enum DataSourceError: Error, Hashable, Sendable {
  /// No answer is expected.
  case unexpectedData
  /// It begins with a different CommandID.
  case commandMismatch(UInt8)
  /// It is about another notification.
  case uidMismatch(expected: NotificationUID, received: NotificationUID)
  /// It is about another app; the bytes are those received so far.
  case appMismatch([UInt8])
  /// An attribute that was not asked for, or not in this place.
  case unexpectedAttribute(UInt8)
  /// An attribute longer than its maximum.
  case attributeTooLong(UInt8, length: Int, maximum: Int)
}

extension DataSourceError: CustomStringConvertible {
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
