// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Control
import EventLoop
import GATT
import Wire

/// What is done on one link.
final class GATTSession {
  let link: GATTLink
  let printer: GATTPrinter
  let prefersIndications: Bool
  /// Whether commands are typed at a prompt, where values that nobody subscribed to are printed too.
  private let isPrompt: Bool
  /// Told of each refusal that is not the end of a command.
  let report: (Failure) -> Void
  /// Told of each value that the device sent by itself, once it is printed.
  var onValue: () -> Void = {}
  /// Whether no more of them are printed: there were enough.
  var hasEnough = false

  /// What the attributes are, once it was asked.
  var map: AttributeMap?
  var subscriptions: [Subscribed] = []

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

  var client: Client { link.client }
  var mtu: Int { link.bearer.mtu }

  /// Begins: the MTU first, then the security that is wanted.
  func begin(_ security: GATTSecurity) async throws(Failure) {
    try await att("connecting to \(link.target)") { () throws(ATTFailure) in
      try await link.bearer.exchangeMTU()
    }
    if security != .low { try await secure(security) }
  }

  // MARK: Writing

  /// Writes a value: in one request, in parts where it is long, or as a command.
  func write(
    _ reference: AttributeReference, _ value: [UInt8], answered: Bool
  ) async throws(Failure) {
    let handle = try await single(reference)
    let name = hexadecimal(handle)
    try await att("writing \(name)") { () throws(ATTFailure) in
      if answered {
        try await client.writeInFull(handle, value)
      } else {
        try client.writeCommand(handle, value)
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

  /// All that are meant.
  func handles(_ reference: AttributeReference) async throws(Failure) -> [Handle] {
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

  /// The map, asked for once a link. Where the device refuses some of it, declarations name values too.
  func attributeMap() async throws(Failure) -> AttributeMap {
    if let map { return map }
    let discovery = discovery()
    let asked = try await att("asking for the attributes") { () throws(ATTFailure) in
      let asked = try await discovery.attributeMap()
      guard !discovery.faults.isEmpty else { return asked }
      try await discovery.discoverServices()
      var index = 0
      while index < discovery.services.count {
        try await discovery.discoverContents(of: index)
        index += 1
      }
      return asked.merging(AttributeMap(discovery.services))
    }
    map = asked
    return asked
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

  /// Does something on the link; `what` says in a failure what that was.
  func att<Value>(
    _ what: String, _ body: () async throws(ATTFailure) -> Value
  ) async throws(Failure) -> Value {
    do throws(ATTFailure) {
      return try await body()
    } catch {
      throw failure(what, error)
    }
  }

  /// A request that was not answered as it should have been, with what would help on this link.
  func failure(_ what: String, _ error: ATTFailure) -> Failure {
    var failure = Failure(what, error)
    if let code = error.code { failure.remedy = link.remedy(code, isPrompt: isPrompt) }
    return failure
  }
}
