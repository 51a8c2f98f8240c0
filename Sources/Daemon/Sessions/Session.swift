// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Board
import Capture
import Companion
import Control
import EventLoop
import GAP
import GATT
import Mgmt
import System
import Wire

/// The session with a phone on one link, from the first PDU to the last (docs/design.md, “The life
/// of a link”).
///
///     MTU ──▶ encryption ──▶ discovery ──▶ subscription ──▶ serving ⇄ services that change
///
/// Until the subscriptions are written, the phone gets as few requests as possible. A failure of one service is
/// reported and retried later; only a lost link ends the session.
@LoopActor final class Session {
  /// The progress of the session.
  enum Stage: Hashable {
    case securing, discovering, subscribing, serving
    /// The text says why.
    case ended(String)
  }

  private(set) var stage = Stage.securing { didSet { onWaitChange() } }
  /// Whether `subscribed` was reported.
  private(set) var wasSubscribed = false
  /// Whether the last session with ANCS was dead, and none has shown a sign of life since.
  private var hasDeadNotifications = false
  /// Called when `wait` may have changed.
  var onWaitChange: () -> Void = {}

  let link: any Link
  /// The phone: nobody who is known until the link is secured, because anybody can use a phone's address.
  private(set) var phone: Phone
  let bearer: Bearer
  let client: Client
  /// When the link came up.
  let since: WallTime
  private(set) lazy var services = makeServices()

  /// The link's number, counted since the start.
  let number: Int
  /// The latest settings when the link came up.
  let settings: Settings
  /// For lines about this phone, with a rate limit.
  let log: Log
  let daemon: Supervisor
  private let server: Server
  private let jobs = Mailbox<Job>()
  /// When to search for services again.
  private var discovery = DiscoveryPlan() { didSet { searching.due = discovery.deadline } }
  private lazy var searching = Deadline(scheduler) { [weak self] in self?.jobs.post(.search) }
  private lazy var reconnecting = Deadline(scheduler) { [weak self] in self?.jobs.post(.reconnect) }
  /// Indicates that the board's own services have changed since the phone last connected.
  private lazy var announcing = Deadline(scheduler) { [server] in server.announceChanges() }

  /// Work that comes up while a session is serving.
  private enum Job: Sendable {
    /// Locate the services and subscribe: the link is secured.
    case setUp(isNew: Bool)
    /// The part of the set-up that can wait until the subscriptions are written.
    case finishSetUp
    /// A step of `discovery` is due.
    case search
    /// End the link of a phone that has just paired but has no ANCS.
    case reconnect
  }

  init(_ link: any Link, _ number: Int, _ daemon: Supervisor, _ settings: Settings, _ log: Log) {
    (self.link, self.number, self.daemon) = (link, number, daemon)
    (self.settings, self.log) = (settings, log)
    phone = Phone(0, on: link, PhoneNotifications(keeping: .zero, daemon.platform.scheduler))
    since = daemon.platform.wallTime
    bearer = Bearer(scheduler: daemon.platform.scheduler)
    client = Client(bearer)
    server = Server(bearer, database: daemon.database, security: { [weak link] in link?.security ?? .none })
  }

  private var scheduler: any Scheduler { daemon.platform.scheduler }
  /// The assumptions about iOS.
  var quirks: Quirks { settings.options.quirks }

  /// Every service that the daemon is a client of.
  private func makeServices() -> SessionServices {
    let context = ServiceContext(self)
    let services = SessionServices(
      [
        .notifications(
          context, quirks, onLife: { [weak self] in self?.hasDeadNotifications = false },
          onDead: { [weak self] in self?.notificationsDied($0) }),
        .media(context, without: quirks.unwantedMedia),
        .serviceChanged(context) { [weak self] in self?.servicesChanged($0, after: $1) },
        .battery(context), .time(context),
      ], context, quirks.handles)
    services.onFailure = { [weak self] in self?.serviceFailed() }
    return services
  }

  // MARK: The life of a link

