// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A request whose response is known by type: `try await bearer.request(.read(handle))` returns the
/// value that the Read Response holds.
public struct ATTRequest<Response> {
  /// The request PDU.
  public let pdu: PDU
  /// Extracts the contents of the response; nil for any other PDU.
  let response: (PDU) -> Response?

  fileprivate init(_ pdu: PDU, response: @escaping (PDU) -> Response?) {
    self.pdu = pdu
    self.response = response
  }

  /// Exchange MTU (Vol 3 Part F, 3.4.2): sends the client's receive MTU; the response has the
  /// server's.
  public static func exchangeMTU(_ clientMTU: UInt16) -> Self where Response == UInt16 {
    Self(.exchangeMTURequest(clientMTU: clientMTU)) { pdu in
      if case .exchangeMTUResponse(let serverMTU) = pdu { serverMTU } else { nil }
    }
  }

  /// Find Information (3.4.3.1): the types of some attributes in `range`.
  public static func findInformation(_ range: HandleRange) -> Self where Response == [PDU.AttributeInformation] {
    Self(.findInformationRequest(range)) { pdu in
      if case .findInformationResponse(let entries) = pdu { entries } else { nil }
    }
  }

  /// Find By Type Value (3.4.3.3): some attributes in `range` with this value, each with its group.
  ///
  /// - Parameter type: must have a 16-bit form, because the request has no room for another.
  public static func findByTypeValue(_ range: HandleRange, type: UUID, value: [UInt8]) -> Self
  where Response == [HandleRange] {
    // Nothing has the type 0, which stands for a UUID that can't be requested.
    Self(.findByTypeValueRequest(range, type: type.short ?? 0, value: value)) { pdu in
      if case .findByTypeValueResponse(let ranges) = pdu { ranges } else { nil }
    }
  }

  /// Read By Type (3.4.4.1): some attributes of `type` in `range`, with their values.
  public static func readByType(_ range: HandleRange, type: UUID) -> Self where Response == [PDU.AttributeValue] {
    Self(.readByTypeRequest(range, type: type)) { pdu in
      if case .readByTypeResponse(let entries) = pdu { entries } else { nil }
    }
  }

  /// Read By Group Type (3.4.4.9): some groups of `type` in `range`, with the leading values.
  public static func readByGroupType(_ range: HandleRange, type: UUID) -> Self where Response == [PDU.GroupValue] {
    Self(.readByGroupTypeRequest(range, type: type)) { pdu in
      if case .readByGroupTypeResponse(let groups) = pdu { groups } else { nil }
    }
  }

  /// Read (3.4.4.3): as much of the value as the MTU has room for.
  public static func read(_ handle: Handle) -> Self where Response == [UInt8] {
    Self(.readRequest(handle)) { pdu in
      if case .readResponse(let value) = pdu { value } else { nil }
    }
  }

  /// Read Blob (3.4.4.5): the value from `offset` on, as much as the MTU has room for.
  public static func readBlob(_ handle: Handle, offset: UInt16) -> Self where Response == [UInt8] {
    Self(.readBlobRequest(handle, offset: offset)) { pdu in
      if case .readBlobResponse(let part) = pdu { part } else { nil }
    }
  }

  /// Write (3.4.5.1).
  public static func write(_ handle: Handle, _ value: [UInt8]) -> Self where Response == Void {
    Self(.writeRequest(handle, value: value)) { $0 == .writeResponse ? () : nil }
  }
}
