// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Why a server refused a request: the code of an Error Response (Vol 3 Part F, 3.4.1.1).
///
/// Unknown codes are kept. 0x80–0x9F are Application Errors, whose meaning the service defines; 0xE0–0xFF
/// are common to all profiles (Core Specification Supplement, Part B). ANCS and AMS use 0xA0–0xA3; their
/// modules name those.
public struct ErrorCode: Error, RawRepresentable, Hashable, Sendable, CustomStringConvertible {
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
  public static let cccdImproperlyConfigured = ErrorCode(0xFD)
  public static let outOfRange = ErrorCode(0xFF)

  /// The names from 0x01 on.
  private static let names = [
    "Invalid Handle", "Read Not Permitted", "Write Not Permitted", "Invalid PDU", "Insufficient Authentication",
    "Request Not Supported", "Invalid Offset", "Insufficient Authorization", "Prepare Queue Full",
    "Attribute Not Found", "Attribute Not Long", "Encryption Key Size Too Short", "Invalid Attribute Value Length",
    "Unlikely Error", "Insufficient Encryption", "Unsupported Group Type", "Insufficient Resources",
    "Database Out Of Sync", "Value Not Allowed",
  ]
  /// The names of the last ones, up to 0xFF.
  private static let commonNames = [
    "Write Request Rejected",
    "Client Characteristic Configuration Descriptor Improperly Configured",
    "Procedure Already in Progress", "Out of Range",
  ]

  /// The specification's name, or the code's range and number.
  public var description: String {
    let number = "0x" + [rawValue].hex.uppercased()
    return switch rawValue {
    case 0x01...0x13: Self.names[Int(rawValue) - 0x01]
    case 0x80...0x9F: "Application Error \(number)"
    case 0xE0...0xFB: "Common Profile Error \(number)"
    case 0xFC...0xFF: Self.commonNames[Int(rawValue) - 0xFC]
    default: "Error \(number)"
    }
  }
}

/// Why a request has no usable response.
public enum ATTFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The server refused it with an Error Response.
  case refused(PDU.ErrorResponse)
  /// The response had the right opcode but could not be decoded.
  case malformed(Opcode, DecodeError)
  /// The response was well-formed but violates the protocol; the text says how.
  case protocolViolation(String)
  /// The server did not respond within 30 seconds; the bearer is dead (Vol 3 Part F, 3.3.3).
  case timedOut(Opcode)
  /// The request does not fit into the MTU and was not sent.
  case tooLong(Opcode, length: Int, mtu: Int)
  /// Nobody waits for the response anymore, so the request was not sent.
  case cancelled
  /// The link has ended; the text says why.
  case closed(String)

  /// The code of the Error Response, if there was one.
  public var code: ErrorCode? { if case .refused(let error) = self { error.code } else { nil } }

  /// Whether the link has ended, so that nothing more can be sent on it.
  public var isEnd: Bool {
    switch self {
    case .timedOut, .closed: true
    case .refused, .malformed, .protocolViolation, .tooLong, .cancelled: false
    }
  }

  public var description: String {
    switch self {
    case .refused(let error):
      "\(error.request) refused at handle \(hexadecimal(error.handle)): \(error.code)"
    case .malformed(let opcode, let error): "malformed \(opcode): \(error)"
    case .protocolViolation(let what): what
    case .timedOut(let opcode): "no response to \(opcode) within 30 s"
    case .tooLong(let opcode, let length, let mtu):
      "\(opcode) of \(length) octets does not fit into the MTU of \(mtu)"
    case .cancelled: "cancelled before it was sent"
    case .closed(let why): "the link was lost: \(why)"
    }
  }
}
