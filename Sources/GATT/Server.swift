// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Wire

/// A GATT server on one bearer: it responds to the client's requests from the database.
///
///     request ──▶ is the client aware of the database's changes? ──▶ 0x12 (Server+ClientState)
///             ──▶ handle, permissions, offset, length            ──▶ the first error found
///             ──▶ the value: stored, computed, or this connection's configuration
///
/// All connections share the database; the state of this client is in `client`.
public final class Server {
  public let bearer: Bearer
  public let database: AttributeDatabase
  /// The link's security at the time of a request.
  public let security: () -> LinkSecurity

  /// The remembered state of this client. For a bonded client, store it for its next connection.
  public internal(set) var client: ClientState
  /// Called when the client writes a configuration, with the handle of the characteristic's value.
  public var onSubscribe: (Handle, ClientConfiguration) -> Void = { _, _ in }

  /// Whether Attribute Not Found in response to Read By Type names the ending handle of the request, as iPhones do,
  /// instead of the starting one (Vol 3 Part F, 3.4.4.1).
  public var namesEndingHandle = false

  var awareness = Awareness.aware
  /// Changes of the database that were not indicated to the client yet.
  var pendingChange: HandleRange?
  var isIndicatingChange = false
  /// The parts that the client has prepared and not executed yet; bounded, since it may never execute them.
  private var prepared: [PreparedPart] = []
  private typealias PreparedPart = (handle: Handle, offset: UInt16, value: [UInt8])
  /// Enough for the longest value in the smallest parts, twice.
  private static let mostParts = 64

  /// A server for the client on `bearer`, which responds to its requests from now on.
  ///
  /// - Parameter client: the remembered state of this client, if it is certainly the bonded one. If the database has
  ///   changed since, `announceChanges` indicates that once the link is ready.
  public init(
    _ bearer: Bearer, database: AttributeDatabase, client: ClientState = ClientState(),
    security: @escaping () -> LinkSecurity = { .none }
  ) {
    self.bearer = bearer
    self.database = database
    self.security = security
    self.client = client
    recall(client)
    database.add(self)
    bearer.serve = { [weak self] pdu in
      guard let self else {
        return pdu.opcode.role == .request ? .error(.unlikelyError, to: pdu.opcode) : nil
      }
      return serve(pdu)
    }
  }

  /// The client has turned out to be a bonded one with this remembered state. What it wrote before does not count:
  /// anybody can spoof its address.
  public func recall(_ client: ClientState) {
    self.client = client
    if let known = client.databaseHash, known != database.hash {
      awareness = .unaware
      pendingChange = .all
    } else {
      self.client.databaseHash = database.hash
    }
    removeLostConfigurations()
  }

  /// Why a request is refused, and the handle in error.
  struct Refusal: Error {
    var code: ErrorCode
    var handle: Handle = 0
  }

  private func serve(_ pdu: PDU) -> PDU? {
    let isRequest = pdu.opcode.role == .request
    do throws(Refusal) {
      guard try admit(pdu) else { return nil }
      return try response(to: pdu)
    } catch { return isRequest ? .error(error.code, to: pdu.opcode, at: error.handle) : nil }
  }

  private func response(to pdu: PDU) throws(Refusal) -> PDU? {
    switch pdu {
    case .findInformationRequest(let range): try findInformation(range)
    case .findByTypeValueRequest(let range, let type, let value):
      try findByTypeValue(range, UUID(type), value)
    case .readByTypeRequest(let range, let type): try readByType(range, type)
    case .readByGroupTypeRequest(let range, let type): try readByGroupType(range, type)
    case .readRequest(let handle):
      .readResponse(Array(try value(at: handle).prefix(bearer.mtu - 1)))
    case .readBlobRequest(let handle, let offset): try readBlob(handle, Int(offset))
    case .readMultipleRequest(let handles): try readMultiple(handles)
    case .readMultipleVariableRequest(let handles): try readMultipleVariable(handles)
    case .writeRequest(let handle, let value), .writeCommand(let handle, let value):
      try write(value, at: handle)
    case .prepareWriteRequest(let handle, let offset, let value):
      try prepareWrite((handle, offset, value))
    case .executeWriteRequest(let flag): try executeWrite(flag)
    case .signedWriteCommand:
      // There is no client's key to check the signature with, so the command is ignored (Vol 3 Part C,
      // 10.4.2).
      nil
    default: throw Refusal(code: .requestNotSupported)
    }
  }

