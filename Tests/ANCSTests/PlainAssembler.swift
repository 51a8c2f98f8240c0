// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Wire

/// The Data Source's responses, read byte by byte with a state for each: the plain way, which `DataSourceAssembler` is
/// held against.
struct PlainAssembler {
  private struct Expected {
    let id: UInt8
    /// The length that was asked for, or any: what is too long of an attribute without one is cut by who
    /// keeps it (`NotificationLimits`).
    let maximum: Int
  }

  private enum State {
    /// This much of the head was received.
    case head([UInt8])
    case id
    case lengthLow(Expected)
    case lengthHigh(Expected, low: UInt8)
    case value(Expected, length: Int, [UInt8])
    /// All attributes are there.
    case complete(DataSourceResponse)
    /// The response was returned, or it was invalid.
    case ended
  }

  private let head: [UInt8]
  /// The attributes that are missing, in any order.
  private var missing: [Expected]
  private let lateBytesPossible: Bool
  private let subject: DataSourceResponse.Subject
  private var attributes: [DataSourceResponse.Attribute] = []
  private var state: State

  /// An assembler for the response to `command`; nil if it has none (an action).
  init?(for command: ControlPointCommand, lateBytesPossible: Bool = false) {
    switch command {
    case .getNotificationAttributes(let uid, let attributes):
      subject = .notification(uid)
      missing = attributes.map {
        Expected(id: $0.id.rawValue, maximum: Int($0.maximumLength ?? .max))
      }
    case .getAppAttributes(let app, let attributes):
      subject = .app(identifier: app)
      missing = attributes.map { Expected(id: $0.rawValue, maximum: Int(UInt16.max)) }
    case .performNotificationAction: return nil
    }
    head = Self.head(of: subject)
    self.lateBytesPossible = lateBytesPossible
    state = .head([])
  }

  /// Processes one notification of the Data Source.
  mutating func receive(_ fragment: [UInt8]) -> DataSourceAssembler.Progress {
    var rest = fragment[...]
    if case .head(let begun) = state, let progress = parseHead(of: &rest, begun: begun) {
      return progress
    }
    while true {
      if case .complete(let response) = state {
        state = .ended
        return .complete(response, trailing: rest.count)
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
  private mutating func parseHead(of rest: inout ArraySlice<UInt8>, begun: [UInt8])
    -> DataSourceAssembler.Progress?
  {
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
    case .id:
      let id = rest.removeFirst()
      guard let place = missing.firstIndex(where: { $0.id == id }) else {
        return .unexpectedAttribute(id)
      }
      state = .lengthLow(missing.remove(at: place))
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
      attributes.append(.init(id: wanted.id, value: value))
      state = next
    } else {
      state = .value(wanted, length: length, value)
    }
  }

  /// The state after the head or an attribute is whole.
  private var next: State {
    missing.isEmpty ? .complete(DataSourceResponse(subject, attributes)) : .id
  }

  /// What is wrong with `bytes` as the beginning of the response; nil while they may be its beginning.
  private func mismatch(in bytes: [UInt8]) -> DataSourceError? {
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

  private static func head(of subject: DataSourceResponse.Subject) -> [UInt8] {
    switch subject {
    case .notification(let uid): ControlPointCommand.getNotificationAttributes(uid, []).encoded
    case .app(let identifier):
      ControlPointCommand.getAppAttributes(appIdentifier: identifier, []).encoded
    }
  }
}
