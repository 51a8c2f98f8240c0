// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Companion
import Control
import EventLoop
import GAP
import GATT
import Wire

/// The phone's services on one link: discovers them, subscribes to them, and follows their changes.
@LoopActor final class SessionServices {
  /// A service and its state.
  private struct Slot {
    let client: any ServiceClient
    var state = State.missing(anew: false)
  }

  /// The state of a service on this link. `anew`: it was subscribed to before, so that the earlier
  /// subscription has to be ended first.
  private enum State {
    /// The phone does not have it.
    case missing(anew: Bool)
    case located(LocatedService, anew: Bool)
    /// It lacks a characteristic or a CCCD.
    case incomplete(LocatedService)
    /// The phone refused the subscription.
    case refused(LocatedService, ATTFailure)
    /// Nil: its value was read by type, but the service was not found.
    case subscribed(LocatedService?)

    var service: LocatedService? {
      switch self {
      case .missing: nil
      case .located(let service, _), .incomplete(let service), .refused(let service, _): service
      case .subscribed(let service): service
      }
    }

    /// Whether no subscription was tried since the service was found.
    var isUntried: Bool {
      switch self {
      case .missing, .located: true
      case .incomplete, .refused, .subscribed: false
      }
    }
  }

  private let context: ServiceContext
  private var slots: [Slot] { didSet { context.changed() } }

  init(_ clients: [any ServiceClient], _ context: ServiceContext) {
    slots = clients.map { Slot(client: $0) }
    self.context = context
  }

  // MARK: State

  /// The service of this type; nil if it is not in use.
  func active<Service: ServiceClient>(_ type: Service.Type = Service.self) -> Service? {
    slots.lazy.compactMap { $0.client as? Service }.first { $0.isActive }
  }

  /// The services in use, by their names in events.
  var names: [PhoneService] { slots.filter(\.client.isActive).compactMap(\.client.name) }

  /// The services that were located.
  var located: [LocatedService] {
    slots.compactMap(\.state.service).sorted { $0.service.range.start < $1.service.range.start }
  }

  /// What is active now, for a control client that subscribes later.
  func replay() -> [Event.Content] { slots.flatMap { $0.client.replay() } }

  /// Fills in the link's status.
  func describe(in report: inout LinkReport) {
    report.services = names
    for slot in slots { slot.client.describe(in: &report) }
  }

  /// What the session waits for once it serves; ANCS decides.
  var wait: ServiceWait {
    if let notifications = active(NotificationService.self) { return notifications.wait }
    switch notificationState {
    case .incomplete?: return .incomplete
    case .refused(_, let failure)?:
      return .refused("\(failure.code.map { "\($0)" } ?? "\(failure)")")
    case .missing?, .located?, .subscribed?, nil: return .unpublished
    }
  }

  private var notificationState: State? {
    slots.first { $0.client.uuid == .notificationCenter }?.state
  }

  /// Whether ANCS is not in use, so that it is searched for again.
  var lacksNotifications: Bool { active(NotificationService.self) == nil }

  /// Whether ANCS or AMS is in use, so that `subscribed` is published.
  var isWorthAnnouncing: Bool { !lacksNotifications || active(MediaService.self) != nil }

  // MARK: Locating

  /// Uses the handles of an earlier session if the phone's Database Hash is still the same
  /// (Vol 3 Part G, 2.5.2.1).
  ///
  /// - Returns: whether it is.
  func useKnownHandles() async throws(ATTFailure) -> Bool {
    guard let cache = context.phone.handles else { return false }
    guard try await context.client.firstValue(of: .databaseHash)?.value == cache.databaseHash else {
      context.phone.handles = nil
      return false
    }
    for service in cache.services { setLocated(service) }
    return true
  }

  /// Discovers the missing services of phase `first` in `range`, with their characteristics and
  /// CCCDs.
  func locate(in range: HandleRange = .all) async throws(ATTFailure) {
    var found: [LocatedService] = []
    for slot in slots where slot.client.phase == .first && slot.state.service == nil {
      let service = try await context.client.outline(
        slot.client.uuid, slot.client.instance, in: range)
      if let service { found.append(service) }
    }
    try await context.client.findConfigurations(of: &found)
    for service in found { setLocated(service) }
  }

  private func setLocated(_ service: LocatedService) {
    guard let index = slots.firstIndex(where: { $0.client.uuid == service.service.uuid }) else {
      return
    }
    if case .missing(let anew) = slots[index].state {
      slots[index].state = .located(service, anew: anew)
    }
  }

  /// Discards the handles of an earlier session, which turned out to be wrong.
  func forgetHandles() {
    context.phone.handles = nil
    for index in slots.indices { drop(index) }
  }

  /// Whether ANCS was located but could not be subscribed to.
  var hasUnusableNotifications: Bool {
    lacksNotifications && notificationState?.service != nil
  }

  // MARK: Subscribing

  /// Subscribes to the located services of phase `first`.
  func subscribe() async throws(ATTFailure) {
    for index in slots.indices {
      guard slots[index].client.phase == .first,
        case .located(let service, let anew) = slots[index].state
      else { continue }
      try await subscribe(index, to: service, anew: anew)
    }
  }

  /// Reads the services of phase `later`, so that `subscribed` can name those that the phone has.
  func read() async throws(ATTFailure) {
    for slot in slots where slot.client.phase == .later && !slot.client.isActive {
      try await slot.client.read()
    }
  }

  /// Locates the services of phase `later` that the phone has, and subscribes to them.
  func subscribeToRest() async throws(ATTFailure) {
    for index in slots.indices {
      let client = slots[index].client
      guard client.phase == .later, client.isActive, slots[index].state.isUntried else { continue }
      if slots[index].state.service == nil {
        try await attempt("locating \(client.title)") { () throws(ATTFailure) in
          if let service = try await context.client.locate(client.uuid) { setLocated(service) }
        }
      }
      try await subscribe(index, to: slots[index].state.service, anew: false)
      start(client)
    }
  }

