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
      (.open, [nil, nil, nil, nil, nil, nil]), (.encrypted, [0x05, 0x0F, nil, nil, nil, nil]),
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

  @Test(
    "Permissions are those at the time of the request, and a value that may not be read is not found"
  )
  func inTime() throws {
    try TestLoop.run { loop in
      var written: [[UInt8]] = []
      let value = CharacteristicDefinition(
        0x2A00, [.read, .write], permissions: Permissions(read: .encrypted, write: .authenticated),
        value: .handled(read: { _ in [7] }, write: { _, value in written.append(value) }))
      let pair = try Pair(loop, ServiceDefinition(0x1234, at: 1, characteristics: [value]))
      // To be found by its value would disclose it.
      #expect(pair.ask("060100ffff002a07") == "010601000a")
      pair.security = .encrypted
      #expect(pair.ask("060100ffff002a07") == "0703000300")
      pair.security = .authenticated
      #expect(pair.ask("160300000001") == "170300000001")
      pair.security = .encrypted
      #expect(pair.ask("1801") == "0118030005")
      pair.security = .authenticated
      #expect(pair.ask("12030002") == "13")
      #expect(written == [[2]])
    }
  }
}
