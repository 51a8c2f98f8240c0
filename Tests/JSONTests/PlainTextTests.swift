// SPDX-License-Identifier: GPL-3.0-or-later
import Testing

@testable import JSON

@Suite("Texts without escapes") struct PlainTextTests {
  @Test("Each byte is found at each place, as by a search byte by byte", arguments: [1, 7, 8, 9, 16, 23, 24, 31, 40])
  func everyByte(length: Int) {
    for place in 0..<length {
      for byte in UInt8.min...UInt8.max {
        var text = [UInt8](repeating: UInt8(ascii: "a"), count: length)
        text[place] = byte
        let isPlain = PlainText.holds(text.span.bytes)
        #expect(isPlain == (!PlainText.isEscaped(byte) && byte != 0xC2), "\(byte) at \(place)")
      }
    }
  }

  @Test("A text with an escaped character is never taken for plain, whatever surrounds it")
  func neighbours() {
    for escaped in [0x00, 0x1F, 0x22, 0x5C, 0x7F, 0xC2] as [UInt8] {
      for other in UInt8.min...UInt8.max {
        for place in 0..<8 {
          var text = [UInt8](repeating: other, count: 8)
          text[place] = escaped
          let isPlain = PlainText.holds(text.span.bytes)
          #expect(!isPlain)
        }
      }
    }
  }
}
