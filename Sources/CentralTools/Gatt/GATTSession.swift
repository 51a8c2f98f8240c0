// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Control
import GAP
import GATT
import Wire

/// A characteristic that was subscribed to.
struct Subscribed: Hashable, Sendable {
  /// The handle of its value.
  var handle: Handle
  var type: UUID?
  var configuration: Handle
  var kind: ClientConfiguration
}

/// The commands on one link.
final class GATTSession {
  let link: GATTLink
  private let printer: GATTPrinter
  private let prefersIndications: Bool
  /// Whether commands are typed at a prompt. There, values without a subscription are printed too.
  private let isPrompt: Bool
  /// Called with each refusal that does not end the command.
  private let report: (Failure) -> Void
  /// Called after each printed notification or indication.
  var onValue: () -> Void = {}
  /// Whether no more of them are printed.
  var hasEnough = false

  /// The attributes, once they were discovered.
  private(set) var map: AttributeMap?
  private(set) var subscriptions: [Subscribed] = []

  init(
    _ link: GATTLink, _ printer: GATTPrinter, prefersIndications: Bool = false,
    isPrompt: Bool = false, report: @escaping (Failure) -> Void
  ) {
    self.link = link
    self.printer = printer
    self.prefersIndications = prefersIndications
    self.report = report
    self.isPrompt = isPrompt
    guard isPrompt else { return }
    client.onUnclaimedValue = { [weak self] handle, value in
      guard let self else { return }
      printer.notified(value, by: handle, map?.type(at: handle), .notifications)
    }
  }

  private var client: Client { link.client }
  private var mtu: Int { link.bearer.mtu }

  /// Exchanges the MTU, then raises the security.
  func begin(_ security: GATTSecurity) async throws(Failure) {
    try await att("connecting to \(link.target)", await link.bearer.exchangeMTU())
    if security != .low { try await secure(security) }
  }

  /// Performs a command. A subscription continues after it.
  func perform(_ command: GATTCommand) async throws(Failure) {
    switch command {
    case .primary(let type): try await primary(type)
    case .tree: try await tree()
    case .read(let references): try await read(references)
    case .write(let reference, let value, let withResponse):
      try await write(reference, value, withResponse: withResponse)
    case .subscribe(let references): try await subscribe(references)
    case .unsubscribe(let references): try await unsubscribe(references)
    case .mtu: printer.mtu(mtu)
    case .security(let level): try await secure(level)
    case .unpair, .scan, .connect, .disconnect, .help, .quit: break
    }
  }

  /// Raises the security; nil: prints the current level.
  private func secure(_ level: GATTSecurity?) async throws(Failure) {
    guard let level else {
      return printer.security(link.security()?.sentence ?? "a socket, treated as secure")
    }
    if level == .low { return }
    guard let secure = link.secure else {
      throw Failure(usage: "security needs a radio: a socket is treated as secure")
    }
    try await secure(level)
  }

  /// Sends a request; `what` names its purpose in a failure.
  private func att<Value>(
    _ what: String, _ request: @autoclosure () async throws(ATTFailure) -> Value
  ) async throws(Failure) -> Value {
    do throws(ATTFailure) {
      return try await request()
    } catch { throw failure(what, error) }
  }

  /// A failed request, with a remedy for this link.
  private func failure(_ what: String, _ error: ATTFailure) -> Failure {
    var failure = Failure(what, error) { map?.type(at: $0) }
    if let code = error.code { failure.remedy = link.remedy(code, isPrompt: isPrompt) }
    return failure
  }
}

extension ErrorCode {
  /// The service-specific name of the code for a characteristic; if the characteristic is unknown,
  /// the names from Apple's services. Nil if there is none.
  func name(of type: UUID?) -> String? {
    let (ancs, ams) = (nameInANCS, nameInAMS)
    switch type {
    case .controlPoint?, .notificationSource?, .dataSource?: return ancs
    case .remoteCommand?, .entityUpdate?, .entityAttribute?: return ams
    case nil:
      let names = [ancs.map { "of ANCS: \($0)" }, ams.map { "of AMS: \($0)" }].compactMap { $0 }
      return names.isEmpty ? nil : names.joined(separator: ", ")
    default: return nil
    }
  }
}

// MARK: - Discovery

extension GATTSession {
  /// The primary services, or those of a type.
  private func primary(_ type: UUID?) async throws(Failure) {
    let what = type.map { "primary \($0)" } ?? "primary"
    let discovery = discovery()
    defer {
      for found in discovery.services where found.isPrimary && found.service.uuid == type ?? found.service.uuid {
        printer.service(found, whole: false)
      }
    }
    if let type {
      try await att(what, await discovery.discoverPrimaryServices(type))
    } else {
      try await att(what, await discovery.discoverServices())
    }
    try conclude(what, discovery)
    guard type == nil || !discovery.services.isEmpty else {
      throw Failure(.refused, what, "the device has no such service")
    }
  }

