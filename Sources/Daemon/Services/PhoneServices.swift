// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ATT
import Board
import Companion
import Control
import EventLoop
import GAP
import GATT
import System
import Wire

/// The Apple Media Service.
@LoopActor final class MediaService: ServiceClient {
  let uuid = UUID.mediaService
  let characteristics = [UUID.remoteCommand, .entityUpdate, .entityAttribute]
  let name: PhoneService? = .ams
  let title = "media"
  let phase = ServicePhase.first

  /// The running subscription.
  private(set) var remote: MediaRemote?

  private let context: ServiceContext
  private let settings: RemoteSettings

  init(_ context: ServiceContext, _ settings: RemoteSettings) {
    self.context = context
    self.settings = settings
  }

  var isActive: Bool { remote != nil }

  /// The media state, with its position as of now.
  var state: MediaState? { remote?.state.carried(to: context.platform.scheduler.now) }

  func subscribe(to service: LocatedService, again: Bool) async throws(ATTFailure) -> Bool {
    guard let remote = MediaRemote(context.client, service, settings: settings) else {
      return false
    }
    remote.onChange = { [context] state, changed in
      context.publish(.media(state.carried(to: context.platform.scheduler.now), changed: changed))
    }
    remote.onDropped = context.logDropped
    do {
      try await remote.subscribe(again: again)
    } catch {
      remote.end()
      throw error
    }
    self.remote = remote
    return true
  }

  func run() async throws(ATTFailure) { try await remote?.run() }

  func end() {
    remote?.end()
    remote = nil
  }
}

/// The phone's Battery Service.
@LoopActor final class BatteryService: ServiceClient {
  let uuid = UUID.batteryService
  let characteristics = [UUID.batteryLevel]
  let name: PhoneService? = .battery
  let title = "the battery level"
  let phase = ServicePhase.later

  private var monitor: BatteryMonitor?
  private let context: ServiceContext

  init(_ context: ServiceContext) { self.context = context }

  var isActive: Bool { monitor?.level != nil }

  func subscribe(to service: LocatedService, again: Bool) async throws(ATTFailure) -> Bool {
    let monitor = BatteryMonitor(context.client)
    self.monitor = monitor
    monitor.onDropped = context.logDropped
    monitor.onLevel = { [context] in context.publish(.battery(level: Int($0.percent))) }
    try await monitor.follow(service)
    return true
  }

  func end() { monitor = nil }

  func describe(in report: inout LinkReport) {
    report.battery = monitor?.level.map { Int($0.percent) }
  }
}

/// The phone's Current Time Service. The board's own clock is not set by it.
@LoopActor final class TimeService: ServiceClient {
  let uuid = UUID.currentTimeService
  let characteristics = [UUID.currentTime, .localTimeInformation]
  let name: PhoneService? = .time
  let title = "the time"
  let phase = ServicePhase.later

  private var monitor: ClockMonitor?
  private let context: ServiceContext

  init(_ context: ServiceContext) { self.context = context }

  var isActive: Bool { monitor?.time != nil }

  func subscribe(to service: LocatedService, again: Bool) async throws(ATTFailure) -> Bool {
    let monitor = ClockMonitor(context.client)
    self.monitor = monitor
    monitor.onDropped = context.logDropped
    monitor.onTime = { [weak self] in self?.publish($0, asOf: $1) }
    try await monitor.follow(service)
    return true
  }

  func run() async throws(ATTFailure) { try await monitor?.run() }

  func end() {
    monitor?.end()
    monitor = nil
  }

  private func publish(_ time: PhoneTime, asOf instant: Instant) {
    context.phone.memory.zone = time.zone?.secondsFromUTC ?? context.phone.memory.zone
    let now = context.platform.wallTime
    let age = (context.platform.scheduler.now - instant).inSeconds
    let offset = time.offset(
      fromBoardTime: Double(now.seconds) + Double(now.nanoseconds) / 1e9 - age,
      boardZone: now.zoneOffset)
    context.publish(.time(time.current.time, offset: Double(offset)))
  }
}
