// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Testing
import Wire

@testable import GATT

@Suite("GATT: the Database Hash")
struct DatabaseHashTests {
  @Test(
    "AES-CMAC authenticates the messages of RFC 4493, section 4",
    arguments: [
      (0, "bb1d6929e95937287fa37d129b756746"), (16, "070a16b46b4d4144f79bdd9dd04a287c"),
      (40, "dfa66747de9ae63030ca32611497c827"), (64, "51f0bebf7e3b9d92fc49741779363cfe"),
    ])
  func messages(length: Int, tag: String) throws {
    let key = try #require([UInt8](hex: "2b7e151628aed2a6abf7158809cf4f3c"))
    let message = try #require(
      [UInt8](
        hex: """
          6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
          30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710
          """))
    #expect(cmac(key: key, Array(message.prefix(length))).hex == tag)
  }

  /// The database of Vol 3 Part G, appendix B.
  private static func sample() throws -> AttributeDatabase {
    let battery = Service(uuid: 0x180F, range: HandleRange(0x14, 0x16))
    let extended = DescriptorDefinition(.extendedProperties, value: .stored([0, 0]))
    return try AttributeDatabase([
      ServiceDefinition(
        0x1800, characteristics: [.init(0x2A00, [.read, .write]), .init(0x2A01, [.read])]),
      ServiceDefinition(
        0x1801,
        characteristics: [
          .init(0x2A05, [.indicate]), .init(0x2B29, [.read, .write]), .init(0x2B2A, [.read]),
        ]),
      ServiceDefinition(
        0x1808, includes: [battery],
        characteristics: [
          .init(0x2A18, [.read, .indicate, .extended], descriptors: [.clientConfiguration(), extended])
        ]), ServiceDefinition(0x180F, isPrimary: false, characteristics: [.init(0x2A19, [.read])]),
    ])
  }

  @Test("The specification's sample database has the specification's hash, whatever its values are")
  func specification() throws {
    let database = try Self.sample()
    let hash = "f1ca2d48ecf58bac8a8830bbb9fba990"
    #expect(database.hash.reversed().hex == hash)
    database.setValue([100], at: 0x16)
    #expect(database.value(at: 0x16) == [100])
    #expect(database.hash.reversed().hex == hash)
  }
}
