// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Board
import Companion
import Control
import EventLoop
import GAP
import GATT
import Wire

/// The phone's services on one link: discovers them, subscribes to them, and follows their changes.
@LoopActor final class SessionServices {
  /// A service and its state.
  @LoopActor private struct Slot {
    let client: ServiceClient
    var state = State.missing(again: false)

    /// What is subscribed to.
    var running: (any RunningService)? {
      if case .subscribed(_, let running) = state { running } else { nil }
    }

    /// Whether it is in use, or about to be.
    var isUsed: Bool {
      if case .located = state { return client.phase == .later }
      return running?.isInUse ?? false
    }
  }

  /// The state of a service on this link. `again`: it was subscribed to before, so the earlier subscription has to be
  /// ended first.
  private enum State {
    /// The phone does not have it.
    case missing(again: Bool)
    case located(LocatedService, again: Bool)
    /// It lacks a characteristic or a CCCD.
    case incomplete(LocatedService)
    /// The phone refused the subscription.
    case refused(LocatedService, ATTFailure)
    case subscribed(LocatedService, any RunningService)

    var service: LocatedService? {
      switch self {
      case .missing: nil
      case .located(let service, _), .incomplete(let service), .refused(let service, _),
        .subscribed(let service, _):
        service
      }
    }
  }

  /// Called when a running service has failed.
  var onFailure: () -> Void = {}

  private let context: ServiceContext
  /// How to verify the handles of an earlier session.
  private let trust: HandleTrust
  private var slots: [Slot] { didSet { context.changed() } }
  /// Why the phone refused the last search.
  private var refusal: ATTFailure?

  init(_ clients: [ServiceClient], _ context: ServiceContext, _ trust: HandleTrust) {
    slots = clients.map { Slot(client: $0) }
    self.context = context
    self.trust = trust
  }

  // MARK: State

  /// The running service of this type; nil if there is none.
  func active<Service: RunningService>(_ type: Service.Type = Service.self) -> Service? {
    slots.lazy.compactMap { $0.running as? Service }.first
  }

  /// The services in use or about to be, by their names in events.
  var names: [PhoneService] { slots.filter { $0.isUsed }.compactMap { $0.client.name } }

  /// The services that were located.
  var located: [LocatedService] {
    slots.compactMap { $0.state.service }.sorted { $0.service.range.start < $1.service.range.start }
  }

  /// Fills in the link's status.
  func describe(in report: inout LinkReport) {
    report.services = names
    for slot in slots { slot.running?.describe(in: &report) }
  }

  /// What the session waits for once it serves; ANCS decides.
  var wait: Wait {
    if let notifications = active(NotificationConsumer.self) { return notifications.wait }
    switch state(of: .notificationCenter) {
    case .incomplete?: return .incomplete
    case .refused(_, let failure)?: return .refused(failure.reason)
    case .missing?, .located?, .subscribed?, nil:
      return refusal.map { .refused($0.reason) } ?? .unpublished
    }
  }

  private func state(of service: UUID) -> State? {
    slots.first { $0.client.uuid == service }?.state
  }

  /// Whether ANCS is not in use.
  var lacksNotifications: Bool { active(NotificationConsumer.self) == nil }

  /// Whether ANCS was located in this range.
  func haveNotifications(in range: HandleRange) -> Bool {
    state(of: .notificationCenter)?.service?.service.range.overlaps(range) ?? false
  }

  /// Whether to search again, because ANCS is not in use, or AMS is missing or refused.
  var isIncomplete: Bool {
    switch state(of: .mediaService) {
    case .missing?, .refused?: true
    case .located?, .incomplete?, .subscribed?, nil: lacksNotifications
    }
  }

  /// Whether every service was located.
  var isWhole: Bool { slots.allSatisfy { $0.state.service != nil } }

  /// Whether ANCS or AMS is in use, so that `subscribed` is published.
  var isWorthAnnouncing: Bool { !lacksNotifications || active(MediaRemote.self) != nil }

  // MARK: Locating

  /// Uses the handles of an earlier session if one request shows that they are still right.
  ///
  /// - Parameter onVerify: called before that request.
  /// - Returns: whether they are.
  func useKnownHandles(_ onVerify: () -> Void) async throws(ATTFailure) -> Bool {
    guard let cache = context.phone.cache.handles else { return false }
    let isValid: Bool
    switch trust {
    case .assume:
      for service in cache.services { setLocated(service) }
      isValid = try await subscribeToFirst() ? verify(cache.services, onVerify) : false
    case .verify: isValid = try await verify(cache.services, onVerify)
    // Vol 3 Part G, 2.5.2.1.
    case .hash where cache.databaseHash != nil:
      isValid = try await context.client.firstValue(of: .databaseHash)?.value == cache.databaseHash
    case .hash, .discover: isValid = false
    }
    guard isValid else {
      forgetHandles()
      return false
    }
    for service in cache.services { setLocated(service) }
    return true
  }

  /// Whether the services in use are still where they were located.
  func verify() async throws(ATTFailure) -> Bool { try await verify(located) }

