// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

extension ServerView {
  /// Reads a PDU that is too short, too long or otherwise violates the specification: its fields in
  /// their order, as far as they are complete. Nothing is learned from it.
  func readMalformed(_ bytes: [UInt8], _ unit: inout DecodedUnit) {
    var reader = ByteReader(bytes.dropFirst())
    // All bytes are needed to find the fault.
    unit.details = [Detail("Data", .bytes(Array(bytes.dropFirst())))]
    do {
      try readFields(Opcode(rawValue: bytes[0]), &reader, &unit)
    } catch {
      // The fields before that are in the unit.
    }
  }

  private func readFields(
    _ opcode: Opcode, _ reader: inout ByteReader, _ unit: inout DecodedUnit
  ) throws(DecodeError) {
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
      unit.range = HandleRange(try reader.u16(), try reader.u16())
      unit.details += unit.range.map { [Self.range($0)] } ?? []
      guard opcode != .findInformationRequest else { return }
      // A type has two or sixteen octets.
      let isTyped = opcode == .findByTypeValueRequest || reader.remaining == 2
      guard isTyped || reader.remaining == 16 else { return }
      unit.type = try reader.uuid(width: isTyped ? 2 : 16)
      unit.details += unit.type.map { [Self.type($0)] } ?? []
    case .findInformationResponse: try readInformation(&reader, &unit)
    case .findByTypeValueResponse:
      unit.isList = true
      while !reader.isAtEnd {
        let (start, end) = (try reader.u16(), try reader.u16())
        unit.attributes.append(database.use(start, end: end))
      }
    case .readByTypeResponse, .readByGroupTypeResponse:
      unit.isList = true
      let isGroup = opcode == .readByGroupTypeResponse
      let width = Int(try reader.u8())
      guard width >= (isGroup ? 4 : 2) else { return }
      while reader.remaining >= width {
        let handle = try reader.u16()
        let end = isGroup ? try reader.u16() : nil
        let value = Array(try reader.bytes(width - (isGroup ? 4 : 2)))
        unit.attributes.append(database.use(handle, value: value, end: end))
      }
    case .readRequest, .readBlobRequest, .writeRequest, .writeCommand, .signedWriteCommand,
      .prepareWriteRequest, .prepareWriteResponse, .handleValueNotification, .handleValueIndication:
      try readHandle(opcode, &reader, &unit)
    case .readMultipleRequest, .readMultipleVariableRequest:
      unit.isList = true
      // These requests have at least two handles.
      guard reader.remaining >= 4 else { return }
      while !reader.isAtEnd { name(try reader.u16(), &unit) }
    case .executeWriteRequest: unit.details.append(.named("Flags", nil, try reader.u8()))
    case .multipleHandleValueNotification:
      unit.isList = true
      while !reader.isAtEnd {
        name(try reader.u16(), &unit)
        let value = Array(try reader.bytes(Int(try reader.u16())))
        unit.attributes[unit.attributes.count - 1].value = value
      }
    default: break
    }
  }

  private func readInformation(
    _ reader: inout ByteReader, _ unit: inout DecodedUnit
  ) throws(DecodeError) {
    unit.isList = true
    let format = try reader.u8()
    guard format == 1 || format == 2 else { return }
    while !reader.isAtEnd {
      unit.attributes.append(AttributeUse(handle: try reader.u16()))
      let type = try reader.uuid(width: format == 1 ? 2 : 16)
      unit.attributes[unit.attributes.count - 1].uuid = type
    }
  }

  /// A handle, then an offset and a value if the opcode has them.
  private func readHandle(
    _ opcode: Opcode, _ reader: inout ByteReader, _ unit: inout DecodedUnit
  ) throws(DecodeError) {
    name(try reader.u16(), &unit)
    switch opcode {
    // If the signature is incomplete, the end of the value is unknown.
    case .readRequest, .signedWriteCommand: return
    case .readBlobRequest: unit.details.append(.number("Offset", try reader.u16()))
    case .prepareWriteRequest, .prepareWriteResponse:
      unit.details.append(.number("Offset", try reader.u16()))
      unit.attributes[0].value = Array(reader.rest())
    default: unit.attributes[0].value = Array(reader.rest())
    }
  }
}
