// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Daemon
import EventLoop
import GATT
import Wire

/// What is done on one link.
final class GATTSession {
  let link: GATTLink
  let printer: GATTPrinter
  let prefersIndications: Bool
  /// Told of each refusal that is not the end of a command.
  private let report: (Failure) -> Void
  /// Told of each value that the device sent by itself, once it is printed.
  var onValue: () -> Void = {}
  /// Whether no more of them are printed: there were enough.
  var hasEnough = false

  /// What the attributes are, once it was asked.
  var map: AttributeMap?
  var subscriptions: [Subscribed] = []

  init(
    _ link: GATTLink, _ printer: GATTPrinter, prefersIndications: Bool = false,
    report: @escaping (Failure) -> Void
  ) {
    self.link = link
    self.printer = printer
    self.prefersIndications = prefersIndications
    self.report = report
  }

  var client: Client { link.client }
  private var mtu: Int { link.bearer.mtu }

  /// Begins: the MTU first, then the security that is wanted.
  func begin(_ security: GATTSecurity) async throws(Failure) {
    try await att("connecting to \(link.target)") { () throws(ATTFailure) in
      try await link.bearer.exchangeMTU()
    }
    if security != .low { try await secure(security) }
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

  /// The map, asked for once a link.
  func attributeMap() async throws(Failure) -> AttributeMap {
    if let map { return map }
    let asked = try await att("asking for the attributes") { () throws(ATTFailure) in
      try await survey().mapAttributes()
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
      throw Failure(what, error)
    }
  }
}