  // MARK: Common checks of requests

  /// The attribute at `handle`.
  private func attribute(at handle: Handle) throws(Refusal) -> Attribute {
    guard let attribute = database.attribute(at: handle) else {
      throw Refusal(code: .invalidHandle, handle: handle)
    }
    return attribute
  }

  /// Checks the permission (nil: not permitted), then the link's security.
  private func check(_ access: Access?, or refusal: ErrorCode, at handle: Handle) throws(Refusal) {
    guard let access else { throw Refusal(code: refusal, handle: handle) }
    if let code = access.refusal(on: security()) { throw Refusal(code: code, handle: handle) }
  }

  /// The value of `attribute`, if this client may read it.
  private func value(of attribute: Attribute) throws(Refusal) -> [UInt8] {
    try check(attribute.permissions.read, or: .readNotPermitted, at: attribute.handle)
    do throws(ErrorCode) {
      return Array(try content(of: attribute).prefix(Client.longestValue))
    } catch { throw Refusal(code: error, handle: attribute.handle) }
  }

  private func content(of attribute: Attribute) throws(ErrorCode) -> [UInt8] {
    switch attribute.content {
    case .stored(let value): value
    case .clientConfiguration: client.configurations[attribute.handle, default: []].encoded
    case .handled(let read, _): try read?(self) ?? []
    }
  }

  private func value(at handle: Handle) throws(Refusal) -> [UInt8] {
    try value(of: try attribute(at: handle))
  }
}

// MARK: - Finding attributes

/// Find Information, Find By Type Value, Read By Type, Read By Group Type (Vol 3 Part F, 3.4.3 and
/// 3.4.4). A response holds as many entries of one length as the MTU has room for; the client continues
/// after the last.
extension Server {
  private func findInformation(_ range: HandleRange) throws(Refusal) -> PDU {
    .findInformationResponse(
      try entries(in: range) { attribute throws(Refusal) in
        let length = attribute.type.short == nil ? 18 : 4
        return (.init(handle: attribute.handle, type: attribute.type), length)
      })
  }

  private func findByTypeValue(_ range: HandleRange, _ type: UUID, _ value: [UInt8]) throws(Refusal) -> PDU {
    // There is no length in front of the entries.
    .findByTypeValueResponse(
      try entries(in: range, type, room: bearer.mtu - 1) { attribute throws(Refusal) in
        guard let stored = try? self.value(of: attribute), matches(stored, value, type) else {
          return nil
        }
        return (groupRange(attribute), 4)
      })
  }

  /// A service's type may be requested in either of its forms (Vol 3 Part F, 3.2.1).
  private func matches(_ stored: [UInt8], _ requested: [UInt8], _ type: UUID) -> Bool {
    if stored == requested { return true }
    guard isGroup(type), requested.count == 16 || requested.count == 2 else { return false }
    return UUID(littleEndian: stored) == UUID(littleEndian: requested)
  }

  private func readByType(_ range: HandleRange, _ type: UUID) throws(Refusal) -> PDU {
    let notFound = namesEndingHandle ? range.end : range.start
    let found: [PDU.AttributeValue] = try entries(in: range, type, notFound: notFound) { attribute throws(Refusal) in
      let value = Array(try self.value(of: attribute).prefix(min(bearer.mtu - 4, 253)))
      return (.init(handle: attribute.handle, value: value), 2 + value.count)
    }
    if type == .databaseHash { hashWasRead() }
    return .readByTypeResponse(found)
  }

