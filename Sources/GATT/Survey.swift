// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Finds everything that a server has, also where the server errs on the way.
///
///     declarations, as many as an answer holds ──refused──▶ the types of all attributes (Find
///        (Read By Group Type, Read By Type)                  Information, which reads no values)
///                  ▲                                                    │
///                  └── goes on behind it ◀── the next one by itself (Read) ◀┘
///
/// Where that is refused twice in a row, the rest is read one by one. Every refusal is a fault with its
/// place and with what it hides; only the end of the link ends a survey, and what was found until then
/// stays.
public final class Survey {
  public let client: Client
  /// What was found so far: the primary services by their handles, then those that only others include.
  public private(set) var services: [SurveyedService] = []
  /// What went wrong on the way.
  public private(set) var faults: [SurveyFault] = []
  /// Is told each fault.
  public var onFault: (SurveyFault) -> Void = { _ in }

  /// The services, by their first handles, whose ends nobody told.
  private var guessedEnds: Set<Handle> = []
  /// The types of all attributes, once they were asked for.
  var types: [Handle: UUID]?

  public init(_ client: Client) { self.client = client }

  /// Finds the services, primary and secondary, without what is in them.
  public func findServices() async throws(ATTFailure) {
    for (step, type) in [
      (SurveyFault.Step.primaryServices, GATTType.primaryService),
      (.secondaryServices, GATTType.secondaryService),
    ] {
      try await walk(step, .all, type) { (declaration) throws(ATTFailure) in
        guard let uuid = UUID(littleEndian: declaration.value) else {
          throw .nonsense("a service declaration of \(declaration.value.count) octets")
        }
        var end = declaration.end
        if end == nil { end = try await self.end(ofServiceAt: declaration.handle, uuid) }
        add(Service(uuid: uuid, range: HandleRange(declaration.handle, end ?? .max)), type)
      }
    }
    services.sort { $0.service.range.start < $1.service.range.start }
  }

  /// Finds the primary services of a type, by Find By Type Value; where that is refused all services
  /// are looked for.
  public func findPrimaryServices(_ uuid: UUID) async throws(ATTFailure) {
    do throws(ATTFailure) {
      var found = try await client.primaryServices(uuid)
      // Some servers declare with 128 bits what has 16, and do not take one form for the other.
      if found.isEmpty { found = try await client.primaryServices(uuid, wide: true) }
      for service in found { add(service, GATTType.primaryService) }
    } catch {
      if error.isEnd { throw error }
      note(.primaryServices, .all, error, lost: nil)
      try await findServices()
    }
  }

  /// Finds what is in a service, given by its place in `services`; those that it includes and that were
  /// not found before are put behind the last.
  public func examine(_ index: Int) async throws(ATTFailure) {
    let range = services[index].service.range
    try await walk(.includes, range, GATTType.include) { (declaration) throws(ATTFailure) in
      let include = try await include(declaration)
      services[index].includes.append(include)
      if include.service.range.isValid { add(include.service, GATTType.secondaryService) }
    }
    try await walk(.characteristics, range, GATTType.characteristic) {
      (declaration) throws(ATTFailure) in
      let characteristic = try client.characteristic(declaration.entry, in: range)
      close(before: characteristic.declaration, in: index)
      services[index].characteristics.append(SurveyedCharacteristic(characteristic))
    }
    try await assign(index)
    for place in services[index].characteristics.indices {
      guard let range = services[index].characteristics[place].characteristic.descriptors else {
        continue
      }
      services[index].characteristics[place].descriptors = try await descriptors(in: range)
    }
    services[index].isExamined = true
  }

  /// What all attributes are, asked by Find Information alone.
  public func mapAttributes() async throws(ATTFailure) -> AttributeMap {
    AttributeMap(try await attributeTypes())
  }

