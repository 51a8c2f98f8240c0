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
@LoopActor struct MediaService: ServiceClient {
  let uuid = UUID.mediaService
  let characteristics = [UUID.remoteCommand, .entityUpdate, .entityAttribute]
  let name: PhoneService? = .ams
  let title = "media"
  let phase = ServicePhase.first
  let context: ServiceContext
  let settings: RemoteSettings

  func subscribe(
    to service: LocatedService, again: Bool
  ) async throws(ATTFailure) -> (any RunningService)? {
    guard let remote = MediaRemote(context.client, service, settings: settings) else { return nil }
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
    return remote
  }
}

extension MediaRemote: RunningService {}

/// The phone's Battery Service.
@LoopActor struct BatteryService: ServiceClient {
  let uuid = UUID.batteryService
  let characteristics = [UUID.batteryLevel]
  let name: PhoneService? = .battery
  let title = "the battery level"
  let phase = ServicePhase.later
  let context: ServiceContext

  func subscribe(
    to service: LocatedService, again: Bool
  ) async throws(ATTFailure) -> (any RunningService)? {
    let monitor = BatteryMonitor(context.client)
    monitor.onDropped = context.logDropped
    monitor.onLevel = { [context] in context.publish(.battery(level: Int($0.percent))) }
    try await monitor.follow(service)
    return monitor
  }
}

extension BatteryMonitor: RunningService {
  var isInUse: Bool { level != nil }

  func describe(in report: inout LinkReport) { report.battery = level.map { Int($0.percent) } }
}

/// The phone's Current Time Service. The board's own clock is not set by it.
@LoopActor struct TimeService: ServiceClient {
  let uuid = UUID.currentTimeService
  let characteristics = [UUID.currentTime, .localTimeInformation]
  let name: PhoneService? = .time
  let title = "the time"
  let phase = ServicePhase.later
  let context: ServiceContext

  func subscribe(
    to service: LocatedService, again: Bool
  ) async throws(ATTFailure) -> (any RunningService)? {
    let monitor = ClockMonitor(context.client)
    monitor.onDropped = context.logDropped
    monitor.onTime = { publish($0, asOf: $1) }
    try await monitor.follow(service)
    return monitor
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

extension ClockMonitor: RunningService {
  var isInUse: Bool { time != nil }
}
