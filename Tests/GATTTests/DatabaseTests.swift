// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import Testing
import Wire

@Suite("GATT: the attribute database")
struct DatabaseTests {
  @Test("Handles are assigned in order, and given ones are kept")
  func handles() throws {
    let database = AttributeDatabase()
    let first = try database.add(
      ServiceDefinition(
        0x1800,
        characteristics: [
          .init(0x2A00, [.read, .notify], descriptors: [.init(.userDescription, value: .stored([]))]),
          .init(0x2A01, [.read], at: 0x0010, valueHandle: 0x0014),
        ]))
    #expect(first.service.range == HandleRange(1, 0x14))
    #expect(first[0x2A00]?.value == 3)
    #expect(first[0x2A00]?.cccd == 4)
    #expect(first[0x2A00]?.end == 0x0F)
    #expect(first[0x2A01]?.value == 0x14)
    let fixed = try database.add(ServiceDefinition(0x1801, at: 0x0100, end: 0x01FF))
    #expect(fixed.service.range == HandleRange(0x0100, 0x01FF))
    let next = try database.add(ServiceDefinition(0x180A))
    #expect(next.service.range.start == 0x0200)
    let between = try database.add(ServiceDefinition(0x180F, at: 0x0015))
    #expect(database.services == [first, between, fixed, next])
  }

  @Test("A service that overlaps another's handles, or has none left, is refused")
  func conflicts() throws {
    let last = ServiceDefinition(0x1801, at: 0xFFFF)
    let database = try AttributeDatabase([ServiceDefinition(0x1800, at: 0x10, end: 0x20), last])
    let value = CharacteristicDefinition(0x2A00, [.read])
    let backwards = CharacteristicDefinition(0x2A00, [.read], at: 0x40, valueHandle: 0x40)
    for (handle, service) in [
      (0x10, ServiceDefinition(0x1801, at: 0x10, characteristics: [value])),
      (0x20, ServiceDefinition(0x1801, at: 0x20, characteristics: [value])),
      (0x0F, ServiceDefinition(0x1801, at: 0x0F, characteristics: [value])), (0, ServiceDefinition(0x1801, at: 0)),
      (0x30, ServiceDefinition(0x1801, at: 0x30, end: 0x30, characteristics: [value])),
      (0x40, ServiceDefinition(0x1801, at: 0x30, characteristics: [backwards])),
      (0xFFFF, ServiceDefinition(0x1801, at: 0xFFFF, characteristics: [value])),
      (0xFFFF, last), (0xFFFF, ServiceDefinition(0x1802)),
    ] as [(Handle, ServiceDefinition)] {
      #expect(throws: AttributeDatabase.Failure.handleTaken(handle)) { try database.add(service) }
    }
    #expect(database.services.count == 2)
  }

  @Test("The daemon's own services keep their handles, which phones remember")
  func fixedHandles() throws {
    let parameters = ConnectionParameters(
      minimumInterval: 24, maximumInterval: 40, latency: 4, timeout: 600)
    let database = try AttributeDatabase([
      StandardServices.genericAccess(name: { "board" }, preferred: parameters), StandardServices.genericAttribute(),
      StandardServices.deviceInformation(manufacturer: "m", model: "n", software: "v"), StandardServices.bonding(),
    ])
    let values = database.services.flatMap { service in
      service.characteristics.map { "\(hexadecimal($0.value)) \($0.uuid)" }
    }
    #expect(
      values == [
        "0x0003 2A00", "0x0005 2A01", "0x0007 2A04", "0x0009 2AA6", "0x0012 2A05", "0x0015 2B29", "0x0017 2B2A",
        "0x0022 2A29", "0x0024 2A24", "0x0028 2A28", "0x0032 6C8A0002-52C4-4F7B-9D3E-A17C5E20B64D",
      ])
    #expect(database.value(at: 0x0005) == [0, 0])
    #expect(database.value(at: 0x0007)?.hex == "180028000400" + "5802")
    #expect(database[0x1801]?[0x2A05]?.cccd == 0x0013)
  }
}
