// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The first octet of every PDU: what it is (Vol 3 Part F, 3.3.1 and the table in 3.4.8).
public struct Opcode: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  private init(_ rawValue: UInt8) { self.rawValue = rawValue }

  public static let errorResponse = Opcode(0x01)
  public static let exchangeMTURequest = Opcode(0x02)
  public static let exchangeMTUResponse = Opcode(0x03)
  public static let findInformationRequest = Opcode(0x04)
  public static let findInformationResponse = Opcode(0x05)
  public static let findByTypeValueRequest = Opcode(0x06)
  public static let findByTypeValueResponse = Opcode(0x07)
  public static let readByTypeRequest = Opcode(0x08)
  public static let readByTypeResponse = Opcode(0x09)
  public static let readRequest = Opcode(0x0A)
  public static let readResponse = Opcode(0x0B)
  public static let readBlobRequest = Opcode(0x0C)
  public static let readBlobResponse = Opcode(0x0D)
  public static let readMultipleRequest = Opcode(0x0E)
  public static let readMultipleResponse = Opcode(0x0F)
  public static let readByGroupTypeRequest = Opcode(0x10)
  public static let readByGroupTypeResponse = Opcode(0x11)
  public static let writeRequest = Opcode(0x12)
  public static let writeResponse = Opcode(0x13)
  public static let prepareWriteRequest = Opcode(0x16)
  public static let prepareWriteResponse = Opcode(0x17)
  public static let executeWriteRequest = Opcode(0x18)
  public static let executeWriteResponse = Opcode(0x19)
  public static let handleValueNotification = Opcode(0x1B)
  public static let handleValueIndication = Opcode(0x1D)
  public static let handleValueConfirmation = Opcode(0x1E)
  public static let readMultipleVariableRequest = Opcode(0x20)
  public static let readMultipleVariableResponse = Opcode(0x21)
  public static let multipleHandleValueNotification = Opcode(0x23)
  public static let writeCommand = Opcode(0x52)
  public static let signedWriteCommand = Opcode(0xD2)

  /// The part a PDU plays in a transaction (3.3), which says who may answer it and how.
  public enum Role: Hashable, Sendable {
    case request, response, command, notification, indication, confirmation
  }

  /// The opcodes that are known, with their names and roles.
  static let table: [UInt8: (name: String, role: Role)] = [
    0x01: ("Error Response", .response),
    0x02: ("Exchange MTU Request", .request),
    0x03: ("Exchange MTU Response", .response),
    0x04: ("Find Information Request", .request),
    0x05: ("Find Information Response", .response),
    0x06: ("Find By Type Value Request", .request),
    0x07: ("Find By Type Value Response", .response),
    0x08: ("Read By Type Request", .request),
    0x09: ("Read By Type Response", .response),
    0x0A: ("Read Request", .request),
    0x0B: ("Read Response", .response),
    0x0C: ("Read Blob Request", .request),
    0x0D: ("Read Blob Response", .response),
    0x0E: ("Read Multiple Request", .request),
    0x0F: ("Read Multiple Response", .response),
    0x10: ("Read By Group Type Request", .request),
    0x11: ("Read By Group Type Response", .response),
    0x12: ("Write Request", .request),
    0x13: ("Write Response", .response),
    0x16: ("Prepare Write Request", .request),
    0x17: ("Prepare Write Response", .response),
    0x18: ("Execute Write Request", .request),
    0x19: ("Execute Write Response", .response),
    0x1B: ("Handle Value Notification", .notification),
    0x1D: ("Handle Value Indication", .indication),
    0x1E: ("Handle Value Confirmation", .confirmation),
    0x20: ("Read Multiple Variable Request", .request),
    0x21: ("Read Multiple Variable Response", .response),
    0x23: ("Multiple Handle Value Notification", .notification),
    0x52: ("Write Command", .command),
    0xD2: ("Signed Write Command", .command),
  ]

  /// The part this PDU plays. One that is not known is a command where the command flag (bit 6) is
  /// set, which a server ignores, and else a request, which it answers with Request Not Supported
  /// (3.3.1 and 3.4.1.1).
  public var role: Role {
    if let known = Self.table[rawValue] { return known.role }
    return rawValue & 0x40 != 0 ? .command : .request
  }

  /// The opcode of the response that answers this request.
  public var response: Opcode { Opcode(rawValue: rawValue &+ 1) }
}

extension Opcode: CustomStringConvertible {
  public var description: String {
    Self.table[rawValue]?.name ?? "opcode 0x" + [rawValue].hex.uppercased()
  }
}
