// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Companion
import EventLoop
import GATT
import System
import Wire

extension Session {
  /// What is looked for on a phone; which instance counts where there are two.
  private var wanted: [(uuid: UUID, instance: Client.Instance)] {
    [
      (GATTType.genericAttribute, .first),
      (.notificationCenter, surroundings.quirks.notificationCenter),
      (.mediaService, .first),
    ]
  }

  /// From encryption to `subscribed`.
  func setUp() async throws(ATTFailure) {
    stage = .discovering
    let isKnown = try await useKnownHandles()
    if isKnown {
      surroundings.log.info("the phone's Database Hash is the same: its handles are known")
    } else {
      try await locate(wanted.map(\.uuid), in: .all)
    }
    try await subscribe()
    if isKnown, notifications == nil, located[.notificationCenter] != nil {
      surroundings.log.notice("the handles that were remembered are not the phone's: looking again")
      forgetHandles()
      try await locate(wanted.map(\.uuid), in: .all)
      try await subscribe()
    }
    try await readCompanions()
    if notifications != nil || media != nil { announce() } else { serve() }
    jobs.post(.finishing)
    searchLater()
  }

  private func subscribe() async throws(ATTFailure) {
    stage = .subscribing
    try await watchServices()
    try await subscribeToNotifications()
    try await subscribeToMedia()
  }

  /// Takes the handles of an earlier session, where the phone's database is still the same
  /// (Vol 3 Part G, 2.5.2.1). Says whether it is.
  private func useKnownHandles() async throws(ATTFailure) -> Bool {
    guard let cache = phone.handles else { return false }
    guard try await value(of: GATTType.databaseHash) == cache.databaseHash else {
      phone.handles = nil
      return false
    }
    for service in cache.services { located[service.service.uuid] = service }
    return true
  }

  /// Looks for services in `range`, with their characteristics and configurations.
  func locate(_ uuids: [UUID], in range: HandleRange) async throws(ATTFailure) {
    var found: [LocatedService] = []
    for (uuid, instance) in wanted where uuids.contains(uuid) {
      guard let service = try await client.outline(uuid, instance, in: range) else { continue }
      found.append(service)
    }
    try await client.findConfigurations(of: &found)
    for service in found { located[service.service.uuid] = service }
  }

  /// Subscribes to Service Changed, because the phone publishes and unpublishes ANCS at will.
  func watchServices() async throws(ATTFailure) {
    guard let changed = located[GATTType.genericAttribute]?[GATTType.serviceChanged],
      let cccd = changed.cccd
    else { return surroundings.log.notice("the phone has no Service Changed to subscribe to") }
    client.take(changed.value) { [weak self] value in
      do {
        self?.jobs.post(.changed(try ServiceChanged(decoding: value).range))
      } catch {
        self?.surroundings.log.warning("dropped a Service Changed: \(error): \(value.hex)")
      }
    }
    try await tolerating("subscribing to Service Changed") { () throws(ATTFailure) in
      try await client.configure(cccd, .indications)
    }
  }

  /// Says that the session is up, and begins to serve.
  func announce() {
    post(.subscribed(services, mtu: bearer.mtu, requests: bearer.requestsSent))
    // The phone may have told who it is by pairing on this very link.
    phone.identity = link.phone ?? phone.identity
    wasSubscribed = true
    if let level = battery.level { post(.battery(level: Int(level.percent))) }
    serve()
  }

  private func serve() {
    stage = .serving
    link.work(backlog: notifications?.backlog ?? 0)
    startNotifications()
    startMedia()
  }

  // MARK: ANCS

