// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Wire

/// Discovers everything on a server, even if the server makes mistakes.
///
///     declarations, as many as a response holds ──refused──▶ the types of all attributes (Find
///        (Read By Group Type, Read By Type)                     Information, which reads no values)
///                  ▲                                                    │
///                  └── continues after it ◀── the next one alone (Read) ◀┘
///
/// After two refusals in a row the rest is read one by one. Every refusal is recorded as a fault, with its range and
/// with what it hides. Only the end of the link ends the discovery; the results so far remain.
public final class DatabaseDiscovery {
  public let client: Client
  /// The services found so far: primary ones by handle, then those found only by their inclusion.
  public private(set) var services: [DiscoveredService] = []
  /// The faults so far.
  public private(set) var faults: [DiscoveryFault] = []
  /// Called with each fault.
  public var onFault: (DiscoveryFault) -> Void = { _ in }

  /// The first handles of the services whose ends are guessed.
  private var guessedEnds: Set<Handle> = []
  /// The types of all attributes, once they were requested.
  private var map: AttributeMap?

  public init(_ client: Client) { self.client = client }

  // MARK: Services

  /// Discovers the services, primary and secondary, without their contents.
  public func discoverServices() async throws(ATTFailure) {
    for (step, type) in [
      (DiscoveryFault.Step.primaryServices, UUID.primaryService), (.secondaryServices, .secondaryService),
    ] {
      try await walk(step, .all, type) { (declaration) throws(ATTFailure) in
        let (handle, value) = (declaration.entry.handle, declaration.entry.value)
        guard let uuid = UUID(littleEndian: value) else {
          throw .protocolViolation("a service declaration of \(value.count) octets")
        }
        var end = declaration.end
        if end == nil { end = try await self.end(ofServiceAt: handle, uuid) }
        add(Service(uuid: uuid, range: HandleRange(handle, end ?? .max)), type)
      }
    }
    services.sort { $0.service.range.start < $1.service.range.start }
  }

  /// Discovers the primary services of a type by Find By Type Value; if that is refused, all services.
  public func discoverPrimaryServices(_ uuid: UUID) async throws(ATTFailure) {
    do throws(ATTFailure) {
      var found = try await client.primaryServices(uuid)
      // Some servers declare a 16-bit type with 128 bits, and do not treat the two forms as equal.
      if found.isEmpty { found = try await client.primaryServices(uuid, wide: true) }
      for service in found { add(service, .primaryService) }
    } catch {
      if error.isEnd { throw error }
      record(.primaryServices, .all, error, lost: nil)
      try await discoverServices()
    }
  }

  private func add(_ service: Service, _ type: UUID) {
    let start = service.range.start
    if let known = services.firstIndex(where: { $0.service.range.start == start }) {
      // An include declaration has the end of the service.
      if guessedEnds.remove(start) != nil { services[known].service.range = service.range }
      return
    }
    services.append(DiscoveredService(service: service, isPrimary: type == .primaryService))
  }

  /// The last handle of a service whose declaration was read alone: Find By Type Value for its type returns it;
  /// otherwise the service is assumed to extend to the next one.
  private func end(ofServiceAt handle: Handle, _ uuid: UUID) async throws(ATTFailure) -> Handle {
    do throws(ATTFailure) {
      let range = HandleRange(handle, .max)
      let found = try await client.servicesInOneRequest(uuid, in: range).first?.range
      if let found, found.start == handle, found.isValid { return found.end }
    } catch { if error.isEnd { throw error } }
    let next = map?.attributes.first { attribute in
      attribute.handle > handle && [.primaryService, .secondaryService].contains(attribute.type)
    }?.handle
    guessedEnds.insert(handle)
    return next.map { $0 - 1 } ?? .max
  }

  // MARK: Their contents

  /// Discovers the services and their contents; calls `found` with each service once it is complete.
  public func discoverEverything(
    _ found: (DiscoveredService) -> Void = { _ in }
  ) async throws(ATTFailure) {
    try await discoverServices()
    var index = 0
    while index < services.count {
      try await discoverContents(of: index)
      found(services[index])
      index += 1
    }
  }

