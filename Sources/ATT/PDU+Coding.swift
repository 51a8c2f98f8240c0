// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// MARK: - Encoding

extension PDU {
  /// The octets of the PDU, opcode first.
  public var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.u8(opcode.rawValue)
    switch self {
    case .errorResponse(let error):
      writer.u8(error.request.rawValue)
      writer.u16(error.handle)
      writer.u8(error.code.rawValue)
    case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu): writer.u16(mtu)
    case .findInformationRequest(let range): writer.handleRange(range)
    case .findInformationResponse(let entries): writer.information(entries)
    case .findByTypeValueRequest(let range, let type, let value):
      writer.handleRange(range)
      writer.u16(type)
      writer.bytes(value)
    case .findByTypeValueResponse(let ranges): for range in ranges { writer.handleRange(range) }
    case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
      writer.handleRange(range)
      writer.uuid(type)
    case .readByTypeResponse(let entries): writer.attributeValues(entries)
    case .readByGroupTypeResponse(let groups): writer.groupValues(groups)
    case .readRequest(let handle): writer.u16(handle)
    case .readResponse(let value), .readBlobResponse(let value), .readMultipleResponse(let value):
      writer.bytes(value)
    case .readBlobRequest(let handle, let offset):
      writer.u16(handle)
      writer.u16(offset)
    case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
      for handle in handles { writer.u16(handle) }
    case .writeRequest(let handle, let value), .writeCommand(let handle, let value),
      .handleValueNotification(let handle, let value),
      .handleValueIndication(let handle, let value):
      writer.u16(handle)
      writer.bytes(value)
    case .signedWriteCommand(let handle, let value, let signature):
      writer.u16(handle)
      writer.bytes(value + signature)
    case .prepareWriteRequest(let handle, let offset, let value),
      .prepareWriteResponse(let handle, let offset, let value):
      writer.u16(handle)
      writer.u16(offset)
      writer.bytes(value)
    case .executeWriteRequest(let flag): writer.u8(flag.rawValue)
    case .readMultipleVariableResponse(let values): writer.lengthValues(values)
    case .multipleHandleValueNotification(let values): writer.notifiedValues(values)
    case .unknown(_, let body): writer.bytes(body)
    case .writeResponse, .executeWriteResponse, .handleValueConfirmation: break
    }
    return writer.bytes
  }
}

extension ByteWriter {
  fileprivate mutating func information(_ entries: [PDU.AttributeInformation]) {
    let isLong = entries.contains { $0.type.short == nil }
    u8(isLong ? 2 : 1)
    for entry in entries {
      u16(entry.handle)
      bytes(isLong ? entry.type.littleEndian128 : entry.type.littleEndian)
    }
  }

  fileprivate mutating func attributeValues(_ entries: [PDU.AttributeValue]) {
    u8(UInt8(clamping: 2 + (entries.first?.value.count ?? 0)))
    for entry in entries {
      u16(entry.handle)
      bytes(entry.value)
    }
  }

  fileprivate mutating func groupValues(_ groups: [PDU.GroupValue]) {
    u8(UInt8(clamping: 4 + (groups.first?.value.count ?? 0)))
    for group in groups {
      handleRange(group.range)
      bytes(group.value)
    }
  }

  fileprivate mutating func lengthValues(_ values: [PDU.LengthValue]) {
    for value in values {
      u16(value.length)
      bytes(value.value)
    }
  }

  fileprivate mutating func notifiedValues(_ values: [PDU.AttributeValue]) {
    for value in values {
      u16(value.handle)
      u16(UInt16(clamping: value.value.count))
      bytes(value.value)
    }
  }
}

// MARK: - Decoding

extension PDU {
  /// Decodes a PDU that `bytes` hold exactly.
  ///
  /// - Throws: `DecodeError` if a known PDU is truncated, too long or malformed. A PDU with an unknown opcode becomes
  ///   `.unknown`.
  public init(decoding bytes: [UInt8]) throws(DecodeError) { try self.init(decoding: bytes[...]) }

