// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import TestLoop
import Testing
import Wire

@Suite("GATT: locating several services at once")
struct LocatingTests {
  private static let one = UUID(high: 0x1111_0000_0000_0000, low: 1)
  private static let two = UUID(high: 0x2222_0000_0000_0000, low: 2)
  private static let first = UUID(high: 0x1111_0000_0000_0000, low: 0xA)
  private static let second = UUID(high: 0x1111_0000_0000_0000, low: 0xB)
  private static let third = UUID(high: 0x2222_0000_0000_0000, low: 0xC)

  /// A database with battery, two instances of one service, and another one.
  private static func database() throws -> AttributeDatabase {
    let instance = ServiceDefinition(one, characteristics: [.init(first, [.notify]), .init(second, [.read])])
    return try AttributeDatabase([
      ServiceDefinition(.batteryService, characteristics: [.init(.batteryLevel, [.notify])]),
      instance, instance, ServiceDefinition(two, characteristics: [.init(third, [.indicate])]),
    ])
  }

  private static func wanted(_ instance: WantedService.Instance) -> [WantedService] {
    [
      WantedService(one, [first, second], instance), WantedService(two, [third]),
      WantedService(.batteryService, [.batteryLevel]),
    ]
  }

  @Test(
    "All are found in three requests, with their configurations",
    arguments: [(WantedService.Instance.first, Handle(5)), (.last, 11)])
  func together(instance: WantedService.Instance, start: Handle) throws {
    try TestLoop.run { loop in
      let pair = try Pair(loop, database: Self.database())
      try await pair.client.bearer.exchangeMTU()
      let found = try await pair.client.locate(Self.wanted(instance))
      #expect(pair.client.bearer.requestsSent == 4)
      #expect(found.map(\.service.uuid) == [Self.one, Self.two, .batteryService])
      #expect(found.first?.service.range.start == start)
      #expect(found.first?[Self.first]?.cccd == start + 3)
      #expect(found.first?[Self.second]?.cccd == nil)
      #expect(found.allSatisfy { $0.service.range.isValid })
    }
  }

  @Test(
    "The last instance is found behind the response that showed the first; where there is none, nothing is asked",
    arguments: [23, 48], [true, false])
  func lastOfSeveral(mtu: Int, isThere: Bool) throws {
    try TestLoop.run { loop in
      let database = try Self.database()
      if !isThere { for start: Handle in [11, 17] { database.remove(at: start) } }
      // At an MTU of 23 a response shows one characteristic, at 48 two.
      let pair = Pair(loop, mtu: mtu, database: database)
      try await pair.client.bearer.exchangeMTU()
      let found = try await pair.client.locate([WantedService(Self.one, [Self.first, Self.second], .last)])
      #expect(found.first?.service.range.start == (isThere ? 11 : 5))
      #expect(found.first?[Self.first]?.cccd == (isThere ? 14 : 8))
      if mtu == 48, !isThere { #expect(pair.client.bearer.requestsSent == 4) }
    }
  }

  @Test("A server that refuses to list all characteristics is asked service by service")
  func refused() throws {
    try TestLoop.run { loop in
      let pair = try Pair(loop, database: Self.database())
      pair.intercept { pdu in
        guard case .readByTypeRequest(HandleRange.all, _) = pdu else { return nil }
        return .error(.insufficientAuthorization, to: pdu.opcode, at: 1)
      }
      try await pair.client.bearer.exchangeMTU()
      let found = try await pair.client.locate(Self.wanted(.last))
      #expect(found.map(\.service.uuid) == [Self.one, Self.two, .batteryService])
      #expect(found.first?[Self.first]?.cccd == 14)
    }
  }

  @Test("What was located is verified in one request, and what has moved is not")
  func verified() throws {
    try TestLoop.run { loop in
      let database = try Self.database()
      let pair = Pair(loop, database: database)
      try await pair.client.bearer.exchangeMTU()
      let found = try await pair.client.locate(Self.wanted(.last)).filter {
        $0.service.uuid.short == nil
      }
      let before = pair.client.bearer.requestsSent
      #expect(try await pair.client.verify(found))
      #expect(pair.client.bearer.requestsSent == before + 1)
      #expect(try await !pair.client.verify([]))
      database.remove(at: 11)
      #expect(try await !pair.client.verify(found))
      try database.add(
        ServiceDefinition(
          Self.one, at: 0x40, characteristics: [.init(Self.first, [.notify]), .init(Self.second, [.read])]))
      #expect(try await !pair.client.verify(found))
    }
  }

  @Test("An early value is kept for its handler, if that is wanted", arguments: [true, false])
  func early(isKept: Bool) throws {
    try TestLoop.run { loop in
      let pair = try Pair(loop)
      var values: [[UInt8]] = []
      var unclaimed: [Handle] = []
      pair.client.onUnclaimedValue = { handle, _ in unclaimed.append(handle) }
      if isKept { pair.client.keepEarlyValues() }
      for number in UInt8(1)...3 { try pair.far.notify(7, [number]) }
      try pair.far.notify(8, [0])
      pair.client.setHandler(for: 7) { values.append($0) }
      #expect(values == (isKept ? [[1], [2], [3]] : []))
      #expect(unclaimed == (isKept ? [] : [7, 7, 7, 8]))
      pair.client.dropEarlyValues()
      #expect(unclaimed == (isKept ? [8] : [7, 7, 7, 8]))
    }
  }
}
