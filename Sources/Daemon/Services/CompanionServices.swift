// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Companion
import Control
import EventLoop
import GAP
import GATT
import System
import Wire

/// The phone's Battery Service.
@LoopActor final class BatteryService: ServiceClient {
  let uuid = UUID.batteryService
  let name: PhoneService? = .battery
  let title = "the battery level"
  let phase = ServicePhase.later

  private var monitor: BatteryMonitor?
  /// The level that was last published, in per cent.
  private var published: Int?
  private let context: ServiceContext

  init(_ context: ServiceContext) { self.context = context }

  var isActive: Bool { monitor != nil }

  func read() async throws(ATTFailure) {
    let monitor = BatteryMonitor(context.client)
    monitor.onDropped = context.logDropped
    guard try await monitor.read() else { return }
    self.monitor = monitor
  }

  func announce() { if let level = monitor?.level { publish(level) } }

  func subscribe(to service: LocatedService?, anew: Bool) async throws(SubscriptionFailure) {
    guard let monitor else { return }
    if published == nil { announce() }
    monitor.onLevel = { [weak self] in self?.publish($0) }
    guard let service else { return }
    do {
      try await monitor.follow(service)
    } catch {
      throw .failed(error)
    }
  }

  func end() {
    monitor = nil
    published = nil
  }

  private func publish(_ level: BatteryLevel) {
    published = Int(level.percent)
    context.publish(.battery(level: Int(level.percent)))
  }

  func describe(in report: inout LinkReport) {
    report.battery = monitor?.level.map { Int($0.percent) }
  }
}

/// The phone's Current Time Service. The board's own clock is not set by it.
@LoopActor final class TimeService: ServiceClient {
  let uuid = UUID.currentTimeService
  let name: PhoneService? = .time
  let title = "the time"
  let phase = ServicePhase.later

  private var monitor: ClockMonitor?
  private let context: ServiceContext

  init(_ context: ServiceContext) { self.context = context }

  var isActive: Bool { monitor != nil }

  func read() async throws(ATTFailure) {
    let monitor = ClockMonitor(context.client)
    monitor.onDropped = context.logDropped
    guard try await monitor.read() else { return }
    self.monitor = monitor
  }

  func subscribe(to service: LocatedService?, anew: Bool) async throws(SubscriptionFailure) {
    guard let monitor else { return }
    monitor.onTime = { [weak self] in self?.publish($0, asOf: $1) }
    do {
      try await monitor.follow(service)
    } catch {
      throw .failed(error)
    }
  }

  func run() async throws(ATTFailure) { try await monitor?.run() }

  func end() {
    monitor?.end()
    monitor = nil
  }

  private func publish(_ time: PhoneTime, asOf instant: Instant) {
    let now = context.shared.wallTime()
    let age = (context.shared.scheduler.now - instant).inSeconds
    let offset = time.offset(
      fromBoardTime: Double(now.seconds) + Double(now.nanoseconds) / 1e9 - age,
      boardZone: now.zoneOffset)
    context.publish(.time(time.current.time, offset: Double(offset)))
  }
}
