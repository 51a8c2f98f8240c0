// SPDX-License-Identifier: GPL-3.0-or-later

/// Why the phone refuses a write or a read of the Media Service: ATT error codes of the range that is
/// left to applications (AMS specification, Error Codes).
public struct MediaError: RawRepresentable, Error, Hashable, Sendable {
  /// The ATT error code.
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The service was not set up, such as a write without being subscribed to Entity Update.
  public static let invalidState = MediaError(rawValue: 0xA0)
  /// The command is not formed as it should be.
  public static let invalidCommand = MediaError(rawValue: 0xA1)
  /// The attribute is empty.
  public static let absentAttribute = MediaError(rawValue: 0xA2)

  /// The specification's name; nil for codes that are not AMS's.
  public var name: String? {
    switch self {
    case .invalidState: "Invalid State"
    case .invalidCommand: "Invalid Command"
    case .absentAttribute: "Absent Attribute"
    default: nil
    }
  }
}