  /// Runs until the link ends.
  ///
  /// - Returns: why it has ended.
  func run() async -> String {
    connect()
    do {
      try await live()
    } catch {
      if !link.isLastChance { link.end("\(error)") }
      // Otherwise the phone has to end it.
      while await jobs.next() != nil {}
    }
    return finish()
  }

  private func connect() {
    let (link, bearer, log, capture) = (link, bearer, log, daemon.capture)
    bearer.send = { pdu in
      capture?.record(pdu, .sent, on: link)
      link.send(pdu)
    }
    bearer.onDropped = { log.dropped("from the phone: \($1)", $0) }
    bearer.onDead = { if !link.isLastChance { link.end("\($0)") } }
    bearer.raiseSecurity = { done in Loop.start { done(await link.raiseSecurity()) } }
    client.onUnclaimedValue = { handle, value in
      log.dropped("an unexpected value of \(hexadecimal(handle))", value, at: .info)
    }
    client.keepEarlyValues()
    link.onChange = { [weak self] in self?.linkChanged($0) }
    if let capture {
      link.onPacket = { [weak link] pdu in
        if let link { capture.record(Array(pdu), .received, on: link) }
        bearer.receive(pdu)
      }
    } else {
      link.onPacket = { bearer.receive($0) }
    }
  }

  private func live() async throws(ATTFailure) {
    // The response is also the phone's first byte: some kernels crash on closing a link that has received none
    // (docs/kernel.md, “Kernel bug: silent links”). A bonded iPhone does not respond before the link is encrypted, so
    // nothing waits for it.
    bearer.request(.exchangeMTURequest(clientMTU: UInt16(bearer.receiveMTU))) { [weak self] _ in
      self?.onWaitChange()
    }
    while let job = await jobs.next() { try await perform(job) }
  }

  private func linkChanged(_ change: LinkChange) {
    switch change {
    case .identified(let identity):
      phone.identity = identity
      if phone.session === self { daemon.phoneBook.identified(phone) }
    case .secured(let isNew): linkSecured(isNew: isNew)
    case .wait: onWaitChange()
    case .ended(let reason): linkEnded(reason)
    }
  }

  private func linkSecured(isNew: Bool) {
    let isFirst = phone.session !== self
    // That the link is secured proves whose it is.
    if isFirst {
      phone = daemon.phone(on: link, number)
      phone.session = self
      services = makeServices()
    }
    // The phone's configuration of the board belongs to the bond (Vol 3 Part G, 3.3.3.3). On a link that is not
    // secured yet, nothing was configured under a former bond.
    if isNew, phone.cache.client != ClientState() {
      phone.cache.client = ClientState()
      daemon.remember(phone)
    }
    if !isNew || !isFirst { server.recall(phone.cache.client) }
    guard isFirst else { return }
    // iOS has been seen to misbehave if Service Changed is indicated right after encryption.
    if server.hasChangesToAnnounce, let pause = quirks.ownChanges {
      announcing.due = scheduler.now + pause
    }
    jobs.post(.setUp(isNew: isNew))
  }

  private func linkEnded(_ reason: String) {
    if case .ended = stage { return }
    stage = .ended(reason)
    bearer.close(.closed(reason))
    jobs.close()
  }

  /// Cleans up; returns why the session has ended.
  private func finish() -> String {
    linkEnded(LinkEnd.linkLost)
    daemon.capture?.ended(link)
    for timer in [searching, reconnecting, announcing] { timer.due = nil }
    services.end()
    if link.wasSecured, link.isBonded {
      phone.cache.client = server.client
      daemon.remember(phone)
    }
    if phone.session === self { phone.session = nil }
    // The link and the bearer retain each other while these are set.
    link.onPacket = { _ in }
    bearer.onDead = { _ in }
    bearer.raiseSecurity = nil
    guard case .ended(let reason) = stage else { return "" }
    return reason
  }

  // MARK: Setting up