  /// The same for a slice of a buffer.
  public init(decoding bytes: ArraySlice<UInt8>) throws(DecodeError) {
    var reader = ByteReader(bytes)
    let opcode = Opcode(rawValue: try reader.u8())
    self = try Self.decode(opcode, from: &reader)
    try reader.end()
  }

  private static func decode(_ opcode: Opcode, from reader: inout ByteReader) throws(DecodeError) -> PDU {
    switch opcode {
    case .errorResponse:
      .errorResponse(
        ErrorResponse(
          request: Opcode(rawValue: try reader.u8()), handle: try reader.u16(), code: ErrorCode(try reader.u8())))
    case .exchangeMTURequest: .exchangeMTURequest(clientMTU: try reader.u16())
    case .exchangeMTUResponse: .exchangeMTUResponse(serverMTU: try reader.u16())
    case .findInformationRequest: .findInformationRequest(try reader.handleRange())
    case .findInformationResponse: .findInformationResponse(try reader.information())
    case .findByTypeValueRequest:
      .findByTypeValueRequest(try reader.handleRange(), type: try reader.u16(), value: Array(reader.rest()))
    case .findByTypeValueResponse: .findByTypeValueResponse(try reader.ranges())
    case .readByTypeRequest:
      .readByTypeRequest(try reader.handleRange(), type: try reader.lastUUID())
    case .readByTypeResponse: .readByTypeResponse(try reader.attributeValues())
    case .readRequest: .readRequest(try reader.u16())
    case .readResponse: .readResponse(Array(reader.rest()))
    case .readBlobRequest: .readBlobRequest(try reader.u16(), offset: try reader.u16())
    case .readBlobResponse: .readBlobResponse(Array(reader.rest()))
    case .readMultipleRequest: .readMultipleRequest(try reader.handles())
    case .readMultipleResponse: .readMultipleResponse(Array(reader.rest()))
    case .readByGroupTypeRequest:
      .readByGroupTypeRequest(try reader.handleRange(), type: try reader.lastUUID())
    case .readByGroupTypeResponse: .readByGroupTypeResponse(try reader.groupValues())
    case .writeRequest: .writeRequest(try reader.u16(), value: Array(reader.rest()))
    case .writeResponse: .writeResponse
    case .writeCommand: .writeCommand(try reader.u16(), value: Array(reader.rest()))
    case .signedWriteCommand: try reader.signedWrite()
    case .prepareWriteRequest:
      .prepareWriteRequest(try reader.u16(), offset: try reader.u16(), value: Array(reader.rest()))
    case .prepareWriteResponse:
      .prepareWriteResponse(try reader.u16(), offset: try reader.u16(), value: Array(reader.rest()))
    case .executeWriteRequest: .executeWriteRequest(try reader.executeFlag())
    case .executeWriteResponse: .executeWriteResponse
    case .handleValueNotification:
      .handleValueNotification(try reader.u16(), value: Array(reader.rest()))
    case .handleValueIndication:
      .handleValueIndication(try reader.u16(), value: Array(reader.rest()))
    case .handleValueConfirmation: .handleValueConfirmation
    case .readMultipleVariableRequest: .readMultipleVariableRequest(try reader.handles())
    case .readMultipleVariableResponse: .readMultipleVariableResponse(try reader.lengthValues())
    case .multipleHandleValueNotification:
      .multipleHandleValueNotification(try reader.notifiedValues())
    default: .unknown(opcode, Array(reader.rest()))
    }
  }
}

extension ByteReader {
  /// The UUID at the end of a request: two or sixteen octets (3.2.1).
  fileprivate mutating func lastUUID() throws(DecodeError) -> UUID {
    guard remaining == 2 || remaining == 16 else {
      throw invalid("an attribute type of \(remaining) octets")
    }
    return try uuid(width: remaining)
  }

  /// One or more entries of `width` octets up to the end.
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
    try entries(width: 4) { (reader) throws(DecodeError) in try reader.handleRange() }
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
      PDU.GroupValue(range: try reader.handleRange(), value: Array(try reader.bytes(width - 4)))
    }
  }

  /// At least two handles: one alone is a Read Request (3.4.4.7).
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

  /// The MTU may cut the last value short of its length (3.4.4.12). Some servers cut inside the length
  /// too, so a single octet at the end is ignored.
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