  private func add(_ service: Service, _ type: UUID) {
    let start = service.range.start
    if let known = services.firstIndex(where: { $0.service.range.start == start }) {
      // Who includes it tells its end too.
      if guessedEnds.remove(start) != nil { services[known].service.range = service.range }
      return
    }
    services.append(SurveyedService(service, isPrimary: type == GATTType.primaryService))
  }

  /// The last handle of a service whose declaration was read by itself: the server tells it who looks
  /// for a primary service of that type there; else the service is taken to reach up to the next one.
  private func end(ofServiceAt handle: Handle, _ uuid: UUID) async throws(ATTFailure) -> Handle {
    do throws(ATTFailure) {
      let range = HandleRange(handle, .max)
      let found = try await client.servicesInOneRequest(uuid, in: range).first?.range
      if let found, found.start == handle, found.isValid { return found.end }
    } catch {
      if error.isEnd { throw error }
    }
    let next = (types ?? [:]).filter { type in
      type.key > handle
        && (type.value == GATTType.primaryService || type.value == GATTType.secondaryService)
    }.keys.min()
    guessedEnds.insert(handle)
    return next.map { $0 - 1 } ?? .max
  }

  /// The last characteristic ends where the next one begins.
  private func close(before next: Handle, in index: Int) {
    guard let last = services[index].characteristics.indices.last else { return }
    let value = services[index].characteristics[last].characteristic.value
    services[index].characteristics[last].characteristic.end = max(value, next &- 1)
  }

  /// What follows a declaration that stays unknown is not the characteristic's before it.
  private func assign(_ index: Int) async throws(ATTFailure) {
    let service = services[index].service.range
    let declarations = services[index].characteristics.map(\.characteristic.declaration)
    for fault in faults where fault.step == .characteristics {
      guard let lost = fault.lost, lost.start == lost.end, service.contains(lost.start) else {
        continue
      }
      for place in services[index].characteristics.indices {
        var found: Characteristic { services[index].characteristics[place].characteristic }
        guard (found.value..<found.end).contains(lost.start - 1) else { continue }
        services[index].characteristics[place].characteristic.end = lost.start - 1
      }
      guard let first = lost.start.next else { continue }
      let next = declarations.first { $0 > lost.start }.map { $0 - 1 } ?? service.end
      guard first <= next else { continue }
      let known = try await attributeTypes()
      services[index].unassigned += information(known, in: HandleRange(first, next))
    }
  }

  private func information(
    _ types: [Handle: UUID], in range: HandleRange
  ) -> [PDU.AttributeInformation] {
    types.filter { range.contains($0.key) }.sorted { $0.key < $1.key }.map {
      PDU.AttributeInformation(handle: $0.key, type: $0.value)
    }
  }

  /// The 128-bit type of an included service is read from that itself; where it cannot be, it may be
  /// known already.
  private func include(_ declaration: Declaration) async throws(ATTFailure) -> Include {
    do {
      return try await client.include(declaration.entry)
    } catch {
      let start = declaration.value.prefix(2).reversed().reduce(0) { $0 << 8 | UInt16($1) }
      guard !error.isEnd,
        let known = services.first(where: { $0.service.range.start == start })
      else { throw error }
      return Include(handle: declaration.handle, service: known.service)
    }
  }

  private func descriptors(
    in range: HandleRange
  ) async throws(ATTFailure) -> [PDU.AttributeInformation] {
    if types == nil {
      do throws(ATTFailure) {
        return try await client.attributes(in: range)
      } catch {
        if error.isEnd { throw error }
        note(.descriptors, range, error, lost: nil)
      }
    }
    return information(try await attributeTypes(), in: range)
  }

  /// Keeps a fault, and tells it.
  func note(
    _ step: SurveyFault.Step, _ range: HandleRange, _ failure: ATTFailure, lost: HandleRange?
  ) {
    let fault = SurveyFault(step: step, range: range, failure: failure, lost: lost)
    faults.append(fault)
    onFault(fault)
  }
}

extension Handle {
  /// The handle behind this one; nil behind the last.
  var next: Handle? { self == .max ? nil : self + 1 }
}
