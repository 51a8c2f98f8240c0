// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Testing
import Wire

@Suite("Bonds")
struct BondTests {
  @Test("A bond's description says how well it protects, without the keys")
  func strength() throws {
    let secure = try Sample.longTermKey(.secureAuthenticated)
    let bond = Bond(identity: Sample.phone, longTermKeys: [secure])
    #expect(bond.isAuthenticated && bond.isSecureConnections && bond.keySize == 16)
    #expect(
      bond.description
        == "F0:F1:F2:F3:F4:F5/random (Secure Connections, authenticated, 16-byte key)")
    let legacy = Bond(
      identity: Sample.phone,
      longTermKeys: [
        try Sample.longTermKey(.legacy, size: 7),
        try Sample.longTermKey(.legacy, isCentral: true),
      ])
    #expect(!legacy.isAuthenticated && !legacy.isSecureConnections && legacy.keySize == 7)
    let empty = Bond(identity: Sample.phone, longTermKeys: [])
    #expect(!empty.isAuthenticated && !empty.isSecureConnections && empty.keySize == 0)
    #expect(!"\(legacy) \(String(reflecting: bond))".contains("90"))
  }

  @Test("A phone that pairs again gets new keys and keeps its name and its first day")
  func renewed() throws {
    let irk = try Sample.identityResolvingKey()
    let old = Bond(
      identity: Sample.phone, longTermKeys: [try Sample.longTermKey(.secure)],
      identityResolvingKey: irk, name: "Ada's phone", firstSeen: 100)
    let new = Bond(
      identity: Sample.phone, longTermKeys: [try Sample.longTermKey(.secureAuthenticated)],
      firstSeen: 300)
    let bond = old.renewed(by: new)
    #expect(bond.longTermKeys == new.longTermKeys)
    #expect(bond.identityResolvingKey == irk)
    #expect(bond.name == "Ada's phone" && bond.firstSeen == 100)
  }
}
