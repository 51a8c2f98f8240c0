// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GAP
import GATT
import Wire

/// One of a link's two servers, as its traffic shows it.
struct ServerView: Sendable {
  var database = LearnedDatabase()

  /// A request without a response so far, and the services that it is about.
  private struct Pending: Sendable {
    var pdu: PDU
    var profiles: Set<Profile>
  }

  /// The open transactions of one bearer.
  private struct Transactions: Sendable {
    var pending: Pending?
    /// The handle of an indication without a confirmation so far.
    var indicated: Handle?
  }

  /// Those of the current bearer.
  private var open = Transactions()
  private var bearer: UInt16 = 4
  /// Those of the other bearers.
  private var others: [UInt16: Transactions] = [:]
  private var notifications = NotificationExchange()
  private var media = MediaExchange()
  /// A long value that is being read, as far as it was read.
  private var reading: (handle: Handle, value: [UInt8])?
  /// Prepared writes.
  private var prepared: [(handle: Handle, offset: UInt16, value: [UInt8])] = []

  /// Further prepared writes are not followed.
  private static let mostPrepared = 256

  /// Makes a bearer the current one.
  mutating func use(_ bearer: UInt16) {
    guard bearer != self.bearer else { return }
    others[self.bearer] = open
    open = others.removeValue(forKey: bearer) ?? Transactions()
    self.bearer = bearer
  }

  mutating func read(_ pdu: PDU, into unit: inout DecodedUnit) {
    switch pdu.opcode.role {
    case .request:
      readRequest(pdu, &unit)
      for attribute in unit.attributes { unit.profiles.formUnion(attribute.profiles) }
      open.pending = Pending(pdu: pdu, profiles: unit.profiles)
    case .response:
      let request = removeRequest(answeredBy: pdu)
      unit.profiles.formUnion(request?.profiles ?? [])
      readResponse(pdu, to: request?.pdu, &unit)
    case .command, .notification, .indication, .confirmation:
      readUnconfirmed(pdu, &unit)
    }
  }

  /// The request that a response belongs to; nil if the capture does not have it.
  private mutating func removeRequest(answeredBy response: PDU) -> Pending? {
    guard let request = open.pending else { return nil }
    let isAnswered =
      if case .errorResponse(let error) = response {
        error.request == request.pdu.opcode
      } else {
        request.pdu.opcode.response == response.opcode
      }
    guard isAnswered else { return nil }
    open.pending = nil
    return request
  }

  // MARK: Values

  /// Adds an attribute that a client writes, with the meaning of the value.
  private mutating func add(_ handle: Handle, written value: [UInt8], to unit: inout DecodedUnit) {
    var use = database.use(handle, value: value)
    use.meaning = meaning(ofWritten: value, use)
    unit.attributes.append(use)
  }

  /// The meaning of a value that a client writes.
  private mutating func meaning(ofWritten value: [UInt8], _ use: AttributeUse) -> [Detail] {
    guard let uuid = use.uuid else { return [] }
    if uuid == .controlPoint { return [notifications.command(value)] }
    if let detail = media.written(value, to: uuid) { return [detail] }
    return ValueDecoder.details(of: value, uuid)
  }

  /// The meaning of a value that the server notifies or indicates.
  private mutating func meaning(ofNotified value: [UInt8], _ use: AttributeUse) -> [Detail] {
    guard let uuid = use.uuid else { return [] }
    if uuid == .notificationSource {
      guard let event = try? NotificationEvent(decoding: value) else {
        return [.text("ANCS Event", "\(value.count) bytes, eight needed")]
      }
      return [event.detail]
    }
    if uuid == .dataSource { return [notifications.data(value)] }
    if let detail = media.notified(value, by: uuid) { return [detail] }
    return ValueDecoder.details(of: value, uuid)
  }

  /// The meaning of a value that was read.
  private func meaning(ofRead value: [UInt8], _ uuid: UUID?) -> [Detail] {
    guard let uuid else { return [] }
    return uuid == .entityAttribute
      ? [media.read(value)] : ValueDecoder.details(of: value, uuid)
  }

  static func range(_ range: HandleRange) -> Detail {
    .text("Handles", ValueDecoder.text(range), key: "range")
  }

  static func type(_ uuid: UUID, _ label: String = "Type") -> Detail {
    .text(label, AssignedNumbers.title(of: uuid))
  }
}

// MARK: - Requests, and PDUs without a response

