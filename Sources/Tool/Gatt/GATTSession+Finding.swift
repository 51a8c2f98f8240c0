// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Control
import GAP
import GATT
import Wire

extension GATTSession {
  /// The primary services, or those of a type.
  func primary(_ type: UUID?) async throws(Failure) {
    let what = type.map { "primary \($0)" } ?? "primary"
    let discovery = discovery()
    do throws(ATTFailure) {
      if let type {
        try await discovery.discoverPrimaryServices(type)
      } else {
        try await discovery.discoverServices()
      }
    } catch {
      show(discovery.services, type)
      throw failure(what, error)
    }
    show(discovery.services, type)
    try conclude(what, discovery)
    guard type == nil || !discovery.services.isEmpty else {
      throw Failure(.refused, what, "the device has no such service")
    }
  }

  /// Everything, printed service by service.
  func tree() async throws(Failure) {
    let discovery = discovery()
    var shown = 0
    do throws(ATTFailure) {
      try await discovery.discoverServices()
      while shown < discovery.services.count {
        try await discovery.discoverContents(of: shown)
        printer.service(discovery.services[shown], whole: true)
        shown += 1
      }
    } catch {
      for service in discovery.services[shown...] { printer.service(service, whole: true) }
      throw failure("tree", error)
    }
    map = AttributeMap(discovery.services)
    try conclude("tree", discovery)
  }

  func discovery() -> DatabaseDiscovery {
    let discovery = DatabaseDiscovery(client)
    discovery.onFault = { [printer] in printer.fault($0) }
    return discovery
  }

  private func show(_ services: [DiscoveredService], _ type: UUID?) {
    for found in services where found.isPrimary && found.service.uuid == type ?? found.service.uuid
    {
      printer.service(found, whole: false)
    }
  }

  private func conclude(_ what: String, _ discovery: DatabaseDiscovery) throws(Failure) {
    guard !discovery.faults.isEmpty else { return }
    let count = discovery.faults.count
    throw Failure(
      .refused, what,
      "the device erred \(count == 1 ? "once" : "\(count) times") on the way; what was found is above"
    )
  }
}

extension AttributeMap {
  /// What a discovery found, as a map.
  init(_ services: [DiscoveredService]) {
    var types: [Handle: UUID] = [:]
    for service in services {
      types[service.service.range.start] =
        service.isPrimary ? .primaryService : .secondaryService
      for include in service.includes { types[include.handle] = .include }
      for found in service.characteristics {
        types[found.characteristic.declaration] = .characteristic
        types[found.characteristic.value] = found.characteristic.uuid
        for descriptor in found.descriptors { types[descriptor.handle] = descriptor.type }
      }
      for attribute in service.unassigned { types[attribute.handle] = attribute.type }
    }
    self.init(types)
  }
}
