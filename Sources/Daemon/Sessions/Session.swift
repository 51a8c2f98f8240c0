// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Capture
import Companion
import Control
import EventLoop
import GAP
import GATT
import System
import Wire

/// The session with a phone on one link, from the first PDU to the last (docs/design.md, “The life
/// of a link”).
///
///     MTU ──▶ encryption ──▶ discovery ──▶ subscription ──▶ serving ⇄ services that change
///
/// Until the subscriptions are written, the phone gets as few requests as possible. A failure of
/// one service is reported, and tried again later; only a lost link ends the session.
@LoopActor final class Session {
  /// How far the session has come.
  enum Stage: Hashable {
    case connecting, securing, discovering, subscribing, serving
    /// The text says why.
    case ended(String)
  }

  private(set) var stage = Stage.connecting { didSet { onWaitChange() } }
  /// Whether `subscribed` was reported.
  private(set) var wasSubscribed = false
  /// Called when `wait` may have changed.
  var onWaitChange: () -> Void = {}

  let link: any Link
  let phone: Phone
  let bearer: Bearer
  let client: Client
  /// When the link came up.
  let since: WallTime
  private(set) lazy var services = makeServices()

  private let context: SessionContext
  private let server: Server
  private let jobs = Mailbox<Job>()
  private var timers: Set<TimerID> = []
  /// How many searches for ANCS there were since it was missing.
  private var searches = 0

  /// Work that comes up while a session serves.
  private enum Job: Hashable, Sendable {
    /// The phone has indicated that the attributes in this range have changed.
    case rediscover(HandleRange)
    /// The part of the set-up that can wait until the subscriptions are written.
    case finishSetUp
    /// Search again for missing services.
    case search
    /// Tell the phone that the board's own services have changed since it last connected.
    case announceOwnChanges
  }

  init(_ link: any Link, _ phone: Phone, _ context: SessionContext) {
    self.link = link
    self.phone = phone
    self.context = context
    since = context.wallTime()
    bearer = Bearer(scheduler: context.scheduler)
    client = Client(bearer)
    server = Server(
      bearer, database: context.database, client: phone.clientState,
      security: { [unowned link] in link.security })
  }

  /// Every service that the daemon is a client of.
  private func makeServices() -> SessionServices {
    let context = ServiceContext(self, context)
    return SessionServices(
      [
        ServiceChangedClient(context) { [weak self] in self?.jobs.post(.rediscover($0)) },
        NotificationService(context), MediaService(context), BatteryService(context),
        TimeService(context),
      ], context)
  }

  // MARK: The life of a link

  /// Runs until the link ends.
  ///
  /// - Returns: why it has ended.
  func run() async -> String {
    connect()
    phone.session = self
    do {
      try await live()
    } catch {
      link.end("\(error)")
    }
    return finish()
  }

  private func connect() {
    let link = link
    let bearer = bearer
    let capture = context.capture
    let log = context.log
    bearer.send = { pdu in
      capture?.record(pdu, .sent, on: link)
      link.send(pdu)
    }
    bearer.onDropped = { log.warning("dropped from the phone: \($1): \($0.hex)") }
    bearer.onDead = { link.end("\($0)") }
    bearer.raiseSecurity = { _ in await link.raiseSecurity() }
    client.onUnclaimedValue = { handle, value in
      log.info("dropped a value of \(hexadecimal(handle)), which nobody asked for: \(value.hex)")
    }
    link.onWaitChange = { [weak self] in self?.onWaitChange() }
    link.onEnd = { [weak self] in self?.linkEnded($0) }
    link.onPacket = { [unowned link] pdu in
      capture?.record(pdu, .received, on: link)
      bearer.receive(pdu)
    }
  }

  private func live() async throws(ATTFailure) {
    // The response is also the phone's first byte: some kernels do not survive the closing of a
    // link that has received none (docs/kernel.md, “Kernel bug: silent links”).
    try await bearer.exchangeMTU()
    stage = .securing
    guard await link.secure() else {
      while await jobs.next() != nil {}
      return
    }
    // iOS was seen to misbehave when Service Changed is indicated right after encryption.
    if server.hasChangesToAnnounce, let pause = context.quirks.ownChanges {
      schedule(.announceOwnChanges, after: pause)
    }
    try await setUp()
    while let job = await jobs.next() { try await perform(job) }
  }