  private func readByGroupType(_ range: HandleRange, _ type: UUID) throws(Refusal) -> PDU {
    guard isGroup(type) || !range.isValid else {
      throw Refusal(code: .unsupportedGroupType, handle: range.start)
    }
    return .readByGroupTypeResponse(
      try entries(in: range, type) { attribute throws(Refusal) in
        let value = Array(try self.value(of: attribute).prefix(min(bearer.mtu - 6, 251)))
        return (.init(range: groupRange(attribute), value: value), 4 + value.count)
      })
  }

  /// What a response holds: entries of one length, as many as there is room for.
  ///
  /// - Parameters:
  ///   - type: that of the attributes; nil: any.
  ///   - room: the octets for entries; by default, those behind the opcode and a format or a length.
  ///   - notFound: the handle in error if there are none; by default the first of the range.
  ///   - entry: returns an attribute's entry and its length; nil: it has none.
  private func entries<Entry>(
    in range: HandleRange, _ type: UUID? = nil, room: Int? = nil, notFound: Handle? = nil,
    _ entry: (Attribute) throws(Refusal) -> (Entry, length: Int)?
  ) throws(Refusal) -> [Entry] {
    // It neither begins at 0 nor ends before it begins (Vol 3 Part F, 3.4.3.1).
    guard range.isValid else { throw Refusal(code: .invalidHandle, handle: range.start) }
    var entries: [Entry] = []
    var room = room ?? bearer.mtu - 2
    var length: Int?
    for attribute in database.attributes(in: range) where type ?? attribute.type == attribute.type {
      let found: (entry: Entry, length: Int)?
      do throws(Refusal) {
        found = try entry(attribute)
      } catch {
        // A refusal is reported only for the first attribute; the next request begins at this one.
        guard !entries.isEmpty else { throw error }
        break
      }
      guard let found else { continue }
      room -= found.length
      guard room >= 0, length ?? found.length == found.length else { break }
      length = found.length
      entries.append(found.entry)
    }
    guard !entries.isEmpty else {
      throw Refusal(code: .attributeNotFound, handle: notFound ?? range.start)
    }
    return entries
  }

  /// Whether attributes of this type begin a group (Vol 3 Part G, 2.5.3).
  private func isGroup(_ type: UUID) -> Bool {
    type == .primaryService || type == .secondaryService
  }

  /// The handles of the group that an attribute begins, or its own.
  private func groupRange(_ attribute: Attribute) -> HandleRange {
    let group = isGroup(attribute.type) ? database.group(of: attribute.handle) : nil
    return group?.range ?? .init(attribute.handle, attribute.handle)
  }
}

// MARK: - Reading

/// Read Blob, Read Multiple and Read Multiple Variable (Vol 3 Part F, 3.4.4.5 to 3.4.4.12).
extension Server {
  /// A blob from the end of the value is empty, one from beyond it is an error. Values that one Read
  /// Response can hold may be read this way too: Attribute Not Long is never sent.
  private func readBlob(_ handle: Handle, _ offset: Int) throws(Refusal) -> PDU {
    let value = try value(at: handle)
    guard offset <= value.count else { throw Refusal(code: .invalidOffset, handle: handle) }
    return .readBlobResponse(Array(value[offset...].prefix(bearer.mtu - 1)))
  }

  private func readMultiple(_ handles: [Handle]) throws(Refusal) -> PDU {
    var values: [UInt8] = []
    for handle in handles { values += try value(at: handle) }
    return .readMultipleResponse(Array(values.prefix(bearer.mtu - 1)))
  }

  /// All handles are checked, including those whose values there is no room for.
  private func readMultipleVariable(_ handles: [Handle]) throws(Refusal) -> PDU {
    var values: [PDU.LengthValue] = []
    var room = bearer.mtu - 1
    for handle in handles {
      let value = try value(at: handle)
      room -= 2
      guard room >= 0 else { continue }
      values.append(.init(length: UInt16(clamping: value.count), value: Array(value.prefix(room))))
      room = value.count <= room ? room - value.count : 0
    }
    return .readMultipleVariableResponse(values)
  }
}

