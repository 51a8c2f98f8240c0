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
  static func media(_ context: ServiceContext, without unwanted: Set<MediaAttribute>) -> ServiceClient {
    ServiceClient(
      uuid: .mediaService, characteristics: [.remoteCommand, .entityUpdate, .entityAttribute],
      name: .ams, title: "media", phase: .first
    ) { service, again throws(ATTFailure) in
      guard let remote = MediaRemote(context.client, service, without: unwanted) else { return nil }
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
      uuid: .batteryService, characteristics: [.batteryLevel], name: .battery, title: "the battery level", phase: .later
    ) { service, _ throws(ATTFailure) in
      let monitor = BatteryMonitor(context.client)
      monitor.onDropped = context.logDropped
      monitor.onLevel = { context.publish(.battery(level: Int($0.percent))) }
      let refusal = try await monitor.follow(service)
      if let refusal { context.report("subscribing to the battery level", refusal) }
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
      let refusal = try await monitor.follow(service)
      if let refusal { context.report("subscribing to the time", refusal) }
      return monitor
    }
  }
}

extension MediaRemote: RunningService {}

extension BatteryMonitor: RunningService {
  var isInUse: Bool { level != nil }

  func describe(in report: inout LinkReport) { report.battery = level.map { Int($0.percent) } }
}

extension ClockMonitor: RunningService { var isInUse: Bool { time != nil } }

extension ServiceClient {
  /// The phone's Generic Attribute service: Service Changed indicates that services were added,
  /// removed or moved. A phone adds and removes ANCS at any time.
  ///
  /// - Parameter onChange: called with the changed handles, and the number of responses received before.
  static func serviceChanged(
    _ context: ServiceContext, onChange: @escaping (HandleRange, _ responsesBefore: Int) -> Void
  ) -> ServiceClient {
    /// Where changes are indicated, as far as is known.
    var handle: Handle?
    return ServiceClient(
      uuid: .genericAttribute, characteristics: [.serviceChanged], name: nil, title: "Service Changed", phase: .first
    ) { service, _ throws(ATTFailure) in
      guard let changed = service[.serviceChanged], let cccd = changed.cccd else {
        context.log.notice("the phone has no Service Changed to subscribe to")
        return ServiceChanges()
      }
      handle = changed.value
      // The client retains this closure, so the closure must not retain the client.
      context.client.setArrivalHandler(for: changed.value) { [log = context.log] arrival in
        // Where it was before, another service's handler may have taken its place, so none is removed there.
        guard handle == changed.value else { return }
        do throws(DecodeError) {
          onChange(try ServiceChanged(decoding: Array(arrival.value)).range, arrival.responsesBefore)
        } catch { log.dropped("a Service Changed: \(error)", Array(arrival.value)) }
      }
      try await context.client.enable(cccd, .indications, attempts: 2)
      return ServiceChanges()
    }
  }
}

/// A subscription to Service Changed, which lasts as long as the link.
@LoopActor private final class ServiceChanges: RunningService {}
