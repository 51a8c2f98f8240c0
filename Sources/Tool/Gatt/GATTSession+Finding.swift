// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Daemon
import GATT
import Wire

extension GATTSession {
  /// The primary services, or those of a type.
  func primary(_ type: UUID?) async throws(Failure) {
    guard let type else {
      let survey = survey()
      do throws(ATTFailure) {
        try await survey.findServices()
      } catch {
        show(survey.services, whole: false)
        throw Failure("primary", error)
      }
      show(survey.services, whole: false)
      return try conclude("primary", survey)
    }
    let services = try await att("primary \(type)") { () throws(ATTFailure) in
      try await client.primaryServices(type)
    }
    guard !services.isEmpty else {
      throw Failure(.refused, "primary \(type)", "the device has no such service")
    }
    show(services.map { SurveyedService($0, isPrimary: true) }, whole: false)
  }

  /// Everything, printed service by service.
  func tree() async throws(Failure) {
    let survey = survey()
    var shown = 0
    do throws(ATTFailure) {
      try await survey.findServices()
      while shown < survey.services.count {
        try await survey.examine(shown)
        printer.service(survey.services[shown], whole: true)
        shown += 1
      }
    } catch {
      for service in survey.services[shown...] { printer.service(service, whole: true) }
      throw Failure("tree", error)
    }
    map = AttributeMap(survey.services)
    try conclude("tree", survey)
  }

  func survey() -> Survey {
    let survey = Survey(client)
    survey.onFault = { [printer] in printer.fault($0) }
    return survey
  }

  private func show(_ services: [SurveyedService], whole: Bool) {
    for service in services where service.isPrimary { printer.service(service, whole: whole) }
  }

  private func conclude(_ what: String, _ survey: Survey) throws(Failure) {
    guard !survey.faults.isEmpty else { return }
    let count = survey.faults.count
    throw Failure(
      .refused, what,
      "the device erred \(count == 1 ? "once" : "\(count) times") on the way; what was found is above"
    )
  }
}

extension AttributeMap {
  /// What a survey found, as a map.
  fileprivate init(_ services: [SurveyedService]) {
    var types: [Handle: UUID] = [:]
    for service in services {
      types[service.service.range.start] =
        service.isPrimary ? GATTType.primaryService : GATTType.secondaryService
      for include in service.includes { types[include.handle] = GATTType.include }
      for found in service.characteristics {
        types[found.characteristic.declaration] = GATTType.characteristic
        types[found.characteristic.value] = found.characteristic.uuid
        for descriptor in found.descriptors { types[descriptor.handle] = descriptor.type }
      }
    }
    self.init(types)
  }
}
