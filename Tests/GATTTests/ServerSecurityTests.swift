// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import TestLoop
import Testing
import Wire

@Suite("GATT: permissions")
struct ServerSecurityTests {
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
