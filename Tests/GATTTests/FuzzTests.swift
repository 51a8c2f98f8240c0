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
}

@Suite("GATT: thousands of random PDUs")
struct FuzzTests {
  @Test(
    "Each request is answered once and within the MTU, and nothing else is answered",
    arguments: 0..<10)
  func server(seed: Int) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == "att-server" })
    var attacker = Attacker(generator: SeededGenerator(seed: UInt64(seed)))
    for choices in 0..<UInt8(64) {
      try target.play([choices] + (0..<64).flatMap { _ in attacker.packet() })
    }
  }

  @Test(
    "A client ends each procedure exactly once, whatever the responses", arguments: 0..<10
  )
  func client(seed: Int) throws {
    try TestLoop.run { loop in
      var attacker = Attacker(generator: SeededGenerator(seed: UInt64(seed) + 500))
      let bearer = Bearer(scheduler: loop.clock)
      let client = Client(bearer)
      var request: Opcode?
      bearer.send = { octets in
        let opcode = octets.first.map { Opcode(rawValue: $0) }
        if opcode?.role == .request { request = opcode }
      }
      var ended = 0
      for round in 0..<120 {
        let procedure = loop.start { try await Self.procedure(round, client) }
        await loop.settle()
        var tries = 0
        while procedure.result == nil, tries < 3_000 {
          tries += 1
          // Mostly plausible responses, with random contents.
          if let asked = request, Int.random(in: 0..<3, using: &attacker.generator) > 0 {
            bearer.receive(Self.response(to: asked, &attacker))
          } else {
            bearer.receive(attacker.next())
          }
          await loop.settle()
        }
        if procedure.result != nil { ended += 1 }
      }
      #expect(ended == 120)
      bearer.close(.closed("done"))
    }
  }

  private static func response(to request: Opcode, _ attacker: inout Attacker) -> [UInt8] {
    var generator = attacker.generator
    defer { attacker.generator = generator }
    let errors: [UInt8] = [0x01, 0x05, 0x0A, 0x0B, 0x12, 0x80]
    if Int.random(in: 0..<4, using: &generator) == 0 {
      return [0x01, request.rawValue, 1, 0, errors.randomElement(using: &generator) ?? 0]
    }
    let start = UInt8.random(in: 1...200, using: &generator)
    let body: [UInt8] =
      switch request {
      case .findInformationRequest: [1, start, 0, 2, 41, start &+ 1, 0, 2, 41]
      case .findByTypeValueRequest: [start, 0, start | 3, 0]
      case .readByTypeRequest: [7, start, 0, 0x3A, start &+ 1, 0, 0, 42]
      case .readByGroupTypeRequest: [6, start, 0, start | 7, 0, 0x0F, 24]
      default: generator.bytes(upTo: 22)
      }
    let octets = [request.response.rawValue] + body
    return Bool.random(using: &generator) ? octets : generator.mutated(octets)
  }

  private static func procedure(_ number: Int, _ client: Client) async throws {
    switch number % 9 {
    case 0: _ = try await client.primaryServices()
    case 1: _ = try await client.primaryServices(0x1800)
    case 2: _ = try await client.include(.init(handle: 2, value: [1, 0, 2, 0]))
    case 3: _ = try await client.characteristics(in: .all)
    case 4: _ = try await client.characteristics(in: .all, resumingAfter: .value)
    case 5: _ = try await client.attributes(in: .all)
    case 6: _ = try await client.locate(0x1800)
    case 7: _ = try await client.readLong(3)
    default: try await client.writeLong(3, [UInt8](repeating: 1, count: 60))
    }
  }
}
