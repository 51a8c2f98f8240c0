// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Wire

// Locating known services, with their characteristics and CCCDs, in as few requests as ATT allows.
//
//     Read By Type, Characteristic, over everything ──▶ what is wanted, by its UUIDs
//     Read By Type, CCCD, over what was found       ──▶ the configurations
//
// If the last instance of a service is wanted, the search for CCCDs continues to the end: if enough of them follow the
// found ones, a Find By Type Value shows whether they belong to another instance.
//
// An iPhone, for example, needs two of the first at an MTU of 185, because a response ends where the length of a UUID
// changes, and one of the second. If a server refuses this, it is queried service by service.

/// A service that a client looks for, with the characteristics that it uses.
public struct WantedService: Hashable, Sendable {
  /// Which instance of a service to use if a server has several.
  public enum Instance: Hashable, Sendable {
    case first, last
  }

  public var uuid: UUID
  /// The characteristics to search for. A service that lacks some is found anyway.
  public var characteristics: [UUID]
  public var instance: Instance

  public init(_ uuid: UUID, _ characteristics: [UUID], _ instance: WantedService.Instance = .first) {
    self.uuid = uuid
    self.characteristics = characteristics
    self.instance = instance
  }
}

// MARK: - Several services at once

extension Client {
  /// The services of `wanted` that the server has now (in `range`), with the wanted characteristics.
  ///
  /// A characteristic's UUID identifies its service, so services are found by their characteristics. The search ends
  /// as soon as nothing is missing.
  public func locate(
    _ wanted: [WantedService], in range: HandleRange = .all
  ) async throws(ATTFailure) -> [LocatedService] {
    guard !wanted.isEmpty else { return [] }
    var found: [LocatedService] = []
    /// The last handle seen, if the search ended there because nothing was missing.
    var end: Handle?
    do {
      let characteristics = try await characteristics(in: range, resumingAfter: .value) { found in
        let isEnough = wanted.allSatisfy {
          $0.choose(from: found)?.count == $0.characteristics.count
        }
        end = isEnough ? found.last?.value : nil
        return isEnough
      }
      found = wanted.compactMap { service in
        service.choose(from: characteristics).map { LocatedService(service.uuid, of: $0) }
      }
    } catch {
      if error.isEnd { throw error }
      var refusal: ATTFailure?
      for service in wanted {
        do {
          let outline = try await outline(service.uuid, service.instance, in: range)
          if let outline { found.append(outline) }
        } catch {
          if error.isEnd { throw error }
          refusal = error
        }
      }
      if found.isEmpty, let refusal { throw refusal }
    }
    let last = end == nil ? [] : wanted.filter { $0.instance == .last }.map(\.uuid)
    let others = try await findConfigurations(of: &found, to: last.isEmpty ? nil : range.end)
    for index in found.indices where last.contains(found[index].service.uuid) {
      guard let end, end < range.end else { continue }
      let expected = found[index].characteristics.count(where: \.isSubscribable)
      // The first CCCD of a service is preceded by its declaration, and by a characteristic's declaration and value.
      if let others, others.count(where: { Int($0) > Int(end) + 3 }) < expected { continue }
      do {
        let rest = HandleRange(end + 1, range.end)
        found[index] = try await locate(found[index].service.uuid, .last, in: rest) ?? found[index]
      } catch { if error.isEnd { throw error } }
    }
    return found
  }

  /// Whether the characteristics of `services` are still where they were found: one Read By Type from the first of
  /// them, if the MTU has room for the response.
  ///
  /// - Throws: only if the link has ended.
  public func verify(_ services: [LocatedService]) async throws(ATTFailure) -> Bool {
    let known = services.flatMap(\.characteristics).sorted { $0.declaration < $1.declaration }
    guard let first = known.first, let last = known.last else { return false }
    let found: [Characteristic]
    do {
      let range = HandleRange(first.declaration, .max)
      found = try await characteristics(in: range, resumingAfter: .value) {
        ($0.last?.declaration ?? .max) >= last.declaration
      }
    } catch {
      if error.isEnd { throw error }
      return false
    }
    let types = Set(known.map(\.uuid))
    let now = found.filter { types.contains($0.uuid) }
    return now.count == known.count && zip(now, known).allSatisfy { $0.isSame(as: $1) }
  }
}

extension WantedService {
  /// The characteristics of the wanted instance, in the order of their handles; nil if there is none.
  fileprivate func choose(from all: [Characteristic]) -> [Characteristic]? {
    var instances: [[Characteristic]] = []
    for characteristic in all where characteristics.contains(characteristic.uuid) {
      let isAnother = instances.last?.contains { $0.uuid == characteristic.uuid } ?? true
      if isAnother { instances.append([]) }
      instances[instances.count - 1].append(characteristic)
    }
    return instance == .first ? instances.first : instances.last
  }
}

extension LocatedService {
  /// A service of which only characteristics are known. Its range covers only what certainly belongs to it: its
  /// declaration precedes the first one.
  fileprivate init(_ uuid: UUID, of characteristics: [Characteristic]) {
    let first = characteristics.first?.declaration ?? 1
    let last = characteristics.last?.value ?? first
    self.init(
      service: Service(uuid: uuid, range: HandleRange(max(1, first - 1), last)), characteristics: characteristics)
  }
}