  /// All services with their contents, each printed once it is complete.
  private func tree() async throws(Failure) {
    let discovery = discovery()
    // If the link is lost, there are some.
    defer {
      for found in discovery.services where !found.hasContents {
        printer.service(found, whole: true)
      }
    }
    try await att("tree", await discovery.discoverEverything { printer.service($0, whole: true) })
    map = AttributeMap(discovery.services)
    try conclude("tree", discovery)
  }

  private func discovery() -> DatabaseDiscovery {
    let discovery = DatabaseDiscovery(client)
    discovery.onFault = { [printer] in printer.fault($0) }
    return discovery
  }

  private func conclude(_ what: String, _ discovery: DatabaseDiscovery) throws(Failure) {
    let count = discovery.faults.count
    if count == 0 { return }
    let errors = count == 1 ? "an error" : "\(count) errors"
    throw Failure(.refused, what, "the device returned \(errors); what was found is above")
  }

  /// The attributes, discovered once per link. If the device refuses part of it, values come from
  /// declarations too.
  private func attributeMap() async throws(ATTFailure) -> AttributeMap {
    if let map { return map }
    let discovery = discovery()
    var found = try await discovery.attributeMap()
    if !discovery.faults.isEmpty {
      try await discovery.discoverEverything()
      found = found.merging(AttributeMap(discovery.services))
    }
    map = found
    return found
  }

  /// The handles of all referenced attributes.
  private func handles(_ reference: AttributeReference) async throws(Failure) -> [Handle] {
    switch reference {
    case .handle(let handle): return [handle]
    case .type(let type):
      let map = try await att("discovering the attributes", await attributeMap())
      let handles = map.handles(of: type)
      guard !handles.isEmpty else {
        throw Failure(.refused, "\(type)", "the device has no attribute of this type")
      }
      return handles
    }
  }

  // MARK: Reading and writing

  /// Reads complete values; for a type, all of them. A refusal does not stop the others.
  private func read(_ references: [AttributeReference]) async throws(Failure) {
    var refusals: [Failure] = []
    for reference in references {
      switch reference {
      case .handle(let handle): refusals += await read(handle)
      case .type(let type): refusals += try await read(type)
      }
      guard link.isOpen else { break }
    }
    for refusal in refusals.dropLast() { report(refusal) }
    if let last = refusals.last { throw last }
  }

  /// Reads one value; if the device refuses the rest of a long one, prints its beginning.
  ///
  /// - Parameter type: nil if it is unknown.
  /// - Returns: why it can't be read completely, if so.
  private func read(_ handle: Handle, _ type: UUID? = nil) async -> [Failure] {
    var value: [UInt8]?
    var refusals: [Failure] = []
    do throws(ATTFailure) {
      var read = try await client.read(handle)
      defer { value = read }
      try await client.readRest(of: &read, at: handle)
    } catch {
      let place = value.map { " behind its first \($0.count) bytes" } ?? ""
      refusals = [failure("reading \(hexadecimal(handle))\(place)", error)]
    }
    if let value {
      var type = type
      if type == nil, link.isOpen { type = await self.type(at: handle) }
      printer.value(value, at: handle, type, isWhole: refusals.isEmpty)
    }
    return refusals
  }

  /// The type of an attribute; nil if the device does not provide it.
  private func type(at handle: Handle) async -> UUID? {
    if let map { return map.type(at: handle) }
    return try? await client.attributes(in: HandleRange(handle, handle)).first?.type
  }

  /// Read Using Characteristic UUID over all handles. It continues after refused attributes, and
  /// reads values that do not fit into a response with Read Blob.
  ///
  /// - Returns: why some can't be read.
  private func read(_ type: UUID) async throws(Failure) -> [Failure] {
    var isThere = false
    var refusals: [Failure] = []
    do throws(ATTFailure) {
      try await client.walk(.all) { (rest) throws(ATTFailure) in
        try await link.bearer.request(.readByType(rest, type: type)).map {
          (HandleRange($0.handle, $0.handle), $0)
        }
      } recover: { (error, rest, _) throws(ATTFailure) in
        if error.code == .attributeNotFound { return nil }
        if case .refused(let response) = error, response.handle > rest.start {
          refusals.append(failure("reading \(hexadecimal(response.handle))", error))
          return response.handle
        }
        // Not every server names the attribute that it refuses.
        let next = try await attributeMap().handles(of: type).first { rest.contains($0) }
        if next == nil || error.code == nil {
          refusals.append(failure("reading \(type) in \(rest)", error))
        }
        guard let next else { return nil }
        isThere = true
        refusals += await read(next, type)
        return link.isOpen ? next : nil
      } body: { (found) throws(ATTFailure) in
        isThere = true
        for entry in found {
          if entry.value.count >= min(mtu - 4, 253) {
            refusals += await read(entry.handle, type)
          } else {
            printer.value(entry.value, at: entry.handle, type)
          }
        }
        return link.isOpen
      }
    } catch { refusals.append(failure("reading \(type)", error)) }
    guard isThere || !refusals.isEmpty else {
      throw Failure(.refused, "reading \(type)", "the device has no attribute of this type")
    }
    return refusals
  }