  func subscribeToNotifications() async throws(ATTFailure) {
    guard notifications == nil, let service = located[UUID.notificationCenter] else { return }
    var settings = ConsumerSettings(surroundings.fetch)
    settings.timing = surroundings.quirks.consumer
    guard
      let consumer = NotificationConsumer(client, service, settings: settings, seen: phone.seen)
    else {
      objection = .incomplete
      return post(
        .error(
          what: "subscribing to notifications", code: nil,
          message: "the phone's ANCS lacks a characteristic or its configuration"))
    }
    consumer.onDoubt = { [weak self] in self?.doubt = $0 }
    consumer.onBacklog = { [weak self] in self?.link.work(backlog: $0) }
    consumer.onIncoming = { [weak self] in self?.post(.incoming($0)) }
    consumer.onNotification = { [weak self] report in
      self?.post(.notification(report.event.change, NotificationRecord(report)))
    }
    consumer.onAuthorization = { [weak self] granted in
      self?.isAuthorized = granted
      self?.post(.authorization(granted: granted))
    }
    consumer.onStale = { [weak self] what in
      self?.post(.stale(what: what, remedy: "the subscriptions are written again"))
    }
    consumer.onDropped = { [log = surroundings.log] bytes, why in
      log.warning("dropped from the phone: \(why): \(bytes.hex)")
    }
    let failure = try await tolerating("subscribing to notifications") { () throws(ATTFailure) in
      try await endOldSubscriptions(of: service)
      try await consumer.subscribe(anew: dropped.contains(.notificationCenter))
    }
    objection = failure.map { .refused($0.code.map { "\($0)" } ?? "\($0)") }
    if failure == nil { notifications = consumer } else { consumer.end() }
  }

  private func startNotifications() {
    guard let consumer = notifications else { return }
    go("serving notifications") { () throws(ATTFailure) in try await consumer.run() }
  }

  // MARK: AMS

  func subscribeToMedia() async throws(ATTFailure) {
    guard media == nil, let service = located[UUID.mediaService] else { return }
    guard let remote = MediaRemote(client, service, settings: surroundings.quirks.media) else {
      return post(
        .error(
          what: "subscribing to media", code: nil,
          message: "the phone's AMS lacks a characteristic or its configuration"))
    }
    remote.onChange = { [weak self] state, changed in
      guard let self else { return }
      post(
        .media(
          MediaReport(state, at: surroundings.scheduler.now), changed: changed.map(\.rawValue)))
    }
    remote.onDropped = { [log = surroundings.log] bytes, why in
      log.warning("dropped from the phone: \(why): \(bytes.hex)")
    }
    let failure = try await tolerating("subscribing to media") { () throws(ATTFailure) in
      try await endOldSubscriptions(of: service)
      try await remote.subscribe(anew: dropped.contains(.mediaService))
    }
    if failure == nil { media = remote } else { remote.end() }
  }

  private func startMedia() {
    guard let remote = media else { return }
    go("serving media") { () throws(ATTFailure) in try await remote.run() }
  }

  /// Lets a service live beside the session. Where the link is lost, the session hears of it itself.
  private func go(
    _ what: String, _ run: @escaping @LoopActor () async throws(ATTFailure) -> Void
  ) {
    Loop.start {
      do throws(ATTFailure) {
        try await run()
      } catch {
        if !error.isEnd { self.report(what, error) }
      }
    }
  }

  /// A phone tells what it has to whoever subscribes, and nothing to who is subscribed already. What was
  /// subscribed to on this link before may be so still: a service that went and came is back before its
  /// second Service Changed.
  private func endOldSubscriptions(of service: LocatedService) async throws(ATTFailure) {
    guard !subscribedBefore.insert(service.service.uuid).inserted else { return }
    for cccd in service.characteristics.compactMap(\.cccd) {
      try await tolerating("ending an old subscription") { () throws(ATTFailure) in
        try await client.configure(cccd, .none)
      }
    }
  }

  /// Does what may fail without ending the session: tells what failed and why, and answers with it.
  @discardableResult
  func tolerating(
    _ what: String, _ work: () async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) -> ATTFailure? {
    do {
      try await work()
      return nil
    } catch {
      if error.isEnd { throw error }
      report(what, error)
      return error
    }
  }
}