extension Characteristic {
  /// Whether it has the same declaration at the same handle.
  fileprivate func isSame(as other: Characteristic) -> Bool {
    declaration == other.declaration && value == other.value && uuid == other.uuid
      && properties == other.properties
  }
}

// MARK: - One service

extension Client {
  /// A service with its characteristics and their CCCDs; nil if the server does not have it (in `range`)
  /// now.
  public func locate(
    _ uuid: UUID, _ instance: WantedService.Instance = .first, in range: HandleRange = .all
  ) async throws(ATTFailure) -> LocatedService? {
    guard let outline = try await outline(uuid, instance, in: range) else { return nil }
    return try await configured(outline)
  }

  /// The characteristics and CCCDs of a service that was found.
  public func locate(_ service: Service) async throws(ATTFailure) -> LocatedService {
    let characteristics = try await characteristics(in: service.range, resumingAfter: .value)
    return try await configured(LocatedService(service: service, characteristics: characteristics))
  }

  private func configured(_ service: LocatedService) async throws(ATTFailure) -> LocatedService {
    var services = [service]
    try await findConfigurations(of: &services)
    return services.first ?? service
  }

  /// A service with its characteristics, without their CCCDs; nil if the server does not have it (in
  /// `range`) now.
  func outline(
    _ uuid: UUID, _ instance: WantedService.Instance = .first, in range: HandleRange = .all
  ) async throws(ATTFailure) -> LocatedService? {
    let services: [Service]
    do {
      services = try await servicesInOneRequest(uuid, in: range)
    } catch {
      guard error.code == .attributeNotFound else { throw error }
      return nil
    }
    let valid = services.filter { $0.range.isValid }
    guard let service = instance == .first ? valid.first : valid.last else { return nil }
    let characteristics = try await characteristics(in: service.range, resumingAfter: .value)
    return LocatedService(service: service, characteristics: characteristics)
  }

  // MARK: Configurations

  /// Finds the CCCDs of all characteristics of `services` that notify or indicate.
  ///
  /// One Read By Type covers all of them. It may stop short: at an attribute of another service that
  /// may not be read, or on a server that refuses such a range. Find Information searches for those it does not find.
  ///
  /// - Parameter end: the end of the Read By Type; nil: the end of `services`.
  /// - Returns: the other CCCDs; nil if there may be more of them, up to `end`.
  @discardableResult public func findConfigurations(
    of services: inout [LocatedService], to end: Handle? = nil
  ) async throws(ATTFailure) -> [Handle]? {
    var missing = services.flatMap(\.characteristics).filter(\.isSubscribable)
    missing.sort { $0.value < $1.value }
    var (found, others) = try await configurations(of: &missing, to: end)
    for characteristic in missing {
      guard let range = characteristic.descriptors else { continue }
      let types = try await attributes(in: range)
      found[characteristic.value] = types.first { $0.type == .clientConfiguration }?.handle
    }
    for service in services.indices {
      for index in services[service].characteristics.indices {
        let value = services[service].characteristics[index].value
        services[service].characteristics[index].cccd = found[value]
        if let cccd = found[value] {
          services[service].service.range.end = max(services[service].service.range.end, cccd)
        }
      }
    }
    return others
  }

  /// Finds CCCDs by Read By Type, as far as the server allows; removes the characteristics that have
  /// one from `missing`.
  ///
  /// - Parameter missing: in the order of their handles.
  /// - Returns: the CCCDs by the handles of the values that they belong to, and the other ones, if these are all.
  private func configurations(
    of missing: inout [Characteristic], to end: Handle?
  ) async throws(ATTFailure) -> (found: [Handle: Handle], others: [Handle]?) {
    var found: [Handle: Handle] = [:]
    var others: [Handle] = []
    var isWhole = false
    var position: Handle? = missing.first?.value
    let end = end ?? missing.map(\.end).max() ?? 0
    var refusals = 0
    while let start = position, start <= end, refusals < 3 {
      let response = try await configurations(in: HandleRange(start, end))
      for handle in response.handles {
        guard let owner = missing.first(where: { $0.descriptors?.contains(handle) == true }) else {
          others.append(handle)
          continue
        }
        found[owner.value] = found[owner.value] ?? handle
      }
      missing.removeAll { found[$0.value] != nil }
      if response.isRefusal { refusals += 1 }
      // Each takes four octets of a response (Vol 3 Part F, 3.4.4.2).
      isWhole = !response.isRefusal && response.handles.count < (bearer.mtu - 2) / 4
      guard let last = response.last, last >= start, last < .max, let next = missing.first(where: { $0.end > last })
      else { break }
      position = max(last + 1, next.value)
    }
    return (found, isWhole ? others : nil)
  }

  /// The CCCDs that one response shows in `range`, the last handle that it covers (nil: there are no
  /// more), and whether the server refused.
  private func configurations(
    in range: HandleRange
  ) async throws(ATTFailure) -> (handles: [Handle], last: Handle?, isRefusal: Bool) {
    do {
      let found = try await request(.readByType(range, type: .clientConfiguration))
      let handles = found.map(\.handle)
      return (handles, handles.last, false)
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      if refusal.code == .attributeNotFound { return ([], nil, false) }
      return ([], range.contains(refusal.handle) ? refusal.handle : nil, true)
    }
  }
}
