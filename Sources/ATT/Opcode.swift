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

  /// The names from 0x01 on; empty where there is none.
  private static let names = [
    "Error Response", "Exchange MTU Request", "Exchange MTU Response", "Find Information Request",
    "Find Information Response", "Find By Type Value Request", "Find By Type Value Response", "Read By Type Request",
    "Read By Type Response", "Read Request", "Read Response", "Read Blob Request", "Read Blob Response",
    "Read Multiple Request", "Read Multiple Response", "Read By Group Type Request", "Read By Group Type Response",
    "Write Request", "Write Response", "", "", "Prepare Write Request", "Prepare Write Response",
    "Execute Write Request", "Execute Write Response", "", "Handle Value Notification", "", "Handle Value Indication",
    "Handle Value Confirmation", "", "Read Multiple Variable Request", "Read Multiple Variable Response", "",
    "Multiple Handle Value Notification",
  ]

  /// The kind of PDU. An unknown opcode is a command, which a server ignores, if its command flag (bit 6)
  /// is set, otherwise a request, which a server refuses with Request Not Supported (3.3.1, 3.4.1.1).
  public var role: Role {
    switch rawValue {
    case 0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x21: .response
    case 0x1B, 0x23: .notification
    case 0x1D: .indication
    case 0x1E: .confirmation
    default: rawValue & 0x40 != 0 ? .command : .request
    }
  }

  /// The opcode of the response to this request.
  public var response: Opcode { Opcode(rawValue: rawValue &+ 1) }

  public var description: String {
    let name =
      switch self {
      case .writeCommand: "Write Command"
      case .signedWriteCommand: "Signed Write Command"
      default: (1...Self.names.count).contains(Int(rawValue)) ? Self.names[Int(rawValue) - 1] : ""
      }
    return name.isEmpty ? "opcode 0x" + [rawValue].hex.uppercased() : name
  }
}