// MARK: - Writing

/// Write Request, Write Command and queued writes (Vol 3 Part F, 3.4.5 and 3.4.6).
extension Server {
  /// The response is sent only to a request.
  private func write(_ value: [UInt8], at handle: Handle) throws(Refusal) -> PDU {
    try store(value, in: try writable(handle))
    return .writeResponse
  }

  private func writable(_ handle: Handle) throws(Refusal) -> Attribute {
    let attribute = try attribute(at: handle)
    try check(attribute.permissions.write, or: .writeNotPermitted, at: handle)
    return attribute
  }

  private func store(_ value: [UInt8], in attribute: Attribute) throws(Refusal) {
    guard value.count <= attribute.maximumLength else {
      throw Refusal(code: .invalidAttributeValueLength, handle: attribute.handle)
    }
    do throws(ErrorCode) {
      switch attribute.content {
      case .stored: database.setValue(value, at: attribute.handle)
      case .handled(_, let write): try write?(self, value)
      case .clientConfiguration: try configure(attribute.handle, value)
      }
    } catch { throw Refusal(code: error, handle: attribute.handle) }
  }

  /// Permissions are checked when a write is prepared, offset and length when it is executed.
  private func prepareWrite(_ part: PreparedPart) throws(Refusal) -> PDU {
    _ = try writable(part.handle)
    // A part that does not fit into the MTU cannot be echoed.
    guard part.value.count <= bearer.mtu - 5 else {
      throw Refusal(code: .invalidPDU, handle: part.handle)
    }
    prepared.append(part)
    guard prepared.count <= Self.mostParts, prepared.reduce(0, { $0 + $1.value.count }) <= 4 * Client.longestValue
    else {
      prepared.removeLast()
      throw Refusal(code: .prepareQueueFull, handle: part.handle)
    }
    return .prepareWriteResponse(part.handle, offset: part.offset, value: part.value)
  }

  /// Writes all prepared parts or none: everything is checked before the first is written.
  private func executeWrite(_ flag: PDU.ExecuteFlag) throws(Refusal) -> PDU {
    let parts = prepared
    prepared = []
    guard flag == .write else { return .executeWriteResponse }
    let handles = parts.map(\.handle)
    if let first = handles.first, handles.contains(where: { $0 != first }) {
      for handle in handles where !isReliable(handle) {
        throw Refusal(code: .requestNotSupported, handle: handle)
      }
    }
    var writes: [(attribute: Attribute, value: [UInt8])] = []
    for part in parts {
      let target = try writable(part.handle)
      let offset = Int(part.offset)
      let index = writes.firstIndex { $0.attribute.handle == part.handle }
      // A write from the beginning replaces the value.
      var value = index.map { writes[$0].value } ?? (offset > 0 ? try? content(of: target) : nil) ?? []
      guard offset <= value.count else { throw Refusal(code: .invalidOffset, handle: part.handle) }
      value.replaceSubrange(offset..<min(value.count, offset + part.value.count), with: part.value)
      guard value.count <= target.maximumLength else {
        throw Refusal(code: .invalidAttributeValueLength, handle: part.handle)
      }
      if let index { writes[index].value = value } else { writes.append((target, value)) }
    }
    for write in writes { try store(write.value, in: write.attribute) }
    return .executeWriteResponse
  }

  /// Several values can be written together only if each characteristic allows reliable writes (Vol 3
  /// Part G, 3.3.3.1 and 4.9.5), by its Extended Properties if it has any.
  private func isReliable(_ handle: Handle) -> Bool {
    guard let characteristic = database.characteristic(of: handle),
      characteristic.value == handle, characteristic.properties.contains(.extended)
    else { return false }
    guard let range = characteristic.descriptors,
      let extended = database.attributes(in: range)
        .first(where: { $0.type == .extendedProperties })?.stored?.first
    else { return true }
    return extended & 1 == 1
  }
}
