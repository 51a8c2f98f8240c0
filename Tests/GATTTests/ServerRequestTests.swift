// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import TestLoop
import Testing
import Wire

/// A database with gaps, types of both widths, and values of many lengths.
private func odd(_ database: AttributeDatabase) throws {
  try database.add(
    ServiceDefinition(
      0x1800, at: 0x0001,
      characteristics: [
        CharacteristicDefinition(0x2A00, [.read], value: .stored(Array("board".utf8))),
        CharacteristicDefinition(0x2A01, [.read], value: .stored([0, 0])),
      ]))
  try database.add(
    ServiceDefinition(
      PDUValues.long, at: 0x0010, end: 0x001F,
      characteristics: [
        CharacteristicDefinition(
          PDUValues.long, [.read, .write, .notify], value: .stored([UInt8](0..<60)), at: 0x0012),
        CharacteristicDefinition(
          0x2A00, [.write], value: .stored([]), maximumLength: 4, at: 0x0018, valueHandle: 0x001A),
      ]))
  try database.add(
    ServiceDefinition(
      0x180F, isPrimary: false, at: 0xFFFD,
      characteristics: [CharacteristicDefinition(0x2A19, [.read], value: .stored([99]))]))
}

private enum PDUValues {
  static let long = UUID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_0E0F)
  static let octets = "0f0e0d0c0b0a09080706050403020100"
}

@Suite("GATT: the server's responses")
struct ServerRequestTests {
  @Test(
    "A request gets the response of Vol 3 Part F, at an MTU of 23",
    arguments: [
      // Find Information: one UUID width at a time, gaps skipped.
      ("040100ffff", "0501" + "01000028" + "02000328" + "0300002a" + "04000328" + "0500012a"),
      ("04060010ff", "0501" + "10000028" + "12000328"),
      ("041300ffff", "0502" + "1300" + PDUValues.octets),
      ("0420000f00", "0104200001"), ("0400000f00", "0104000001"), ("0420002f00", "010420000a"),
      // Find By Type Value: by either UUID form, groups and single attributes.
      ("060100ffff00280018", "0701000500"),
      ("060100ffff0028" + "fb349b5f80000080001000000018" + "0000", "0701000500"),
      ("060100ffff0028" + PDUValues.octets, "0710001f00"),
      ("060100ffff012a0000", "0705000500"), ("060100ffff00280118", "010601000a"),
      ("060100ffff0028", "010601000a"), ("0600000f0000280018", "0106000001"),
      // Read By Type: equal lengths only; an error only for the first attribute.
      ("080100ffff0328", "0907" + "0200020300002a" + "0400020500012a"),
      ("080500ffff0328", "0915" + "1200" + "1a1300" + PDUValues.octets),
      ("080100ffff002a", "0907" + "0300" + "626f617264"),
      ("080400ffff002a", "01081a0002"), ("08060010000328", "010806000a"),
      ("080500010000" + "28", "0108050001"),
      ("080100ffff" + PDUValues.octets, "0915" + "1300" + "000102030405060708090a0b0c0d0e0f101112"),
      // Read By Group Type.
      ("100100ffff0028", "1106" + "01000500" + "0018"),
      ("100600ffff0028", "1114" + "10001f00" + PDUValues.octets),
      ("102000ffff0028", "011020000a"), ("100100ffff0128", "1106" + "fdffffff" + "0f18"),
      ("100100ffff0328", "0110010010"), ("100000ffff0028", "0110000001"),
      // Read and Read Blob.
      ("0a0300", "0b626f617264"), ("0a0700", "010a070001"), ("0a0000", "010a000001"),
      ("0a1a00", "010a1a0002"), ("0a1300", "0b000102030405060708090a0b0c0d0e0f101112131415"),
      ("0a1400", "0b0000"), ("0c13002c00", "0d2c2d2e2f303132333435363738393a3b"),
      ("0c13003c00", "0d"), ("0c13003d00", "010c130007"), ("0c03000400", "0d64"),
      ("0c1a000000", "010c1a0002"), ("0c07000000", "010c070001"),
      // Read Multiple.
      ("0e03000500", "0f626f6172640000"), ("0e03000700", "010e070001"),
      ("0e03001a00", "010e1a0002"),
      ("2003000500", "21" + "0500626f617264" + "02000000"),
      ("2005001300", "21" + "02000000" + "3c00" + "000102030405060708090a0b0c0d0e0f"),
      ("2003000700", "0120070001"),
      // Writes.
      ("121a0001020304", "13"), ("121a000102030405", "01121a000d"), ("120300ff", "0112030003"),
      ("12070000", "0112070001"), ("121200ff", "0112120003"), ("121400010000", "011214000d"),
      ("12140001", "011214000d"), ("1214000200", "01121400fd"), ("1214000100", "13"),
      // Prepared writes: permissions are checked at once, offsets and lengths at the end.
      ("161a00000001", "171a00000001"), ("160300000001", "0116030003"),
      ("160700000001", "0116070001"), ("1800", "19"), ("1801", "19"),
      // Unknown opcodes.
      ("bf00", "01bf000006"), ("20010002", "0120000004"),
    ] as [(String, String)])
  func responses(request: String, response: String) throws {
    try TestLoop.run { loop in
      let pair = Pair(loop)
      try odd(pair.database)
      #expect(pair.ask(request) == response)
    }
  }

  @Test("Several values are written together only if each characteristic allows reliable writes")
  func reliable() throws {
    try TestLoop.run { loop in
      let pair = Pair(loop)
      func value(_ bits: UInt8?) -> CharacteristicDefinition {
        CharacteristicDefinition(
          0x2A00, bits == nil ? [.read, .write] : [.read, .write, .extended],
          descriptors: bits.map {
            [DescriptorDefinition(.extendedProperties, value: .stored([$0, 0]))]
          } ?? [])
      }
      // The values are at 3, 6, 9 and 12.
      try pair.database.add(
        ServiceDefinition(0x1234, characteristics: [value(1), value(1), value(0), value(nil)]))
      func together(_ handles: [Handle]) -> String? {
        for handle in handles {
          _ = pair.ask("16" + [UInt8(handle), 0, 0, 0, 5].hex)
        }
        return pair.ask("1801")
      }
      #expect(together([3, 6]) == "19")
      #expect(together([3, 9]) == "0118090006")
      #expect(together([12, 3]) == "01180c0006")
      #expect(together([12, 12]) == "19")
      #expect(pair.database.value(at: 6) == [5])
      #expect(pair.database.value(at: 9) == [])
    }
  }
}
