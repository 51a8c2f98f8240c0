// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The first octet of a PDU, which identifies its kind (Vol 3 Part F, 3.3.1 and the table in 3.4.8).
public struct Opcode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
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

  /// The kind of PDU, which determines whether and how to respond (3.3).
  public enum Role: CaseIterable, Hashable, Sendable {
    case request, response, command, notification, indication, confirmation

    /// Whether it goes from the client to the server.
    public var isToServer: Bool { [.request, .command, .confirmation].contains(self) }
  }

  /// The known opcodes with their names and roles.
  private static let table: [Opcode: (name: String, role: Role)] = [
    .errorResponse: ("Error Response", .response),
    .exchangeMTURequest: ("Exchange MTU Request", .request),
    .exchangeMTUResponse: ("Exchange MTU Response", .response),
    .findInformationRequest: ("Find Information Request", .request),
    .findInformationResponse: ("Find Information Response", .response),
    .findByTypeValueRequest: ("Find By Type Value Request", .request),
    .findByTypeValueResponse: ("Find By Type Value Response", .response),
    .readByTypeRequest: ("Read By Type Request", .request),
    .readByTypeResponse: ("Read By Type Response", .response),
    .readRequest: ("Read Request", .request),
    .readResponse: ("Read Response", .response),
    .readBlobRequest: ("Read Blob Request", .request),
    .readBlobResponse: ("Read Blob Response", .response),
    .readMultipleRequest: ("Read Multiple Request", .request),
    .readMultipleResponse: ("Read Multiple Response", .response),
    .readByGroupTypeRequest: ("Read By Group Type Request", .request),
    .readByGroupTypeResponse: ("Read By Group Type Response", .response),
    .writeRequest: ("Write Request", .request),
    .writeResponse: ("Write Response", .response),
    .prepareWriteRequest: ("Prepare Write Request", .request),
    .prepareWriteResponse: ("Prepare Write Response", .response),
    .executeWriteRequest: ("Execute Write Request", .request),
    .executeWriteResponse: ("Execute Write Response", .response),
    .handleValueNotification: ("Handle Value Notification", .notification),
    .handleValueIndication: ("Handle Value Indication", .indication),
    .handleValueConfirmation: ("Handle Value Confirmation", .confirmation),
    .readMultipleVariableRequest: ("Read Multiple Variable Request", .request),
    .readMultipleVariableResponse: ("Read Multiple Variable Response", .response),
    .multipleHandleValueNotification: ("Multiple Handle Value Notification", .notification),
    .writeCommand: ("Write Command", .command),
    .signedWriteCommand: ("Signed Write Command", .command),
  ]

  /// The kind of PDU. An unknown opcode is a command, which a server ignores, if its command flag (bit 6)
  /// is set, otherwise a request, which a server refuses with Request Not Supported (3.3.1, 3.4.1.1).
  public var role: Role { Self.roles[Int(rawValue)] }

  /// The role of every opcode, by number, because every PDU needs a lookup.
  private static let roles = (0...UInt8.max).map { number in
    table[Opcode(number)]?.role ?? (number & 0x40 != 0 ? .command : .request)
  }

  /// The opcode of the response to this request.
  public var response: Opcode { Opcode(rawValue: rawValue &+ 1) }

  public var description: String {
    Self.table[self]?.name ?? "opcode 0x" + [rawValue].hex.uppercased()
  }
}
