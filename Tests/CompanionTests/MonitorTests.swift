// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Companion
import GAP
import GATT
import TestLoop
import Testing
import Wire

/// A phone with or without battery and clock.
private final class StubServices {
  let clock: HandClock
  let bearer: Bearer
  let client: Client
  /// The attributes: type, handle and value.
  var values: [(type: UUID, handle: Handle, value: [UInt8])] = []
  private(set) var log: [String] = []

  init(_ clock: HandClock) {
    self.clock = clock
    bearer = Bearer(scheduler: clock)
    client = Client(bearer)
    bearer.send = { [unowned self] bytes in
      _ = clock.schedule(after: .milliseconds(1)) { [weak self] in self?.receive(bytes) }
    }
  }

  func notify(_ handle: Handle, _ value: [UInt8]) {
    bearer.receive(PDU.handleValueNotification(handle, value: value).encoded)
  }

  private func receive(_ bytes: [UInt8]) {
    guard let pdu = try? PDU(decoding: bytes) else { return }
    bearer.receive(response(to: pdu).encoded)
  }

  private func response(to pdu: PDU) -> PDU {
    switch pdu {
    case .readByTypeRequest(_, let type):
      log.append("read \(type)")
      if let found = values.first(where: { $0.type == type }) {
        return .readByTypeResponse([.init(handle: found.handle, value: found.value)])
      }
    case .readRequest(let handle):
      log.append("read \(handle)")
      if let found = values.first(where: { $0.handle == handle }) {
        return .readResponse(found.value)
      }
    case .writeRequest(let handle, let value):
      log.append("\(handle) = \(value.hex)")
      return .writeResponse
    default: break
    }
    return .error(.attributeNotFound, to: pdu.opcode)
  }
}

@Suite("Companion: battery and clock monitors")
struct MonitorTests {
  private static let noon: [UInt8] = [0xEA, 0x07, 11, 21, 12, 0, 0, 6, 0, 0]
  /// Noon, after a change of the time zone.
  private static let moved: [UInt8] = noon.dropLast() + [CurrentTime.AdjustReason.timeZone.rawValue]

  private static let batteryService = service(.batteryService, .batteryLevel, 0x12)
  private static let zonedService = service(.currentTimeService, .currentTime, 0x22, zone: 0x25)

  /// A phone whose clock shows noon in a zone of +1 h.
  private static func clock(_ clock: HandClock) -> (StubServices, ClockMonitor) {
    let phone = StubServices(clock)
    phone.values = [(.currentTime, 0x22, noon), (.localTimeInformation, 0x25, [4, 0])]
    return (phone, ClockMonitor(phone.client))
  }

  private static func service(_ service: UUID, _ uuid: UUID, _ value: Handle, zone: Handle? = nil) -> LocatedService {
    let followed = Characteristic(
      declaration: value - 1, properties: [.read, .notify], value: value, uuid: uuid, end: value + 1, cccd: value + 1)
    let zone = zone.map {
      Characteristic(declaration: $0 - 1, properties: .read, value: $0, uuid: .localTimeInformation, end: $0)
    }
    return LocatedService(
      service: Service(uuid: service, range: HandleRange(value - 2, value + 9)),
      characteristics: [followed, zone].compactMap { $0 })
  }

  @Test(
    "The battery is subscribed to, read once, and reported when it changes; its level is one byte")
  func battery() throws {
    try TestLoop.run { loop in
      let phone = StubServices(loop.clock)
      phone.values = [(.batteryLevel, 0x12, [80])]
      let monitor = BatteryMonitor(phone.client)
      var told: [UInt8] = []
      var dropped = 0
      monitor.onLevel = { told.append($0.percent) }
      monitor.onDropped = { _, _ in dropped += 1 }
      try await monitor.follow(Self.batteryService)
      #expect(phone.log == ["19 = 0100", "read 2A19"])
      for value in [[80], [0], [101], [], [0], [78, 0], [100]] as [[UInt8]] {
        phone.notify(0x12, value)
      }
      #expect(told == [80, 0, 100] && dropped == 3)
    }
  }

