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

  /// The request without a response so far on each bearer, and the services that it is about.
  private var requests: [UInt16: (pdu: PDU, profiles: Set<Profile>)] = [:]
  /// The handle of the indication without a confirmation so far on each bearer.
  private var indicated: [UInt16: Handle] = [:]
  private var notifications = NotificationExchange()
  private var media = MediaExchange()
  /// A long value that is being read, as far as it was read.
  private var reading: (handle: Handle, value: [UInt8])?
  /// Prepared writes.
  private var prepared: [(handle: Handle, offset: UInt16, value: [UInt8])] = []

  /// Further prepared writes are not followed.
  private static let mostPrepared = 256

  /// Reads a PDU on one of the link's bearers.
  mutating func read(_ bytes: [UInt8], _ bearer: UInt16, into unit: inout DecodedUnit) {
    do throws(DecodeError) {
      let pdu = try PDU(decoding: bytes)
      switch pdu.opcode.role {
      case .request:
        readRequest(pdu, &unit)
        for attribute in unit.attributes { unit.profiles.formUnion(attribute.profiles) }
        requests[bearer] = (pdu, unit.profiles)
      case .response:
        let request = removeRequest(completedBy: pdu, bearer)
        unit.profiles = request?.profiles ?? []
        readResponse(pdu, to: request?.pdu, &unit)
      case .command: readRequest(pdu, &unit)
      case .notification, .indication, .confirmation: readNotification(pdu, bearer, &unit)
      }
    } catch {
      try? readMalformed(bytes, &unit)
      unit.problem = "malformed: \(error)"
    }
  }

  /// The request that a response belongs to; nil if the capture does not have it.
  private mutating func removeRequest(
    completedBy response: PDU, _ bearer: UInt16
  ) -> (pdu: PDU, profiles: Set<Profile>)? {
    guard let request = requests[bearer] else { return nil }
    let isMatching =
      switch response {
      case .errorResponse(let error): error.request == request.pdu.opcode
      default: request.pdu.opcode.response == response.opcode
      }
    return isMatching ? requests.removeValue(forKey: bearer) : nil
  }

  // MARK: Attributes

  private enum Access {
    case written, notified, read
  }

  /// Adds an attribute without a value.
  func name(_ handle: Handle, _ unit: inout DecodedUnit) {
    unit.attributes.append(database.use(handle))
  }

  /// Adds an attribute with a value and its meaning.
  private mutating func add(
    _ handle: Handle?, _ access: Access, _ value: [UInt8], to unit: inout DecodedUnit
  ) {
    var use = database.use(handle, value: value)
    use.meaning = meaning(of: value, use.uuid, access)
    unit.attributes.append(use)
  }

  /// The meaning of a value, which depends on what came before it for ANCS and AMS.
  private mutating func meaning(of value: [UInt8], _ uuid: UUID?, _ access: Access) -> [Detail] {
    guard let uuid else { return [] }
    let detail: Detail? =
      switch (access, uuid) {
      case (.written, .controlPoint): notifications.command(value)
      case (.written, _): media.written(value, to: uuid)
      case (.notified, .notificationSource): NotificationExchange.event(value)
      case (.notified, .dataSource): notifications.data(value)
      case (.notified, _): media.notified(value, by: uuid)
      case (.read, .entityAttribute): media.read(value)
      case (.read, _): nil
      }
    return detail.map { [$0] } ?? ValueDecoder.details(of: value, uuid)
  }

  static func range(_ range: HandleRange) -> Detail {
    .text("Handles", ValueDecoder.text(range), key: "range")
  }

  static func type(_ uuid: UUID, _ label: String = "Type") -> Detail {
    .text(label, AssignedNumbers.title(of: uuid))
  }
}

// MARK: - Requests, commands and notifications

