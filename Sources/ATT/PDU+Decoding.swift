// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

extension PDU {
  /// Reads the PDU that `bytes` are, all of them.
  ///
  /// - Throws: `DecodeError` where a known PDU is cut short, too long or malformed. A PDU with an
  ///   unknown opcode is no error, but `.unknown`.
  public init(decoding bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    let opcode = Opcode(rawValue: try reader.u8())
    self = try Self.decode(opcode, from: &reader)
    try reader.end()
  }

  private static func decode(
    _ opcode: Opcode, from reader: inout ByteReader
  ) throws(DecodeError) -> PDU {
    switch opcode {
    case .errorResponse:
      .errorResponse(
        ErrorResponse(
          request: Opcode(rawValue: try reader.u8()), handle: try reader.u16(),
          code: ErrorCode(try reader.u8())))
    case .exchangeMTURequest: .exchangeMTURequest(clientMTU: try reader.u16())
    case .exchangeMTUResponse: .exchangeMTUResponse(serverMTU: try reader.u16())
    case .findInformationRequest: .findInformationRequest(try reader.range())
    case .findInformationResponse: .findInformationResponse(try reader.information())
    case .findByTypeValueRequest:
      .findByTypeValueRequest(
        try reader.range(), type: try reader.u16(), value: Array(reader.rest()))
    case .findByTypeValueResponse: .findByTypeValueResponse(try reader.ranges())
    case .readByTypeRequest: .readByTypeRequest(try reader.range(), type: try reader.lastUUID())
    case .readByTypeResponse: .readByTypeResponse(try reader.attributeValues())
    case .readRequest: .readRequest(try reader.u16())
    case .readResponse: .readResponse(Array(reader.rest()))
    case .readBlobRequest: .readBlobRequest(try reader.u16(), offset: try reader.u16())
    case .readBlobResponse: .readBlobResponse(Array(reader.rest()))
    case .readMultipleRequest: .readMultipleRequest(try reader.handles())
    case .readMultipleResponse: .readMultipleResponse(Array(reader.rest()))
    case .readByGroupTypeRequest:
      .readByGroupTypeRequest(try reader.range(), type: try reader.lastUUID())
    case .readByGroupTypeResponse: .readByGroupTypeResponse(try reader.groupValues())
    case .writeRequest: .writeRequest(try reader.u16(), value: Array(reader.rest()))
    case .writeResponse: .writeResponse
    case .writeCommand: .writeCommand(try reader.u16(), value: Array(reader.rest()))
    case .signedWriteCommand: try reader.signedWrite()
    case .prepareWriteRequest:
      .prepareWriteRequest(
        try reader.u16(), offset: try reader.u16(), value: Array(reader.rest()))
    case .prepareWriteResponse:
      .prepareWriteResponse(
        try reader.u16(), offset: try reader.u16(), value: Array(reader.rest()))
    case .executeWriteRequest: .executeWriteRequest(try reader.executeFlag())
    case .executeWriteResponse: .executeWriteResponse
    case .handleValueNotification:
      .handleValueNotification(try reader.u16(), value: Array(reader.rest()))
    case .handleValueIndication:
      .handleValueIndication(try reader.u16(), value: Array(reader.rest()))
    case .handleValueConfirmation: .handleValueConfirmation
    case .readMultipleVariableRequest: .readMultipleVariableRequest(try reader.handles())
    case .readMultipleVariableResponse:
      .readMultipleVariableResponse(try reader.lengthValues())
    case .multipleHandleValueNotification:
      .multipleHandleValueNotification(try reader.notifiedValues())
    default: .unknown(opcode, Array(reader.rest()))
    }
  }
}

extension ByteReader {
  fileprivate mutating func range() throws(DecodeError) -> HandleRange {
    HandleRange(try u16(), try u16())
  }

  /// The UUID that ends a request: two or sixteen octets, nothing else (3.2.1).
  fileprivate mutating func lastUUID() throws(DecodeError) -> UUID {
    guard remaining == 2 || remaining == 16 else {
      throw invalid("an attribute type of \(remaining) octets")
    }
    return try uuid(width: remaining)
  }

