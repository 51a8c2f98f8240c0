// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Why a server refused a request: the code of an Error Response (Vol 3 Part F, 3.4.1.1).
///
/// An open set: 0x80–0x9F belong to the service asked (Application Error), 0xE0–0xFF to all profiles
/// (Core Specification Supplement Part B), and codes that nobody named are kept as they are. ANCS and
/// AMS give 0xA0–0xA3 meanings of their own; their rooms name those.
public struct ErrorCode: Error, RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  public static let invalidHandle = ErrorCode(0x01)
  public static let readNotPermitted = ErrorCode(0x02)
  public static let writeNotPermitted = ErrorCode(0x03)
  public static let invalidPDU = ErrorCode(0x04)
  public static let insufficientAuthentication = ErrorCode(0x05)
  public static let requestNotSupported = ErrorCode(0x06)
  public static let invalidOffset = ErrorCode(0x07)
  public static let insufficientAuthorization = ErrorCode(0x08)
  public static let prepareQueueFull = ErrorCode(0x09)
  public static let attributeNotFound = ErrorCode(0x0A)
  public static let attributeNotLong = ErrorCode(0x0B)
  public static let encryptionKeySizeTooShort = ErrorCode(0x0C)
  public static let invalidAttributeValueLength = ErrorCode(0x0D)
  public static let unlikelyError = ErrorCode(0x0E)
  public static let insufficientEncryption = ErrorCode(0x0F)
  public static let unsupportedGroupType = ErrorCode(0x10)
  public static let insufficientResources = ErrorCode(0x11)
  public static let databaseOutOfSync = ErrorCode(0x12)
  public static let valueNotAllowed = ErrorCode(0x13)
  public static let writeRequestRejected = ErrorCode(0xFC)
  public static let cccdImproperlyConfigured = ErrorCode(0xFD)
  public static let procedureAlreadyInProgress = ErrorCode(0xFE)
  public static let outOfRange = ErrorCode(0xFF)

  private static let names: [UInt8: String] = [
    0x01: "Invalid Handle", 0x02: "Read Not Permitted", 0x03: "Write Not Permitted",
    0x04: "Invalid PDU", 0x05: "Insufficient Authentication", 0x06: "Request Not Supported",
    0x07: "Invalid Offset", 0x08: "Insufficient Authorization", 0x09: "Prepare Queue Full",
    0x0A: "Attribute Not Found", 0x0B: "Attribute Not Long",
    0x0C: "Encryption Key Size Too Short", 0x0D: "Invalid Attribute Value Length",
    0x0E: "Unlikely Error", 0x0F: "Insufficient Encryption", 0x10: "Unsupported Group Type",
    0x11: "Insufficient Resources", 0x12: "Database Out Of Sync", 0x13: "Value Not Allowed",
    0xFC: "Write Request Rejected",
    0xFD: "Client Characteristic Configuration Descriptor Improperly Configured",
    0xFE: "Procedure Already in Progress", 0xFF: "Out of Range",
  ]
}

extension ErrorCode: CustomStringConvertible {
  /// The specification's name, or the range that the code lies in with its number.
  public var description: String {
    if let name = Self.names[rawValue] { return name }
    let number = "0x" + [rawValue].hex.uppercased()
    return switch rawValue {
    case 0x80...0x9F: "Application Error \(number)"
    case 0xE0...0xFB: "Common Profile Error \(number)"
    default: "Error \(number)"
    }
  }
}
