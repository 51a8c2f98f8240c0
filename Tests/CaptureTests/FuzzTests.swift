// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Capture
import TestLoop
import Testing
import Wire

@testable import FuzzTargets

@Suite("Captures: random input")
struct FuzzTests {
  @Test("Mutated PDUs on a discovered link")
  func talks() {
    var generator = SeededGenerator(seed: 79)
    var known = DiscoveredLink()
    let pdus: [[UInt8]] = [
      [0x12, 0x12, 0, 0, 7, 0, 0, 0, 0, 1, 64, 0, 5], [0x1B, 0x18, 0, 0, 7, 0, 0, 0, 0, 1, 0, 0x61],
      [0x1B, 0x15, 0, 0, 0, 6, 1, 7, 0, 0, 0], [0x1B, 0x25, 0, 2, 2, 1, 0x61, 0xC3], [0x0A, 0x28, 0],
      [0x0B, 0x61, 0x62], [0x0C, 0x28, 0, 2, 0], [0x0D, 0x63], [0x13], [0x16, 0x12, 0, 0, 0, 1, 2], [0x18, 1],
      [0x1D, 0x03, 0, 0x10, 0, 0x1F, 0], [0x1E], [0x08, 1, 0, 0xFF, 0xFF, 3, 0x28],
      [0x09, 7, 2, 0, 0x10, 3, 0, 5, 0x2A], [0x10, 1, 0, 0xFF, 0xFF, 0, 0x28], [0x11, 6, 1, 0, 9, 0, 0, 0x18],
      [0x04, 1, 0, 9, 0], [0x05, 1, 2, 0, 3, 0x28], [0x06, 1, 0, 9, 0, 0, 0x28, 0, 0x18], [0x07, 1, 0, 9, 0],
      [0x01, 0x12, 0x12, 0, 0xA2], [0x20, 3, 0, 4, 0], [0x21, 1, 0, 5, 2, 0], [0x23, 0x15, 0, 1, 0, 9, 0x25, 0, 0, 0],
    ]
    for _ in 0..<30_000 {
      let pdu = generator.mutated(pdus.randomElement(using: &generator) ?? [])
      let unit = Bool.random(using: &generator) ? known.link.send(pdu) : known.link.receive(pdu)
      #expect(unit?.layer == .att)
    }
  }
}
