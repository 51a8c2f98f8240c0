// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import Wire

/// A server's attributes as far as the capture's discoveries show them: handles and types.
struct LearnedDatabase: Hashable, Sendable {
  private var services: [Service] = []
  private var types: [Handle: UUID] = [:]
  /// The range in Service Changed, until a discovery shows something else there. An iPhone indicates nearly the whole
  /// range on every link, without any change.
  private var doubtful: HandleRange?

  /// Further services and attributes are not learned: only garbage has so many.
  private static let (mostServices, mostTypes) = (1024, 8192)

  mutating func learn(service uuid: UUID, _ range: HandleRange) {
    guard range.isValid else { return }
    let service = Service(uuid: uuid, range: range)
    guard !services.contains(service) else { return }
    if let doubtful, doubtful.overlaps(range) { forget(doubtful) }
    services.removeAll { $0.range.start == range.start }
    guard services.count < Self.mostServices else { return }
    services.append(service)
  }

  mutating func learn(type: UUID, at handle: Handle) {
    guard handle != 0 else { return }
    if let doubtful, doubtful.contains(handle), types[handle] != type { forget(doubtful) }
    if types.count < Self.mostTypes || types[handle] != nil { types[handle] = type }
  }

  /// Adds services known from another source.
  mutating func learn(_ services: [LocatedService]) {
    for service in services {
      learn(service: service.service.uuid, service.service.range)
      learn(type: .primaryService, at: service.service.range.start)
      for characteristic in service.characteristics {
        learn(type: .characteristic, at: characteristic.declaration)
        learn(type: characteristic.uuid, at: characteristic.value)
        if let cccd = characteristic.cccd { learn(type: .clientConfiguration, at: cccd) }
      }
    }
  }

  /// Service Changed came (Core Specification Vol 3 Part G, 7.1): the known attributes stay valid until a discovery
  /// shows a different one.
  mutating func doubt(_ range: HandleRange) { doubtful = doubtful?.spanning(range) ?? range }

  private mutating func forget(_ range: HandleRange) {
    doubtful = nil
    services.removeAll { $0.range.overlaps(range) }
    types = types.filter { !range.contains($0.key) }
  }

  /// Whether it has ANCS or AMS, or characteristics of theirs.
  var isOfPhone: Bool {
    services.contains { Profile($0.uuid) != nil } || types.values.contains { Profile($0) != nil }
  }

  /// How many attributes are known.
  var count: Int { types.count }

  func type(of handle: Handle) -> UUID? { types[handle] }

  private func service(of handle: Handle) -> Service? {
    services.first { $0.range.contains(handle) }
  }

  /// The characteristic that the descriptor at `handle` belongs to: that of the nearest value before
  /// it. Any type but those of declarations and descriptors is that of a characteristic value.
  private func characteristic(of handle: Handle) -> UUID? {
    guard types[handle]?.isDescriptor == true,
      let value = (max(65, handle) - 64..<handle).last(where: {
        types[$0].map { !$0.isDeclaration && !$0.isDescriptor } ?? false
      }),
      // The nearest known value may be in another service.
      service(of: value) == service(of: handle)
    else { return nil }
    return types[value]
  }

  /// Adds everything that is known about an attribute; without a handle only its value is.
  func identify(_ use: inout AttributeUse) {
    guard let handle = use.handle else { return }
    use.uuid = use.uuid ?? types[handle]
    use.characteristic = characteristic(of: handle)
    use.service = service(of: handle)?.uuid
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
  /// The Apple service with this UUID, or with a characteristic of this UUID.
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

extension DecodedUnit {
  /// Adds the Apple services that its attributes belong to.
  mutating func addProfiles() {
    for attribute in attributes { profiles.formUnion(attribute.profiles) }
  }
}