  private func linkEnded(_ reason: String) {
    if case .ended = stage { return }
    stage = .ended(reason)
    bearer.close(.closed(reason))
    jobs.close()
  }

  /// Cleans up; returns why the session has ended.
  private func finish() -> String {
    linkEnded("the link was lost")
    context.capture?.ended(link)
    for timer in timers { context.scheduler.cancel(timer) }
    timers = []
    services.end()
    if link.isBonded { phone.clientState = server.client }
    if phone.session === self { phone.session = nil }
    // The link and the bearer retain each other while these are set.
    link.onPacket = { _ in }
    bearer.onDead = { _ in }
    bearer.raiseSecurity = nil
    context.remember(phone)
    guard case .ended(let reason) = stage else { return "" }
    return reason
  }

  // MARK: Setting up

  private func setUp() async throws(ATTFailure) {
    stage = .discovering
    let isKnown = try await services.useKnownHandles()
    if isKnown {
      context.log.info("the phone's Database Hash is the same: its handles are known")
    } else {
      try await services.locate()
    }
    stage = .subscribing
    try await services.subscribe()
    if isKnown, services.hasUnusableNotifications {
      context.log.notice("the handles that were remembered are not the phone's: looking again")
      services.forgetHandles()
      try await services.locate()
      try await services.subscribe()
    }
    try await services.read()
    if services.isWorthAnnouncing { announce() } else { serve() }
    jobs.post(.finishSetUp)
    searchLater()
  }

  /// Publishes `subscribed`, and begins to serve.
  private func announce() {
    publish(.subscribed(services.names, mtu: bearer.mtu, requests: bearer.requestsSent))
    // The phone may have distributed its identity by pairing on this link.
    phone.identity = link.phone ?? phone.identity
    wasSubscribed = true
    services.announce()
    serve()
  }

  private func serve() {
    stage = .serving
    link.work(backlog: services.active(NotificationService.self)?.consumer?.backlog ?? 0)
    services.start()
  }

  /// The rest of the set-up, after the subscriptions: the services of phase `later`, the phone's
  /// name, and the Database Hash, under which the handles are remembered.
  private func finishSetUp() async throws(ATTFailure) {
    try await services.subscribeToRest()
    if phone.displayName == nil, let name = try await client.firstValue(of: .deviceName)?.value,
      !name.isEmpty
    {
      phone.displayName = String(decoding: name, as: UTF8.self)
      context.remember(phone)
    }
    try await rememberHandles()
  }

  private func rememberHandles() async throws(ATTFailure) {
    guard phone.identity != nil, phone.handles == nil, !services.lacksNotifications else { return }
    guard let hash = try await client.firstValue(of: .databaseHash)?.value, hash.count == 16 else {
      return
    }
    phone.handles = HandleCache(databaseHash: hash, services: services.located)
    context.remember(phone)
  }

  // MARK: Jobs

  private func perform(_ job: Job) async throws(ATTFailure) {
    switch job {
    case .rediscover(let range):
      context.log.info("the phone's services in \(range) have changed")
      let cameBack = try await services.rediscover(in: range)
      publish(.servicesChanged(services.names))
      if cameBack { announce() }
      jobs.post(.finishSetUp)
      searchLater()
    case .finishSetUp: try await finishSetUp()
    case .search:
      guard services.lacksNotifications || services.active(MediaService.self) == nil else { return }
      if try await services.search() {
        publish(.servicesChanged(services.names))
        announce()
      }
      searchLater()
    case .announceOwnChanges: server.announceChanges()
    }
  }

  /// Schedules the next search while ANCS is missing: with growing pauses, up to five minutes.
  private func searchLater() {
    guard services.lacksNotifications, context.quirks.searches else { return searches = 0 }
    let pauses: [Duration] = [.seconds(5), .seconds(15), .seconds(60), .seconds(300)]
    schedule(.search, after: pauses[min(searches, pauses.count - 1)])
    searches += 1
  }

