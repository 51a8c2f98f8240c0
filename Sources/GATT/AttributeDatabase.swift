// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Wire

/// An attribute of a server: a handle, a type, permissions and a value (Vol 3 Part F, 3.2).
public struct Attribute {
  public let handle: Handle
  public let type: UUID
  public let permissions: Permissions
  /// The longest value that may be written, in octets, at most 512 (Vol 3 Part F, 3.2.9).
  public let maximumLength: Int
  var content: Content

  /// The source and destination of the value.
  public enum Content {
    /// A value in the database, the same for all clients; a write replaces it.
    case stored([UInt8])
    /// Functions that are called for each read and write, after the permissions were checked.
    case handled(read: Reading? = nil, write: Writing? = nil)
    /// A Client Characteristic Configuration, of which the server keeps one for each connection.
    case clientConfiguration
  }

  /// Returns the whole value; the server extracts the requested part.
  public typealias Reading = (Server) throws(ErrorCode) -> [UInt8]
  /// Called with a complete written value (prepared writes are joined first).
  public typealias Writing = (Server, [UInt8]) throws(ErrorCode) -> Void

  public init(
    handle: Handle, type: UUID, permissions: Permissions, content: Content, maximumLength: Int = Client.longestValue
  ) {
    self.handle = handle
    self.type = type
    self.permissions = permissions
    self.content = content
    self.maximumLength = min(maximumLength, Client.longestValue)
  }

  /// The value, if it is stored in the database.
  var stored: [UInt8]? { if case .stored(let value) = content { value } else { nil } }
}

/// The attributes of a server, grouped into services; shared by all its connections.
///
/// Services can be added and removed while clients are connected. Every `Server` on the database then notifies its
/// client (Service Changed), and refuses handles that may have changed if the client requested that (robust caching).
public final class AttributeDatabase {
  /// Why a service could not be added.
  public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another attribute has this handle, the handles are not in order, or none are left.
    case handleTaken(Handle)

    public var description: String {
      switch self {
      case .handleTaken(let handle): "the handle \(handle) is not free"
      }
    }
  }

  /// The services, in the order of their handles.
  private(set) var groups: [AttributeGroup] = []
  /// The servers on it, each with one client.
  private var users: [User] = []
  private struct User { weak var server: Server? }
  private var computedHash: [UInt8]?

  /// An empty database.
  public init() {}

  /// Adds a service; returns it as a client would find it.
  @discardableResult
  public func add(_ service: ServiceDefinition) throws(Failure) -> LocatedService {
    let next = groups.last.map { Int($0.range.end) + 1 } ?? 1
    guard service.handle != nil || next <= Int(Handle.max) else { throw .handleTaken(.max) }
    let attributes = try service.attributes(from: Handle(clamping: next))
    return try add(attributes, end: service.end)
  }

  /// Adds a service by its attributes, in the order of their handles; the first one declares it.
  ///
  /// - Parameter end: the last handle of the service, if it is not its last attribute's.
  @discardableResult
  public func add(_ attributes: [Attribute], end: Handle? = nil) throws(Failure) -> LocatedService {
    guard let group = AttributeGroup(attributes, end: end) else {
      throw .handleTaken(attributes.first?.handle ?? 0)
    }
    guard !groups.contains(where: { $0.range.overlaps(group.range) }) else {
      throw .handleTaken(group.range.start)
    }
    groups.insert(
      group, at: groups.firstIndex { $0.range.start > group.range.start } ?? groups.count)
    changed(group.range)
    return group.located
  }

  /// Removes the service whose declaration is at `handle`; returns its handles.
  @discardableResult public func remove(at handle: Handle) -> HandleRange? {
    guard let index = groups.firstIndex(where: { $0.range.start == handle }) else { return nil }
    let range = groups.remove(at: index).range
    changed(range)
    return range
  }

  /// Every service with its characteristics, as a client would find them.
  public var services: [LocatedService] { groups.map(\.located) }

  /// The first service of this type.
  public subscript(uuid: UUID) -> LocatedService? {
    groups.first { $0.located.service.uuid == uuid }?.located
  }

  /// The value stored at `handle`; nil if there is none or it is not stored in the database.
  public func value(at handle: Handle) -> [UInt8]? { attribute(at: handle)?.stored }

  /// Sets the value stored at `handle`; clients are not notified.
  public func setValue(_ value: [UInt8], at handle: Handle) {
    guard let (group, index) = find(handle) else { return }
    groups[group].attributes[index].content = .stored(value)
  }

  /// The Database Hash: 16 octets, least significant first (Vol 3 Part G, 7.3.1).
  public var hash: [UInt8] {
    if let computedHash { return computedHash }
    let hash = databaseHash(of: groups.lazy.flatMap(\.attributes))
    computedHash = hash
    return hash
  }

  // MARK: For servers

  func attribute(at handle: Handle) -> Attribute? { find(handle).map { groups[$0].attributes[$1] } }

  /// The service that `handle` belongs to.
  func group(of handle: Handle) -> AttributeGroup? { groups.first { $0.range.contains(handle) } }

  /// The attributes with handles in `range`, in their order.
  func attributes(in range: HandleRange) -> some Sequence<Attribute> {
    groups.lazy.filter { $0.range.overlaps(range) }
      .flatMap { $0.attributes.lazy.filter { range.contains($0.handle) } }
  }

  /// The characteristic whose value or descriptor is at `handle`.
  func characteristic(of handle: Handle) -> Characteristic? {
    group(of: handle)?.located.characteristics.last { $0.value <= handle && handle <= $0.end }
  }

  /// Tells a server from now on of every service that is added or removed.
  func add(_ server: Server) {
    users.removeAll { $0.server == nil }
    users.append(User(server: server))
  }

  private func find(_ handle: Handle) -> (Int, Int)? {
    guard let group = groups.firstIndex(where: { $0.range.contains(handle) }),
      let index = groups[group].attributes.firstIndex(where: { $0.handle == handle })
    else { return nil }
    return (group, index)
  }

  private func changed(_ range: HandleRange) {
    computedHash = nil
    for user in users { user.server?.databaseChanged(range) }
  }
}

