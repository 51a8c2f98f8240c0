// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Daemon
import EventLoop
import GATT
import Wire

/// What is done on one link.
final class GATTSession {
  let link: GATTLink
  private let printer: GATTPrinter
  private let prefersIndications: Bool
  /// Told of each refusal that is not the end of a command.
  private let report: (Failure) -> Void
  /// Told of each value that the device sent by itself, once it is printed.
  var onValue: () -> Void = {}

  /// What the attributes are, once it was asked.
  private(set) var map: AttributeMap?
  private(set) var subscriptions: [Subscribed] = []

  init(
    _ link: GATTLink, _ printer: GATTPrinter, prefersIndications: Bool = false,
    report: @escaping (Failure) -> Void
  ) {
    self.link = link
    self.printer = printer
    self.prefersIndications = prefersIndications
    self.report = report
  }

  private var client: Client { link.client }
  private var mtu: Int { link.bearer.mtu }

  /// Begins: the MTU first, then the security that is wanted.
  func begin(_ security: GATTSecurity) async throws(Failure) {
    try await att("connecting to \(link.target)") { () throws(ATTFailure) in
      try await link.bearer.exchangeMTU()
    }
    if security != .low { try await secure(security) }
  }

  // MARK: Finding

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

  private func survey() -> Survey {
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

  /// The map, asked for once a link.
  private func attributeMap() async throws(Failure) -> AttributeMap {
    if let map { return map }
    let asked = try await att("asking for the attributes") { () throws(ATTFailure) in
      try await survey().mapAttributes()
    }
    map = asked
    return asked
  }

  // MARK: Reading and writing

  /// Values, whole; of a type every one. What one is refused does not keep the others.
  func read(_ references: [AttributeReference]) async throws(Failure) {
    var refusals: [Failure] = []
    for reference in references {
      do throws(Failure) {
        switch reference {
        case .handle(let handle):
          let value = try await value(at: handle)
          printer.value(value, at: handle, await type(at: handle))
        case .type(let type): try await readAll(type)
        }
      } catch {
        guard error.status == .refused, link.isOpen else { throw error }
        refusals.append(error)
      }
    }
    for refusal in refusals.dropLast() { report(refusal) }
    if let last = refusals.last { throw last }
  }

  private func value(at handle: Handle) async throws(Failure) -> [UInt8] {
    try await att("reading \(hexadecimal(handle))") { () throws(ATTFailure) in
      try await client.readLong(handle)
    }
  }

  /// The type of one attribute; nil where the device does not tell.
  private func type(at handle: Handle) async -> UUID? {
    if let map { return map.type(at: handle) }
    return try? await client.attributes(in: HandleRange(handle, handle)).first?.type
  }

  /// Read Using Characteristic UUID over all handles, round those that may not be read, and what an
  /// answer has no room for by Read Blob.
  private func readAll(_ type: UUID) async throws(Failure) {
    var rest = HandleRange.all
    var count = 0
    var refusal: Failure?
    while rest.isValid {
      let place: Handle
      do throws(ATTFailure) {
        let found = try await client.read(type, in: rest)
        guard let last = found.last else { break }
        for entry in found {
          let isCut = entry.value.count >= min(mtu - 4, 253)
          let value = isCut ? try await client.readLong(entry.handle) : entry.value
          printer.value(value, at: entry.handle, type)
          count += 1
        }
        place = last.handle
      } catch {
        guard case .refused(let answer) = error, answer.handle >= rest.start else {
          throw Failure("reading \(type)", error)
        }
        if let refusal { report(refusal) }
        refusal = Failure("reading \(hexadecimal(answer.handle))", error)
        place = answer.handle
      }
      guard place >= rest.start, place < .max else { break }
      rest.start = place + 1
    }
    if let refusal { throw refusal }
    guard count > 0 else {
      throw Failure(.refused, "reading \(type)", "the device has no attribute of this type")
    }
  }

  /// Writes a value: in one request, in parts where it is long, or as a command.
  func write(
    _ reference: AttributeReference, _ value: [UInt8], answered: Bool
  ) async throws(Failure) {
    let handle = try await single(reference)
    let name = hexadecimal(handle)
    try await att("writing \(name)") { () throws(ATTFailure) in
      if !answered {
        try client.writeCommand(handle, value)
      } else if value.count <= mtu - 3 {
        try await client.write(handle, value)
      } else {
        try await client.writeLong(handle, value)
      }
    }
    // Nobody answers a command; that it has gone is sure once something behind it was answered.
    if !answered { _ = try? await client.attributes(in: HandleRange(handle, handle)) }
    printer.written(value.count, at: handle, answered: answered)
  }

  /// The one attribute that is meant.
  private func single(_ reference: AttributeReference) async throws(Failure) -> Handle {
    let handles = try await handles(reference)
    guard let first = handles.first, handles.count == 1 else {
      throw Failure(
        .usage, "\(reference)", "\(handles.count) attributes are of this type",
        remedy: "name one by its handle: \(handles.map(hexadecimal).joined(separator: ", "))")
    }
    return first
  }

  private func handles(_ reference: AttributeReference) async throws(Failure) -> [Handle] {
    switch reference {
    case .handle(let handle): return [handle]
    case .type(let type):
      let handles = try await attributeMap().handles(of: type)
      guard !handles.isEmpty else {
        throw Failure(.refused, "\(type)", "the device has no attribute of this type")
      }
      return handles
    }
  }

  // MARK: Subscribing

  /// Subscribes, and prints from then on what comes.
  func subscribe(_ references: [AttributeReference]) async throws(Failure) {
    for reference in references {
      for handle in try await handles(reference) {
        let found = try await characteristic(at: handle)
        guard !subscriptions.contains(where: { $0.handle == found.handle }) else { continue }
        client.take(found.handle) { [weak self] value in
          guard let self else { return }
          printer.notified(value, by: found)
          onValue()
        }
        do throws(Failure) {
          try await att("subscribing to \(hexadecimal(found.handle))") { () throws(ATTFailure) in
            try await client.configure(found.configuration, found.kind)
          }
        } catch {
          client.take(found.handle, nil)
          throw error
        }
        subscriptions.append(found)
        printer.subscribed(found)
      }
    }
  }

  /// The characteristic that an attribute belongs to, its configuration and what it offers.
  private func characteristic(at handle: Handle) async throws(Failure) -> Subscribed {
    let what = "subscribing to \(hexadecimal(handle))"
    let map = try await attributeMap()
    guard let range = map.characteristic(around: handle) else {
      throw Failure(
        .refused, what, "no characteristic is there", remedy: "“tree” shows where they are")
    }
    guard let configuration = map.first(GATTType.clientConfiguration, in: range) else {
      throw Failure(.refused, what, "it has no Client Characteristic Configuration to write to")
    }
    let bytes = try await att(what) { () throws(ATTFailure) in
      try await client.readLong(range.start)
    }
    guard bytes.count >= 3 else {
      throw Failure(.refused, what, "its declaration has \(bytes.count) bytes")
    }
    let properties = Characteristic.Properties(rawValue: bytes[0])
    let value = Handle(bytes[1]) | Handle(bytes[2]) << 8
    guard !properties.isDisjoint(with: [.notify, .indicate]) else {
      throw Failure(
        .refused, what,
        "it neither notifies nor indicates (\(properties.names.joined(separator: ", ")))")
    }
    let indicates = properties.contains(.indicate)
    let kind: GATT.Subscription =
      indicates && (prefersIndications || !properties.contains(.notify))
      ? .indications : .notifications
    return Subscribed(
      handle: value, type: map.type(at: value), configuration: configuration, kind: kind)
  }

  /// Ends subscriptions; none named: all.
  func unsubscribe(_ references: [AttributeReference] = []) async throws(Failure) {
    var chosen = subscriptions
    if !references.isEmpty {
      var handles: [Handle] = []
      for reference in references { handles += try await self.handles(reference) }
      chosen = chosen.filter { handles.contains($0.handle) }
    }
    for subscription in chosen {
      subscriptions.removeAll { $0 == subscription }
      client.take(subscription.handle, nil)
      try await att("ending the subscription to \(hexadecimal(subscription.handle))") {
        () throws(ATTFailure) in try await client.configure(subscription.configuration, .none)
      }
    }
  }

  // MARK: The link

  func showMTU() { printer.mtu(mtu) }

  /// Raises the security; nil: says how it is.
  func secure(_ level: GATTSecurity?) async throws(Failure) {
    if let level, level != .low {
      guard let secure = link.secure else {
        throw Failure(.usage, "security", "a socket is taken as secure as it is")
      }
      try await secure(level)
    }
    if level == nil { printer.security(link.securityText() ?? "taken as secure as it is") }
  }

  private func att<Value>(
    _ what: String, _ body: () async throws(ATTFailure) -> Value
  ) async throws(Failure) -> Value {
    do throws(ATTFailure) {
      return try await body()
    } catch {
      throw Failure(what, error)
    }
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