extension ServerView {
  /// Reads a request or command to this server.
  private mutating func readRequest(_ pdu: PDU, _ unit: inout DecodedUnit) {
    switch pdu {
    case .exchangeMTURequest(let mtu): unit.details = [.number("Client RX MTU", mtu)]
    case .findInformationRequest(let range): readSearch(range, type: nil, &unit)
    case .findByTypeValueRequest(let range, let type, let value):
      readSearch(range, type: UUID(type), &unit)
      if let uuid = UUID(littleEndian: value), value.count != 4 {
        unit.details.append(Self.type(uuid, "UUID"))
        if let profile = Profile(uuid) { unit.profiles.insert(profile) }
      }
      unit.attributes = [AttributeUse(value: value)]
    case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
      readSearch(range, type: type, &unit)
    case .readRequest(let handle): name(handle, &unit)
    case .readBlobRequest(let handle, let offset):
      name(handle, &unit)
      unit.details = [.number("Offset", offset)]
    case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
      for handle in handles { name(handle, &unit) }
    case .writeRequest(let handle, let value), .writeCommand(let handle, let value):
      add(handle, .written, value, to: &unit)
    case .signedWriteCommand(let handle, let value, let signature):
      add(handle, .written, value, to: &unit)
      // A counter and a message authentication code; neither is a key.
      unit.details = [Detail("Signature", .bytes(signature))]
    case .prepareWriteRequest(let handle, let offset, let value):
      readPart(handle, offset, value, &unit)
      if prepared.count < Self.mostPrepared { prepared.append((handle, offset, value)) }
    case .executeWriteRequest(let flag): execute(flag, &unit)
    case .unknown(_, let body): unit.details = [.data(body)]
    default: break
    }
  }

