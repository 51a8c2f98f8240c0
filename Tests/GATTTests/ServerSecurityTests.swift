// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import TestLoop
import Testing
import Wire

@Suite("GATT: permissions")
struct ServerSecurityTests {
  static let links: [LinkSecurity] = [
    .none, LinkSecurity(bonded: true), LinkSecurity(encrypted: true, keySize: 7), .encrypted,
    .authenticated,
    LinkSecurity(encrypted: true, authenticated: true, keySize: 16, authorized: true),
  ]

  @Test(
    "Missing security has the error of Vol 3 Part C, 10.3.1",
    arguments: [
      (.open, [nil, nil, nil, nil, nil, nil]),
      (.encrypted, [0x05, 0x0F, nil, nil, nil, nil]),
      (.authenticated, [0x05, 0x0F, 0x05, 0x05, nil, nil]),
      (Access(encryption: true, keySize: 16), [0x05, 0x0F, 0x0C, nil, nil, nil]),
      (Access(keySize: 16), [0x05, 0x0F, 0x0C, nil, nil, nil]),
      (Access(authorization: true), [0x08, 0x08, 0x08, 0x08, 0x08, nil]),
      (
        Access(encryption: true, authentication: true, authorization: true, keySize: 16),
        [0x05, 0x0F, 0x05, 0x05, 0x08, nil]
      ),
    ] as [(Access, [UInt8?])])
  func refusals(access: Access, codes: [UInt8?]) {
    #expect(Self.links.map { access.refusal(on: $0)?.rawValue } == codes)
  }

  @Test("Every way to a value needs the same permissions, at the time of the request")
  func everyWay() throws {
    try TestLoop.run { loop in
      let pair = Pair(loop)
      var written: [[UInt8]] = []
      try pair.database.add(
        ServiceDefinition(
          0x1234, at: 1,
          characteristics: [
            CharacteristicDefinition(
              0x2A00, [.read, .write],
              permissions: Permissions(read: .encrypted, write: .authenticated),
              value: .handled(read: { _ in [7] }, write: { _, value in written.append(value) }))
          ]))
      let reads = ["0a0300", "0c03000000", "0e03000100", "2003000100", "080100ffff002a"]
      for request in reads {
        #expect(pair.ask(request) == "01" + request.prefix(2) + "030005")
      }
      // It is not found by its value, which would disclose it.
      #expect(pair.ask("060100ffff002a07") == "010601000a")
      for request in ["12030001", "160300000001"] {
        #expect(pair.ask(request) == "01" + request.prefix(2) + "030005")
      }
      #expect(pair.ask("52030001") == nil)
      pair.security = .encrypted
      #expect(reads.map { pair.ask($0)?.prefix(2) } == ["0b", "0d", "0f", "21", "09"])
      #expect(pair.ask("060100ffff002a07") == "0703000300")
      #expect(pair.ask("12030001") == "0112030005")
      #expect(written.isEmpty)
      pair.security = .authenticated
      #expect(pair.ask("160300000001") == "170300000001")
      pair.security = .encrypted
      #expect(pair.ask("1801") == "0118030005")
      pair.security = .authenticated
      #expect(pair.ask("12030002") == "13")
      #expect(pair.ask("52030003") == nil)
      #expect(written == [[2], [3]])
    }
  }

  @Test("Reading the protected characteristic makes the phone pair, or encrypt if it has a key")
  func protected() throws {
    try TestLoop.run { loop in
      let pair = Pair(loop)
      try pair.database.add(StandardServices.bonding())
      #expect(pair.ask("0a3200") == "010a320005")
      pair.security.bonded = true
      #expect(pair.ask("0a3200") == "010a32000f")
      pair.security = .encrypted
      #expect(pair.ask("0a3200") == "0b01")
    }
  }
}