  private func setUp(isNew: Bool) async throws(ATTFailure) {
    stage = .discovering
    discovery.began(after: bearer.requestsSent)
    let isKnown = try await services.useKnownHandles { discovery.began(after: bearer.requestsSent) }
    if isKnown {
      log.info("the phone's services are unchanged: their handles are known")
    } else {
      try await services.locate()
    }
    stage = .subscribing
    try await services.subscribe()
    if isKnown, services.hasUnusableNotifications {
      log.notice("the remembered handles are wrong: searching again")
      services.forgetHandles()
      try await services.locate()
      try await services.subscribe()
    }
    // Nothing is fetched before that, and so nothing judged.
    if daemon.rules.rules.askForName { try await readName() }
    client.dropEarlyValues()
    if services.isWorthAnnouncing { announce() } else { serve() }
    jobs.post(.finishSetUp)
    searchLater()
    if services.lacksNotifications, isNew, link.isBonded, quirks.reconnects {
      reconnecting.due = scheduler.now + Self.newPhonePatience
    }
  }

  /// How long a newly paired phone may lack ANCS.
  private static let newPhonePatience: Duration = .seconds(60)

  /// Publishes `subscribed`, and begins to serve.
  private func announce() {
    publish(.subscribed(services.names, mtu: bearer.mtu, requests: bearer.requestsSent))
    wasSubscribed = true
    serve()
  }

  private func serve() {
    stage = .serving
    link.work(backlog: services.active(NotificationConsumer.self)?.backlog ?? 0)
    services.start()
  }

  /// The rest of the set-up, after the subscriptions: the services of phase `later`, the phone's name, and saving the
  /// handles.
  private func finishSetUp() async throws(ATTFailure) {
    let announced = services.names
    try await services.subscribe(.later)
    if services.names != announced { publish(.servicesChanged(services.names)) }
    try await readName()
    try await rememberHandles()
  }

  /// Reads the phone's name, unless it is known.
  private func readName() async throws(ATTFailure) {
    guard phone.cache.name == nil,
      let name = try await client.firstValue(of: .deviceName)?.value, !name.isEmpty
    else { return }
    phone.cache.name = String(decoding: name, as: UTF8.self)
    daemon.remember(phone)
    daemon.phoneBook.named(phone)
  }

  private func rememberHandles() async throws(ATTFailure) {
    guard phone.cache.handles == nil, !services.lacksNotifications else { return }
    var hash: [UInt8]?
    switch quirks.handles {
    case .discover: return
    case .assume, .verify: break
    case .hash:
      hash = try await client.firstValue(of: .databaseHash)?.value
      guard hash?.count == 16 else { return }
    }
    phone.cache.handles = HandleCache(databaseHash: hash, services: services.located)
    daemon.remember(phone)
  }

  // MARK: Failures

  /// The phone has indicated a change of the attributes in `range`, after `responses` responses.
  private func servicesChanged(_ range: HandleRange, after responses: Int) {
    let isNews = discovery.changed(range, after: responses, isSettingUp: stage != .serving, at: scheduler.now)
    if !isNews { log.info("services in \(range) have changed; searching") }
  }

  /// A running service has failed.
  private func serviceFailed() {
    publish(.servicesChanged(services.names))
    searchLater()
  }

  /// The session with ANCS is dead. Locates ANCS again; if that did not help before, ends the link.
  private func notificationsDied(_ reason: String) {
    let again = hasDeadNotifications
    hasDeadNotifications = true
    // The removal of ANCS may cross a request to it, which then fails after its Service Changed.
    if let range = discovery.changing, services.haveNotifications(in: range) {
      discovery.confirmChange()
      return log.info("\(reason), as the phone has indicated: searching")
    }
    guard again else {
      publish(.stale(what: reason, remedy: "the daemon searches for ANCS again"))
      return discovery.revive(at: scheduler.now)
    }
    guard !leave(reason) else { return }
    services.dropNotifications()
    publish(.servicesChanged(services.names))
    discovery.rest(until: scheduler.now + .seconds(300))
  }

