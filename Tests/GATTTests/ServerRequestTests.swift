// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import TestLoop
import Testing
import Wire

/// Requests of Vol 3 Part F whose responses the transcripts (docs/conformance.md) leave out.
@Suite("GATT: the server's responses")
struct ServerRequestTests {
  private static let long = UUID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_0E0F)
  private static let octets = long.littleEndian.hex

  @Test(
    "Attributes are found across gaps, by either form of a UUID, and allow what their properties say",
    arguments: [
      ("04060010ff", "0501" + "10000028" + "18000328" + "1900002a"), ("0420000f00", "0104200001"),
      ("0420002f00", "010420000a"), ("060100ffff" + "0028" + "0018", "0701000500"),
      ("060100ffff" + "0028" + "fb349b5f80000080001000000018" + "0000", "0701000500"),
      ("060100ffff" + "0028" + octets, "0710001f00"), ("060100ffff" + "012a" + "0000", "0705000500"),
      ("060100ffff" + "0028", "010601000a"), ("080400ffff" + "002a", "0108190002"),
      ("100600ffff" + "0028", "1114" + "10001f00" + octets),
      ("100100ffff" + "0128", "1106" + "fdfffdff" + "0f18"),
      ("0a1900", "010a190002"), ("120300ff", "0112030003"), ("120200ff", "0112020003"),
      ("12190001020304", "13"), ("1219000102030405", "011219000d"),
    ] as [(String, String)])
  func responses(request: String, response: String) throws {
    try TestLoop.run { loop in
      // Services with a gap between them, and types of both widths.
      let pair = try Pair(
        loop,
        ServiceDefinition(
          0x1800, at: 0x0001,
          characteristics: [
            .init(0x2A00, [.read], value: .stored(Array("board".utf8))),
            .init(0x2A01, [.read], value: .stored([0, 0])),
          ]),
        ServiceDefinition(
          Self.long, at: 0x0010, end: 0x001F, characteristics: [.init(0x2A00, [.write], maximumLength: 4, at: 0x0018)]),
        ServiceDefinition(0x180F, isPrimary: false, at: 0xFFFD))
      #expect(pair.ask(request) == response)
    }
  }
}