  /// Whether services have kept their handles. It requests those with 128-bit types, because one response holds them
  /// all; handles have no gaps, so the services before them have not moved either.
  private func verify(_ services: [LocatedService], _ onVerify: () -> Void = {}) async throws(ATTFailure) -> Bool {
    onVerify()
    return try await context.client.verify(services.filter { $0.service.uuid.short == nil })
  }

  /// Discovers the missing services in `range`, and a newer instance of a service than the one in use: a phone may add
  /// the new one before it removes the old. A refusal is reported, and leaves them missing.
  func locate(in range: HandleRange = .all) async throws(ATTFailure) {
    let wanted = slots.filter { $0.state.service == nil || $0.client.instance == .last }
    refusal = nil
    do {
      let found = try await context.client.locate(
        wanted.map { .init($0.client.uuid, $0.client.characteristics, $0.client.instance) }, in: range)
      for service in found { setLocated(service) }
    } catch {
      if error.isEnd { throw error }
      refusal = error
      context.report("looking for services", error)
    }
  }

  private func setLocated(_ service: LocatedService) {
    guard let index = slots.firstIndex(where: { $0.client.uuid == service.service.uuid }) else {
      return
    }
    if let inUse = slots[index].state.service {
      guard inUse.characteristics.first?.declaration != service.characteristics.first?.declaration
      else { return }
      drop(index)
    }
    if case .missing(let again) = slots[index].state {
      slots[index].state = .located(service, again: again)
    }
  }

  /// Drops ANCS, whose session is dead, so that it is searched for again.
  func dropNotifications() {
    context.phone.cache.handles = nil
    for index in slots.indices where slots[index].client.name == .ancs { drop(index) }
  }

  /// Discards the handles of an earlier session, which turned out to be wrong.
  func forgetHandles() {
    context.phone.cache.handles = nil
    for index in slots.indices { drop(index) }
  }

  /// Whether ANCS was located but could not be subscribed to.
  var hasUnusableNotifications: Bool {
    lacksNotifications && state(of: .notificationCenter)?.service != nil
  }

  // MARK: Subscribing

  /// Subscribes to the located services of a phase.
  func subscribe(_ phase: ServicePhase = .first) async throws(ATTFailure) {
    for index in slots.indices where slots[index].client.phase == phase {
      guard case .located(let service, let again) = slots[index].state else { continue }
      try await subscribe(index, to: service, again: again)
      if phase == .later { start(index) }
    }
  }

  /// Subscribes to the one service that the phone waits for: ANCS, or else AMS, as they are listed.
  ///
  /// - Returns: whether it accepted that.
  private func subscribeToFirst() async throws(ATTFailure) -> Bool {
    for index in slots.indices where slots[index].client.isAppleService {
      guard case .located(let service, let again) = slots[index].state else { continue }
      try await subscribe(index, to: service, again: again, isCertain: false)
      return slots[index].running != nil
    }
    return true
  }

  /// - Parameter isCertain: whether the handles are known to be right, so that a refusal is an error.
  private func subscribe(
    _ index: Int, to service: LocatedService, again: Bool, isCertain: Bool = true
  ) async throws(ATTFailure) {
    let client = slots[index].client
    let what = "subscribing to \(client.title)"
    do {
      guard let running = try await client.subscribe(service, again) else {
        slots[index].state = .incomplete(service)
        let name = client.name?.rawValue.uppercased() ?? client.title
        let why = "the phone's \(name) lacks a characteristic or a CCCD"
        return context.publish(.error(what: what, code: nil, message: why))
      }
      slots[index].state = .subscribed(service, running)
      if client.isAppleService { context.link.subscribed() }
    } catch {
      if error.isEnd { throw error }
      slots[index].state = .refused(service, error)
      // The next session searches for itself.
      context.phone.cache.handles = nil
      if isCertain { context.report(what, error) }
    }
  }

  /// Runs every service that is in use.
  func start() { for index in slots.indices { start(index) } }

  /// Runs a service concurrently with the session; the service notices by itself when the link is lost.
  private func start(_ index: Int) {
    guard let running = slots[index].running else { return }
    Loop.start { [weak self] in
      do throws(ATTFailure) {
        try await running.run()
      } catch { if !error.isEnd { self?.failed(index, running, error) } }
    }
  }

  /// A running service has failed: the phone refuses what it needs. One that was dropped may still be failing when the
  /// service is subscribed to again.
  private func failed(_ index: Int, _ failed: any RunningService, _ failure: ATTFailure) {
    guard case .subscribed(let service, let running) = slots[index].state, running === failed else {
      return
    }
    context.report("serving \(slots[index].client.title)", failure)
    running.end()
    slots[index].state = .refused(service, failure)
    context.phone.cache.handles = nil
    onFailure()
  }

  // MARK: Changes

