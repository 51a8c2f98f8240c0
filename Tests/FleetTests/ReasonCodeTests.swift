// SPDX-License-Identifier: GPL-3.0-or-later
import Testing

@testable import Fleet

@Suite("Reason codes") struct ReasonCodeTests {
  @Test("What only the user can change has a remedy")
  func remedies() {
    for code in 0x80...UInt8.max where ReasonCode(code).isPersistent {
      #expect(ReasonCode.remedies[code] != nil, "\(code)")
    }
    #expect(ReasonCode(0x80).isRefusal && !ReasonCode(0x10).isRefusal && !ReasonCode(0).isRefusal)
  }

  @Test("The broker's own words are quoted")
  func remarks() {
    #expect(
      ReasonCode(0x9D).sentence(.staying, named: "Server moved", as: "k", remark: "b.lan")
        == "the broker has ended the connection: Server moved (0x9D), “b.lan”; change url in [mqtt]")
  }

  @Test(
    "The return codes of MQTT 3.1.1 mean the same",
    arguments: [(1, 0x84), (2, 0x85), (3, 0x88), (4, 0x86), (5, 0x87), (0x97, 0x97)])
  func older(_ code: UInt8, _ reason: UInt8) {
    #expect(ReasonCode(connack: code) == ReasonCode(reason))
  }
}