extension ServerView {
  /// Reads a request to this server.
  private mutating func readRequest(_ pdu: PDU, _ unit: inout DecodedUnit) {
    switch pdu {
    case .exchangeMTURequest(let mtu):
      unit.details = [.number("Client RX MTU", mtu)]
    case .findInformationRequest(let range):
      readSearch(range, type: nil, &unit)
    case .findByTypeValueRequest(let range, let type, let value):
      readSearch(range, type: UUID(type), &unit)
      if let uuid = UUID(littleEndian: value), value.count != 4 {
        unit.details.append(Self.type(uuid, "UUID"))
        if let profile = Profile(uuid) { unit.profiles.insert(profile) }
      }
      unit.attributes = [AttributeUse(value: value)]
    case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
      readSearch(range, type: type, &unit)
    case .readRequest(let handle):
      name(handle, &unit)
    case .readBlobRequest(let handle, let offset):
      name(handle, &unit)
      unit.details.append(.number("Offset", offset))
    case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
      unit.isList = true
      for handle in handles { name(handle, &unit) }
    case .writeRequest(let handle, let value):
      add(handle, written: value, to: &unit)
    case .prepareWriteRequest(let handle, let offset, let value):
      readPart(handle, offset, value, &unit)
      if prepared.count < Self.mostPrepared { prepared.append((handle, offset, value)) }
    case .executeWriteRequest(let flag):
      execute(flag, &unit)
    case .unknown(_, let body):
      unit.details = [Detail("Data", .bytes(body))]
    default: break
    }
  }

  /// Reads a command, notification, indication or confirmation.
  private mutating func readUnconfirmed(_ pdu: PDU, _ unit: inout DecodedUnit) {
    switch pdu {
    case .writeCommand(let handle, let value):
      add(handle, written: value, to: &unit)
    case .signedWriteCommand(let handle, let value, let signature):
      add(handle, written: value, to: &unit)
      // A counter and a message authentication code; neither is a key.
      unit.details.append(Detail("Signature", .bytes(signature)))
    case .handleValueNotification(let handle, let value):
      add(handle, notified: value, to: &unit)
    case .handleValueIndication(let handle, let value):
      add(handle, notified: value, to: &unit)
      open.indicated = handle
      if database.type(of: handle) == .serviceChanged,
        let changed = try? ServiceChanged(decoding: value)
      {
        let before = database
        database.forget(changed.range)
        // Service Changed itself stays, even if all handles are affected.
        if let type = before.type(of: handle) {
          database.learn(characteristic: type, value: handle)
        }
      }
    case .handleValueConfirmation:
      if let handle = open.indicated { name(handle, &unit) }
      open.indicated = nil
    case .multipleHandleValueNotification(let values):
      unit.isList = true
      for value in values { add(value.handle, notified: value.value, to: &unit) }
    case .unknown(_, let body):
      unit.details = [Detail("Data", .bytes(body))]
    default: break
    }
  }

  /// The handles and the type that a discovery request searches.
  private func readSearch(_ range: HandleRange, type: UUID?, _ unit: inout DecodedUnit) {
    unit.range = range
    unit.type = type
    unit.details = [Self.range(range)]
    if let type {
      unit.details.append(Self.type(type))
      if let profile = Profile(type) { unit.profiles.insert(profile) }
    }
    unit.profiles.formUnion(database.profiles(in: range))
  }

  /// Adds an attribute without a value.
  func name(_ handle: Handle, _ unit: inout DecodedUnit) {
    unit.attributes.append(database.use(handle))
  }

  private mutating func add(
    _ handle: Handle, notified value: [UInt8], to unit: inout DecodedUnit
  ) {
    var use = database.use(handle, value: value)
    use.meaning = meaning(ofNotified: value, use)
    unit.attributes.append(use)
  }

  private func readPart(
    _ handle: Handle, _ offset: UInt16, _ value: [UInt8], _ unit: inout DecodedUnit
  ) {
    unit.attributes = [database.use(handle, value: value)]
    unit.details = [.number("Offset", offset)]
  }

  /// Joins the prepared parts of each attribute, as far as they are contiguous.
  private mutating func execute(_ flag: PDU.ExecuteFlag, _ unit: inout DecodedUnit) {
    unit.details = [.named("Flags", flag == .write ? "Write" : "Cancel", flag.rawValue)]
    let parts = prepared
    prepared = []
    guard flag == .write else { return }
    var order: [Handle] = []
    var values: [Handle: [UInt8]] = [:]
    for part in parts {
      if values[part.handle] == nil { order.append(part.handle) }
      var value = values[part.handle] ?? []
      if Int(part.offset) == value.count { value += part.value }
      values[part.handle] = value
    }
    for handle in order {
      guard let value = values[handle] else { continue }
      let use = database.use(handle, value: value)
      unit.profiles.formUnion(use.profiles)
      unit.details.append(
        .several(
          "Written", .named(use.name, UInt64(handle), digits: 4), key: "written",
          [Detail("Value", .bytes(value), key: "bytes")] + meaning(ofWritten: value, use)))
    }
  }
}

// MARK: - Responses

