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
    public let value: [UInt8]

    public init(id: UInt8, value: [UInt8]) {
      self.id = id
      self.value = value
    }
  }

  public var subject: Subject
  public var attributes: [Attribute]

  public init(_ subject: Subject, _ attributes: [Attribute]) {
    self.subject = subject
    self.attributes = attributes
  }

  /// The bytes before they are cut into notifications: the head of the command, then id, length (two
  /// bytes) and value of each attribute. A value too long for its length field is cut.
  public var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.bytes(subject.head)
    for attribute in attributes {
      let value = attribute.value.prefix(Int(UInt16.max))
      writer.u8(attribute.id)
      writer.u16(UInt16(truncatingIfNeeded: value.count))
      writer.bytes(value)
    }
    return writer.bytes
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
  var head: [UInt8] {
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

  private struct Expected {
    let id: UInt8
    /// The length that was asked for, or any: what is too long of an attribute without one is cut by who
    /// keeps it (`NotificationLimits`).
    let maximum: Int
  }

  private enum State {
    /// This much of the head was received.
    case head([UInt8])
    case id(Expected)
    case lengthLow(Expected)
    case lengthHigh(Expected, low: UInt8)
    case value(Expected, length: Int, [UInt8])
    /// All attributes are there.
    case complete(DataSourceResponse)
    /// The answer was returned, or it was invalid.
    case ended
  }

  private let head: [UInt8]
  private let expected: [Expected]
  private let lateBytesPossible: Bool
  private var response: DataSourceResponse
  private var state: State

  /// An assembler for the answer to `command`; nil if it has none (an action).
  public init?(for command: ControlPointCommand, lateBytesPossible: Bool = false) {
    switch command {
    case .getNotificationAttributes(let uid, let attributes):
      response = DataSourceResponse(.notification(uid), [])
      expected = attributes.map {
        Expected(id: $0.id.rawValue, maximum: Int($0.maximumLength ?? .max))
      }
    case .getAppAttributes(let app, let attributes):
      response = DataSourceResponse(.app(identifier: app), [])
      expected = attributes.map { Expected(id: $0.rawValue, maximum: Int(UInt16.max)) }
    case .performNotificationAction: return nil
    }
    head = response.subject.head
    self.lateBytesPossible = lateBytesPossible
    state = .head([])
  }

  /// Processes one notification of the Data Source.
  public mutating func receive(_ fragment: [UInt8]) -> Progress {
    var rest = fragment[...]
    if case .head(let begun) = state, let progress = parseHead(of: &rest, begun: begun) {
      return progress
    }
    while true {
      if case .complete(let answer) = state {
        state = .ended
        return .complete(answer, trailing: rest.count)
      }
      guard !rest.isEmpty else { return .more }
      if let error = parseNext(of: &rest) {
        state = .ended
        return .failed(error)
      }
    }
  }

  /// Parses the head, or as much of it as the fragment holds; returns a result if the fragment is done
  /// with.
  private mutating func parseHead(of rest: inout ArraySlice<UInt8>, begun: [UInt8]) -> Progress? {
    let bytes = begun + rest.prefix(head.count - begun.count)
    if let error = mismatch(in: bytes) {
      guard lateBytesPossible else {
        state = .ended
        return .failed(error)
      }
      state = .head([])
      // What began like a head was the end of something else; this fragment may begin with a head.
      return begun.isEmpty ? .dropped(error) : parseHead(of: &rest, begun: [])
    }
    rest = rest.dropFirst(bytes.count - begun.count)
    state = bytes.count == head.count ? next : .head(bytes)
    return nil
  }

  /// Parses the next field after the head, or as much of it as the fragment holds.
  private mutating func parseNext(of rest: inout ArraySlice<UInt8>) -> DataSourceError? {
    switch state {
    case .id(let wanted):
      let id = rest.removeFirst()
      guard id == wanted.id else { return .unexpectedAttribute(id) }
      state = .lengthLow(wanted)
    case .lengthLow(let wanted): state = .lengthHigh(wanted, low: rest.removeFirst())
    case .lengthHigh(let wanted, let low):
      let length = Int(low) | Int(rest.removeFirst()) << 8
      guard length <= wanted.maximum else {
        return .attributeTooLong(wanted.id, length: length, maximum: wanted.maximum)
      }
      parseValue(of: wanted, length: length, begun: [], from: &rest)
    case .value(let wanted, let length, let begun):
      parseValue(of: wanted, length: length, begun: begun, from: &rest)
    case .head, .complete, .ended: return .unexpectedData
    }
    return nil
  }

  private mutating func parseValue(
    of wanted: Expected, length: Int, begun: [UInt8], from rest: inout ArraySlice<UInt8>
  ) {
    let value = begun + rest.prefix(length - begun.count)
    rest = rest.dropFirst(value.count - begun.count)
    if value.count == length {
      response.attributes.append(.init(id: wanted.id, value: value))
      state = next
    } else {
      state = .value(wanted, length: length, value)
    }
  }

  /// The state after the head or an attribute is whole.
  private var next: State {
    let count = response.attributes.count
    return count < expected.count ? .id(expected[count]) : .complete(response)
  }

  /// What is wrong with `bytes` as the beginning of the answer; nil while they may be its beginning.
  private func mismatch(in bytes: [UInt8]) -> DataSourceError? {
    guard let command = bytes.first, !head.starts(with: bytes) else { return nil }
    guard command == head.first else { return .commandMismatch(command) }
    switch response.subject {
    case .notification(let uid):
      var reader = ByteReader(bytes.dropFirst())
      guard let received = try? reader.u32() else { return nil }
      return .uidMismatch(expected: uid, received: NotificationUID(rawValue: received))
    case .app: return .appMismatch(Array(bytes.dropFirst()))
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
    case .unexpectedData: "data that nobody asked for"
    case .commandMismatch(let command): "the answer to another command (\(command))"
    case .uidMismatch(let expected, let received):
      "the answer for notification \(received) instead of \(expected)"
    case .appMismatch: "the answer for another app"
    case .unexpectedAttribute(let id): "attribute \(id) where another was asked for"
    case .attributeTooLong(let id, let length, let maximum):
      "attribute \(id) of \(length) bytes where at most \(maximum) were asked for"
    }
  }
}
