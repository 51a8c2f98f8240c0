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

  /// The types of all attributes, once they were asked for.
  private var types: [Handle: UUID]?
  /// So many faults are gone round.
  private static let patience = 64
  /// So often it is tried to get the types behind a refusal.
  private static let leaps = 20

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
        let end = declaration.end ?? end(ofServiceAt: declaration.handle)
        add(Service(uuid: uuid, range: HandleRange(declaration.handle, end)), type)
      }
    }
    services.sort { $0.service.range.start < $1.service.range.start }
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
    guard !services.contains(where: { $0.service.range.start == service.range.start }) else {
      return
    }
    services.append(SurveyedService(service, isPrimary: type == GATTType.primaryService))
  }

  /// The last characteristic ends where the next one begins.
  private func close(before next: Handle, in index: Int) {
    guard let last = services[index].characteristics.indices.last else { return }
    let value = services[index].characteristics[last].characteristic.value
    services[index].characteristics[last].characteristic.end = max(value, next &- 1)
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
    let types = try await attributeTypes()
    return types.filter { range.contains($0.key) }.sorted { $0.key < $1.key }.map {
      PDU.AttributeInformation(handle: $0.key, type: $0.value)
    }
  }

  private func note(
    _ step: SurveyFault.Step, _ range: HandleRange, _ failure: ATTFailure, lost: HandleRange?
  ) {
    let fault = SurveyFault(step: step, range: range, failure: failure, lost: lost)
    faults.append(fault)
    onFault(fault)
  }
}

// MARK: - Declarations

extension Survey {
  /// An attribute that declares something; `end` where the answer told it.
  private struct Declaration {
    var handle: Handle
    var end: Handle?
    var value: [UInt8]

    var entry: PDU.AttributeValue { PDU.AttributeValue(handle: handle, value: value) }
  }

  /// Hands every declaration of `type` in `range` to `take`, which throws where one makes no sense.
  private func walk(
    _ step: SurveyFault.Step, _ range: HandleRange, _ type: UUID,
    take: (Declaration) async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) {
    var rest = range
    var refusals = 0
    while rest.isValid {
      do throws(ATTFailure) {
        for found in try await declarations(step, type, rest) {
          guard found.handle >= rest.start, found.end ?? found.handle >= found.handle,
            found.end ?? found.handle <= range.end
          else {
            throw .nonsense(
              "a declaration at \(hexadecimal(found.handle)) in an answer about \(rest)")
          }
          try await accept(step, found, take)
          guard let next = (found.end ?? found.handle).next else { return }
          rest.start = next
        }
        refusals = 0
      } catch {
        if error.isEnd { throw error }
        if Self.isNone(error, step) { return }
        refusals += 1
        guard faults.count < Self.patience else {
          return note(step, rest, error, lost: rest)
        }
        guard let next = try await goRound(step, rest, type, error, all: refusals > 1, take) else {
          return
        }
        rest.start = next
      }
    }
  }

  /// One request for declarations.
  private func declarations(
    _ step: SurveyFault.Step, _ type: UUID, _ range: HandleRange
  ) async throws(ATTFailure) -> [Declaration] {
    switch step {
    case .primaryServices, .secondaryServices:
      try await client.readByGroupType(type, in: range).map {
        Declaration(handle: $0.range.start, end: $0.range.end, value: $0.value)
      }
    case .includes, .characteristics, .descriptors, .attributes:
      try await client.readByType(type, in: range).map {
        Declaration(handle: $0.handle, end: nil, value: $0.value)
      }
    }
  }

  /// Whether a refusal only says that there are none. Servers without secondary services need not know
  /// that there is such a group.
  private static func isNone(_ failure: ATTFailure, _ step: SurveyFault.Step) -> Bool {
    switch failure.code {
    case .attributeNotFound?: true
    case .unsupportedGroupType?, .requestNotSupported?: step == .secondaryServices
    default: false
    }
  }

