// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import TestLoop
import Testing
import Wire

@Suite("GATT: the server")
struct ServerTests {
  @Test("A client finds every service, characteristic and configuration of the daemon's server")
  func discovery() throws {
    try TestLoop.run { loop in
      let pair = Pair(loop)
      try pair.database.add(StandardServices.genericAccess(name: { "board" }))
      try pair.database.add(StandardServices.genericAttribute())
      try pair.database.add(
        StandardServices.deviceInformation(.init(manufacturer: "ancsd", software: "1.0")))
      try pair.database.add(StandardServices.bonding())
      let services = try await pair.client.primaryServices()
      #expect(services == pair.database.services.map(\.service))
      #expect(services.map(\.range.start) == [0x01, 0x10, 0x20, 0x30])
      for service in services {
        let found = try await pair.client.locate(service)
        #expect(found == pair.database[service.uuid])
      }
      let name = try await pair.client.read(0x0003)
      #expect(String(decoding: name, as: UTF8.self) == "board")
      let hash = try await pair.client.read(.databaseHash)
      #expect(hash.first?.value == pair.database.hash)
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
