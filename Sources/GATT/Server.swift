// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// A GATT server on one bearer: it answers every request of the client out of the database.
///
///     request ──▶ client out of step with the database? ──▶ 0x12 (Server+RobustCaching)
///             ──▶ handle, permissions, offset, length    ──▶ the first error there is
///             ──▶ the value: stored, asked for, or this connection's configuration
///
/// The database is shared by all connections; what belongs to this client alone is `client`.
public final class Server {
  public let bearer: Bearer
  public let database: AttributeDatabase
  /// What the link offers; asked at the time of each request.
  public let security: () -> LinkSecurity

  /// What this client is known by; to be kept where it is bonded, and given to its next server.
  public internal(set) var client: ClientState
  /// Told when the client writes a configuration: the handle of the characteristic's value, and
  /// what the client wants of it from now on.
  public var onSubscribe: (Handle, ClientConfiguration) -> Void = { _, _ in }

  var awareness = Awareness.aware
  /// Changes of the database that the client is still to be told of.
  var pendingChange: HandleRange?
  var indicatingChange = false
  var prepared = PreparedWrites()
  private var watcher: Int?

  /// A server for the client of `bearer`, whose requests it answers from now on.
  ///
  /// - Parameter client: what an earlier server of this bonded client kept; the database may have
  ///   changed since then, and `announceChanges` says so when the link is ready for it.
  public init(
    _ bearer: Bearer, database: AttributeDatabase, client: ClientState = ClientState(),
    security: @escaping () -> LinkSecurity = { .none }
  ) {
    self.bearer = bearer
    self.database = database
    self.security = security
    self.client = client
    if let known = client.databaseHash, known != database.hash {
      awareness = .unaware
      pendingChange = .all
    } else {
      self.client.databaseHash = database.hash
    }
    dropLostConfigurations()
    watcher = database.watch { [weak self] range in self?.databaseChanged(range) }
    bearer.serve = { [weak self] pdu in
      guard let self else {
        return pdu.opcode.role == .request ? .error(.unlikelyError, to: pdu.opcode) : nil
      }
      return answer(pdu)
    }
  }

  deinit {
    if let watcher { database.unwatch(watcher) }
  }

  /// Why a request is refused, and which handle is to blame.
  struct Refusal: Error {
    var code: ErrorCode
    var handle: Handle = 0
  }

  private func answer(_ pdu: PDU) -> PDU? {
    let isRequest = pdu.opcode.role == .request
    do throws(Refusal) {
      guard try admit(pdu) else { return nil }
      return try response(to: pdu)
    } catch {
      return isRequest ? .error(error.code, to: pdu.opcode, at: error.handle) : nil
    }
  }

  private func response(to pdu: PDU) throws(Refusal) -> PDU? {
    switch pdu {
    case .findInformationRequest(let range):
      try findInformation(range)
    case .findByTypeValueRequest(let range, let type, let value):
      try findByTypeValue(range, UUID(type), value)
    case .readByTypeRequest(let range, let type):
      try readByType(range, type)
    case .readByGroupTypeRequest(let range, let type):
      try readByGroupType(range, type)
    case .readRequest(let handle):
      .readResponse(Array(try value(at: handle).prefix(bearer.mtu - 1)))
    case .readBlobRequest(let handle, let offset):
      try readBlob(handle, Int(offset))
    case .readMultipleRequest(let handles):
      try readMultiple(handles)
    case .readMultipleVariableRequest(let handles):
      try readMultipleVariable(handles)
    case .writeRequest(let handle, let value):
      try write(value, at: handle)
    case .prepareWriteRequest(let handle, let offset, let value):
      try prepareWrite(handle, offset, value)
    case .executeWriteRequest(let flag):
      try executeWrite(flag)
    case .writeCommand(let handle, let value):
      try writeCommand(value, at: handle)
    case .signedWriteCommand:
      // No client of ours has given us a key to check signatures with: the command is ignored
      // (Vol 3 Part C, 10.4.2).
      nil
    default:
      throw Refusal(code: .requestNotSupported)
    }
  }

  // MARK: What every request checks

  /// The attribute at `handle`.
  func attribute(at handle: Handle) throws(Refusal) -> Attribute {
    guard let attribute = database.attribute(at: handle) else {
      throw Refusal(code: .invalidHandle, handle: handle)
    }
    return attribute
  }

  /// Whether `access` (nil: none) may be had; the permission comes before the link's security.
  func check(
    _ access: Access?, or refusal: ErrorCode, at handle: Handle
  ) throws(Refusal) {
    guard let access else { throw Refusal(code: refusal, handle: handle) }
    if let code = access.refusal(on: security()) { throw Refusal(code: code, handle: handle) }
  }

  /// The value of `attribute`, where this client may read it.
  func value(of attribute: Attribute) throws(Refusal) -> [UInt8] {
    try check(attribute.permissions.read, or: .readNotPermitted, at: attribute.handle)
    switch attribute.content {
    case .stored(let value): return value
    case .clientConfiguration: return client.configurations[attribute.handle, default: []].bytes
    case .handled(let read, _):
      guard let read else { return [] }
      do {
        return Array(try read(self).prefix(Client.longestValue))
      } catch {
        throw Refusal(code: error, handle: attribute.handle)
      }
    }
  }

  func value(at handle: Handle) throws(Refusal) -> [UInt8] {
    try value(of: try attribute(at: handle))
  }

  /// A range that names no attributes, because it begins at 0 or goes backwards, is an error of its
  /// own (Vol 3 Part F, 3.4.3.1).
  func check(_ range: HandleRange) throws(Refusal) {
    guard range.isValid else { throw Refusal(code: .invalidHandle, handle: range.start) }
  }
}
