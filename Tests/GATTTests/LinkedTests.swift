// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import TestLoop
import Testing
import Wire

/// A random database: primary and secondary services, types of both widths, gaps, values of all lengths.
private func random(_ generator: inout SeededGenerator) throws -> AttributeDatabase {
  let database = AttributeDatabase()
  func type(_ generator: inout SeededGenerator) -> UUID {
    Bool.random(using: &generator)
      ? UUID(UInt16.random(in: 0x2A00...0x2AFF, using: &generator))
      : UUID(high: generator.next(), low: generator.next())
  }
  var next = Handle.random(in: 1...20, using: &generator)
  var services: [Service] = []
  for _ in 0..<Int.random(in: 1...8, using: &generator) {
    var service = ServiceDefinition(type(&generator), isPrimary: .random(in: 0..<4, using: &generator) > 0, at: next)
    if let included = services.randomElement(using: &generator), Bool.random(using: &generator) {
      service.includes = [included]
    }
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
      let value = (0..<Int.random(in: 0...512, using: &generator)).map {
        UInt8(truncatingIfNeeded: $0)
      }
      var characteristic = CharacteristicDefinition(
        type(&generator),
        [[.read, .write], [.read, .write, .notify], [.read, .write, .indicate]]
          .randomElement(using: &generator) ?? [], value: .stored(value))
      if Bool.random(using: &generator) {
        characteristic.descriptors.append(
          .init(.userDescription, value: .stored(Array("description".utf8))))
      }
      service.characteristics.append(characteristic)
    }
    let located = try database.add(service)
    services.append(located.service)
    next = located.service.range.end + Handle.random(in: 1...30, using: &generator)
  }
  return database
}

@Suite("GATT: client and server together")
struct LinkedTests {
  @Test("At any MTU, the client finds what the server has", arguments: 0..<40)
  func discovery(seed: Int) throws {
    try TestLoop.run { loop in
      var generator = SeededGenerator(seed: UInt64(seed))
      let database = try random(&generator)
      let mtu = [23, 24, 25, 40, 185, 512, 517][seed % 7]
      let pair = Pair(loop, mtu: mtu, database: database)
      if mtu > Bearer.defaultMTU { try await pair.near.exchangeMTU() }
      let primary = try await pair.client.primaryServices()
      let discovery = DatabaseDiscovery(pair.client)
      try await discovery.discoverServices()
      #expect(discovery.services.map(\.service) == database.services.map(\.service))
      #expect(discovery.services.filter(\.isPrimary).map(\.service) == primary)
      for service in database.services {
        let range = service.service.range
        #expect(try await pair.client.locate(service.service) == service)
        let whole = try await pair.client.characteristics(in: range)
        let thrifty = try await pair.client.characteristics(in: range, resumingAfter: .value)
        #expect(whole == thrifty)
        let same = try await pair.client.primaryServices(service.service.uuid)
        #expect(same == primary.filter { $0.uuid == service.service.uuid })
        let index = try #require(discovery.services.firstIndex { $0.service == service.service })
        try await discovery.discoverContents(of: index)
        for include in discovery.services[index].includes {
          #expect(database.services.map(\.service).contains(include.service))
        }
      }
      #expect(pair.trace.allSatisfy { ($0.utf8.count - 1) / 2 <= pair.near.mtu })
    }
  }

  @Test("At any MTU, long values are read and written completely", arguments: 0..<20)
  func values(seed: Int) throws {
    try TestLoop.run { loop in
      var generator = SeededGenerator(seed: UInt64(seed) + 1000)
      let database = try random(&generator)
      let mtu = Int.random(in: 23...517, using: &generator)
      let pair = Pair(loop, mtu: mtu, database: database)
      if mtu > Bearer.defaultMTU { try await pair.near.exchangeMTU() }
      for characteristic in database.services.flatMap(\.characteristics) {
        let value = try await pair.client.readLong(characteristic.value)
        #expect(value == database.value(at: characteristic.value))
        let new = generator.bytes(upTo: 512)
        // A queue of 64 parts holds 512 octets at any MTU.
        try await pair.client.writeLong(characteristic.value, new)
        #expect(database.value(at: characteristic.value) == new)
      }
    }
  }

  @Test("Long writes at the same time are executed one after another")
  func longWrites() throws {
    try TestLoop.run { loop in
      let characteristics = (0x2A00..<0x2A03 as Range<UInt16>).map {
        CharacteristicDefinition(UUID($0), [.read, .write])
      }
      let pair = try Pair(loop, ServiceDefinition(0x180F, characteristics: characteristics))
      let handles: [Handle] = [3, 5, 7]
      let send = pair.near.send
      pair.near.send = { bytes in _ = loop.clock.schedule(after: .milliseconds(1)) { send(bytes) } }
      let user = pair.client.acting(for: .user(Cancellation()))
      let writes = zip([pair.client, user, user], handles).map { client, handle in
        loop.start {
          try await client.writeLong(handle, [UInt8](repeating: UInt8(handle), count: 100))
        }
      }
      await loop.sleep(for: .seconds(1))
      for (write, handle) in zip(writes, handles) {
        #expect(write.failure == nil && write.value != nil)
        #expect(pair.database.value(at: handle) == [UInt8](repeating: UInt8(handle), count: 100))
      }
      // A write that fails does not hold up the next one.
      let missing = loop.start { try await user.writeLong(0x100, [1]) }
      let next = loop.start { try await pair.client.writeLong(handles[0], [2]) }
      await loop.sleep(for: .seconds(1))
      #expect((missing.failure as? ATTFailure)?.code == .invalidHandle)
      #expect(next.value != nil && pair.database.value(at: handles[0]) == [2])
    }
  }
}
