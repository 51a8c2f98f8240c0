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

  public let subject: Subject
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
    self.subject = subject
    encoded = writer.bytes
  }

  /// An answer as it has come. That its lengths lead from one attribute to the next, and the last one to its end, was
  /// checked.
  fileprivate init(_ subject: Subject, checked encoded: [UInt8], body: Int) {
    self.subject = subject
    self.encoded = encoded
    self.body = body
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
  /// What the answer to a command is about; nil for an action, which has none.
  init?(of command: ControlPointCommand) {
    switch command {
    case .getNotificationAttributes(let uid, _): self = .notification(uid)
    case .getAppAttributes(let app, _): self = .app(identifier: app)
    case .performNotificationAction: return nil
    }
  }

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
  private let subject: DataSourceResponse.Subject
  /// What the answer begins with: the command as it was sent, up to the list of attributes.
  public let head: ArraySlice<UInt8>
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
    guard let subject = DataSourceResponse.Subject(of: command) else { return nil }
    self.command = command
    self.subject = subject
    self.lateBytesPossible = lateBytesPossible
    head = command.head(of: sent)
    bytes.reserveCapacity(Self.usualSize)
  }

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
      if let error = mismatch(in: bytes.prefix(head.count)) {
        guard lateBytesPossible else { return fail(error) }
        bytes.removeAll(keepingCapacity: true)
        // What began like a head was the end of something else; this fragment may begin with a head.
        return begun == 0 ? .dropped(error) : receive(fragment)
      }
      guard bytes.count >= head.count else { return .more }
      state = .attributes(0, next: head.count, least: 0)
    }
    return parse()
  }

  /// Goes on behind the last attribute that is whole.
  private mutating func parse() -> Progress {
    guard case .attributes(var whole, next: var place, let least) = state, bytes.count >= least
    else { return .more }
    let count = command.attributeCount
    while whole < count {
      var least = place + 1
      if bytes.count >= least {
        let (id, maximum) = command.attribute(whole)
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
    return .complete(
      DataSourceResponse(subject, checked: bytes, body: head.count), trailing: trailing)
  }

  private mutating func fail(_ error: DataSourceError) -> Progress {
    state = .ended
    return .failed(error)
  }

  /// What is wrong with `bytes` as the beginning of the answer; nil while they may be its beginning.
  private func mismatch(in bytes: ArraySlice<UInt8>) -> DataSourceError? {
    guard let command = bytes.first, !head.starts(with: bytes) else { return nil }
    guard command == head.first else { return .commandMismatch(command) }
    switch subject {
    case .notification(let uid):
      var reader = ByteReader(bytes.dropFirst())
      guard let received = try? reader.u32() else { return nil }
      return .uidMismatch(expected: uid, received: NotificationUID(rawValue: received))
    case .app: return .appMismatch(Array(bytes.dropFirst()))
    }
  }
}

extension ControlPointCommand {
  /// What is in front of the list of attributes in the command as it was sent: for a notification CommandID and UID.
  fileprivate func head(of sent: [UInt8]) -> ArraySlice<UInt8> {
    switch self {
    case .getNotificationAttributes: sent.prefix(5)
    case .getAppAttributes(_, let attributes): sent.dropLast(attributes.count)
    case .performNotificationAction: []
    }
  }

  /// How many attributes the answer has.
  fileprivate var attributeCount: Int {
    switch self {
    case .getNotificationAttributes(_, let attributes): attributes.count
    case .getAppAttributes(_, let attributes): attributes.count
    case .performNotificationAction: 0
    }
  }

  /// The number of an attribute of the answer, and the most bytes that it may have: what was asked for, or any. What
  /// is too long of an attribute without a maximum is cut by who keeps it (`NotificationLimits`).
  fileprivate func attribute(_ index: Int) -> (id: UInt8, maximum: Int) {
    switch self {
    case .getNotificationAttributes(_, let attributes):
      (attributes[index].id.rawValue, Int(attributes[index].maximumLength ?? .max))
    case .getAppAttributes(_, let attributes): (attributes[index].rawValue, Int(UInt16.max))
    case .performNotificationAction: (0, 0)
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
