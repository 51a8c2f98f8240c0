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

extension ServiceClient {
  /// The Apple Media Service.
  static func media(_ context: ServiceContext, _ settings: RemoteSettings) -> ServiceClient {
    ServiceClient(
      uuid: .mediaService, characteristics: [.remoteCommand, .entityUpdate, .entityAttribute],
      name: .ams, title: "media", phase: .first
    ) { service, again throws(ATTFailure) in
      guard let remote = MediaRemote(context.client, service, settings: settings) else {
        return nil
      }
      remote.onChange = { state, changed in
        let now = context.platform.scheduler.now
        context.publish(.media(state.carried(to: now), changed: changed))
      }
      remote.onDropped = context.logDropped
      do throws(ATTFailure) {
        try await remote.subscribe(again: again)
      } catch {
        remote.end()
        throw error
      }
      return remote
    }
  }

  /// The phone's Battery Service.
  static func battery(_ context: ServiceContext) -> ServiceClient {
    ServiceClient(
      uuid: .batteryService, characteristics: [.batteryLevel], name: .battery,
      title: "the battery level", phase: .later
    ) { service, _ throws(ATTFailure) in
      let monitor = BatteryMonitor(context.client)
      monitor.onDropped = context.logDropped
      monitor.onLevel = { context.publish(.battery(level: Int($0.percent))) }
      try await monitor.follow(service)
      return monitor
    }
  }

  /// The phone's Current Time Service. The board's own clock is not set by it.
  static func time(_ context: ServiceContext) -> ServiceClient {
    ServiceClient(
      uuid: .currentTimeService, characteristics: [.currentTime, .localTimeInformation],
      name: .time, title: "the time", phase: .later
    ) { service, _ throws(ATTFailure) in
      let monitor = ClockMonitor(context.client)
      monitor.onDropped = context.logDropped
      monitor.onTime = { time, instant in
        context.phone.cache.zone = time.zone?.secondsFromUTC ?? context.phone.cache.zone
        let now = context.platform.wallTime
        let age = (context.platform.scheduler.now - instant).inSeconds
        let offset = time.offset(
          fromBoardTime: Double(now.seconds) + Double(now.nanoseconds) / 1e9 - age,
          boardZone: now.zoneOffset)
        context.publish(.time(time.current.time, offset: Double(offset)))
      }
      try await monitor.follow(service)
      return monitor
    }
  }
}

extension MediaRemote: RunningService {}

extension BatteryMonitor: RunningService {
  var isInUse: Bool { level != nil }

  func describe(in report: inout LinkReport) { report.battery = level.map { Int($0.percent) } }
}

extension ClockMonitor: RunningService {
  var isInUse: Bool { time != nil }
}