/// The attributes of one service.
struct AttributeGroup {
  let range: HandleRange
  var attributes: [Attribute]
  let located: LocatedService

  /// Nil if the handles are not in order, or the first attribute declares no service.
  init?(_ attributes: [Attribute], end: Handle?) {
    guard let first = attributes.first, let last = attributes.last, first.handle != 0,
      zip(attributes, attributes.dropFirst()).allSatisfy({ $0.handle < $1.handle }),
      end.map({ $0 >= last.handle }) ?? true,
      let uuid = first.stored.flatMap({ UUID(littleEndian: $0) })
    else { return nil }
    range = HandleRange(first.handle, end ?? last.handle)
    self.attributes = attributes
    located = LocatedService(
      service: Service(uuid: uuid, range: range), characteristics: Self.characteristics(attributes, end: range.end))
  }

  private static func characteristics(_ attributes: [Attribute], end: Handle) -> [Characteristic] {
    var found: [Characteristic] = []
    for attribute in attributes {
      if attribute.type == .characteristic, let value = attribute.stored {
        guard let declared = try? CharacteristicDeclaration(decoding: value) else { continue }
        if let last = found.indices.last { found[last].end = attribute.handle - 1 }
        found.append(Characteristic(declared, at: attribute.handle, end: end))
      } else if attribute.type == .clientConfiguration, let last = found.indices.last {
        found[last].cccd = attribute.handle
      }
    }
    return found
  }
}

/// The Database Hash over attributes in the order of their handles (Vol 3 Part G, 7.3.1): AES-CMAC with
/// a key of zeros, least significant octet first.
///
/// Declarations and Extended Properties are hashed with their values, the other descriptors of the GATT
/// profile without, and values of characteristics not at all.
func databaseHash(of attributes: some Sequence<Attribute>) -> [UInt8] {
  var message = ByteWriter(capacity: 256)
  for attribute in attributes {
    switch attribute.type {
    case .primaryService, .secondaryService, .include,
      .characteristic, .extendedProperties:
      message.u16(attribute.handle)
      message.uuid(attribute.type)
      message.bytes(attribute.stored ?? [])
    case .userDescription, .clientConfiguration, .serverConfiguration,
      .presentationFormat, .aggregateFormat:
      message.u16(attribute.handle)
      message.uuid(attribute.type)
    default: break
    }
  }
  return cmac(key: [UInt8](repeating: 0, count: 16), message.bytes).reversed()
}