extension ServerView {
  /// Reads a response of this server to `request`, if the capture has that.
  private mutating func readResponse(_ pdu: PDU, to request: PDU?, _ unit: inout DecodedUnit) {
    switch pdu {
    case .errorResponse(let error): readError(error, request, &unit)
    case .exchangeMTUResponse(let mtu): unit.details = [.number("Server RX MTU", mtu)]
    case .findInformationResponse(let entries):
      unit.isList = true
      for entry in entries {
        database.learn(type: entry.type, at: entry.handle)
        unit.attributes.append(database.use(entry.handle))
      }
    case .findByTypeValueResponse(let ranges): readRanges(ranges, request, &unit)
    case .readByTypeResponse(let entries): readByType(entries, request, &unit)
    case .readByGroupTypeResponse(let groups): readGroups(groups, request, &unit)
    case .readResponse(let value):
      guard case .readRequest(let handle)? = request else { return readValue(nil, value, &unit) }
      reading = (handle, value)
      readValue(handle, value, &unit)
    case .readBlobResponse(let value): readBlob(value, request, &unit)
    case .readMultipleResponse(let value):
      // The values follow each other without their lengths.
      if case .readMultipleRequest(let handles)? = request {
        for handle in handles { name(handle, &unit) }
      }
      unit.isList = true
      unit.details.append(Detail("Values", .bytes(value)))
    case .readMultipleVariableResponse(let values): readVariable(values, request, &unit)
    case .writeResponse:
      if case .writeRequest(let handle, _)? = request { name(handle, &unit) }
    case .prepareWriteResponse(let handle, let offset, let value):
      readPart(handle, offset, value, &unit)
    default: break
    }
  }

  private mutating func readError(
    _ error: PDU.ErrorResponse, _ request: PDU?, _ unit: inout DecodedUnit
  ) {
    let use = database.use(error.handle)
    unit.attributes = [use]
    unit.details = [
      .named("Request", "\(error.request)", error.request.rawValue),
      .named("Error", Self.name(of: error.code, at: use), error.code.rawValue),
    ]
    switch request {
    case .writeRequest(let handle, _)? where database.type(of: handle) == .controlPoint:
      notifications.removeRefusedCommand()
    case .prepareWriteRequest?: prepared = Array(prepared.dropLast())
    default: break
    }
  }

  /// The error's name, which may be one of ANCS or AMS.
  private static func name(of code: ErrorCode, at use: AttributeUse) -> String {
    let name =
      switch use.profiles.first {
      case .ancs: ControlPointError(rawValue: code.rawValue).name
      case .ams: MediaError(rawValue: code.rawValue).name
      case nil: String?.none
      }
    return name ?? "\(code)"
  }

  private mutating func readRanges(
    _ ranges: [HandleRange], _ request: PDU?, _ unit: inout DecodedUnit
  ) {
    unit.isList = true
    var service: UUID?
    if case .findByTypeValueRequest(_, let type, let value)? = request,
      UUID(type) == .primaryService
    {
      service = UUID(littleEndian: value)
    }
    for range in ranges {
      if let service {
        database.learn(service: service, range)
        database.learn(type: .primaryService, at: range.start)
      }
      var use = database.use(range.start, end: range.end)
      if let service { use.meaning = [ValueDecoder.service(service)] }
      unit.attributes.append(use)
    }
  }

  private mutating func readByType(
    _ entries: [PDU.AttributeValue], _ request: PDU?, _ unit: inout DecodedUnit
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
      if type == .characteristic,
        let declared = CharacteristicDeclaration(captured: entry.value),
        let profile = Profile(declared.uuid)
      {
        unit.profiles.insert(profile)
      }
    }
  }

  /// Learns an attribute that was read by its type.
  private mutating func learn(_ type: UUID, _ entry: PDU.AttributeValue) {
    // Any other type is that of a characteristic value.
    if type.isDeclaration || type.isDescriptor {
      database.learn(type: type, at: entry.handle)
    } else {
      database.learn(characteristic: type, value: entry.handle)
    }
    if type == .characteristic,
      let declared = CharacteristicDeclaration(captured: entry.value)
    {
      database.learn(characteristic: declared.uuid, value: declared.value)
    }
  }

  private mutating func readGroups(
    _ groups: [PDU.GroupValue], _ request: PDU?, _ unit: inout DecodedUnit
  ) {
    unit.isList = true
    var type = UUID.primaryService
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

  private mutating func readValue(_ handle: Handle?, _ value: [UInt8], _ unit: inout DecodedUnit) {
    var use = AttributeUse(value: value)
    if let handle { use = database.use(handle, value: value) }
    use.meaning = meaning(ofRead: value, use.uuid)
    unit.attributes = [use]
  }

  /// A further part of a long value. Its meaning is that of all parts, if they were read in order.
  private mutating func readBlob(_ value: [UInt8], _ request: PDU?, _ unit: inout DecodedUnit) {
    guard case .readBlobRequest(let handle, let offset)? = request else {
      return readValue(nil, value, &unit)
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
    _ values: [PDU.LengthValue], _ request: PDU?, _ unit: inout DecodedUnit
  ) {
    unit.isList = true
    var handles: [Handle] = []
    if case .readMultipleVariableRequest(let asked)? = request { handles = asked }
    for (place, value) in values.enumerated() {
      var use = AttributeUse(value: value.value)
      if place < handles.count { use = database.use(handles[place], value: value.value) }
      use.meaning =
        [.number("Length", value.length)] + meaning(ofRead: value.value, use.uuid)
      unit.attributes.append(use)
    }
  }
}