  /// Schedules a job; the end of the session cancels it.
  private func schedule(_ job: Job, after delay: Duration) {
    var timer: TimerID?
    timer = context.scheduler.schedule(after: delay) { [weak self] in
      if let timer { self?.timers.remove(timer) }
      self?.jobs.post(job)
    }
    if let timer { timers.insert(timer) }
  }

  // MARK: Events and status

  /// The phone's address, if it is known.
  var address: Address? { (link.phone ?? phone.identity)?.address }

  /// An event of this link.
  func event(_ content: Event.Content) -> Event {
    Event(content, adapter: link.adapter, phone: address)
  }

  func publish(_ content: Event.Content) { context.feed.publish(event(content)) }

  /// Reports a failure that does not end the session.
  func report(_ what: String, _ failure: ATTFailure) {
    publish(.error(what: what, code: failure.code.map { Int($0.rawValue) }, message: "\(failure)"))
  }

  /// What the session waits for; nil once it has ended.
  var wait: Wait? {
    switch stage {
    case .ended: return nil
    case .connecting: return .security(.mtu)
    case .securing, .discovering, .subscribing, .serving: break
    }
    // Security may be raised at any stage.
    if let wait = link.wait { return wait }
    switch stage {
    case .connecting, .securing: return .security(.encryption)
    case .discovering: return .service(.discovery)
    case .subscribing: return .service(.subscription)
    case .serving: return .service(services.wait)
    case .ended: return nil
    }
  }

  /// The link, as `status` shows it.
  var report: LinkReport {
    var report = LinkReport()
    report.adapter = link.adapter
    report.phone = address
    report.name = phone.displayName
    report.since = since
    report.isEncrypted = link.security.encrypted
    report.isBonded = link.isBonded
    report.mtu = bearer.mtu
    report.requests = bearer.requestsSent
    services.describe(in: &report)
    report.waiting = WaitReport(wait, name: context.name)
    return report
  }

  /// What is known of the attributes at both ends.
  var knownAttributes: KnownLink {
    let located = services.located
    let types = Set(located.map(\.service.uuid))
    let remembered = (phone.handles?.services ?? []).filter { !types.contains($0.service.uuid) }
    var known = KnownLink()
    known.adapter = link.adapter
    known.phone = address
    known.services = (remembered + located).sorted {
      $0.service.range.start < $1.service.range.start
    }
    known.board = context.database.services
    return known
  }
}

/// What all sessions of a daemon share.
@LoopActor struct SessionContext {
  var feed: EventFeed
  var log: Log
  /// The board's name, as the phone shows it.
  var name: String
  var scheduler: any Scheduler
  var wallTime: () -> WallTime
  /// The board's own attributes, which the phone may read.
  var database: AttributeDatabase
  var fetch: AttributeSelection
  var quirks: Quirks
  /// Where the ATT PDUs are captured; nil without `--btsnoop`.
  var capture: CaptureWriter?
  /// Saves what was learned of a phone.
  var remember: (Phone) -> Void
}

/// What a session offers to its services.
@LoopActor struct ServiceContext {
  let client: Client
  let phone: Phone
  let link: any Link
  let shared: SessionContext
  /// Publishes an event of this link.
  let publish: (Event.Content) -> Void
  /// Reports a failure that does not end the session.
  let report: (_ what: String, ATTFailure) -> Void
  /// Called by a service when what the session waits for may have changed.
  let changed: () -> Void

  init(_ session: Session, _ context: SessionContext) {
    client = session.client
    phone = session.phone
    link = session.link
    shared = context
    publish = { [unowned session] in session.publish($0) }
    report = { [unowned session] in session.report($0, $1) }
    changed = { [weak session] in session?.onWaitChange() }
  }

  /// Logs a malformed value from the phone.
  var logDropped: ([UInt8], String) -> Void {
    { [log = shared.log] bytes, why in log.warning("dropped from the phone: \(why): \(bytes.hex)") }
  }
}