  /// Handles Service Changed: discovers the services in `range` again and subscribes to them.
  ///
  /// - Returns: whether ANCS or AMS came back.
  func rediscover(in range: HandleRange) async throws(ATTFailure) -> Bool {
    context.phone.cache.handles = nil
    var affected = range
    for index in slots.indices {
      guard let service = slots[index].state.service?.service, service.range.overlaps(range) else {
        continue
      }
      affected = affected.spanning(service.range)
      drop(index)
    }
    return try await locateAndSubscribe(in: affected)
  }

  /// Searches the whole database for ANCS and AMS if they are missing: a phone may add ANCS late
  /// without Service Changed, and may later accept a subscription that it refused.
  ///
  /// - Returns: whether one was found, or was found in another place.
  func search() async throws(ATTFailure) -> Bool {
    for index in slots.indices where slots[index].client.isAppleService {
      if slots[index].running == nil { drop(index) }
    }
    return try await locateAndSubscribe(in: .all)
  }

  /// Returns whether ANCS or AMS is subscribed to where it was not located before.
  private func locateAndSubscribe(in range: HandleRange) async throws(ATTFailure) -> Bool {
    let before = located
    try await locate(in: range)
    try await subscribe()
    return slots.contains { slot in
      guard slot.client.isAppleService, case .subscribed(let service, _) = slot.state else {
        return false
      }
      return !before.contains(service)
    }
  }

  /// Ends a service that the phone has removed.
  private func drop(_ index: Int) {
    // Until Service Changed is found again, another change may be indicated where it was.
    if slots[index].client.name != nil, let service = slots[index].state.service {
      context.client.removeHandlers(in: service.service.range)
    }
    slots[index].running?.end()
    switch slots[index].state {
    case .missing: break
    case .located(_, let again): slots[index].state = .missing(again: again)
    case .incomplete: slots[index].state = .missing(again: false)
    case .refused, .subscribed: slots[index].state = .missing(again: true)
    }
  }

  /// Ends every service, because the session is over.
  func end() {
    for index in slots.indices {
      slots[index].running?.end()
      slots[index].state = .missing(again: false)
    }
  }
}

extension ATTFailure {
  /// The phone's reason, as the wait has it.
  fileprivate var reason: String { code.map { "\($0)" } ?? "\(self)" }
}

/// One of the phone's services, and how it is subscribed to. A session has a table of them (`SessionServices`);
/// CONTRIBUTING.md says how to add one.
///
///     located ──▶ subscribe ──▶ RunningService: run ──▶ end
///
@LoopActor struct ServiceClient {
  /// The service's type.
  let uuid: UUID
  /// The types of its characteristics that are used.
  let characteristics: [UUID]
  /// Its name in events and in `status`; nil for one that only the session itself uses.
  let name: PhoneService?
  /// Its name in errors, as in `subscribing to notifications`.
  let title: String
  /// When it is set up.
  let phase: ServicePhase
  /// Whether it is ANCS or AMS, for which a session is there.
  var isAppleService: Bool { name == .ancs || name == .ams }
  /// Which instance to use if the phone has several.
  var instance = WantedService.Instance.first
  /// Subscribes to a located service; nil if it lacks a mandatory characteristic or CCCD.
  ///
  /// `again`: an earlier subscription on this link may still be active. It has to be ended first, because a phone
  /// reports its current state only when a subscription begins.
  let subscribe: @LoopActor (LocatedService, _ again: Bool) async throws(ATTFailure) -> (any RunningService)?
}

/// A service that is subscribed to, until it was removed or the session is over.
@LoopActor protocol RunningService: AnyObject {
  /// Whether the phone has sent what it is for.
  var isInUse: Bool { get }
  /// Runs until the service or the session ends; returns at once if it is already running.
  func run() async throws(ATTFailure)
  /// Called when the service was removed or the session is over.
  func end()
  /// Fills in its part of the link's status.
  func describe(in report: inout LinkReport)
}

extension RunningService {
  var isInUse: Bool { true }
  func run() async throws(ATTFailure) {}
  func end() {}
  func describe(in report: inout LinkReport) {}
}

/// When a service is set up.
enum ServicePhase {
  /// Before the session is reported as subscribed: services that must not wait.
  case first
  /// After everything else, and after the session is reported as subscribed.
  case later
}

/// What a session provides to its services.
@LoopActor struct ServiceContext {
  let client: Client
  let phone: Phone
  let link: any Link
  /// For lines about this phone.
  let log: Log
  /// The clocks.
  let platform: any Platform
  /// Tasks of the services may outlive it.
  private weak let session: Session?

  init(_ session: Session) {
    (client, phone, link, log) = (session.client, session.phone, session.link, session.log)
    (platform, self.session) = (session.daemon.platform, session)
  }

  /// Publishes an event of this link.
  func publish(_ content: Event.Content) { session?.publish(content) }

  /// Reports a failure that does not end the session.
  func report(_ what: String, _ failure: ATTFailure) { session?.report(what, failure) }

  /// Called by a service when what the session waits for may have changed.
  func changed() { session?.onWaitChange() }

  /// Logs a malformed value from the phone.
  var logDropped: ([UInt8], String) -> Void {
    { [log] bytes, why in log.dropped("from the phone: \(why)", bytes) }
  }
}
