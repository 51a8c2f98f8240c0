// SPDX-License-Identifier: GPL-3.0-or-later
import ATT

extension DecodedUnit {
  /// Finds the byte ranges of the handles and values in an ATT PDU from its opcode and their
  /// lengths (Core Specification Vol 3 Part F, 3.4). A malformed PDU has none.
  mutating func findPlaces() {
    guard problem == nil, let first = bytes.first else { return }
    var end = 1
    func next(_ length: Int) -> Range<Int> {
      defer { end += length }
      return end..<end + length
    }
    let opcode = Opcode(rawValue: first)
    switch opcode {
    case .errorResponse:
      mark("Request", next(1))
      markFirst(handle: next(2))
      mark("Error", next(1))
    case .exchangeMTURequest: mark("Client RX MTU", next(2))
    case .exchangeMTUResponse: mark("Server RX MTU", next(2))
    case .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest,
      .readByGroupTypeRequest:
      mark("Handles", next(4))
      mark("Type", opcode == .findByTypeValueRequest ? next(2) : end..<bytes.count)
      markFirst(value: end..<bytes.count)
    case .readResponse, .readBlobResponse: markFirst(value: end..<bytes.count)
    case .readBlobRequest:
      markFirst(handle: next(2))
      mark("Offset", next(2))
    case .executeWriteRequest: mark("Flags", next(1))
    case .writeResponse, .handleValueConfirmation, .readMultipleResponse,
      .readMultipleVariableResponse:
      break
    default:
      // These two begin with a format or a length.
      if [.findInformationResponse, .readByTypeResponse, .readByGroupTypeResponse].contains(opcode)
      {
        end += 1
      }
      for index in attributes.indices {
        let attribute = attributes[index]
        if attribute.handle != nil { attributes[index].place = next(attribute.end == nil ? 2 : 4) }
        if opcode == .findInformationResponse { end += bytes[1] == 1 ? 2 : 16 }
        if opcode == .prepareWriteRequest || opcode == .prepareWriteResponse {
          mark("Offset", next(2))
        }
        if opcode == .multipleHandleValueNotification { end += 2 }
        if let value = attribute.value { attributes[index].valuePlace = next(value.count) }
      }
    }
    // No range may exceed the PDU, whatever the lengths say.
    for index in attributes.indices {
      if attributes[index].place?.upperBound ?? 0 > bytes.count { attributes[index].place = nil }
      if attributes[index].valuePlace?.upperBound ?? 0 > bytes.count {
        attributes[index].valuePlace = nil
      }
    }
  }

  private mutating func markFirst(handle: Range<Int>? = nil, value: Range<Int>? = nil) {
    guard !attributes.isEmpty else { return }
    if handle != nil { attributes[0].place = handle }
    if value != nil, attributes[0].value != nil { attributes[0].valuePlace = value }
  }

  private mutating func mark(_ label: String, _ place: Range<Int>) {
    guard place.upperBound <= bytes.count,
      let index = details.firstIndex(where: { $0.label == label })
    else { return }
    details[index].place = place
  }
}