  @Test("Invalid battery and time are not reported, and neither is what stands elsewhere")
  func nothing() throws {
    try TestLoop.run { loop in
      let phone = StubServices(loop.clock)
      phone.values = [(.batteryLevel, 0x12, [200]), (.currentTime, 0x22, [0])]
      let level = BatteryMonitor(phone.client)
      try await level.follow(Self.batteryService)
      #expect(level.level == nil)
      let time = ClockMonitor(phone.client)
      try await time.follow(Self.zonedService)
      #expect(time.time == nil)
      phone.values = [(.batteryLevel, 0x13, [80])]
      let follow = loop.start { try await level.follow(Self.batteryService) }
      await loop.sleep(for: .seconds(1))
      #expect(follow.failure as? ATTFailure == .protocolViolation("2A19 is not at 0x0012"))
      #expect(level.level == nil)
    }
  }

  @Test("The clock is read with its zone and subscribed to, and a changed zone is read again")
  func clock() throws {
    try TestLoop.run { loop in
      let (phone, monitor) = Self.clock(loop.clock)
      var told: [(time: PhoneTime, instant: Instant)] = []
      monitor.onTime = { told.append(($0, $1)) }
      try await monitor.follow(Self.zonedService)
      #expect(phone.log == ["read 37", "35 = 0100", "read 2A2B"])
      #expect(told.first?.time.zone?.secondsFromUTC == 3600)
      phone.notify(0x22, Self.noon)
      #expect(told.count == 2 && phone.log.count == 3)
      phone.values[1].value = [8, 0]
      let instant = loop.clock.now
      phone.notify(0x22, Self.moved)
      await loop.sleep(for: .seconds(1))
      #expect(told.last?.time.zone?.secondsFromUTC == 7200 && told.last?.instant == instant)
      phone.notify(0x22, [1, 2, 3])
      #expect(told.count == 3)
    }
  }

  @Test("Times that come while the zone is read wait for it, and another change has it read again")
  func timeAmidZone() throws {
    try TestLoop.run { loop in
      let (phone, monitor) = Self.clock(loop.clock)
      try await monitor.follow(Self.zonedService)
      var told: [PhoneTime] = []
      monitor.onTime = { time, _ in told.append(time) }
      phone.values[1].value = [8, 0]
      var set = Self.noon
      set[5] = 30
      for value in [Self.moved, Self.moved, set] { phone.notify(0x22, value) }
      await loop.sleep(for: .seconds(1))
      #expect(phone.log.count { $0 == "read 37" } == 3)
      #expect(told.map(\.current.time.minute) == [30])
      #expect(told.last?.zone?.secondsFromUTC == 7200)
      phone.notify(0x22, Self.moved)
      phone.bearer.close(.closed("gone"))
      await loop.sleep(for: .seconds(1))
      #expect(told.count == 1)
    }
  }

  @Test("A zone that changes once it was read, and before it is followed, is read again")
  func zoneChangedEarly() throws {
    try TestLoop.run { loop in
      let (phone, monitor) = Self.clock(loop.clock)
      loop.start { try await monitor.follow(Self.zonedService) }
      await loop.sleep(for: .microseconds(2_500))
      #expect(phone.log == ["read 37", "35 = 0100"])
      phone.values[1].value = [8, 0]
      phone.notify(0x22, Self.moved)
      await loop.sleep(for: .seconds(1))
      #expect(monitor.time?.zone?.secondsFromUTC == 7200)
    }
  }

  @Test("A clock whose zone is missing or refused is reported without one", arguments: [nil, 0x25])
  func noZone(handle: Handle?) throws {
    try TestLoop.run { loop in
      let phone = StubServices(loop.clock)
      phone.values = [(.currentTime, 0x22, Self.noon)]
      let monitor = ClockMonitor(phone.client)
      try await monitor.follow(Self.service(.currentTimeService, .currentTime, 0x22, zone: handle))
      #expect(monitor.time?.zone == nil)
      #expect(monitor.time?.current.description == "2026-11-21T12:00:00")
    }
  }
}
