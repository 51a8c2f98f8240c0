// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GATT
import Wire

/// What a link's traffic told of a server's attributes: handles and their types, learned as somebody
/// else's discovery passes by.
struct LearnedDatabase: Hashable, Sendable {
  private var services: [Service] = []
  private var types: [Handle: UUID] = [:]
  /// The handles that are characteristics' values.
  private var values: Set<Handle> = []

  /// Servers with more services than this are none; the rest is not learned.
  private static let mostServices = 1024

  mutating func learn(service uuid: UUID, _ range: HandleRange) {
    guard range.isValid else { return }
    services.removeAll { $0.range.start == range.start }
    if services.count < Self.mostServices {
      services.append(Service(uuid: uuid, range: range))
    }
  }

  mutating func learn(type: UUID, at handle: Handle) {
    // A characteristic's value has the characteristic's type, which its declaration said already.
    if handle != 0 { types[handle] = type }
  }

  mutating func learn(characteristic type: UUID, value handle: Handle) {
    learn(type: type, at: handle)
    if handle != 0 { values.insert(handle) }
  }

  /// Takes over a service that somebody else has found.
  mutating func learn(_ service: LocatedService) {
    learn(service: service.service.uuid, service.service.range)
    learn(type: GATTType.primaryService, at: service.service.range.start)
    for characteristic in service.characteristics {
      learn(type: GATTType.characteristic, at: characteristic.declaration)
      learn(characteristic: characteristic.uuid, value: characteristic.value)
      if let cccd = characteristic.cccd { learn(type: GATTType.clientConfiguration, at: cccd) }
    }
  }

  /// Forgets what was said to have changed.
  mutating func forget(_ range: HandleRange) {
    services.removeAll { $0.range.overlaps(range) }
    types = types.filter { !range.contains($0.key) }
    values = values.filter { !range.contains($0) }
  }

  func type(of handle: Handle) -> UUID? { types[handle] }

  func service(of handle: Handle) -> UUID? {
    services.first { $0.range.contains(handle) }?.uuid
  }

  /// The characteristic that the descriptor at `handle` describes: that of the nearest value in front
  /// of it.
  func characteristic(of handle: Handle) -> UUID? {
    guard let type = types[handle]?.short, (0x2900...0x29FF).contains(type) else { return nil }
    let home = services.first { $0.range.contains(handle) }
    var place = handle
    for _ in 0..<64 where place > 1 {
      place -= 1
      guard values.contains(place) else { continue }
      // The nearest one that is known may belong to another service.
      return services.first { $0.range.contains(place) } == home ? types[place] : nil
    }
    return nil
  }

  /// An attribute with all that is known of it.
  func use(_ handle: Handle, value: [UInt8]? = nil, end: Handle? = nil) -> AttributeUse {
    AttributeUse(
      handle, end: end, uuid: type(of: handle), characteristic: characteristic(of: handle),
      service: service(of: handle), value: value)
  }

  /// The services of Apple's that lie in a range of handles.
  func profiles(in range: HandleRange) -> Set<Profile> {
    // A search over everything is about nothing in particular.
    guard range.isValid, range.end != .max || range.start != 1 else { return [] }
    return Set(
      services.filter { $0.range.contains(range.start) && $0.range.contains(range.end) }
        .compactMap { Profile($0.uuid) })
  }
}

extension Profile {
  /// The service that this UUID is, or is the type of a part of.
  init?(_ uuid: UUID) {
    switch uuid {
    case .notificationCenter, .notificationSource, .controlPoint, .dataSource: self = .ancs
    case .mediaService, .remoteCommand, .entityUpdate, .entityAttribute: self = .ams
    default: return nil
    }
  }
}

extension AttributeUse {
  /// The services of Apple's that it belongs to.
  var profiles: Set<Profile> {
    Set([uuid, characteristic, service].compactMap { $0.flatMap(Profile.init) })
  }
}