  /// Reads a notification or indication of this server, or a confirmation to it.
  private mutating func readNotification(_ pdu: PDU, _ bearer: UInt16, _ unit: inout DecodedUnit) {
    switch pdu {
    case .handleValueNotification(let handle, let value): add(handle, .notified, value, to: &unit)
    case .handleValueIndication(let handle, let value):
      add(handle, .notified, value, to: &unit)
      indicated[bearer] = handle
      if database.type(of: handle) == .serviceChanged,
        let changed = try? ServiceChanged(decoding: value)
      {
        database.doubt(changed.range)
      }
    case .handleValueConfirmation:
      if let handle = indicated.removeValue(forKey: bearer) { name(handle, &unit) }
    case .multipleHandleValueNotification(let values):
      for value in values { add(value.handle, .notified, value.value, to: &unit) }
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
    var written: [(handle: Handle, value: [UInt8])] = []
    for part in parts {
      let index = written.firstIndex { $0.handle == part.handle } ?? written.count
      if index == written.count { written.append((part.handle, [])) }
      if written[index].value.count == part.offset { written[index].value += part.value }
    }
    for (handle, value) in written {
      let use = database.use(handle, value: value)
      unit.profiles.formUnion(use.profiles)
      unit.details.append(
        .several(
          "Written", .named(use.name, UInt64(handle), digits: 4), key: "written",
          [Detail("Value", .bytes(value), key: "bytes")] + meaning(of: value, use.uuid, .written)))
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
      for entry in entries {
        database.learn(type: entry.type, at: entry.handle)
        name(entry.handle, &unit)
      }
    case .findByTypeValueResponse(let ranges):
      var service: UUID?
      if case .findByTypeValueRequest(_, 0x2800, let value)? = request {
        service = UUID(littleEndian: value)
      }
      for range in ranges {
        addGroup(range, type: service == nil ? nil : .primaryService, service, to: &unit)
      }
    case .readByTypeResponse(let entries): readByType(entries, request, &unit)
    case .readByGroupTypeResponse(let groups):
      var type = UUID.primaryService
      if case .readByGroupTypeRequest(_, let asked)? = request { type = asked }
      for group in groups {
        let service = UUID(littleEndian: group.value)
        addGroup(group.range, type: type, service, value: group.value, to: &unit)
      }
    case .readResponse(let value):
      var handle: Handle?
      if case .readRequest(let asked)? = request {
        handle = asked
        reading = (asked, value)
      }
      add(handle, .read, value, to: &unit)
    case .readBlobResponse(let value): readBlob(value, request, &unit)
    case .readMultipleResponse(let value):
      // The values follow each other without their lengths.
      if case .readMultipleRequest(let handles)? = request {
        for handle in handles { name(handle, &unit) }
      }
      unit.details = [Detail("Values", .bytes(value))]
    case .readMultipleVariableResponse(let values):
      var handles: [Handle] = []
      if case .readMultipleVariableRequest(let asked)? = request { handles = asked }
      for (place, value) in values.enumerated() {
        add(place < handles.count ? handles[place] : nil, .read, value.value, to: &unit)
        unit.attributes[place].meaning.insert(.number("Length", value.length), at: 0)
      }
    case .writeResponse: if case .writeRequest(let handle, _)? = request { name(handle, &unit) }
    case .prepareWriteResponse(let handle, let offset, let value):
      readPart(handle, offset, value, &unit)
    default: break
    }
  }

  private mutating func readError(
    _ error: PDU.ErrorResponse, _ request: PDU?, _ unit: inout DecodedUnit
  ) {
    let use = database.use(error.handle)
    // The error may be one of ANCS or AMS.
    let name =
      switch use.profiles.first {
      case .ancs: ControlPointError(rawValue: error.code.rawValue).name
      case .ams: MediaError(rawValue: error.code.rawValue).name
      case nil: String?.none
      }
    unit.attributes = [use]
    unit.details = [
      .named("Request", "\(error.request)", error.request.rawValue),
      .named("Error", name ?? "\(error.code)", error.code.rawValue),
    ]
    switch request {
    case .writeRequest(let handle, _)? where database.type(of: handle) == .controlPoint:
      notifications.removeRefusedCommand()
    case .prepareWriteRequest?: _ = prepared.popLast()
    default: break
    }
  }

  /// Adds a group of attributes, and learns its type and that of its service.
  private mutating func addGroup(
    _ range: HandleRange, type: UUID?, _ service: UUID?, value: [UInt8]? = nil,
    to unit: inout DecodedUnit
  ) {
    if let type { database.learn(type: type, at: range.start) }
    if let service { database.learn(service: service, range) }
    var use = database.use(range.start, value: value, end: range.end)
    if let service { use.meaning = [ValueDecoder.service(service)] }
    unit.attributes.append(use)
  }

  private mutating func readByType(
    _ entries: [PDU.AttributeValue], _ request: PDU?, _ unit: inout DecodedUnit
  ) {
    var type: UUID?
    if case .readByTypeRequest(_, let asked)? = request { type = asked }
    for entry in entries {
      if let type {
        // Any type but these is that of a characteristic value.
        let isValue = !type.isDeclaration && !type.isDescriptor
        database.learn(type: type, at: entry.handle, isValue: isValue)
      }
      if type == .characteristic, let declared = CharacteristicDeclaration(captured: entry.value) {
        database.learn(type: declared.uuid, at: declared.value, isValue: true)
        if let profile = Profile(declared.uuid) { unit.profiles.insert(profile) }
      }
      var use = database.use(entry.handle, value: entry.value)
      use.uuid = type ?? use.uuid
      use.meaning = meaning(of: entry.value, use.uuid, .read)
      unit.attributes.append(use)
    }
  }

  /// A further part of a long value. Its meaning is that of all parts, if they were read in order.
  private mutating func readBlob(_ part: [UInt8], _ request: PDU?, _ unit: inout DecodedUnit) {
    guard case .readBlobRequest(let handle, let offset)? = request else {
      return add(nil, .read, part, to: &unit)
    }
    let before = reading?.handle == handle ? reading?.value ?? [] : []
    let value = before + part
    reading = before.count == offset ? (handle, value) : nil
    var use = database.use(handle, value: part)
    if reading != nil { use.meaning = meaning(of: value, use.uuid, .read) }
    unit.attributes = [use]
    unit.details = [.number("Offset", offset)]
  }
}