  /// Discovers the contents of `services[index]`. Included services that were not found before are appended to
  /// `services`.
  public func discoverContents(of index: Int) async throws(ATTFailure) {
    let range = services[index].service.range
    try await walk(.includes, range, .include) { (declaration) throws(ATTFailure) in
      let include = try await include(declaration.entry)
      services[index].includes.append(include)
      if include.service.range.isValid { add(include.service, .secondaryService) }
    }
    try await walk(.characteristics, range, .characteristic) { (declaration) throws(ATTFailure) in
      services[index].characteristics.append(try client.characteristic(declaration.entry, in: range))
    }
    services[index].characteristics.endBeforeNext()
    try await detachUnassigned(in: index)
    for range in services[index].characteristics.compactMap(\.descriptors) {
      services[index].others += try await descriptors(in: range)
    }
    services[index].hasContents = true
  }

  /// Attributes after an unknown declaration do not belong to the characteristic before it.
  private func detachUnassigned(in index: Int) async throws(ATTFailure) {
    let service = services[index].service.range
    for fault in faults where fault.step == .characteristics {
      guard let lost = fault.lost, lost.start == lost.end, service.contains(lost.start) else {
        continue
      }
      let found = services[index].characteristics
      for place in found.indices where (found[place].value..<found[place].end).contains(lost.start - 1) {
        services[index].characteristics[place].end = lost.start - 1
      }
      let next = found.first { $0.declaration > lost.start }?.declaration
      let behind = try await attributeMap().attributes(in: HandleRange(lost.start, next.map { $0 - 1 } ?? service.end))
      services[index].others += behind.filter { $0.handle > lost.start }
    }
  }

  /// The 128-bit type of an included service is read from the service itself; if that fails, the service
  /// may be known already.
  private func include(_ entry: PDU.AttributeValue) async throws(ATTFailure) -> Include {
    do {
      return try await client.include(entry)
    } catch {
      var reader = ByteReader(entry.value)
      let start = try? reader.u16()
      guard !error.isEnd, let known = services.first(where: { $0.service.range.start == start })
      else { throw error }
      return Include(handle: entry.handle, service: known.service)
    }
  }

  private func descriptors(in range: HandleRange) async throws(ATTFailure) -> [PDU.AttributeInformation] {
    if map == nil {
      do throws(ATTFailure) {
        return try await client.attributes(in: range)
      } catch {
        if error.isEnd { throw error }
        record(.descriptors, range, error, lost: nil)
      }
    }
    return try await attributeMap().attributes(in: range)
  }

  // MARK: Faults

  /// The number of faults that the discovery works around.
  private static let maximumFaults = 64

  private func record(_ step: DiscoveryFault.Step, _ range: HandleRange, _ failure: ATTFailure, lost: HandleRange?) {
    let fault = DiscoveryFault(step: step, range: range, failure: failure, lost: lost)
    faults.append(fault)
    onFault(fault)
  }

  // MARK: Walking over declarations

  /// An attribute that declares something, and the end of its group, if the response said so.
  private typealias Declaration = (entry: PDU.AttributeValue, end: Handle?)

  /// Calls `body` with every declaration of `type` in `range`. An invalid declaration is only a fault; it does not end
  /// the walk.
  private func walk(
    _ step: DiscoveryFault.Step, _ range: HandleRange, _ type: UUID,
    _ body: (Declaration) async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) {
    try await client.walk(range) { (rest) throws(ATTFailure) in
      try await declarations(step, type, rest).map {
        (HandleRange($0.entry.handle, $0.end ?? $0.entry.handle), $0)
      }
    } recover: { (failure, rest, count) throws(ATTFailure) in
      if Self.meansNone(failure, step) { return nil }
      guard faults.count < Self.maximumFaults else {
        record(step, rest, failure, lost: rest)
        return nil
      }
      return try await workAround(failure, step, rest, type, all: count > 1, body)
    } body: { (found) throws(ATTFailure) in
      for declaration in found { try await apply(body, to: declaration, step) }
      return true
    }
  }

  /// One request for declarations.
  private func declarations(
    _ step: DiscoveryFault.Step, _ type: UUID, _ range: HandleRange
  ) async throws(ATTFailure) -> [Declaration] {
    switch step {
    case .primaryServices, .secondaryServices:
      try await client.request(.readByGroupType(range, type: type)).map {
        (PDU.AttributeValue(handle: $0.range.start, value: $0.value), $0.range.end)
      }
    case .includes, .characteristics, .descriptors, .attributes:
      try await client.request(.readByType(range, type: type)).map { ($0, nil) }
    }
  }