  private func subscribe(
    _ index: Int, to service: LocatedService?, anew: Bool
  ) async throws(ATTFailure) {
    let client = slots[index].client
    let what = "subscribing to \(client.title)"
    do {
      try await client.subscribe(to: service, anew: anew)
      slots[index].state = .subscribed(service)
    } catch {
      switch error {
      case .incomplete(let name):
        if let service { slots[index].state = .incomplete(service) }
        context.publish(
          .error(
            what: what, code: nil,
            message: "the phone's \(name) lacks a characteristic or its configuration"))
      case .failed(let failure):
        if failure.isEnd { throw failure }
        if let service { slots[index].state = .refused(service, failure) }
        context.report(what, failure)
      }
    }
  }

  /// Publishes what is already known, after `subscribed`.
  func announce() { for slot in slots { slot.client.announce() } }

  /// Runs every service that is in use.
  func start() { for slot in slots where slot.client.isActive { start(slot.client) } }

  /// Runs a service concurrently with the session, which learns by itself when the link is lost.
  private func start(_ client: any ServiceClient) {
    Loop.start { [context] in
      do throws(ATTFailure) {
        try await client.run()
      } catch {
        if !error.isEnd { context.report("serving \(client.title)", error) }
      }
    }
  }

  // MARK: Changes

  /// Handles Service Changed: discovers the services in `range` again and subscribes to them.
  ///
  /// - Returns: whether ANCS or AMS came back.
  func rediscover(in range: HandleRange) async throws(ATTFailure) -> Bool {
    context.phone.handles = nil
    var affected = range
    for index in slots.indices {
      guard let service = slots[index].state.service?.service, service.range.overlaps(range) else {
        continue
      }
      affected.start = min(affected.start, service.range.start)
      affected.end = max(affected.end, service.range.end)
      drop(index)
    }
    try await preferNewNotifications(in: affected)
    let before = names
    try await locateMissing(in: affected)
    try await read()
    return names.contains { [.ancs, .ams].contains($0) && !before.contains($0) }
  }

  /// Searches the whole database for ANCS and AMS if they are missing: a phone may add ANCS late
  /// without Service Changed, and may later accept a subscription that it refused.
  ///
  /// - Returns: whether one was found.
  func search() async throws(ATTFailure) -> Bool {
    let before = names
    for index in slots.indices where [.ancs, .ams].contains(slots[index].client.name) {
      if !slots[index].client.isActive { drop(index) }
    }
    try await locateMissing(in: .all)
    return names != before
  }

  /// Drops ANCS if a new one has appeared: a phone may add the new one before it removes the old.
  private func preferNewNotifications(in range: HandleRange) async throws(ATTFailure) {
    guard let index = slots.firstIndex(where: { $0.client.instance == .last }),
      slots[index].state.service != nil
    else { return }
    try await attempt("looking for another ANCS") { () throws(ATTFailure) in
      let another = try await context.client.outline(slots[index].client.uuid, .last, in: range)
      if another != nil { drop(index) }
    }
  }

  private func locateMissing(in range: HandleRange) async throws(ATTFailure) {
    try await attempt("looking for services") { () throws(ATTFailure) in try await locate(in: range)
    }
    try await subscribe()
  }

  /// Ends a service that is gone.
  private func drop(_ index: Int) {
    if let service = slots[index].state.service {
      context.client.removeHandlers(in: service.service.range)
    }
    slots[index].client.end()
    switch slots[index].state {
    case .missing: break
    case .located(_, let anew): slots[index].state = .missing(anew: anew)
    case .incomplete: slots[index].state = .missing(anew: false)
    case .refused, .subscribed: slots[index].state = .missing(anew: true)
    }
  }

  /// Ends every service, because the session is over.
  func end() { for slot in slots { slot.client.end() } }

  /// Does work whose failure is reported and does not end the session, unless the link is lost.
  private func attempt(
    _ what: String, _ work: () async throws(ATTFailure) -> Void
  ) async throws(ATTFailure) {
    do {
      try await work()
    } catch {
      if error.isEnd { throw error }
      context.report(what, error)
    }
  }
}

/// The phone's Generic Attribute service: Service Changed indicates that services were added,
/// removed or moved. A phone adds and removes ANCS at any time.
@LoopActor final class ServiceChangedClient: ServiceClient {
  let uuid = UUID.genericAttribute
  let name: PhoneService? = nil
  let title = "Service Changed"
  let phase = ServicePhase.first
  private(set) var isActive = false

  private let context: ServiceContext
  private let onChange: (HandleRange) -> Void

  init(_ context: ServiceContext, onChange: @escaping (HandleRange) -> Void) {
    self.context = context
    self.onChange = onChange
  }

  func subscribe(to service: LocatedService?, anew: Bool) async throws(SubscriptionFailure) {
    guard let changed = service?[.serviceChanged], let cccd = changed.cccd else {
      return context.shared.log.notice("the phone has no Service Changed to subscribe to")
    }
    // The client keeps this closure, so the closure must not keep the client.
    context.client.setHandler(for: changed.value) { [onChange, log = context.shared.log] value in
      do {
        onChange(try ServiceChanged(decoding: value).range)
      } catch {
        log.warning("dropped a Service Changed: \(error): \(value.hex)")
      }
    }
    do {
      try await context.client.configure(cccd, .indications)
      isActive = true
    } catch {
      throw .failed(error)
    }
  }

  func end() { isActive = false }
}
