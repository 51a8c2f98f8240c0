// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Companion
import EventLoop
import GATT
import System
import Wire

extension Session {
  /// Reads the battery level and the time, each in one request: what there is of them is part of what
  /// the session is subscribed to.
  func readCompanions() async throws(ATTFailure) {
    if battery.level == nil { try await battery.read() }
    if clock.time == nil { try await clock.read() }
  }

  func value(of type: UUID) async throws(ATTFailure) -> [UInt8]? {
    do {
      return try await client.read(type).first?.value
    } catch {
      if error.isEnd { throw error }
      return nil
    }
  }

  /// What can wait until the phone is subscribed to: the small services' notifications, the phone's
  /// name, and the database's hash, under which the handles are remembered.
  func finishSetUp() async throws(ATTFailure) {
    if battery.level != nil {
      battery.onLevel = { [weak self] in self?.post(.battery(level: Int($0.percent))) }
      battery.onDropped = logDropped
      try await follow(.batteryService) { (service) throws(ATTFailure) in
        if let service { try await battery.follow(service) }
      }
    }
    if clock.time != nil {
      clock.onTime = { [weak self] in self?.tell($0, said: $1) }
      clock.onDropped = logDropped
      Loop.start { [clock] in try? await clock.run() }
      try await follow(.currentTimeService) { (service) throws(ATTFailure) in
        try await clock.follow(service)
      }
    }
    if phone.displayName == nil, let name = try await value(of: GATTType.deviceName), !name.isEmpty
    {
      phone.displayName = String(decoding: name, as: UTF8.self)
      surroundings.remember(phone)
    }
    try await rememberHandles()
  }

  private func follow(
    _ uuid: UUID, _ work: (LocatedService?) async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) {
    guard followed.insert(uuid).inserted else { return }
    try await tolerating("subscribing to \(uuid)") { () throws(ATTFailure) in
      if located[uuid] == nil { located[uuid] = try await client.locate(uuid) }
      try await work(located[uuid])
    }
  }

  private var logDropped: ([UInt8], String) -> Void {
    { [log = surroundings.log] bytes, why in
      log.warning("dropped from the phone: \(why): \(bytes.hex)")
    }
  }

  /// Tells the phone's time, which it said a moment ago; the board's clock is not touched.
  private func tell(_ time: PhoneTime, said instant: Instant) {
    let now = WallTime.now
    let ago = (surroundings.scheduler.now - instant).inSeconds
    let offset = time.offset(
      fromBoardTime: Double(now.seconds) + Double(now.nanoseconds) / 1e9 - ago,
      boardZone: now.zoneOffset)
    post(.time(time.current.time, offset: Double(offset)))
  }

  private func rememberHandles() async throws(ATTFailure) {
    guard phone.identity != nil, phone.handles == nil, notifications != nil else { return }
    guard let hash = try await value(of: GATTType.databaseHash), hash.count == 16 else { return }
    phone.handles = HandleCache(
      databaseHash: hash,
      services: located.values.sorted { $0.service.range.start < $1.service.range.start })
    surroundings.remember(phone)
  }
}
