// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A PDU of the Attribute Protocol (Vol 3 Part F, 3.4).
///
/// `PDU(decoding:)` and `encoded` are exact inverses, except for half a length at the end of a Read Multiple Variable
/// Response, which is dropped. Decoding checks the format; the server checks whether handles and ranges are valid.
public enum PDU: Hashable, Sendable {
  case errorResponse(ErrorResponse)
  case exchangeMTURequest(clientMTU: UInt16)
  case exchangeMTUResponse(serverMTU: UInt16)
  case findInformationRequest(HandleRange)
  /// Entries are all short (16-bit) or all long (128-bit), never mixed.
  case findInformationResponse([AttributeInformation])
  case findByTypeValueRequest(HandleRange, type: UInt16, value: [UInt8])
  case findByTypeValueResponse([HandleRange])
  case readByTypeRequest(HandleRange, type: UUID)
  /// Values all have the same length.
  case readByTypeResponse([AttributeValue])
  case readRequest(Handle)
  case readResponse([UInt8])
  case readBlobRequest(Handle, offset: UInt16)
  case readBlobResponse([UInt8])
  case readMultipleRequest([Handle])
  case readMultipleResponse([UInt8])
  case readByGroupTypeRequest(HandleRange, type: UUID)
  /// Values all have the same length.
  case readByGroupTypeResponse([GroupValue])
  case writeRequest(Handle, value: [UInt8])
  case writeResponse
  case writeCommand(Handle, value: [UInt8])
  /// The signature is the last 12 octets.
  case signedWriteCommand(Handle, value: [UInt8], signature: [UInt8])
  case prepareWriteRequest(Handle, offset: UInt16, value: [UInt8])
  case prepareWriteResponse(Handle, offset: UInt16, value: [UInt8])
  case executeWriteRequest(ExecuteFlag)
  case executeWriteResponse
  case handleValueNotification(Handle, value: [UInt8])
  case handleValueIndication(Handle, value: [UInt8])
  case handleValueConfirmation
  case readMultipleVariableRequest([Handle])
  /// Each value with its own length; the last may be cut by the MTU.
  case readMultipleVariableResponse([LengthValue])
  case multipleHandleValueNotification([AttributeValue])
  /// A PDU with an unknown opcode.
  case unknown(Opcode, [UInt8])

  /// The contents of an Error Response: the request that failed, the handle, and why (3.4.1.1).
  public struct ErrorResponse: Hashable, Sendable {
    public var request: Opcode
    public var handle: Handle
    public var code: ErrorCode

    public init(request: Opcode, handle: Handle, code: ErrorCode) {
      self.request = request
      self.handle = handle
      self.code = code
    }
  }

  /// The handle and type of an attribute.
  public struct AttributeInformation: Hashable, Sendable {
    public var handle: Handle
    public var type: UUID

    public init(handle: Handle, type: UUID) {
      self.handle = handle
      self.type = type
    }
  }

  /// The handle and value of an attribute.
  public struct AttributeValue: Hashable, Sendable {
    public var handle: Handle
    public var value: [UInt8]

    public init(handle: Handle, value: [UInt8]) {
      self.handle = handle
      self.value = value
    }
  }

  /// A group of attributes and the value of its first attribute.
  public struct GroupValue: Hashable, Sendable {
    public var range: HandleRange
    public var value: [UInt8]

    public init(range: HandleRange, value: [UInt8]) {
      self.range = range
      self.value = value
    }
  }

  /// A value, whose end the MTU may have cut, and its full length.
  public struct LengthValue: Hashable, Sendable {
    public var length: UInt16
    public var value: [UInt8]

    public init(length: UInt16, value: [UInt8]) {
      self.length = length
      self.value = value
    }
  }

  /// What Execute Write does with the prepared writes (3.4.6.3).
  public enum ExecuteFlag: UInt8, Hashable, Sendable {
    case cancel = 0
    case write = 1
  }

  /// Its opcode.
  public var opcode: Opcode {
    switch self {
    case .errorResponse: .errorResponse
    case .exchangeMTURequest: .exchangeMTURequest
    case .exchangeMTUResponse: .exchangeMTUResponse
    case .findInformationRequest: .findInformationRequest
    case .findInformationResponse: .findInformationResponse
    case .findByTypeValueRequest: .findByTypeValueRequest
    case .findByTypeValueResponse: .findByTypeValueResponse
    case .readByTypeRequest: .readByTypeRequest
    case .readByTypeResponse: .readByTypeResponse
    case .readRequest: .readRequest
    case .readResponse: .readResponse
    case .readBlobRequest: .readBlobRequest
    case .readBlobResponse: .readBlobResponse
    case .readMultipleRequest: .readMultipleRequest
    case .readMultipleResponse: .readMultipleResponse
    case .readByGroupTypeRequest: .readByGroupTypeRequest
    case .readByGroupTypeResponse: .readByGroupTypeResponse
    case .writeRequest: .writeRequest
    case .writeResponse: .writeResponse
    case .writeCommand: .writeCommand
    case .signedWriteCommand: .signedWriteCommand
    case .prepareWriteRequest: .prepareWriteRequest
    case .prepareWriteResponse: .prepareWriteResponse
    case .executeWriteRequest: .executeWriteRequest
    case .executeWriteResponse: .executeWriteResponse
    case .handleValueNotification: .handleValueNotification
    case .handleValueIndication: .handleValueIndication
    case .handleValueConfirmation: .handleValueConfirmation
    case .readMultipleVariableRequest: .readMultipleVariableRequest
    case .readMultipleVariableResponse: .readMultipleVariableResponse
    case .multipleHandleValueNotification: .multipleHandleValueNotification
    case .unknown(let opcode, _): opcode
    }
  }

  /// The Error Response to a request with `opcode`.
  public static func error(_ code: ErrorCode, to opcode: Opcode, at handle: Handle = 0) -> PDU {
    .errorResponse(ErrorResponse(request: opcode, handle: handle, code: code))
  }
}
