// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Wire

extension DecodedUnit {
  /// Adds the fields of an ATT PDU in their order, each with its place, up to the first that is incomplete (Core
  /// Specification Vol 3 Part F, 3.4). Those of a malformed PDU, which has a problem, have no places.
  mutating func readFields(_ pdu: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(pdu)
    let opcode = Opcode(rawValue: try reader.u8())
    switch opcode {
    case .errorResponse:
      let request = Opcode(rawValue: try reader.u8())
      add(.named("Request", "\(request)", request.rawValue), from: 1, reader)
      try readHandle(&reader)
      let code = ErrorCode(try reader.u8())
      add(.named("Error", "\(code)", code.rawValue), from: 4, reader)
    case .exchangeMTURequest: try readNumber("Client RX MTU", &reader)
    case .exchangeMTUResponse: try readNumber("Server RX MTU", &reader)
    case .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest,
      .readByGroupTypeRequest:
      try readSearch(opcode, &reader)
    case .findInformationResponse:
      let format = try reader.u8()
      guard format == 1 || format == 2 else { return }
      while !reader.isAtEnd {
        try readHandle(&reader)
        let type = try reader.uuid(width: format == 1 ? 2 : 16)
        attributes[attributes.count - 1].uuid = type
      }
    case .findByTypeValueResponse: while !reader.isAtEnd { try readHandle(isGroup: true, &reader) }
    case .readByTypeResponse, .readByGroupTypeResponse:
      let head = opcode == .readByGroupTypeResponse ? 4 : 2
      let width = Int(try reader.u8())
      guard width >= head else { return }
      while reader.remaining >= width {
        try readHandle(isGroup: head == 4, &reader)
        try readValue(width - head, &reader)
      }
    case .readMultipleRequest, .readMultipleVariableRequest:
      guard reader.remaining >= 4 else { return }  // at least two handles
      while !reader.isAtEnd { try readHandle(&reader) }
    case .readResponse, .readBlobResponse:
      attributes.append(AttributeUse())
      try readValue(reader.remaining, &reader)
    // The values follow each other without their lengths.
    case .readMultipleResponse: details.append(Detail("Values", .bytes(Array(reader.rest()))))
    case .readMultipleVariableResponse:
      while reader.remaining > 1 {
        let length = Int(try reader.u16())
        let value = Array(try reader.bytes(min(length, reader.remaining)))
        attributes.append(AttributeUse(value: value))
      }
    case .executeWriteRequest:
      add(.choice("Flags", ["Cancel", "Write"], try reader.u8()), from: 1, reader)
    case .multipleHandleValueNotification:
      while !reader.isAtEnd {
        try readHandle(&reader)
        try readValue(Int(try reader.u16()), &reader)
      }
    case .writeResponse, .executeWriteResponse, .handleValueConfirmation: break
    case .readRequest, .readBlobRequest, .writeRequest, .writeCommand, .signedWriteCommand,
      .prepareWriteRequest, .prepareWriteResponse, .handleValueNotification, .handleValueIndication:
      try readOne(opcode, &reader)
    default: details.append(.data(reader.rest()))
    }
  }

  /// The handles and the type that a discovery request searches for, and the value.
  private mutating func readSearch(_ opcode: Opcode, _ reader: inout ByteReader) throws(DecodeError) {
    let searched = try reader.handleRange()
    range = searched
    add(.text("Handles", ValueDecoder.text(searched), key: "range"), from: 1, reader)
    let width = opcode == .findByTypeValueRequest ? 2 : reader.remaining
    guard opcode != .findInformationRequest, width == 2 || width == 16 else { return }
    let wanted = try reader.uuid(width: width)
    type = wanted
    add(.text("Type", AssignedNumbers.title(of: wanted)), from: 5, reader)
    guard opcode == .findByTypeValueRequest else { return }
    attributes.append(AttributeUse())
    try readValue(reader.remaining, &reader)
  }

  /// A handle, and behind it an offset, a value and a signature, as far as the PDU has them.
  private mutating func readOne(_ opcode: Opcode, _ reader: inout ByteReader) throws(DecodeError) {
    try readHandle(&reader)
    switch opcode {
    case .readRequest: break
    case .readBlobRequest: try readNumber("Offset", &reader)
    case .signedWriteCommand:
      // Where the signature is incomplete, the end of the value is unknown.
      guard reader.remaining >= 12 else { return }
      try readValue(reader.remaining - 12, &reader)
      // A counter and a message authentication code; neither is a key.
      details.append(Detail("Signature", .bytes(Array(reader.rest()))))
    case .prepareWriteRequest, .prepareWriteResponse:
      try readNumber("Offset", &reader)
      try readValue(reader.remaining, &reader)
    default: try readValue(reader.remaining, &reader)
    }
  }

  /// A handle, or the first and the last of a group.
  private mutating func readHandle(isGroup: Bool = false, _ reader: inout ByteReader) throws(DecodeError) {
    let start = reader.offset
    var use = AttributeUse(handle: try reader.u16())
    if isGroup { use.end = try reader.u16() }
    use.place = place(from: start, reader)
    attributes.append(use)
  }

  /// The value of the attribute that was added last.
  private mutating func readValue(_ length: Int, _ reader: inout ByteReader) throws(DecodeError) {
    let start = reader.offset
    let value = Array(try reader.bytes(length))
    attributes[attributes.count - 1].value = value
    attributes[attributes.count - 1].valuePlace = place(from: start, reader)
  }

  private mutating func readNumber(_ label: String, _ reader: inout ByteReader) throws(DecodeError) {
    let start = reader.offset
    add(.number(label, try reader.u16()), from: start, reader)
  }

  private mutating func add(_ detail: Detail, from start: Int, _ reader: ByteReader) {
    details.append(detail.at(place(from: start, reader)))
  }

  private func place(from start: Int, _ reader: ByteReader) -> Range<Int>? {
    problem == nil ? start..<reader.offset : nil
  }
}