  /// Whether a refusal only means that there are none. Servers without secondary services need not support that group
  /// type.
  private static func meansNone(_ failure: ATTFailure, _ step: DiscoveryFault.Step) -> Bool {
    switch failure.code {
    case .attributeNotFound?: true
    case .unsupportedGroupType?, .requestNotSupported?: step == .secondaryServices
    default: false
    }
  }

  private func apply(
    _ body: (Declaration) async throws(ATTFailure) -> Void, to declaration: Declaration, _ step: DiscoveryFault.Step
  ) async throws(ATTFailure) {
    do throws(ATTFailure) {
      try await body(declaration)
    } catch {
      if error.isEnd { throw error }
      let place = HandleRange(declaration.entry.handle, declaration.entry.handle)
      record(step, place, error, lost: place)
    }
  }

  /// Works around a refusal: reads the next declaration (or `all` that are left) alone.
  ///
  /// - Returns: the declaration to continue after; nil if nothing is left.
  private func workAround(
    _ failure: ATTFailure, _ step: DiscoveryFault.Step, _ range: HandleRange, _ type: UUID,
    all: Bool, _ body: (Declaration) async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) -> Handle? {
    let map = try await attributeMap()
    let handles = map.handles(of: type).filter(range.contains)
    guard let first = handles.first else {
      // If the types are known, there is none.
      record(step, range, failure, lost: map.attributes.isEmpty ? range : nil)
      return nil
    }
    if all { record(step, range, failure, lost: nil) }
    for handle in all ? handles : [first] {
      var refusal: ATTFailure?
      do throws(ATTFailure) {
        let value = try await client.readLong(handle)
        try await apply(body, to: (PDU.AttributeValue(handle: handle, value: value), nil), step)
      } catch {
        if error.isEnd { throw error }
        refusal = error
      }
      let place = HandleRange(handle, handle)
      if !all {
        record(step, range, failure, lost: refusal == nil ? nil : place)
      } else if let refusal, faults.count < Self.maximumFaults {
        record(step, place, refusal, lost: place)
      }
    }
    return all ? nil : first
  }

  // MARK: The types of all attributes

  /// How many times Find Information is retried after a refusal.
  private static let maximumLeaps = 20

  /// The types of all attributes, as far as the server reveals them by Find Information; requested once.
  public func attributeMap() async throws(ATTFailure) -> AttributeMap {
    if let map { return map }
    var found: [Handle: UUID] = [:]
    var leap: Handle = 1
    var leaps = 0
    var refusal: (place: Handle, failure: ATTFailure)?
    try await client.walk(.all) { (rest) throws(ATTFailure) in
      try await client.types(in: rest)
    } recover: { (failure, rest, _) throws(ATTFailure) in
      if failure.code == .attributeNotFound { return nil }
      refusal = refusal ?? (rest.start, failure)
      leaps += 1
      guard leaps < Self.maximumLeaps else { return nil }
      defer { if leaps >= 4 { leap = min(leap &* 2, 0x4000) } }
      return Handle(exactly: Int(rest.start) + Int(leap) - 1)
    } body: { (entries) throws(ATTFailure) in
      if let missed = refusal, let first = entries.first?.handle {
        let gap = HandleRange(missed.place, max(missed.place, first - 1))
        record(.attributes, HandleRange(missed.place, .max), missed.failure, lost: gap)
        refusal = nil
      }
      for entry in entries { found[entry.handle] = entry.type }
      leap = 1
      return true
    }
    if let refusal {
      let behind = HandleRange(refusal.place, .max)
      record(.attributes, behind, refusal.failure, lost: behind)
    }
    let map = AttributeMap(found)
    self.map = map
    return map
  }
}

// MARK: - Results

/// A service with its contents, as `DatabaseDiscovery` finds it.
public struct DiscoveredService: Hashable, Sendable {
  public var service: Service
  /// Whether it is a primary service; secondary ones are useful only if another includes them.
  public var isPrimary: Bool
  public var includes: [Include] = []
  public var characteristics: [Characteristic] = []
  /// The descriptors, and the attributes of characteristics whose declarations stay unknown.
  public var others: [PDU.AttributeInformation] = []
  /// Whether its contents were discovered.
  public var hasContents = false

