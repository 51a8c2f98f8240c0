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

  /// A request, and what was read of it.
  private typealias Request = (pdu: PDU, unit: DecodedUnit)

  /// The request without a response so far on each bearer.
  private var requests: [UInt16: Request] = [:]
  /// The handle of the indication without a confirmation so far on each bearer.
  private var indicated: [UInt16: Handle] = [:]
  private var notifications = NotificationExchange()
  private var media = MediaExchange()
  /// A long value that is being read, as far as it was read.
  private var reading: (handle: Handle, value: [UInt8])?
  /// Prepared writes.
  private var prepared: [(handle: Handle, offset: UInt16, value: [UInt8])] = []

  /// Further parts of a value are not joined: attributes have at most 512 bytes, but some servers generate longer ones.
  private static let longestValue = 4096
  /// Further prepared writes are not followed.
  private static let mostPrepared = 256

  /// The number of the packet that completes the PDU that is read.
  private var packet = 0

  /// Reads a PDU on one of the link's bearers.
  mutating func read(_ bytes: [UInt8], _ bearer: UInt16, _ packet: Int, into unit: inout DecodedUnit) {
    self.packet = packet
    do throws(DecodeError) {
      let pdu = try PDU(decoding: bytes)
      try unit.readFields(bytes)
      switch pdu.opcode.role {
      case .request:
        readRequest(pdu, &unit)
        unit.addProfiles()
        requests[bearer] = (pdu, unit)
      case .response:
        let request = removeRequest(completedBy: pdu, bearer)
        unit.profiles = request?.unit.profiles ?? []
        readResponse(pdu, to: request, &unit)
      case .command: readRequest(pdu, &unit)
      case .notification, .indication, .confirmation: readNotification(pdu, bearer, &unit)
      }
    } catch {
      unit.problem = "malformed: \(error)"
      // All bytes are needed to find the fault. Nothing is learned from such a PDU.
      unit.details = [.data(bytes.dropFirst())]
      try? unit.readFields(bytes)
      // A Find Information Response has the types itself.
      if Opcode(rawValue: bytes[0]) != .findInformationResponse { identify(&unit.attributes) }
    }
  }

  /// The request that a response belongs to; nil if the capture does not have it.
  private mutating func removeRequest(completedBy response: PDU, _ bearer: UInt16) -> Request? {
    guard let request = requests[bearer] else { return nil }
    let isMatching =
      switch response {
      case .errorResponse(let error): error.request == request.pdu.opcode
      default: request.pdu.opcode.response == response.opcode
      }
    return isMatching ? requests.removeValue(forKey: bearer) : nil
  }

  // MARK: Attributes

  private func identify(_ attributes: inout [AttributeUse]) {
    for index in attributes.indices { database.identify(&attributes[index]) }
  }

  /// Identifies attributes, and adds the meaning of their values.
  private mutating func interpret(_ attributes: inout [AttributeUse], _ access: ValueAccess) {
    for index in attributes.indices { interpret(&attributes[index], access) }
  }

  private mutating func interpret(_ use: inout AttributeUse, _ access: ValueAccess) {
    database.identify(&use)
    use.meaning = meaning(of: use.value ?? [], use.uuid, access)
  }

  /// The meaning of a value, which depends on what came before it for ANCS and AMS.
  private mutating func meaning(of value: [UInt8], _ uuid: UUID?, _ access: ValueAccess) -> [Detail] {
    guard let uuid else { return [] }
    let detail = notifications.detail(of: value, uuid, access, packet) ?? media.detail(of: value, uuid, access)
    return detail.map { [$0] } ?? ValueDecoder.details(of: value, uuid)
  }

  // MARK: Requests, commands and notifications

  /// Reads a request or command to this server.
  private mutating func readRequest(_ pdu: PDU, _ unit: inout DecodedUnit) {
    identify(&unit.attributes)
    if let range = unit.range { unit.profiles = database.profiles(in: range) }
    if let profile = unit.type.flatMap(Profile.init) { unit.profiles.insert(profile) }
    switch pdu {
    case .findByTypeValueRequest(_, _, let value):
      guard let uuid = UUID(littleEndian: value), value.count != 4 else { break }
      unit.details.append(.text("UUID", AssignedNumbers.title(of: uuid)))
      if let profile = Profile(uuid) { unit.profiles.insert(profile) }
    case .writeRequest, .writeCommand, .signedWriteCommand: interpret(&unit.attributes, .written)
    case .prepareWriteRequest(let handle, let offset, let value):
      if prepared.count < Self.mostPrepared { prepared.append((handle, offset, value)) }
    case .executeWriteRequest(let flag): execute(flag, &unit)
    default: break
    }
  }

  /// Reads a notification or indication of this server, or a confirmation to it.
  private mutating func readNotification(_ pdu: PDU, _ bearer: UInt16, _ unit: inout DecodedUnit) {
    switch pdu {
    case .handleValueIndication(let handle, let value):
      interpret(&unit.attributes, .notified)
      indicated[bearer] = handle
      if database.type(of: handle) == .serviceChanged,
        let changed = try? ServiceChanged(decoding: value)
      {
        database.doubt(changed.range)
      }
    case .handleValueConfirmation:
      if let handle = indicated.removeValue(forKey: bearer) {
        unit.attributes = [AttributeUse(handle: handle)]
        identify(&unit.attributes)
      }
    default:
      interpret(&unit.attributes, .notified)
      unit.request = notifications.answered.take()
    }
  }

  /// Joins the prepared parts of each attribute, as far as they are contiguous.
  private mutating func execute(_ flag: PDU.ExecuteFlag, _ unit: inout DecodedUnit) {
    let parts = prepared
    prepared = []
    guard flag == .write else { return }
    var written: [AttributeUse] = []
    for part in parts {
      let index = written.firstIndex { $0.handle == part.handle } ?? written.count
      if index == written.count { written.append(AttributeUse(handle: part.handle, value: [])) }
      if written[index].value?.count == Int(part.offset) { written[index].value? += part.value }
    }
    interpret(&written, .written)
    for use in written {
      unit.profiles.formUnion(use.profiles)
      unit.details.append(
        .several(
          "Written", .named(use.name, UInt64(use.handle ?? 0), digits: 4), key: "written",
          [Detail("Value", .bytes(use.value ?? []), key: "bytes")] + use.meaning))
    }
  }

  // MARK: Responses

  /// Reads a response of this server to `request`, if the capture has that.
  private mutating func readResponse(_ pdu: PDU, to request: Request?, _ unit: inout DecodedUnit) {
    if let request { Self.addHandles(of: request.unit, to: &unit) }
    switch pdu {
    case .errorResponse(let error): readError(error, request?.pdu, &unit)
    case .findInformationResponse(let entries):
      for (index, entry) in entries.enumerated() {
        database.learn(type: entry.type, at: entry.handle)
        database.identify(&unit.attributes[index])
      }
    case .findByTypeValueResponse(let ranges):
      var service: UUID?
      if case .findByTypeValueRequest(_, 0x2800, let value)? = request?.pdu {
        service = UUID(littleEndian: value)
      }
      for (index, range) in ranges.enumerated() {
        readGroup(range, service.map { _ in .primaryService }, service, &unit.attributes[index])
      }
    case .readByTypeResponse: readByType(request?.unit.type, &unit)
    case .readByGroupTypeResponse(let groups):
      let type = request?.unit.type ?? .primaryService
      for (index, group) in groups.enumerated() {
        readGroup(group.range, type, UUID(littleEndian: group.value), &unit.attributes[index])
      }
    case .readResponse(let value):
      if let handle = unit.attributes[0].handle { reading = (handle, value) }
      interpret(&unit.attributes, .read)
    case .readBlobResponse(let value): readBlob(value, request?.pdu, &unit)
    case .readMultipleVariableResponse(let values):
      interpret(&unit.attributes, .read)
      for (index, value) in values.enumerated() {
        unit.attributes[index].meaning.insert(.number("Length", value.length), at: 0)
      }
    default: identify(&unit.attributes)
    }
  }

  /// A response without handles is about the attributes of its request, in their order.
  private static func addHandles(of request: DecodedUnit, to unit: inout DecodedUnit) {
    guard !unit.attributes.contains(where: { $0.handle != nil }) else { return }
    if unit.attributes.isEmpty {
      unit.attributes = request.attributes.map { AttributeUse(handle: $0.handle) }
    }
    for (index, use) in zip(unit.attributes.indices, request.attributes) {
      unit.attributes[index].handle = use.handle
    }
  }

  private mutating func readError(_ error: PDU.ErrorResponse, _ request: PDU?, _ unit: inout DecodedUnit) {
    identify(&unit.attributes)
    // The error may be one of ANCS or AMS.
    let name =
      switch unit.attributes[0].profiles.first {
      case .ancs: error.code.nameInANCS
      case .ams: error.code.nameInAMS
      case nil: String?.none
      }
    if let name { unit.details[1].value = .named(name, UInt64(error.code.rawValue), digits: 2) }
    switch request {
    case .writeRequest(let handle, _)? where database.type(of: handle) == .controlPoint:
      notifications.removeRefusedCommand()
    case .prepareWriteRequest?: _ = prepared.popLast()
    default: break
    }
  }

  /// Learns a group of attributes: its type and that of its service.
  private mutating func readGroup(_ range: HandleRange, _ type: UUID?, _ service: UUID?, _ use: inout AttributeUse) {
    if let type { database.learn(type: type, at: range.start) }
    if let service { database.learn(service: service, range) }
    database.identify(&use)
    if let service { use.meaning = [ValueDecoder.service(service)] }
  }

  private mutating func readByType(_ type: UUID?, _ unit: inout DecodedUnit) {
    for index in unit.attributes.indices {
      let (handle, value) = (unit.attributes[index].handle ?? 0, unit.attributes[index].value ?? [])
      if let type { database.learn(type: type, at: handle) }
      if type == .characteristic, let declared = CharacteristicDeclaration(captured: value) {
        database.learn(type: declared.uuid, at: declared.value)
        if let profile = Profile(declared.uuid) { unit.profiles.insert(profile) }
      }
      unit.attributes[index].uuid = type
      interpret(&unit.attributes[index], .read)
    }
  }

  /// A further part of a long value. Its meaning is that of all parts, if they were read in order.
  private mutating func readBlob(_ part: [UInt8], _ request: PDU?, _ unit: inout DecodedUnit) {
    guard case .readBlobRequest(let handle, let offset)? = request else { return }
    let before = reading?.handle == handle ? reading?.value ?? [] : []
    let value = before + part
    reading = before.count == offset && value.count <= Self.longestValue ? (handle, value) : nil
    identify(&unit.attributes)
    if reading != nil {
      unit.attributes[0].meaning = meaning(of: value, unit.attributes[0].uuid, .read)
    }
    unit.details = [.number("Offset", offset)]
  }
}
