// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GAP
import GATT
import Wire

/// A server's attributes as far as the discoveries in the capture show them: handles and types.
struct LearnedDatabase: Hashable, Sendable {
  private var services: [Service] = []
  private var types: [Handle: UUID] = [:]
  /// The handles of characteristic values.
  private var values: Set<Handle> = []

  /// Further services are not learned.
  private static let mostServices = 1024

  mutating func learn(service uuid: UUID, _ range: HandleRange) {
    guard range.isValid else { return }
    services.removeAll { $0.range.start == range.start }
    if services.count < Self.mostServices {
      services.append(Service(uuid: uuid, range: range))
    }
  }

  mutating func learn(type: UUID, at handle: Handle) {
    if handle != 0 { types[handle] = type }
  }

  mutating func learn(characteristic type: UUID, value handle: Handle) {
    learn(type: type, at: handle)
    if handle != 0 { values.insert(handle) }
  }

  /// Adds a service that is known from elsewhere.
  mutating func learn(_ service: LocatedService) {
    learn(service: service.service.uuid, service.service.range)
    learn(type: .primaryService, at: service.service.range.start)
    for characteristic in service.characteristics {
      learn(type: .characteristic, at: characteristic.declaration)
      learn(characteristic: characteristic.uuid, value: characteristic.value)
      if let cccd = characteristic.cccd { learn(type: .clientConfiguration, at: cccd) }
    }
  }

  /// Removes attributes, after Service Changed.
  mutating func forget(_ range: HandleRange) {
    services.removeAll { $0.range.overlaps(range) }
    types = types.filter { !range.contains($0.key) }
    values = values.filter { !range.contains($0) }
  }

  func type(of handle: Handle) -> UUID? { types[handle] }

  func service(of handle: Handle) -> UUID? {
    services.first { $0.range.contains(handle) }?.uuid
  }

  /// The characteristic that the descriptor at `handle` belongs to: that of the nearest value before
  /// it.
  func characteristic(of handle: Handle) -> UUID? {
    guard types[handle]?.isDescriptor == true else { return nil }
    let home = services.first { $0.range.contains(handle) }
    var place = handle
    for _ in 0..<64 where place > 1 {
      place -= 1
      guard values.contains(place) else { continue }
      // The nearest known value may be in another service.
      return services.first { $0.range.contains(place) } == home ? types[place] : nil
    }
    return nil
  }

  /// An attribute with everything that is known about it.
  func use(_ handle: Handle, value: [UInt8]? = nil, end: Handle? = nil) -> AttributeUse {
    AttributeUse(
      handle: handle, end: end, uuid: type(of: handle), characteristic: characteristic(of: handle),
      service: service(of: handle), value: value)
  }

  /// The Apple service that contains a range of handles.
  func profiles(in range: HandleRange) -> Set<Profile> {
    // A search through all handles is about no service in particular.
    guard range.isValid, range.end != .max || range.start != 1 else { return [] }
    return Set(
      services.filter { $0.range.contains(range.start) && $0.range.contains(range.end) }
        .compactMap { Profile($0.uuid) })
  }
}

extension Profile {
  /// The Apple service that this is the UUID of, or of one of its characteristics.
  init?(_ uuid: UUID) {
    switch uuid {
    case .notificationCenter, .notificationSource, .controlPoint, .dataSource: self = .ancs
    case .mediaService, .remoteCommand, .entityUpdate, .entityAttribute: self = .ams
    default: return nil
    }
  }
}

extension AttributeUse {
  /// The Apple services that it belongs to.
  var profiles: Set<Profile> {
    Set([uuid, characteristic, service].compactMap { $0.flatMap(Profile.init) })
  }
}
