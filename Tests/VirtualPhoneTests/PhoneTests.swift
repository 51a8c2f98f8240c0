// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Companion
import GAP
import GATT
import TestLoop
import Testing
import VirtualPhone
import Wire

@Suite("Virtual phone: database, link and commands")
struct PhoneTests {
  static let message = ProviderTests.message

  @Test("Battery and time are read and notified, and the clock runs")
  func smallServices() throws {
    try Bench.run { _, bench in
      var values: [[UInt8]] = []
      try await bench.subscribe(to: .batteryService, receiving: [.batteryLevel: { values.append($0) }])
      try await bench.subscribe(to: .currentTimeService, receiving: [.currentTime: { values.append($0) }])
      #expect(try await bench.client.read(0x0016) == [80])
      await bench.pass(.seconds(60))
      let now = try CurrentTime(decoding: try await bench.client.read(0x001A))
      #expect(now.time.description == "2026-11-21T09:42:00")
      let zone = try LocalTimeInformation(decoding: try await bench.client.read(0x001D))
      #expect(zone.secondsFromUTC == 3600)
      try bench.phone.perform(.battery(79))
      let midnight = try #require(CivilTime("2026-12-31T23:59:59"))
      try await bench.perform(.time(midnight, zone: nil))
      #expect(values.first == [79])
      #expect(try CurrentTime(decoding: values.last ?? []).time == midnight)
      await bench.pass(.seconds(2))
      let later = try CurrentTime(decoding: try await bench.client.read(0x001A))
      #expect(later.time.description == "2027-01-01T00:00:01")
    }
  }

  @Test("ANCS, AMS, battery and time require encryption")
  func security() throws {
    try Bench.run(.unencrypted) { _, bench in
      for handle: Handle in [0x25, 0x29, 0x2C, 0x2F, 0x31, 0x35, 0x37, 0x17] {
        #expect(await bench.refusal(of: [1, 0], at: handle) == 0x05, "at \(hexadecimal(handle))")
      }
      try bench.phone.perform(.encrypt(true))
      try await bench.subscribeNotifications()
    }
  }

  @Test("Wrong lengths, values and kinds of write are refused and reported")
  func strictness() throws {
    try Bench.run { _, bench in
      try await bench.subscribeNotifications()
      let source = try bench.characteristic(.notificationSource)
      let cccd = try #require(source.cccd)
      for (handle, value, code) in [
        (cccd, [1], 0x0D), (cccd, [2, 0], 0xFD), (source.value, [0], 0x03), (0x0003, [0x41], 0x03),
        (0x0099, [0], 0x01),
      ] as [(Handle, [UInt8], UInt8)] {
        #expect(await bench.refusal(of: value, at: handle) == code)
      }
      #expect(bench.violations.count == 4)
      try bench.client.writeCommand(try bench.handle(of: .controlPoint), [2])
      await bench.pass()
      #expect(bench.violations.count == 5)
      #expect(!bench.events.contains { if case .controlPoint = $0 { true } else { false } })
      bench.bearer.send([0x12])
      await bench.pass()
      #expect(bench.events.contains { if case .dropped([0x12], _) = $0 { true } else { false } })
    }
  }

  @Test("ANCS that is unpublished has no session any more, and returns at its handles or at new ones")
  func comingAndGoing() throws {
    try Bench.run { _, bench in
      try await bench.subscribeNotifications()
      let first = try bench.handle(of: .notificationSource)
      for isFresh in [false, true] {
        try await bench.perform(.unpublish(.ancs), .add(Self.message, uid: isFresh ? 8 : 7))
        #expect(try await bench.client.locate(.notificationCenter) == nil)
        #expect(bench.source.count == (isFresh ? 1 : 0))
        try await bench.perform(.publish(.ancs, freshHandles: isFresh))
        try await bench.subscribeNotifications()
        #expect((try bench.handle(of: .notificationSource) == first) != isFresh)
      }
      #expect(bench.source.map(\.uid) == [7, 7, 8])
    }
  }

