// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Companion
import GATT
import System
import Wire

extension Session {
  /// Reads the battery level and the time, each in one request: what there is of them is part of what
  /// the session is subscribed to.
  func readCompanions() async throws(ATTFailure) {
    if battery == nil, let value = try await value(of: .batteryLevel) { takeBattery(value) }
    if phoneTime == nil, let value = try await value(of: .currentTime) { takeTime(value) }
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
    if battery != nil {
      try await follow(UUID.batteryService, UUID.batteryLevel) { [weak self] in
        guard let self else { return }
        let before = battery
        takeBattery($0)
        if let battery, battery != before { post(.battery(level: Int(battery))) }
      }
    }
    if phoneTime != nil {
      try await follow(UUID.currentTimeService, UUID.currentTime) {
        [weak self] in
        guard let self else { return }
        takeTime($0)
        if let phoneTime { tell(phoneTime) }
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
    _ service: UUID, _ characteristic: UUID, _ taker: @escaping ([UInt8]) -> Void
  ) async throws(ATTFailure) {
    guard followed.insert(service).inserted else { return }
    try await tolerating("subscribing to \(characteristic)") { () throws(ATTFailure) in
      if located[service] == nil { located[service] = try await client.locate(service) }
      guard let source = located[service]?[characteristic], let cccd = source.cccd else { return }
      client.take(source.value, taker)
      try await client.configure(cccd, .notifications)
    }
  }

  private func takeBattery(_ value: [UInt8]) {
    do {
      battery = try BatteryLevel(decoding: value).percent
    } catch {
      surroundings.log.warning("dropped a battery level: \(error): \(value.hex)")
    }
  }

  private func takeTime(_ value: [UInt8]) {
    do {
      phoneTime = PhoneTime(try CurrentTime(decoding: value))
    } catch {
      surroundings.log.warning("dropped a time: \(error): \(value.hex)")
    }
  }

  /// Tells the phone's time; the board's clock is not touched.
  func tell(_ time: PhoneTime) {
    let now = WallTime.now
    guard let civil = CivilTime(time.description) else { return }
    let offset = time.offset(
      fromBoardTime: Double(now.seconds) + Double(now.nanoseconds) / 1e9,
      boardZone: now.zoneOffset)
    post(.time(civil, offset: Double(offset)))
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
