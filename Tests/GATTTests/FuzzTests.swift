// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import FuzzTargets
import GATT
import TestLoop
import Testing
import Wire

/// PDUs of a broken or hostile peer.
private struct Attacker {
  var generator: SeededGenerator

  mutating func handle() -> Handle {
    switch Int.random(in: 0..<8, using: &generator) {
    case 0: 0
    case 1: .max
    case 2: .random(in: 0...(.max), using: &generator)
    // Values that can be written.
    case 3: Bool.random(using: &generator) ? 0x42 : 0x45
    default: .random(in: 1...0x50, using: &generator)
    }
  }

  mutating func type() -> [UInt8] {
    let types: [UUID] = [
      0x2800, 0x2801, 0x2802, 0x2803, 0x2900, 0x2902, 0x2A00, 0x2A05, 0x2B29, 0x2B2A,
      StandardServices.bondingValue,
    ]
    let type = types.randomElement(using: &generator) ?? 0x2800
    return Bool.random(using: &generator) ? type.littleEndian : type.littleEndian128
  }

  /// One PDU, mostly well formed, so that it gets far enough to do harm.
  mutating func next() -> [UInt8] {
    let opcodes: [UInt8] = [
      0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F,
      0x10,
      0x11, 0x12, 0x13, 0x16, 0x17, 0x18, 0x19, 0x1B, 0x1D, 0x1E, 0x20, 0x21, 0x23, 0x52, 0xD2,
    ]
    var writer = ByteWriter()
    let opcode = opcodes.randomElement(using: &generator) ?? 0
    writer.u8(
      Int.random(in: 0..<20, using: &generator) == 0 ? generator.bytes(upTo: 1).first ?? 0 : opcode)
    switch opcode {
    case 0x04: for _ in 0..<2 { writer.u16(handle()) }
    case 0x06, 0x08, 0x10:
      let start = handle()
      writer.u16(start)
      writer.u16(Bool.random(using: &generator) ? .max : handle())
      writer.bytes(type())
      if opcode == 0x06 { writer.bytes(generator.bytes(upTo: 20)) }
    case 0x0E, 0x20:
      for _ in 0..<Int.random(in: 1...12, using: &generator) { writer.u16(handle()) }
    case 0x12, 0x52, 0x1B, 0x1D, 0xD2:
      writer.u16(handle())
      writer.bytes(generator.bytes(upTo: Bool.random(using: &generator) ? 3 : 600))
    case 0x0C, 0x16:
      writer.u16(handle())
      writer.u16(Bool.random(using: &generator) ? 0 : handle())
      if opcode == 0x16 { writer.bytes(generator.bytes(upTo: 40)) }
    case 0x18: writer.u8(.random(in: 0...2, using: &generator))
    case 0x0A, 0x02: writer.u16(handle())
    default: writer.bytes(generator.bytes(upTo: 40))
    }
    return Int.random(in: 0..<4, using: &generator) == 0
      ? generator.mutated(writer.bytes) : writer.bytes
  }

  /// One PDU as `FuzzInput.packet` reads it, behind its length; sometimes the database changes after it.
  mutating func packet() -> [UInt8] {
    var pdu = next().prefix(512) + []
    // Longer ones have whole multiples of 32 bytes.
    if pdu.count >= 112 { pdu.removeLast(pdu.count % 32) }
    let length = pdu.count < 112 ? pdu.count : 111 + pdu.count / 32
    let isChange = Int.random(in: 0..<100, using: &generator) == 0
    return [UInt8(length) | (isChange ? 0x80 : 0)] + pdu
  }

  /// One PDU from a server as `FuzzInput.packet` reads it: mostly what answers a request, marked so that the target puts the
  /// opcode of the response in front.
  mutating func response() -> [UInt8] {
    guard Int.random(in: 0..<3, using: &generator) > 0 else { return packet() }
    let start = UInt8.random(in: 1...200, using: &generator)
    let bodies: [[UInt8]] = [
      [1, start, 0, 2, 41, start &+ 1, 0, 2, 41], [start, 0, start | 3, 0],
      [7, start, 0, 0x3A, start &+ 1, 0, 0, 42], [6, start, 0, start | 7, 0, 0x0F, 24],
      generator.bytes(upTo: 22),
    ]
    var body = bodies.randomElement(using: &generator) ?? []
    if Bool.random(using: &generator) { body = generator.mutated(body).prefix(111) + [] }
    return [UInt8(body.count) | 0x80] + body
  }
}

@Suite("GATT: thousands of random PDUs")
struct FuzzTests {
  private func attack(
    _ name: String, seed: Int, with packet: (inout Attacker) -> [UInt8]
  ) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    var attacker = Attacker(generator: SeededGenerator(seed: UInt64(seed)))
    for choice in UInt8.min...UInt8.max {
      try target.play([choice] + (0..<64).flatMap { _ in packet(&attacker) })
    }
  }

  @Test(
    "Each request is answered once and within the MTU, and nothing else is answered",
    arguments: 0..<3)
  func server(seed: Int) throws { try attack("att-server", seed: seed) { $0.packet() } }

  @Test("A client ends each procedure exactly once, whatever the responses", arguments: 0..<3)
  func client(seed: Int) throws { try attack("att-client", seed: 500 + seed) { $0.response() } }
}
