// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

// Services by their types, with their characteristics and their configurations, in as few requests as
// ATT allows: one for each service, one for its characteristics, and one for the Client Characteristic
// Configurations of all of them together, where the MTU has room for the answers.

extension Client {
  /// Which of several instances of a service is meant, where a server shows more than one.
  public enum Instance: Hashable, Sendable {
    case first, last
  }

  /// One service, located whole; nil where the server does not have it (in `range`) now.
  public func locate(
    _ uuid: UUID, _ instance: Instance = .first, in range: HandleRange = .all
  ) async throws(ATTFailure) -> LocatedService? {
    guard let outlined = try await outline(uuid, instance, in: range) else { return nil }
    return try await configured(outlined)
  }

  /// The characteristics of a service that was found, with their configurations.
  public func locate(_ service: Service) async throws(ATTFailure) -> LocatedService {
    try await configured(
      LocatedService(
        service: service,
        characteristics: try await characteristics(in: service.range, thrifty: true)))
  }

  private func configured(
    _ service: LocatedService
  ) async throws(ATTFailure) -> LocatedService {
    var services = [service]
    try await findConfigurations(of: &services)
    return services.first ?? service
  }

  /// One service with its characteristics, their configurations not looked for yet; nil where the
  /// server does not have it (in `range`) now.
  public func outline(
    _ uuid: UUID, _ instance: Instance = .first, in range: HandleRange = .all
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
    return LocatedService(
      service: service, characteristics: try await characteristics(in: service.range, thrifty: true)
    )
  }

  /// Finds the configurations of all characteristics of `services` that notify or indicate.
  ///
  /// Read By Type goes over all their handles at once. It may stop short of some: at an attribute of
  /// another service that may not be read, or where a server wants to be asked otherwise. What it does
  /// not show, Find Information is asked for.
  public func findConfigurations(
    of services: inout [LocatedService]
  ) async throws(ATTFailure) {
    var missing = services.flatMap(\.characteristics).filter(\.needsConfiguration)
    missing.sort { $0.value < $1.value }
    var found: [Handle: Handle] = [:]

    var position: Handle? = missing.first?.value
    let end = missing.map(\.end).max() ?? 0
    var refusals = 0
    while let start = position, start <= end, refusals < 3 {
      let answer = try await configurations(in: HandleRange(start, end))
      for handle in answer.handles {
        guard let owner = missing.first(where: { $0.descriptors?.contains(handle) == true }) else {
          continue
        }
        found[owner.value] = found[owner.value] ?? handle
      }
      missing.removeAll { found[$0.value] != nil }
      if answer.isRefusal { refusals += 1 }
      guard let last = answer.last, last >= start, last < .max,
        let next = missing.first(where: { $0.end > last })
      else { break }
      position = max(last + 1, next.value)
    }

    for characteristic in missing {
      guard let range = characteristic.descriptors else { continue }
      let types = try await attributes(in: range)
      found[characteristic.value] =
        types.first { $0.type == GATTType.clientConfiguration }?.handle
    }
    for service in services.indices {
      for index in services[service].characteristics.indices {
        let value = services[service].characteristics[index].value
        services[service].characteristics[index].cccd = found[value]
      }
    }
  }

  /// Some of the configurations in `range`: their handles, how far the answer reaches (nil: no further
  /// one is there), and whether the server refused something on the way.
  private func configurations(
    in range: HandleRange
  ) async throws(ATTFailure) -> (handles: [Handle], last: Handle?, isRefusal: Bool) {
    do {
      let handles = try await readByType(GATTType.clientConfiguration, in: range).map(\.handle)
      return (handles, handles.last, false)
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      if refusal.code == .attributeNotFound { return ([], nil, false) }
      return ([], range.contains(refusal.handle) ? refusal.handle : nil, true)
    }
  }
}

extension Characteristic {
  /// Whether it has values to subscribe to.
  fileprivate var needsConfiguration: Bool {
    !properties.isDisjoint(with: [.notify, .indicate])
  }
}