  /// Ends the link, because the phone reconnects by itself; but not too often.
  ///
  /// - Returns: whether it does.
  @discardableResult private func leave(_ reason: String) -> Bool {
    guard quirks.reconnects, !link.isLastChance,
      phone.reconnection.take(at: scheduler.now)
    else {
      return false
    }
    publish(
      .stale(what: reason, remedy: "the daemon ends the link; the phone reconnects by itself"))
    link.end("\(reason); the phone should reconnect")
    return true
  }

  // MARK: Jobs

  private func perform(_ job: Job) async throws(ATTFailure) {
    switch job {
    case .setUp(let isNew): try await setUp(isNew: isNew)
    case .finishSetUp: try await finishSetUp()
    case .search:
      let step = discovery.next(at: scheduler.now, after: bearer.requestsSent)
      if let step { try await search(step) }
    case .reconnect:
      if services.lacksNotifications { leave("the phone has paired, but has no ANCS") }
    }
  }

  private func search(_ step: DiscoveryPlan.Step) async throws(ATTFailure) {
    let before = services.names
    var isChange = false
    let cameBack: Bool
    switch step {
    case .change(let range, let mayBeNone):
      if mayBeNone, !services.isIncomplete, try await services.verify() {
        log.info("the services in \(range) that are used are unchanged")
        if services.isWhole { return }
        // The battery or the time may be new.
        cameBack = try await services.search()
        break
      }
      log.info("the phone's services in \(range) have changed")
      discovery.servicesChanged()
      isChange = true
      cameBack = try await services.rediscover(in: range)
    case .search, .revival:
      if step == .revival { services.dropNotifications() }
      cameBack = try await services.search()
    }
    if isChange || services.names != before { publish(.servicesChanged(services.names)) }
    if cameBack { announce() }
    jobs.post(.finishSetUp)
    searchLater()
  }

  /// Plans the next search while ANCS or AMS is missing.
  private func searchLater() {
    discovery.settled(isMissing: services.isIncomplete && quirks.searches, at: scheduler.now)
  }

  // MARK: Events and status

  func publish(_ content: Event.Content) {
    guard daemon.feed.reads(content.name) else { return daemon.feed.pass(over: content.name) }
    daemon.feed.publish(phone.event(content), ofStranger: !link.wasSecured)
  }

  /// Reports a failure that does not end the session.
  func report(_ what: String, _ failure: ATTFailure) {
    publish(.error(what: what, code: failure.code.map { Int($0.rawValue) }, message: "\(failure)"))
  }

  /// Whether the phone has a bond, and the board has not subscribed to anything that counts for it yet.
  var isOnItsWay: Bool {
    if case .ended = stage { return false }
    return link.isBonded && !link.hasSubscribed
  }

  /// What the session waits for; nil once it has ended.
  var wait: Wait? {
    switch stage {
    case .ended: nil
    // Security may be raised at any stage.
    case _ where link.wait != nil: link.wait
    case _ where bearer.responsesReceived == 0: .mtu
    case .securing: .encryption
    case .discovering: .discovery
    case .subscribing: .subscription
    case .serving: services.wait
    }
  }

  /// The link, as `status` shows it.
  ///
  /// - Parameter condition: what the controller knows of it.
  func report(with condition: LinkReport) -> LinkReport {
    var report = condition
    report.adapter = link.adapter
    report.phone = phone.address
    report.name = phone.cache.name
    report.since = since
    report.isEncrypted = link.security.encrypted
    report.isBonded = link.isBonded
    report.mtu = bearer.mtu
    report.requests = bearer.requestsSent
    services.describe(in: &report)
    report.waiting = WaitReport(wait, name: daemon.name)
    return report
  }

  /// What is known of the attributes at both ends.
  var knownAttributes: KnownLink {
    let located = services.located
    let types = Set(located.map(\.service.uuid))
    let remembered = (phone.cache.handles?.services ?? []).filter {
      !types.contains($0.service.uuid)
    }
    var known = KnownLink()
    known.adapter = link.adapter
    known.phone = phone.address
    known.services = (remembered + located).sorted {
      $0.service.range.start < $1.service.range.start
    }
    known.board = daemon.database.services
    return known
  }
}
