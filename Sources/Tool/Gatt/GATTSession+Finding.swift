// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Daemon
import GATT
import Wire

extension GATTSession {
  /// The primary services, or those of a type.
  func primary(_ type: UUID?) async throws(Failure) {
    let what = type.map { "primary \($0)" } ?? "primary"
    let survey = survey()
    do throws(ATTFailure) {
      if let type {
        try await survey.findPrimaryServices(type)
      } else {
        try await survey.findServices()
      }
    } catch {
      show(survey.services, type)
      throw failure(what, error)
    }
    show(survey.services, type)
    try conclude(what, survey)
    guard type == nil || !survey.services.isEmpty else {
      throw Failure(.refused, what, "the device has no such service")
    }
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
      throw failure("tree", error)
    }
    map = AttributeMap(survey.services)
    try conclude("tree", survey)
  }

  func survey() -> Survey {
    let survey = Survey(client)
    survey.onFault = { [printer] in printer.fault($0) }
    return survey
  }

  private func show(_ services: [SurveyedService], _ type: UUID?) {
    for found in services where found.isPrimary && found.service.uuid == type ?? found.service.uuid
    {
      printer.service(found, whole: false)
    }
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
  init(_ services: [SurveyedService]) {
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
      for attribute in service.unassigned { types[attribute.handle] = attribute.type }
    }
    self.init(types)
  }
}
