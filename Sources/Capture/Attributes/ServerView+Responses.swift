// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GATT
import Wire

extension ServerView {
  /// Reads a response: what this server says, to `request` where the capture has it.
  mutating func readResponse(_ pdu: PDU, to request: PDU?, _ unit: inout Unit) {
    switch pdu {
    case .errorResponse(let error): refuse(error, request, &unit)
    case .exchangeMTUResponse(let mtu): unit.details = [.number("Server RX MTU", mtu)]
    case .findInformationResponse(let entries):
      unit.isList = true
      for entry in entries {
        database.learn(type: entry.type, at: entry.handle)
        unit.attributes.append(database.use(entry.handle))
      }
    case .findByTypeValueResponse(let ranges): found(ranges, request, &unit)
    case .readByTypeResponse(let entries): readByType(entries, request, &unit)
    case .readByGroupTypeResponse(let groups): readGroups(groups, request, &unit)
    case .readResponse(let value):
      guard case .readRequest(let handle)? = request else { return answer(nil, value, &unit) }
      reading = (handle, value)
      answer(handle, value, &unit)
    case .readBlobResponse(let value): readBlob(value, request, &unit)
    case .readMultipleResponse(let value):
      // The values stand one behind the other without their lengths.
      if case .readMultipleRequest(let handles)? = request {
        for handle in handles { name(handle, &unit) }
      }
      unit.isList = true
      unit.details.append(Detail("Values", .bytes(value)))
    case .readMultipleVariableResponse(let values): readVariable(values, request, &unit)
    case .writeResponse:
      if case .writeRequest(let handle, _)? = request { name(handle, &unit) }
    case .prepareWriteResponse(let handle, let offset, let value):
      part(handle, offset, value, &unit)
    case .executeWriteResponse: break
    default: break
    }
  }

  private mutating func refuse(
    _ error: PDU.ErrorResponse, _ request: PDU?, _ unit: inout Unit
  ) {
    let use = database.use(error.handle)
    unit.attributes = [use]
    unit.details = [
      .named(
        "Request", Opcode(rawValue: error.request.rawValue).description,
        error.request.rawValue),
      .named("Error", Self.name(of: error.code, at: use), error.code.rawValue),
    ]
    switch request {
    case .writeRequest(let handle, _)? where database.type(of: handle) == .controlPoint:
      notifications.refused()
    case .prepareWriteRequest?: prepared = Array(prepared.dropLast())
    default: break
    }
  }

  /// The error's name; ANCS and AMS have their own for some numbers.
  private static func name(of code: ErrorCode, at use: AttributeUse) -> String {
    let name =
      switch use.profiles.first {
      case .ancs: ControlPointError(rawValue: code.rawValue).name
      case .ams: MediaError(rawValue: code.rawValue).name
      case nil: String?.none
      }
    return name ?? "\(code)"
  }

  private mutating func found(
    _ ranges: [HandleRange], _ request: PDU?, _ unit: inout Unit
  ) {
    unit.isList = true
    var service: UUID?
    if case .findByTypeValueRequest(_, let type, let value)? = request,
      UUID(type) == GATTType.primaryService
    {
      service = UUID(littleEndian: value)
    }
    for range in ranges {
      if let service {
        database.learn(service: service, range)
        database.learn(type: GATTType.primaryService, at: range.start)
      }
      var use = database.use(range.start, end: range.end)
      if let service { use.meaning = [ValueDecoder.service(service)] }
      unit.attributes.append(use)
    }
  }

  private mutating func readByType(
    _ entries: [PDU.AttributeValue], _ request: PDU?, _ unit: inout Unit
  ) {
    unit.isList = true
    var type: UUID?
    if case .readByTypeRequest(_, let asked)? = request { type = asked }
    for entry in entries {
      if let type { learn(type, entry) }
      var use = database.use(entry.handle, value: entry.value)
      use.uuid = type ?? use.uuid
      use.meaning = meaning(ofRead: entry.value, use.uuid)
      unit.attributes.append(use)
      if let declared = CharacteristicDeclaration(entry.value), type == GATTType.characteristic,
        let profile = Profile(declared.uuid)
      {
        unit.profiles.insert(profile)
      }
    }
  }

  /// What an attribute that was read by its type tells of the database.
  private mutating func learn(_ type: UUID, _ entry: PDU.AttributeValue) {
    // A type that is not one of the declarations and descriptors is that of a characteristic's value.
    let isValue = type.short.map { !(0x2800...0x29FF).contains($0) } ?? true
    if isValue {
      database.learn(characteristic: type, value: entry.handle)
    } else {
      database.learn(type: type, at: entry.handle)
    }
    if type == GATTType.characteristic, let declared = CharacteristicDeclaration(entry.value) {
      database.learn(characteristic: declared.uuid, value: declared.value)
    }
  }

  private mutating func readGroups(
    _ groups: [PDU.GroupValue], _ request: PDU?, _ unit: inout Unit
  ) {
    unit.isList = true
    var type = GATTType.primaryService
    if case .readByGroupTypeRequest(_, let asked)? = request { type = asked }
    for group in groups {
      database.learn(type: type, at: group.range.start)
      let service = UUID(littleEndian: group.value)
      if let service { database.learn(service: service, group.range) }
      var use = database.use(group.range.start, value: group.value, end: group.range.end)
      use.meaning = service.map { [ValueDecoder.service($0)] } ?? []
      unit.attributes.append(use)
    }
  }

  private mutating func answer(_ handle: Handle?, _ value: [UInt8], _ unit: inout Unit) {
    var use = AttributeUse(nil, value: value)
    if let handle { use = database.use(handle, value: value) }
    use.meaning = meaning(ofRead: value, use.uuid)
    unit.attributes = [use]
  }

  /// A further part of a value; with the parts before it, where those were read just now, it is what
  /// the value says.
  private mutating func readBlob(_ value: [UInt8], _ request: PDU?, _ unit: inout Unit) {
    guard case .readBlobRequest(let handle, let offset)? = request else {
      return answer(nil, value, &unit)
    }
    var use = database.use(handle, value: value)
    unit.details = [.number("Offset", offset)]
    let before = reading?.handle == handle ? reading?.value ?? [] : []
    if Int(offset) == before.count {
      reading = (handle, before + value)
      use.meaning = meaning(ofRead: before + value, use.uuid)
    } else {
      reading = nil
    }
    unit.attributes = [use]
  }

  private func readVariable(
    _ values: [PDU.LengthValue], _ request: PDU?, _ unit: inout Unit
  ) {
    unit.isList = true
    var handles: [Handle] = []
    if case .readMultipleVariableRequest(let asked)? = request { handles = asked }
    for (place, value) in values.enumerated() {
      var use = AttributeUse(nil, value: value.value)
      if place < handles.count { use = database.use(handles[place], value: value.value) }
      use.meaning =
        [.number("Length", value.length)] + meaning(ofRead: value.value, use.uuid)
      unit.attributes.append(use)
    }
  }
}
