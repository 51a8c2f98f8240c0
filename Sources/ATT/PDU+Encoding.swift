// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

extension PDU {
  /// The octets to send, opcode first.
  public var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.u8(opcode.rawValue)
    switch self {
    case .errorResponse(let error):
      writer.u8(error.request.rawValue)
      writer.u16(error.handle)
      writer.u8(error.code.rawValue)
    case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu):
      writer.u16(mtu)
    case .findInformationRequest(let range):
      writer.range(range)
    case .findInformationResponse(let entries):
      let long = entries.contains { $0.type.short == nil }
      writer.u8(long ? 2 : 1)
      for entry in entries {
        writer.u16(entry.handle)
        writer.bytes(long ? entry.type.littleEndian128 : entry.type.littleEndian)
      }
    case .findByTypeValueRequest(let range, let type, let value):
      writer.range(range)
      writer.u16(type)
      writer.bytes(value)
    case .findByTypeValueResponse(let ranges):
      for range in ranges { writer.range(range) }
    case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
      writer.range(range)
      writer.uuid(type)
    case .readByTypeResponse(let entries):
      writer.u8(UInt8(clamping: 2 + (entries.first?.value.count ?? 0)))
      for entry in entries {
        writer.u16(entry.handle)
        writer.bytes(entry.value)
      }
    case .readByGroupTypeResponse(let groups):
      writer.u8(UInt8(clamping: 4 + (groups.first?.value.count ?? 0)))
      for group in groups {
        writer.range(group.range)
        writer.bytes(group.value)
      }
    case .readRequest(let handle):
      writer.u16(handle)
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
      writer.bytes(value)
      writer.bytes(signature)
    case .prepareWriteRequest(let handle, let offset, let value),
      .prepareWriteResponse(let handle, let offset, let value):
      writer.u16(handle)
      writer.u16(offset)
      writer.bytes(value)
    case .executeWriteRequest(let flag):
      writer.u8(flag.rawValue)
    case .readMultipleVariableResponse(let values):
      for value in values {
        writer.u16(value.length)
        writer.bytes(value.value)
      }
    case .multipleHandleValueNotification(let values):
      for value in values {
        writer.u16(value.handle)
        writer.u16(UInt16(clamping: value.value.count))
        writer.bytes(value.value)
      }
    case .unknown(_, let body):
      writer.bytes(body)
    case .writeResponse, .executeWriteResponse, .handleValueConfirmation:
      break
    }
    return writer.bytes
  }
}

extension ByteWriter {
  fileprivate mutating func range(_ range: HandleRange) {
    u16(range.start)
    u16(range.end)
  }
}
