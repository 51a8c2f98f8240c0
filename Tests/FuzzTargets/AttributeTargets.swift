// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import TestLoop
import Wire

extension FuzzTarget {
  /// ATT and GATT: what a peer sends before anything is known of it.
  static let attributes = [
    FuzzTarget("att-pdu", longest: 520, decode), FuzzTarget("att-server", serve),
    FuzzTarget("att-client", ask), FuzzTarget("discovery", discover),
  ]

  /// Input: one PDU.
  @Sendable private static func decode(_ input: [UInt8]) throws {
    guard let pdu = try? PDU(decoding: input) else { return }
    var sent = input
    // Half a length, which the MTU left of the last one, is dropped.
    if case .readMultipleVariableResponse = pdu, pdu.encoded.count == input.count - 1 {
      sent.removeLast()
    }
    try ensure(pdu.encoded == sent, "\(pdu) is encoded as \(pdu.encoded.hex)")
  }

  // MARK: The server

  /// Input: a byte for the link's security and the kind of server, then what the client sends.
  @Sendable private static func serve(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let choices = input.byte()
    let security: LinkSecurity = [.none, .encrypted, .authenticated][Int(choices & 3) % 3]
    let bearer = Bearer(scheduler: HandClock())
    var sent: [[UInt8]] = []
    bearer.send = { sent.append($0) }
    let server = Server(bearer, database: try database()) { security }
    server.namesEndingHandle = choices & 4 != 0
    for (pdu, isChange) in input.packets() {
      sent = []
      bearer.receive(pdu)
      try checkResponses(to: pdu, sent, bearer)
      if isChange {
        try server.database.add(ServiceDefinition(0x180F, at: 0x60))
        server.database.remove(at: 0x60)
      }
    }
    try ensure(bearer.end == nil, "a client ended the bearer: \(String(describing: bearer.end))")
  }

  /// A request is answered once, an indication is confirmed once, and nothing else is answered.
  private static func checkResponses(to pdu: [UInt8], _ sent: [[UInt8]], _ bearer: Bearer) throws {
    let opcode = pdu.first.map { Opcode(rawValue: $0) }
    // Service Changed may be indicated at any time.
    let responses = sent.filter { $0.first != 0x1D }
    let wanted = opcode?.role == .request || opcode?.role == .indication ? 1 : 0
    try ensure(responses.count == wanted, "\(responses.count) answers to \(pdu.hex)")
    guard let opcode, let response = responses.first else { return }
    try ensure(response.count <= bearer.mtu, "a response of \(response.count) bytes")
    let decoded = try PDU(decoding: response)
    if case .errorResponse(let error) = decoded {
      try ensure(error.request == opcode, "an error for \(error.request) to \(opcode)")
    } else {
      try ensure(decoded.opcode == opcode.response, "\(decoded.opcode) to \(opcode)")
    }
  }

  private static func database() throws -> AttributeDatabase {
    let database = AttributeDatabase()
    try database.add(StandardServices.genericAccess(name: { "board" }))
    try database.add(StandardServices.genericAttribute())
    try database.add(StandardServices.deviceInformation(manufacturer: "ancsd", model: "board"))
    try database.add(StandardServices.bonding())
    try database.add(
      ServiceDefinition(
        0x1234, at: 0x40,
        characteristics: [
          CharacteristicDefinition(0x2A00, [.read, .write, .notify, .indicate, .extended]),
          CharacteristicDefinition(0x2A05, [.read, .write, .extended], maximumLength: 20),
        ]))
    return database
  }

  // MARK: The client

  /// Input: which procedure, then what the server sends. Where a packet is marked, the opcode that answers
  /// the client's last request is put in front of it.
  @Sendable private static func ask(_ input: [UInt8]) throws {
    try playServer(input) { choice, client in try await procedure(choice, client) }
  }

  /// The same for a discovery of everything.
  @Sendable private static func discover(_ input: [UInt8]) throws {
    try playServer(input) { choice, client in
      let discovery = DatabaseDiscovery(client)
      if choice & 1 == 0 {
        try await discovery.discoverServices()
      } else {
        try await discovery.discoverPrimaryServices(0x1800)
      }
      var index = 0
      while index < discovery.services.count {
        try await discovery.discoverContents(of: index)
        index += 1
      }
      _ = try await discovery.attributeMap()
    }
  }

  private static func playServer(
    _ bytes: [UInt8], _ work: @escaping @Sendable (UInt8, Client) async throws -> Void
  ) throws {
    try TestLoop.run { loop in
      var input = FuzzInput(bytes)
      let choice = input.byte()
      let bearer = Bearer(scheduler: loop.clock)
      let client = Client(bearer)
      var asked: Opcode?
      bearer.send = { octets in
        let opcode = octets.first.map { Opcode(rawValue: $0) }
        if opcode?.role == .request { asked = opcode }
      }
      let procedure = loop.start { try await work(choice, client) }
      await loop.settle()
      for (packet, isResponse) in input.packets() where procedure.result == nil {
        let opcode = isResponse ? asked.map { [$0.response.rawValue] } ?? [] : []
        bearer.receive(opcode + packet)
        await loop.settle()
      }
      bearer.close(.closed("the input has ended"))
      await loop.settle()
      try ensure(procedure.result != nil, "the link has ended and the procedure waits")
      try ensure(loop.clock.scheduled == 0, "\(loop.clock.scheduled) timers are left")
    }
  }

  private static func procedure(_ choice: UInt8, _ client: Client) async throws {
    if choice & 0x80 != 0 { try await client.bearer.exchangeMTU() }
    switch choice % 11 {
    case 0: _ = try await client.primaryServices()
    case 1: _ = try await client.primaryServices(0x1800)
    case 2: _ = try await client.include(.init(handle: 2, value: [1, 0, 2, 0]))
    case 3: _ = try await client.characteristics(in: .all)
    case 4: _ = try await client.characteristics(in: .all, resumingAfter: .value)
    case 5: _ = try await client.attributes(in: .all)
    case 6: _ = try await client.locate(0x1800)
    case 7: _ = try await client.readLong(3)
    case 8: try await client.writeLong(3, [UInt8](repeating: 1, count: 60))
    case 9:
      var located = try await client.locate([WantedService(0x1800, [0x2A00, 0x2A05])])
      try await client.findConfigurations(of: &located)
    default: try await client.enable(4, attempts: 2)
    }
  }
}