  // MARK: Writing

  /// Writes a value: in one request, in parts if it is long, or as a command.
  private func write(_ reference: AttributeReference, _ value: [UInt8], withResponse: Bool) async throws(Failure) {
    let handles = try await handles(reference)
    guard let handle = handles.first, handles.count == 1 else {
      throw Failure(
        .usage, "\(reference)", "\(handles.count) attributes have this type",
        remedy: "name one by its handle: \(handles.map(hexadecimal).joined(separator: ", "))")
    }
    let what = "writing \(hexadecimal(handle))"
    if withResponse {
      try await att(what, await client.writeInFull(handle, value))
    } else {
      try await att(what, try client.writeCommand(handle, value))
      // A command has no response. The response to a later request shows that it was sent.
      _ = try? await client.attributes(in: HandleRange(handle, handle))
    }
    printer.written(value.count, at: handle, withResponse: withResponse)
  }

  // MARK: Subscribing

  /// Subscribes, and prints the values from then on.
  func subscribe(_ references: [AttributeReference]) async throws(Failure) {
    for reference in references {
      for handle in try await handles(reference) {
        let found = try await characteristic(at: handle)
        guard !subscriptions.contains(where: { $0.handle == found.handle }) else { continue }
        client.setHandler(for: found.handle) { [weak self] value in
          guard let self, !hasEnough else { return }
          printer.notified(value, by: found.handle, found.type, found.kind)
          onValue()
        }
        do throws(ATTFailure) {
          try await client.configure(found.configuration, found.kind)
        } catch {
          client.removeHandler(for: found.handle)
          throw failure("subscribing to \(hexadecimal(found.handle))", error)
        }
        subscriptions.append(found)
        printer.subscribed(found)
      }
    }
  }

  /// The characteristic that an attribute belongs to, with the kind of subscription to use.
  private func characteristic(at handle: Handle) async throws(Failure) -> Subscribed {
    let what = "subscribing to \(hexadecimal(handle))"
    let map = try await att("discovering the attributes", await attributeMap())
    guard let range = map.characteristic(around: handle) else {
      throw Failure(
        .refused, what, "there is no characteristic", remedy: "“tree” lists them")
    }
    guard let configuration = map.first(.clientConfiguration, in: range) else {
      throw Failure(.refused, what, "it has no Client Characteristic Configuration to write to")
    }
    let bytes = try await att(what, await client.readLong(range.start))
    guard let declaration = try? CharacteristicDeclaration(decoding: bytes) else {
      throw Failure(.refused, what, "its declaration has \(bytes.count) bytes")
    }
    let properties = declaration.properties
    guard properties.isSubscribable else {
      throw Failure(
        .refused, what,
        "it neither notifies nor indicates (\(properties.names.joined(separator: ", ")))")
    }
    let indicates = properties.contains(.indicate)
    let kind: ClientConfiguration =
      indicates && (prefersIndications || !properties.contains(.notify)) ? .indications : .notifications
    return Subscribed(
      handle: declaration.value, type: map.type(at: declaration.value), configuration: configuration, kind: kind)
  }

  /// Ends the subscriptions to the characteristics of these attributes; an empty list means all.
  func unsubscribe(_ references: [AttributeReference] = []) async throws(Failure) {
    var chosen = subscriptions
    if !references.isEmpty {
      var handles: [Handle] = []
      for reference in references { handles += try await self.handles(reference) }
      chosen = chosen.filter { [map] subscription in
        let range = map?.characteristic(around: subscription.handle)
        return handles.contains { range?.contains($0) == true }
      }
    }
    for subscription in chosen {
      subscriptions.removeAll { $0 == subscription }
      client.removeHandler(for: subscription.handle)
      try await att(
        "ending the subscription to \(hexadecimal(subscription.handle))",
        await client.configure(subscription.configuration, []))
    }
  }
}
