// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// The attributes that a server offers, grouped into services; one for all its connections.
///
/// Services can be added and removed while clients are connected: every `Server` on this database
/// then tells its client (Service Changed) and, where that is asked for, keeps it from using handles
/// that may not mean any more what the client thinks (robust caching).
public final class AttributeDatabase {
  /// Why a service could not be added: its author's mistake.
  public enum Failure: Error, Hashable, Sendable {
    /// Another attribute has this handle, or handles do not go up, or there is none left.
    case handleTaken(Handle)
  }

  /// The services, in the order of their handles.
  private(set) var groups: [Group] = []
  private var watchers: [Int: (HandleRange) -> Void] = [:]
  private var lastWatcher = 0
  private var computedHash: [UInt8]?

  /// Nothing yet.
  public init() {}

  /// Adds a service; what a client would find of it comes back, handles and all.
  @discardableResult
  public func add(_ service: ServiceDefinition) throws(Failure) -> LocatedService {
    let next = groups.last.map { Int($0.range.end) + 1 } ?? 1
    guard service.handle != nil || next <= Int(Handle.max) else { throw .handleTaken(.max) }
    let attributes = try service.attributes(from: Handle(clamping: next))
    return try add(attributes, end: service.end)
  }

  /// Adds a service by its attributes, in the order of their handles; the first declares it.
  ///
  /// - Parameter end: the last handle that belongs to it, where that is not its last attribute's.
  @discardableResult
  public func add(
    _ attributes: [Attribute], end: Handle? = nil
  ) throws(Failure) -> LocatedService {
    guard let group = Group(attributes, end: end) else {
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

  /// Removes the service whose declaration is at `handle`; returns the handles that went with it.
  @discardableResult
  public func remove(at handle: Handle) -> HandleRange? {
    guard let index = groups.firstIndex(where: { $0.range.start == handle }) else { return nil }
    let range = groups.remove(at: index).range
    changed(range)
    return range
  }

  /// What a client finds here: every service with its characteristics.
  public var services: [LocatedService] { groups.map(\.located) }

  /// The first service of this type.
  public subscript(uuid: UUID) -> LocatedService? {
    groups.first { $0.located.service.uuid == uuid }?.located
  }

  /// The value that lies at `handle`; nil where there is none or it is not the database that has it.
  public func value(at handle: Handle) -> [UInt8]? { attribute(at: handle)?.stored }

  /// Sets the value that lies at `handle`, for all clients; tells nobody.
  public func setValue(_ value: [UInt8], at handle: Handle) {
    guard let (group, index) = find(handle) else { return }
    groups[group].attributes[index].content = .stored(value)
  }

  /// The Database Hash, as its characteristic holds it: 16 octets, least significant first (7.3.1).
  public var hash: [UInt8] {
    if let computedHash { return computedHash }
    let hash = databaseHash(of: groups.lazy.flatMap(\.attributes))
    computedHash = hash
    return hash
  }

  // MARK: For the servers on it

  func attribute(at handle: Handle) -> Attribute? {
    find(handle).map { groups[$0].attributes[$1] }
  }

  /// The service that `handle` belongs to.
  func group(of handle: Handle) -> Group? { groups.first { $0.range.contains(handle) } }

  /// The attributes with handles in `range`, in their order.
  func attributes(in range: HandleRange) -> some Sequence<Attribute> {
    groups.lazy.filter { $0.range.overlaps(range) }
      .flatMap { $0.attributes.lazy.filter { range.contains($0.handle) } }
  }

  /// The characteristic whose value, or whose descriptor, is at `handle`.
  func characteristic(of handle: Handle) -> Characteristic? {
    group(of: handle)?.located.characteristics.last {
      $0.value <= handle && handle <= $0.end
    }
  }

  /// Calls `action` with the handles of every service that comes or goes, until `unwatch`.
  func watch(_ action: @escaping (HandleRange) -> Void) -> Int {
    lastWatcher += 1
    watchers[lastWatcher] = action
    return lastWatcher
  }

  func unwatch(_ watcher: Int) { watchers[watcher] = nil }

  private func find(_ handle: Handle) -> (Int, Int)? {
    guard let group = groups.firstIndex(where: { $0.range.contains(handle) }),
      let index = groups[group].attributes.firstIndex(where: { $0.handle == handle })
    else { return nil }
    return (group, index)
  }

  private func changed(_ range: HandleRange) {
    computedHash = nil
    for (_, action) in watchers.sorted(by: { $0.key < $1.key }) { action(range) }
  }
}

/// The attributes of one service.
struct Group {
  let range: HandleRange
  var attributes: [Attribute]
  let located: LocatedService

  /// Nil where the handles do not go up, or the first attribute declares no service.
  init?(_ attributes: [Attribute], end: Handle?) {
    guard let first = attributes.first, let last = attributes.last, first.handle != 0,
      zip(attributes, attributes.dropFirst()).allSatisfy({ $0.handle < $1.handle }),
      end.map({ $0 >= last.handle }) ?? true,
      let uuid = first.stored.flatMap({ UUID(littleEndian: $0) })
    else { return nil }
    range = HandleRange(first.handle, end ?? last.handle)
    self.attributes = attributes
    located = LocatedService(
      service: Service(uuid: uuid, range: range),
      characteristics: Self.characteristics(attributes, end: range.end))
  }

  var isPrimary: Bool { attributes.first?.type == GATTType.primaryService }

  private static func characteristics(
    _ attributes: [Attribute], end: Handle
  ) -> [Characteristic] {
    var found: [Characteristic] = []
    for attribute in attributes {
      if attribute.type == GATTType.characteristic, let declaration = attribute.stored {
        var reader = ByteReader(declaration)
        guard let properties = try? reader.u8(), let value = try? reader.u16(),
          let uuid = try? reader.uuid(width: reader.remaining)
        else { continue }
        if let last = found.indices.last { found[last].end = attribute.handle - 1 }
        found.append(
          Characteristic(
            declaration: attribute.handle, properties: .init(rawValue: properties), value: value,
            uuid: uuid, end: end))
      } else if attribute.type == GATTType.clientConfiguration, let last = found.indices.last {
        found[last].cccd = attribute.handle
      }
    }
    return found
  }
}