  /// Entries of `width` octets until the end; none, or a part of one, is an error.
  private mutating func entries<Entry>(
    width: Int, _ read: (inout ByteReader) throws(DecodeError) -> Entry
  ) throws(DecodeError) -> [Entry] {
    guard remaining > 0, remaining % width == 0 else {
      throw invalid("a list of \(remaining) octets with entries of \(width)")
    }
    var entries: [Entry] = []
    entries.reserveCapacity(remaining / width)
    while !isAtEnd { entries.append(try read(&self)) }
    return entries
  }

  fileprivate mutating func information() throws(DecodeError) -> [PDU.AttributeInformation] {
    let format = try u8()
    guard format == 1 || format == 2 else { throw invalid("information format \(format)") }
    let width = format == 1 ? 2 : 16
    return try entries(width: 2 + width) { (reader) throws(DecodeError) in
      PDU.AttributeInformation(handle: try reader.u16(), type: try reader.uuid(width: width))
    }
  }

  fileprivate mutating func ranges() throws(DecodeError) -> [HandleRange] {
    try entries(width: 4) { (reader) throws(DecodeError) in try reader.range() }
  }

  fileprivate mutating func attributeValues() throws(DecodeError) -> [PDU.AttributeValue] {
    let width = Int(try u8())
    guard width >= 2 else { throw invalid("entries of \(width) octets, handle included") }
    return try entries(width: width) { (reader) throws(DecodeError) in
      PDU.AttributeValue(handle: try reader.u16(), value: Array(try reader.bytes(width - 2)))
    }
  }

  fileprivate mutating func groupValues() throws(DecodeError) -> [PDU.GroupValue] {
    let width = Int(try u8())
    guard width >= 4 else { throw invalid("entries of \(width) octets, handles included") }
    return try entries(width: width) { (reader) throws(DecodeError) in
      PDU.GroupValue(range: try reader.range(), value: Array(try reader.bytes(width - 4)))
    }
  }

  /// Two handles at least: one alone is a Read Request (3.4.4.7).
  fileprivate mutating func handles() throws(DecodeError) -> [Handle] {
    guard remaining >= 4 else { throw invalid("a list of \(remaining) octets, two handles needed") }
    return try entries(width: 2) { (reader) throws(DecodeError) in try reader.u16() }
  }

  fileprivate mutating func signedWrite() throws(DecodeError) -> PDU {
    let handle = try u16()
    guard remaining >= 12 else { throw invalid("a signature of \(remaining) octets") }
    let value = try bytes(remaining - 12)
    return .signedWriteCommand(handle, value: Array(value), signature: Array(rest()))
  }

  fileprivate mutating func executeFlag() throws(DecodeError) -> PDU.ExecuteFlag {
    let flag = try u8()
    guard let known = PDU.ExecuteFlag(rawValue: flag) else { throw invalid("flags \(flag)") }
    return known
  }

  /// The last value may be shorter than its length says, where the MTU cut it (3.4.4.12). Half a length
  /// at the end is the same cut, made by a server that does not look where it cuts.
  fileprivate mutating func lengthValues() throws(DecodeError) -> [PDU.LengthValue] {
    var values: [PDU.LengthValue] = []
    while !isAtEnd {
      if remaining == 1, !values.isEmpty {
        _ = try u8()
        break
      }
      let length = try u16()
      let value = try bytes(min(Int(length), remaining))
      values.append(PDU.LengthValue(length: length, value: Array(value)))
    }
    guard !values.isEmpty else { throw invalid("no value") }
    return values
  }

  fileprivate mutating func notifiedValues() throws(DecodeError) -> [PDU.AttributeValue] {
    var values: [PDU.AttributeValue] = []
    repeat {
      let handle = try u16()
      let length = Int(try u16())
      values.append(PDU.AttributeValue(handle: handle, value: Array(try bytes(length))))
    } while !isAtEnd
    return values
  }
}