  @Test("No bytes from the peer do the phone any harm")
  func garbage() throws {
    try Bench.run { _, bench in
      try await bench.subscribeNotifications()
      try await bench.subscribeMedia()
      try bench.phone.perform(.add(Self.message, uid: 7))
      var generator = SeededGenerator(seed: 7)
      let opcodes: [UInt8] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 22, 24, 32, 0x52, 0xD2]
      for _ in 0..<20_000 {
        // A request or a command to one of the phone's handles, or anything.
        let opcode = opcodes.randomElement(using: &generator) ?? 0
        let values = generator.bytes(upTo: 24).map { $0 < 128 ? $0 & 3 : $0 }
        let isAnything = UInt8.random(in: 0..<8, using: &generator) == 0
        bench.phone.receive(isAnything ? values : [opcode, .random(in: 0..<0x3A, using: &generator), 0] + values)
        if UInt8.random(in: 0..<100, using: &generator) == 0 { await bench.pass() }
      }
      await bench.pass(.seconds(1))
      try await bench.perform(.disconnect)
      #expect(bench.reconnect())
      try await bench.subscribeNotifications()
      #expect(bench.source.count == bench.phone.notifications.count)
    }
  }

  @Test("Subscriptions are forgotten silently on command and at the end of a link")
  func forgetting() throws {
    try Bench.run { _, bench in
      try await bench.subscribeNotifications()
      try await bench.subscribeMedia()
      try await bench.perform(.forgetSubscriptions(.ancs), .add(Self.message, uid: 7))
      #expect(bench.source.isEmpty)
      try await bench.write(ProviderTests.title.encoded, to: .controlPoint)
      await bench.pass()
      #expect(bench.data.isEmpty)
      try bench.phone.perform(.mediaAttribute(.title, [65]))
      try await bench.configure(.notificationSource)
      await bench.pass()
      #expect(bench.source.map(\.uid) == [7])
    }
  }

  @Test("The phone disconnects and returns with its state, renumbered where it should be")
  func reconnecting() throws {
    try Bench.run { _, bench in
      try bench.phone.perform(.add(Self.message, uid: 7))
      try await bench.perform(.disconnect)
      #expect(bench.end == "the phone hung up")
      #expect(throws: PhoneRefusal.self) { try bench.phone.perform(.disconnect) }
      try await bench.perform(.renumber)
      #expect(bench.reconnect())
      try await bench.subscribeNotifications()
      #expect(bench.source.map(\.uid) == [8])
    }
  }

  @Test("The phone sends raw PDUs, does not respond while frozen, and limits the MTU")
  func raw() throws {
    try Bench.run { loop, bench in
      try await bench.subscribeNotifications()
      var dropped: [[UInt8]] = []
      bench.bearer.onDropped = { bytes, _ in dropped.append(bytes) }
      try await bench.perform(
        .send([0x1B]), .notify(.dataSource, [0xFF, 1, 2]), .indicate(.serviceChanged, [1, 0, 0xFF]))
      await bench.pass(.milliseconds(5))
      #expect(dropped == [[0x1B]])
      #expect(bench.data == [[0xFF, 1, 2]])
      #expect(bench.events.contains(.confirmed(.serviceChanged)))
      try bench.phone.perform(.freeze(true))
      let response = loop.start { try await bench.client.read(0x0003) }
      await bench.pass(.seconds(31))
      #expect(response.failure as? ATTFailure == .timedOut(.readRequest))
      try await bench.perform(.freeze(false), .limitMTU(100), .disconnect)
      bench.reconnect()
      try await bench.bearer.exchangeMTU()
      #expect(bench.bearer.mtu == 100)
    }
  }

  @Test("A second request before the response is reported, even by a frozen phone")
  func impatience() throws {
    try Bench.run { _, bench in
      try bench.phone.perform(.freeze(true))
      bench.phone.receive(PDU.readRequest(3).encoded)
      #expect(bench.violations == [])
      bench.phone.receive(PDU.readRequest(5).encoded)
      #expect(bench.violations == ["Read Request before the response to Read Request"])
    }
  }

  @Test("The phone asks the peer's server, as phones do")
  func questions() throws {
    try Bench.run { _, bench in
      let database = AttributeDatabase()
      try database.add(StandardServices.genericAccess(name: { "board" }))
      try database.add(StandardServices.bonding())
      var security = LinkSecurity.none
      let server = Server(bench.bearer, database: database, security: { security })
      let bonding = ServerRequest.read(StandardServices.bondingValue)
      for request in [.exchangeMTU, .discover, .read(.deviceName), bonding] {
        await bench.phone.ask(request)
      }
      security = .encrypted
      await bench.phone.ask(bonding)
      #expect(server.bearer.mtu == 185)
      let refusal = PDU.ErrorResponse(request: .readByTypeRequest, handle: 0x32, code: .insufficientAuthentication)
      #expect(
        bench.events == [
          .connected, .mtu(185), .discovered(database.services.map(\.service)),
          .read(.deviceName, handle: 3, value: Array("board".utf8)),
          .failed("\(bonding)", .refused(refusal)),
          .read(StandardServices.bondingValue, handle: 0x32, value: [1]),
        ])
    }
  }
}
