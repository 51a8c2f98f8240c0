// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

extension ServerView {
  /// Reads a PDU that is too short, too long or otherwise violates the specification: its fields in
  /// their order, up to the first that is incomplete. Nothing is learned from it.
  func readMalformed(_ bytes: [UInt8], _ unit: inout DecodedUnit) throws(DecodeError) {
    var reader = ByteReader(bytes)
    let opcode = Opcode(rawValue: try reader.u8())
    // All bytes are needed to find the fault.
    unit.details = [.data(bytes.dropFirst())]
    switch opcode {
    case .errorResponse:
      let request = Opcode(rawValue: try reader.u8())
      unit.details.append(.named("Request", request.description, request.rawValue))
      name(try reader.u16(), &unit)
      let code = ErrorCode(try reader.u8())
      unit.details.append(.named("Error", "\(code)", code.rawValue))
    case .exchangeMTURequest: unit.details.append(.number("Client RX MTU", try reader.u16()))
    case .exchangeMTUResponse: unit.details.append(.number("Server RX MTU", try reader.u16()))
    case .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest,
      .readByGroupTypeRequest:
      let range = try reader.handleRange()
      unit.range = range
      unit.details.append(Self.range(range))
      let width = opcode == .findByTypeValueRequest ? 2 : reader.remaining
      guard opcode != .findInformationRequest, width == 2 || width == 16 else { return }
      let type = try reader.uuid(width: width)
      unit.type = type
      unit.details.append(Self.type(type))
    case .findInformationResponse:
      let format = try reader.u8()
      guard format == 1 || format == 2 else { return }
      while !reader.isAtEnd {
        unit.attributes.append(AttributeUse(handle: try reader.u16()))
        let type = try reader.uuid(width: format == 1 ? 2 : 16)
        unit.attributes[unit.attributes.count - 1].uuid = type
      }
    case .findByTypeValueResponse:
      while !reader.isAtEnd {
        let range = try reader.handleRange()
        unit.attributes.append(database.use(range.start, end: range.end))
      }
    case .readByTypeResponse, .readByGroupTypeResponse:
      let headWidth = opcode == .readByGroupTypeResponse ? 4 : 2
      let width = Int(try reader.u8())
      guard width >= headWidth else { return }
      while reader.remaining >= width {
        let handle = try reader.u16()
        let end = headWidth == 4 ? try reader.u16() : nil
        let value = Array(try reader.bytes(width - headWidth))
        unit.attributes.append(database.use(handle, value: value, end: end))
      }
    case .readMultipleRequest, .readMultipleVariableRequest:
      guard reader.remaining >= 4 else { return }  // at least two handles
      while !reader.isAtEnd { name(try reader.u16(), &unit) }
    case .executeWriteRequest: unit.details.append(.named("Flags", nil, try reader.u8()))
    default: try readValues(opcode, &reader, &unit)
    }
  }

  /// Reads PDUs that begin with a handle: after it are an offset and a value, as far as they have them.
  private func readValues(
    _ opcode: Opcode, _ reader: inout ByteReader, _ unit: inout DecodedUnit
  ) throws(DecodeError) {
    switch opcode {
    // Where a signature is incomplete, the end of the value is unknown.
    case .readRequest, .signedWriteCommand: name(try reader.u16(), &unit)
    case .readBlobRequest, .prepareWriteRequest, .prepareWriteResponse:
      name(try reader.u16(), &unit)
      unit.details.append(.number("Offset", try reader.u16()))
      if opcode != .readBlobRequest { unit.attributes[0].value = Array(reader.rest()) }
    case .writeRequest, .writeCommand, .handleValueNotification, .handleValueIndication:
      name(try reader.u16(), &unit)
      unit.attributes[0].value = Array(reader.rest())
    case .multipleHandleValueNotification:
      while !reader.isAtEnd {
        name(try reader.u16(), &unit)
        let value = Array(try reader.bytes(Int(try reader.u16())))
        unit.attributes[unit.attributes.count - 1].value = value
      }
    default: break
    }
  }
}