  /// The descriptors of one of its characteristics; nil: those of `others` that belong to none.
  public func descriptors(of characteristic: Characteristic?) -> [PDU.AttributeInformation] {
    let owners = characteristic.map { [$0] } ?? characteristics
    return others.filter { attribute in
      let isOwned = owners.contains { $0.descriptors?.contains(attribute.handle) == true }
      return isOwned == (characteristic != nil)
    }
  }
}

/// A refusal or protocol violation during a discovery, and what it hides.
public struct DiscoveryFault: Hashable, Sendable, CustomStringConvertible {
  /// What was being discovered.
  public enum Step: String, Hashable, Sendable {
    case primaryServices = "primary services"
    case secondaryServices = "secondary services"
    case includes = "included services"
    case characteristics
    case descriptors
    /// The types of all attributes, which are requested after another step was refused.
    case attributes
  }

  public var step: Step
  /// The searched range.
  public var range: HandleRange
  public var failure: ATTFailure
  /// What stays unknown: a declaration, or everything in a range; nil if it was found in another way.
  public var lost: HandleRange?

  public var description: String {
    let rest =
      switch lost {
      case nil: "found by other means"
      case let lost? where lost.start == lost.end:
        "the attribute at \(hexadecimal(lost.start)) stays unknown"
      case let lost?: "the rest of \(lost) stays unknown"
      }
    return "\(step.rawValue) in \(range): \(failure); \(rest)"
  }
}

/// The types of all attributes of a server, by handle, from Find Information.
public struct AttributeMap: Hashable, Sendable {
  /// In the order of their handles.
  public let attributes: [PDU.AttributeInformation]

  public init(_ types: [Handle: UUID]) {
    attributes = types.sorted { $0.key < $1.key }.map {
      PDU.AttributeInformation(handle: $0.key, type: $0.value)
    }
  }

  /// The attributes that a discovery found.
  public init(_ services: [DiscoveredService]) {
    var types: [Handle: UUID] = [:]
    for service in services {
      types[service.service.range.start] = service.isPrimary ? .primaryService : .secondaryService
      for include in service.includes { types[include.handle] = .include }
      for found in service.characteristics {
        types[found.declaration] = .characteristic
        types[found.value] = found.uuid
      }
      for attribute in service.others { types[attribute.handle] = attribute.type }
    }
    self.init(types)
  }

  /// The attributes of this map and of `other`; this one's types win.
  public func merging(_ other: AttributeMap) -> AttributeMap {
    var types: [Handle: UUID] = [:]
    for attribute in other.attributes + attributes { types[attribute.handle] = attribute.type }
    return AttributeMap(types)
  }

  /// The attributes in `range`.
  func attributes(in range: HandleRange) -> [PDU.AttributeInformation] {
    attributes.filter { range.contains($0.handle) }
  }

  /// The type of the attribute at `handle`.
  public func type(at handle: Handle) -> UUID? { attributes.first { $0.handle == handle }?.type }

  /// The handles of all attributes of a type.
  public func handles(of type: UUID) -> [Handle] {
    attributes.filter { $0.type == type }.map(\.handle)
  }

  /// The handles of the characteristic that the attribute at `handle` belongs to, from its declaration
  /// to the next one; nil if it belongs to none or does not exist.
  public func characteristic(around handle: Handle) -> HandleRange? {
    guard type(at: handle) != nil else { return nil }
    let before = attributes.last { $0.handle <= handle && $0.type.endsCharacteristic }
    guard let before, before.type == .characteristic else { return nil }
    let next = attributes.first { $0.handle > before.handle && $0.type.endsCharacteristic }?.handle
    return HandleRange(before.handle, next.map { $0 - 1 } ?? .max)
  }

  /// The first attribute of a type in `range`.
  public func first(_ type: UUID, in range: HandleRange) -> Handle? {
    attributes.first { $0.type == type && range.contains($0.handle) }?.handle
  }
}

extension UUID {
  /// Whether an attribute of this type ends the characteristic before it.
  fileprivate var endsCharacteristic: Bool {
    [.primaryService, .secondaryService, .characteristic].contains(self)
  }
}
