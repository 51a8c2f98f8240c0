// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Companion
import GATT
import Wire

extension Session {
  /// Does what came up.
  func perform(_ job: Job) async throws(ATTFailure) {
    switch job {
    case .changed(let range): try await obey(range)
    case .finishing: try await finishSetUp()
    case .search: try await search()
    case .announceOwnChanges: server.announceChanges()
    }
  }

  /// Services in `range` have come, gone or moved: looks at what lies there, and at nothing else.
  private func obey(_ range: HandleRange) async throws(ATTFailure) {
    surroundings.log.info("the phone's services in \(range) have changed")
    phone.handles = nil
    var affected = range
    for (uuid, service) in located where service.service.range.overlaps(range) {
      affected.start = min(affected.start, service.service.range.start)
      affected.end = max(affected.end, service.service.range.end)
      drop(uuid)
    }
    try await giveWay(in: affected)
    let before = services
    try await bringBack(in: affected)
    try await readCompanions()
    post(.servicesChanged(services))
    let isNew = { [self] (service: PhoneService) in
      services.contains(service) && !before.contains(service)
    }
    if isNew(.ancs) || isNew(.ams) { announce() }
    jobs.post(.finishing)
    searchLater()
  }

  /// A phone may publish its new ANCS before it takes the old one away: the new one counts.
  private func giveWay(in range: HandleRange) async throws(ATTFailure) {
    guard located[.notificationCenter] != nil, surroundings.quirks.notificationCenter == .last
    else { return }
    try await tolerating("looking for another ANCS") { () throws(ATTFailure) in
      let another = try await client.outline(.notificationCenter, .last, in: range)
      if another != nil { drop(.notificationCenter) }
    }
  }

  /// Looks for every service that is not there, and subscribes to those that are found.
  private func bringBack(in range: HandleRange) async throws(ATTFailure) {
    let missing = [GATTType.genericAttribute, UUID.notificationCenter, UUID.mediaService].filter {
      located[$0] == nil
    }
    try await tolerating("looking for services") { () throws(ATTFailure) in
      try await locate(missing, in: range)
    }
    if missing.contains(GATTType.genericAttribute) { try await watchServices() }
    try await subscribeToNotifications()
    try await subscribeToMedia()
  }

  /// Nothing that was remembered of the phone's database holds.
  func forgetHandles() {
    phone.handles = nil
    for uuid in located.keys { drop(uuid) }
  }

  /// A service is gone: nothing of it is kept.
  private func drop(_ uuid: UUID) {
    if let service = located.removeValue(forKey: uuid) { client.release(service.service.range) }
    followed.remove(uuid)
    switch uuid {
    case UUID.notificationCenter:
      if let notifications { phone.seen.formUnion(notifications.seen) }
      if notifications != nil { dropped.insert(uuid) }
      notifications?.end()
      notifications = nil
      (objection, doubt) = (nil, nil)
    case UUID.mediaService:
      if media != nil { dropped.insert(uuid) }
      media?.end()
      media = nil
    case UUID.batteryService: battery.forget()
    case UUID.currentTimeService: clock.forget()
    default: break
    }
  }

  /// Looks for what is missing now and then: a phone may publish ANCS late and say nothing, and a
  /// subscription that was refused may be taken later.
  private func search() async throws(ATTFailure) {
    guard notifications == nil || media == nil else { return }
    let before = services
    if notifications == nil { drop(UUID.notificationCenter) }
    if media == nil { drop(UUID.mediaService) }
    try await bringBack(in: .all)
    if services != before {
      post(.servicesChanged(services))
      announce()
    }
    searchLater()
  }

  /// Searches go on with growing pauses, at last every five minutes, as long as ANCS is missing.
  func searchLater() {
    guard notifications == nil, surroundings.quirks.searches else { return searches = 0 }
    let pauses: [Duration] = [.seconds(5), .seconds(15), .seconds(60), .seconds(300)]
    let pause = pauses[min(searches, pauses.count - 1)]
    searches += 1
    later(pause, .search)
  }
}
