// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import TestLoop
import Testing
import Wire

@Suite("GATT: the server")
struct ServerTests {
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
