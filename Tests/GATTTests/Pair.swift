// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import TestLoop
import Wire

extension AttributeDatabase {
  /// A database of these services.
  convenience init(_ services: [ServiceDefinition]) throws {
    self.init()
    for service in services { try add(service) }
  }
}

/// A client and a server on a link without delay.
final class Pair {
  let database: AttributeDatabase
  let near: Bearer
  let far: Bearer
  let client: Client
  let server: Server
  var security: LinkSecurity {
    get { current.security }
    set { current.security = newValue }
  }
  private let current = Current()
  /// All PDUs in order, as hexadecimal digits; the client's begin with `>`.
  private(set) var trace: [String] = []

  /// Whether the server's PDUs are lost.
  var isCut = false

  convenience init(
    _ loop: isolated TestLoop, mtu: Int = Bearer.maximumMTU, known: ClientState = ClientState(),
    _ services: ServiceDefinition...
  ) throws {
    try self.init(loop, mtu: mtu, known: known, database: AttributeDatabase(services))
  }

  init(
    _ loop: isolated TestLoop, mtu: Int = Bearer.maximumMTU, known: ClientState = ClientState(),
    database: AttributeDatabase
  ) {
    self.database = database
    near = Bearer(scheduler: loop.clock, receiveMTU: mtu)
    far = Bearer(scheduler: loop.clock)
    client = Client(near)
    server = Server(far, database: database, client: known) { [current] in current.security }
    near.send = { [unowned self] in
      trace.append(">" + $0.hex)
      far.receive($0)
    }
    far.send = { [unowned self] in
      trace.append("<" + $0.hex)
      if !isCut { near.receive($0) }
    }
  }

  /// The link's security, in an object of its own because the server is created before the pair.
  private final class Current { var security = LinkSecurity.none }

  /// Replaces the server's responses where `other` has one.
  func intercept(_ other: @escaping (PDU) -> PDU?) {
    let serve = far.serve
    far.serve = { other($0) ?? serve($0) }
  }

  /// Sends octets as the client; returns the server's response, if there is one.
  func ask(_ hex: String) -> String? {
    let before = trace.count
    far.receive([UInt8](hex: hex) ?? [])
    return trace.count > before ? String(trace[trace.count - 1].dropFirst()) : nil
  }
}
