// SPDX-License-Identifier: GPL-3.0-or-later

/// Why bytes of the Data Source are not the answer that was asked for.
public enum DataSourceError: Error, Hashable, Sendable {
  /// Nothing was asked for.
  case unexpectedData
  /// It begins with another command than the one that was sent.
  case commandMismatch(UInt8)
  /// It is about another notification.
  case uidMismatch(expected: NotificationUID, received: NotificationUID)
  /// It is about another app; the bytes are those received so far.
  case appMismatch([UInt8])
  /// An attribute that was not asked for, or not at this place.
  case unexpectedAttribute(UInt8)
  /// An attribute that is longer than was asked for, or than anything sensible.
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