  /// Takes a declaration; one that makes no sense is a fault and nothing more.
  private func accept(
    _ step: SurveyFault.Step, _ declaration: Declaration,
    _ take: (Declaration) async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) {
    do throws(ATTFailure) {
      try await take(declaration)
    } catch {
      if error.isEnd { throw error }
      let place = HandleRange(declaration.handle, declaration.handle)
      note(step, place, error, lost: place)
    }
  }

  /// Goes round a refusal: reads the next declaration (or `all` that are left) by itself.
  ///
  /// - Returns: where to go on; nil where nothing is left.
  private func goRound(
    _ step: SurveyFault.Step, _ range: HandleRange, _ type: UUID, _ failure: ATTFailure,
    all: Bool, _ take: (Declaration) async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) -> Handle? {
    let types = try await attributeTypes()
    let handles = types.filter { $0.value == type && range.contains($0.key) }.keys.sorted()
    guard let first = handles.first else {
      // Where the types are known, there is none.
      note(step, range, failure, lost: types.isEmpty ? range : nil)
      return nil
    }
    if all { note(step, range, failure, lost: nil) }
    for handle in all ? handles : [first] {
      var refusal: ATTFailure?
      do throws(ATTFailure) {
        let value = try await client.readLong(handle)
        try await accept(step, Declaration(handle: handle, end: nil, value: value), take)
      } catch {
        if error.isEnd { throw error }
        refusal = error
      }
      let place = HandleRange(handle, handle)
      if !all {
        note(step, range, failure, lost: refusal == nil ? nil : place)
      } else if let refusal, faults.count < Self.patience {
        note(step, place, refusal, lost: place)
      }
    }
    return all ? nil : first.next
  }

  /// The last handle of a service whose declaration was read by itself.
  private func end(ofServiceAt handle: Handle) -> Handle {
    let next = (types ?? [:]).filter { type in
      type.key > handle
        && (type.value == GATTType.primaryService || type.value == GATTType.secondaryService)
    }.keys.min()
    return next.map { $0 - 1 } ?? .max
  }
}

// MARK: - The types of all attributes

extension Survey {
  /// What all attributes are, as far as the server tells: asked for once.
  private func attributeTypes() async throws(ATTFailure) -> [Handle: UUID] {
    if let types { return types }
    var found: [Handle: UUID] = [:]
    var rest = HandleRange.all
    var leap: Handle = 1
    var leaps = 0
    var refusal: (place: Handle, failure: ATTFailure)?
    while rest.isValid {
      do throws(ATTFailure) {
        let start = rest.start
        for entry in try await client.findInformation(rest) {
          guard entry.handle >= rest.start else {
            throw .nonsense("handle \(hexadecimal(entry.handle)) in an answer about \(rest)")
          }
          if let missed = refusal {
            let gap = HandleRange(missed.place, max(missed.place, entry.handle - 1))
            note(.attributes, HandleRange(missed.place, .max), missed.failure, lost: gap)
            refusal = nil
          }
          found[entry.handle] = entry.type
          guard let next = entry.handle.next else {
            types = found
            return found
          }
          rest.start = next
        }
        leap = rest.start > start ? 1 : leap
      } catch {
        if error.isEnd { throw error }
        if error.code == .attributeNotFound { break }
        refusal = refusal ?? (rest.start, error)
        leaps += 1
        guard leaps < Self.leaps, let next = Handle(exactly: Int(rest.start) + Int(leap)) else {
          break
        }
        rest.start = next
        if leaps >= 4 { leap = min(leap &* 2, 0x4000) }
      }
    }
    if let refusal {
      let behind = HandleRange(refusal.place, .max)
      note(.attributes, behind, refusal.failure, lost: behind)
    }
    types = found
    return found
  }
}

extension Handle {
  /// The handle behind this one; nil behind the last.
  fileprivate var next: Handle? { self == .max ? nil : self + 1 }
}
