// SPDX-License-Identifier: GPL-3.0-or-later

/// Puts the phone's answer together from the notifications of the Data Source.
///
/// An answer has neither a number nor a length of its own: it is complete when every attribute that was
/// asked for is there, in the order it was asked for (ANCS specification, Get Notification Attributes).
/// A fragment may end anywhere, also inside a length, and the next may begin with bytes that look like a
/// new answer; so the parser goes along the list of what was asked for and never looks for a
/// beginning inside an answer.
///
///     head ──▶ id ──▶ length ──▶ value ─┐      head: CommandID and UID, or CommandID, app id and NUL
///               ▲                       │
///               └── more asked for ─────┘
///
/// The one thing that can precede an answer is the late rest of an earlier one that was given up. Where
/// that is possible (`lateBytesPossible`), fragments are dropped until one begins with the right head.
public struct DataSourceAssembler: Sendable {
  /// What a fragment has led to.
  public enum Progress: Hashable, Sendable {
    /// The answer goes on.
    case more
    /// The fragment was not part of the answer, which is still to come.
    case dropped(DataSourceError)
    /// The answer is whole; so many bytes of the fragment were behind its end.
    case complete(DataSourceResponse, trailing: Int)
    /// This is not the answer. No later byte will make it one.
    case failed(DataSourceError)
  }

  /// The greatest length of an attribute that was asked for without a maximum.
  public static let longestAttribute = 4096

  private struct Expected {
    let id: UInt8
    let maximum: Int
  }

  private enum State {
    /// So much of the head was received.
    case head([UInt8])
    case id(Expected)
    case lengthLow(Expected)
    case lengthHigh(Expected, low: UInt8)
    case value(Expected, length: Int, [UInt8])
    /// Everything is there; what follows is not part of it.
    case complete(DataSourceResponse)
    /// The answer was handed over, or it was none.
    case ended
  }

  private let head: [UInt8]
  private let expected: [Expected]
  private let lateBytesPossible: Bool
  private var response: DataSourceResponse
  private var state: State

  /// An assembler for the answer to `command`; nil where it has none (an action).
  public init?(for command: ControlPointCommand, lateBytesPossible: Bool = false) {
    switch command {
    case .getNotificationAttributes(let uid, let attributes):
      response = DataSourceResponse(.notification(uid), [])
      expected = attributes.map {
        Expected(
          id: $0.id.rawValue, maximum: $0.maximumLength.map(Int.init) ?? Self.longestAttribute)
      }
    case .getAppAttributes(let app, let attributes):
      response = DataSourceResponse(.app(identifier: app), [])
      expected = attributes.map { Expected(id: $0.rawValue, maximum: Self.longestAttribute) }
    case .performNotificationAction:
      return nil
    }
    head = response.subject.head
    self.lateBytesPossible = lateBytesPossible
    state = .head([])
  }

  /// Takes the value of one notification of the Data Source.
  public mutating func receive(_ fragment: [UInt8]) -> Progress {
    var rest = fragment[...]
    if case .head(let begun) = state, let progress = takeHead(of: &rest, begun: begun) {
      return progress
    }
    while true {
      if case .complete(let answer) = state {
        state = .ended
        return .complete(answer, trailing: rest.count)
      }
      guard !rest.isEmpty else { return .more }
      if let error = takeNext(of: &rest) {
        state = .ended
        return .failed(error)
      }
    }
  }

  /// Takes what belongs to the head from the fragment; a result where the fragment ends with that.
  private mutating func takeHead(
    of rest: inout ArraySlice<UInt8>, begun: [UInt8]
  ) -> Progress? {
    let bytes = begun + rest.prefix(head.count - begun.count)
    if let error = mismatch(in: bytes) {
      guard lateBytesPossible else {
        state = .ended
        return .failed(error)
      }
      state = .head([])
      // What began like a head was the end of something else; this fragment may begin with one.
      return begun.isEmpty ? .dropped(error) : takeHead(of: &rest, begun: [])
    }
    rest = rest.dropFirst(bytes.count - begun.count)
    state = bytes.count == head.count ? next : .head(bytes)
    return nil
  }

  /// Takes the next field behind the head, or as much of it as the fragment holds.
  private mutating func takeNext(of rest: inout ArraySlice<UInt8>) -> DataSourceError? {
    switch state {
    case .id(let wanted):
      let id = rest.removeFirst()
      guard id == wanted.id else { return .unexpectedAttribute(id) }
      state = .lengthLow(wanted)
    case .lengthLow(let wanted):
      state = .lengthHigh(wanted, low: rest.removeFirst())
    case .lengthHigh(let wanted, let low):
      let length = Int(low) | Int(rest.removeFirst()) << 8
      guard length <= wanted.maximum else {
        return .attributeTooLong(wanted.id, length: length, maximum: wanted.maximum)
      }
      takeValue(of: wanted, length: length, begun: [], from: &rest)
    case .value(let wanted, let length, let begun):
      takeValue(of: wanted, length: length, begun: begun, from: &rest)
    case .head, .complete, .ended:
      return .unexpectedData
    }
    return nil
  }

  private mutating func takeValue(
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

  /// Where the parser goes when an attribute, or the head, is whole.
  private var next: State {
    let count = response.attributes.count
    return count < expected.count ? .id(expected[count]) : .complete(response)
  }

  /// What is wrong with `bytes` as the beginning of the answer; nil as long as they may be it.
  private func mismatch(in bytes: [UInt8]) -> DataSourceError? {
    guard let command = bytes.first, !head.starts(with: bytes) else { return nil }
    guard command == head.first else { return .commandMismatch(command) }
    switch response.subject {
    case .notification(let uid):
      guard bytes.count == head.count else { return nil }
      let received = bytes.dropFirst().reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      return .uidMismatch(expected: uid, received: NotificationUID(rawValue: received))
    case .app:
      return .appMismatch(Array(bytes.dropFirst()))
    }
  }
}
