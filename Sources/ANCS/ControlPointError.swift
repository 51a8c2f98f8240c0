// SPDX-License-Identifier: GPL-3.0-or-later

/// Why the phone refuses a command on the Control Point: ATT error codes of the range that is left to
/// applications (ANCS specification, Error Codes).
public struct ControlPointError: RawRepresentable, Error, Hashable, Sendable {
  /// The ATT error code.
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The command's number is not known.
  public static let unknownCommand = ControlPointError(rawValue: 0xA0)
  /// The command is not formed as it should be.
  public static let invalidCommand = ControlPointError(rawValue: 0xA1)
  /// A parameter names nothing that is there; what a notification's UID does once it is gone.
  public static let invalidParameter = ControlPointError(rawValue: 0xA2)
  /// The action was not performed.
  public static let actionFailed = ControlPointError(rawValue: 0xA3)

  /// The specification's name; nil for codes that are not ANCS's.
  public var name: String? {
    switch self {
    case .unknownCommand: "Unknown Command"
    case .invalidCommand: "Invalid Command"
    case .invalidParameter: "Invalid Parameter"
    case .actionFailed: "Action Failed"
    default: nil
    }
  }
}
