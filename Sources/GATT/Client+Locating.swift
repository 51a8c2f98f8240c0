// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

extension Client {
  /// Which of several instances of a service is meant, where a server shows more than one.
  public enum Instance: Hashable, Sendable {
    case first, last
  }

  /// A service by its type, with its characteristics and their configurations, in as few requests as
  /// ATT allows: three where the MTU has room for the answers.
  ///
  /// Find By Type Value for the service, Read By Type for its characteristics, and Read By Type over
  /// the same handles for their Client Characteristic Configurations. Only where the last does not
  /// show what the properties promise, the descriptors are asked for one by one.
  ///
  /// - Returns: nil where the server does not have the service now.
  public func locate(
    _ uuid: UUID, _ instance: Instance = .first
  ) async throws(ATTFailure) -> LocatedService? {
    let services: [Service]
    do {
      services = try await servicesInOneRequest(uuid)
    } catch {
      guard error.code == .attributeNotFound else { throw error }
      return nil
    }
    let valid = services.filter { $0.range.isValid }
    guard let service = instance == .first ? valid.first : valid.last else { return nil }
    return try await locate(service)
  }

  /// The characteristics of a service that was found, with their configurations.
  public func locate(_ service: Service) async throws(ATTFailure) -> LocatedService {
    var characteristics = try await characteristics(in: service.range)
    try await findConfigurations(of: &characteristics, in: service.range)
    return LocatedService(service: service, characteristics: characteristics)
  }

  private func findConfigurations(
    of characteristics: inout [Characteristic], in range: HandleRange
  ) async throws(ATTFailure) {
    let needing = characteristics.indices.filter {
      !characteristics[$0].properties.isDisjoint(with: [.notify, .indicate])
    }
    guard let first = needing.first else { return }
    var rest = HandleRange(characteristics[first].value, range.end)
    while let next = needing.first(where: {
      characteristics[$0].cccd == nil && characteristics[$0].end >= rest.start
    }) {
      rest.start = max(rest.start, characteristics[next].value)
      guard let entries = try await configurations(in: rest), let last = entries.last?.handle,
        last >= rest.start, last < .max
      else { break }
      for entry in entries {
        for index in needing
        where characteristics[index].descriptors?.contains(entry.handle) == true {
          characteristics[index].cccd = characteristics[index].cccd ?? entry.handle
        }
      }
      rest.start = last + 1
      guard rest.isValid else { break }
    }
    for index in needing where characteristics[index].cccd == nil {
      guard let range = characteristics[index].descriptors else { continue }
      let types = try await attributes(in: range)
      characteristics[index].cccd =
        types.first { $0.type == GATTType.clientConfiguration }?.handle
    }
  }

  /// One request for configurations; nil where the server shows none, or refuses to (a server may
  /// want encryption even for that: the types of the descriptors can be asked for all the same).
  private func configurations(
    in range: HandleRange
  ) async throws(ATTFailure) -> [PDU.AttributeValue]? {
    do {
      return try await readByType(GATTType.clientConfiguration, in: range)
    } catch {
      guard error.code != nil else { throw error }
      return nil
    }
  }
}
