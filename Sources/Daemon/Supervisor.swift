// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Bluetooth
import Control
import EventLoop
import GATT
import Mgmt
import System
import Wire

/// The daemon: the source of links, the sessions on them, and the outputs that their events go to.
///
///     radio, socket or built-in phone ──▶ Link ──▶ Session ──▶ EventFeed ──▶ standard output
///                                                    ▲             └────────▶ control socket
///                                                    └── requests ◀──────────────┘
@LoopActor final class Supervisor {
  let feed: EventFeed
  /// What holds now; some of it changes when the settings are read again.
  private(set) var settings: Settings
  var options: RunOptions { settings.options }
  let platform: any Platform
  let log: Log
  /// For lines that any phone in reach can cause, however often it comes.
  let strangersLog: Log
  /// The name that phones see.
  let name: String
  /// The name of this life of the daemon, over which events are numbered. No clock can give one: that of a
  /// board without a battery begins anew with each start.
  let life = String(UInt64.random(in: 0...UInt64.max), radix: 16)
  let bonds: BondStore
  let waits: WaitBoard
  let timeline: Timeline
  /// The user's programs.
  let hooks: HookRunner
  let rules: RuleBook
  private let serviceManager: ServiceManager
  /// The adapters; nil where links come from elsewhere.
  private(set) var radio: Radio?
  /// The sessions on the links that are up, each with its link's number, counted since the start.
  private(set) var sessions: [(number: Int, session: Session)] = [] { didSet { updateWait() } }
  /// Whether the daemon is stopping, so that no phone is served any more.
  private(set) var isStopping = false

  /// Every phone that has connected since the start.
  private(set) var phones: [Phone] = []
  /// The source of links without a radio.
  private var source: (any LinkSource)?
  private var lastLink = 0
  private var control: ControlServer?
  /// Keeps other daemons out of the state directory.
  private var stateClaim: (any Sendable)?
  /// Where the daemon has a terminal.
  private var terminal: PairingTerminal?
  private var capture: CaptureWriter?
  private let waitsLog: Log
  /// Of each phone with a bond, over all its links.
  private var budgets: [String: LogBudget] = [:]
  private let ending = Mailbox<Result<ExitStatus, Failure>>()
  private let started: WallTime
  private lazy var database = BoardDatabase.make(name: name, log: log)

  init(_ settings: Settings, on platform: any Platform, log: Log) {
    let options = settings.options
    self.settings = settings
    self.platform = platform
    self.log = log
    let scheduler = platform.scheduler
    strangersLog = log.limited(by: LogBudget("phones without a bond", scheduler))
    waitsLog = log.limited(by: LogBudget("what is waited for", scheduler))
    name = options.name ?? platform.hostName
    started = platform.wallTime
    feed = EventFeed { platform.wallTime }
    waits = WaitBoard(scheduler: platform.scheduler)
    timeline = Timeline(scheduler: platform.scheduler) { platform.wallTime }
    rules = RuleBook(options.rules, options.fetch) { platform.wallTime }
    hooks = HookRunner(
      options.hooks, options.hookLimits, on: platform,
      socket: options.socket ?? DefaultPaths.sockets[0], log: log)
    serviceManager = ServiceManager(platform.openServiceManager(), platform.scheduler)
    let path = options.stateDirectory ?? DefaultPaths.stateDirectory
    bonds = BondStore(
      StateDirectory(path: path, files: platform.files, log: log), platform.scheduler)
  }

  /// Serves until `leave` is called.
  ///
  /// - Returns: the exit status.
  /// - Throws: what prevents it from serving at all.
  func run() async throws(Failure) -> ExitStatus {
    try prepare()
    feed.subscribe(readsQuiet: { [hooks] in hooks.reads($0) }) { [timeline, hooks] event in
      timeline.event(event.event)
      hooks.handle(event)
    }
    reportWaits()
    // Beside the wait for the end, which an adapter that answers nothing must not hold up.
    Loop.start {
      do throws(Failure) { try await self.startSource() } catch { self.fail(error) }
    }
    let end = await ending.next() ?? .success(.done)
    await stop()
    return try end.get()
  }

  /// Stops the daemon cleanly; only the first call counts.
  func leave(_ status: ExitStatus) { ending.post(.success(status)) }

  /// Stops the daemon because it can't go on.
  func fail(_ failure: Failure) { ending.post(.failure(failure)) }

  /// Reads the settings again, and takes over what can be taken over while phones are served. If they are
  /// wrong, the old ones stay.
  func reload() { serviceManager.reloading { readSettingsAgain() } }

  private func readSettingsAgain() {
    let new: Settings
    do throws(Failure) { new = try settings.reread() } catch {
      return log.error("the old settings stay: \(error.line)")
    }
    let later = new.changesForTheNextStart(from: settings)
    settings = new
    (rules.rules, rules.selection) = (options.rules, options.fetch)
    (hooks.hooks, hooks.limits) = (options.hooks, options.hookLimits)
    log.level = options.logLevel
    for phone in phones { phone.kept.period = options.grace }
    for (_, session) in sessions { session.rulesChanged() }
    log.notice("the settings were read again")
    if !later.isEmpty {
      log.notice("of them, \(later.joined(separator: ", ")) will count from the next start on")
    }
  }

  // MARK: Start and stop

  private func prepare() throws(Failure) {
    do throws(Failure) {
      stateClaim = try bonds.directory.claim()
    } catch {
      // Without a radio there are no bonds, so that it may be another daemon's.
      guard options.source != .radio, error.status == .unavailable else { throw error }
    }
    if let path = options.btsnoop {
      do {
        let capture = try CaptureWriter(
          path, limit: options.captureLimit, files: options.captureFiles)
        capture.onError = { [log] in
          log.error("the capture ends here: \(CaptureFile.sentence($0))")
        }
        self.capture = capture
      } catch {
        throw Failure(capturingTo: path, error)
      }
    }
    do {
      control = try ControlServer(self, at: options.socket)
    } catch {
      throw Failure(
        error.errno == .permissionDenied ? .noPermission : .unavailable,
        "listening on the control socket", "\(error)",
        remedy: error.errno == .addressInUse
          ? "another ancsd serves there: end it, or name another socket with --socket"
          : error.errno == .permissionDenied
            ? "be root, or name another with --socket" : "name another with --socket")
    }
  }

  /// The sockets are open: what is not needed any more is given up, and whoever waits for the daemon may go on.
  func socketsAreOpen() throws(Failure) {
    do {
      try platform.reducePrivileges(tunes: options.source == .radio && options.tunes)
    } catch {
      throw Failure(.software, "giving up privileges", "\(error)")
    }
    serviceManager.ready()
  }

  private func startSource() async throws(Failure) {
    // It may have been told to leave before it has begun.
    guard !isStopping else { return }
    if options.source != .radio { try socketsAreOpen() }
    switch options.source {
    case .att(let path): start(SocketSource(path, self))
    case .virtualPhone: start(BuiltInSource(self))
    case .radio:
      let radio = Radio(self)
      self.radio = radio
      if platform.isInteractive { terminal = PairingTerminal(self) }
      try await radio.start()
    }
  }

  private func start(_ source: any LinkSource) {
    self.source = source
    publish(.ready(address: nil, name: name, version: version, life: life))
    updateWait()
    Loop.start { await source.run() }
  }

  /// How long stopping may take.
  private static let longestStop: Duration = .seconds(4)

  /// How long programs that run may take at the end.
  private static let longestFarewell: Duration = .seconds(2)

  private func stop() async {
    let deadline = platform.scheduler.now + Self.longestStop
    isStopping = true
    serviceManager.stopping()
    radio?.beginStopping()
    waits.onChanges = { _ in }
    waits.onChange = { _ in }
    waits.onLasting = { _ in }
    // Nobody is told of what is kept any more.
    for phone in phones { phone.kept.period = .zero }
    for (_, session) in sessions { session.link.end("the daemon is leaving") }
    // Their `disconnected` events are published before the daemon exits.
    for _ in 0..<100 where !sessions.isEmpty { await platform.sleep(for: .milliseconds(10)) }
    await radio?.stop(by: deadline)
    await hooks.stop(by: min(deadline, platform.scheduler.now + Self.longestFarewell))
    control?.close()
    bonds.close()
    stateClaim = nil
  }

  /// Publishes an event that is not about a phone.
  func publish(_ content: Event.Content, adapter: String? = nil) {
    feed.publish(Event(content, adapter: adapter))
  }

  // MARK: Sessions

  /// Runs a session on a link, from `connected` to `disconnected`.
  ///
  /// - Returns: whether the session ever subscribed.
  @discardableResult func serve(_ link: any Link) async -> Bool {
    let phone = phone(on: link)
    lastLink += 1
    let number = lastLink
    let session = Session(link, phone, context(for: link, number))
    session.onWaitChange = { [weak self, weak session] in
      if let session { self?.updateWait(of: session, number) }
    }
    sessions.append((number, session))
    updateWait(of: session, number)
    session.publish(
      .connected(
        encrypted: link.security.encrypted, bonded: link.isBonded, profile: link.profile))
    let reason = await session.run()
    sessions.removeAll { $0.number == number }
    session.publish(.disconnected(reason: reason))
    // Nothing is kept of a phone without a bond: it returns with another address anyway.
    if link.adapter != nil, !link.isBonded {
      phone.kept.discard()
      phones.removeAll { $0 === phone }
    }
    if options.once { leave(.done) }
    return session.wasSubscribed
  }

  private func phone(on link: any Link) -> Phone {
    let known = phones.first {
      $0.identity == link.phone && $0.adapter == link.adapter && $0.session == nil
    }
    if let known { return known }
    let phone = Phone(
      identity: link.phone, adapter: link.adapter,
      kept: KeptList(keeping: options.grace, platform.scheduler))
    phone.kept.onRemoved = { [weak self, unowned phone] report in
      guard report.standing != .hidden else { return }
      self?.feed.publish(phone.event(.notification(report)))
    }
    if let identity = link.phone, let adapter = radio?.adapter(named: link.adapter) {
      phone.displayName = adapter.bonds.first { $0.identity == identity }?.name
      if let memory = bonds.memory(of: identity, on: adapter.address) {
        phone.handles = memory.handles
        phone.seen = memory.seen
        phone.clientState = memory.client
        phone.zone = memory.zone
      }
    }
    phones.append(phone)
    return phone
  }

  private func context(for link: any Link, _ number: Int) -> SessionContext {
    SessionContext(
      number: number, feed: feed, log: log(about: link), name: name, scheduler: platform.scheduler,
      wallTime: { [platform] in platform.wallTime }, database: database, rules: rules,
      hooks: hooks, quirks: options.quirks, capture: capture,
      remember: { [weak self] in self?.remember($0) })
  }

  /// The log for lines about a phone. A stranger has no budget of its own, since it would have another with
  /// every link.
  private func log(about link: any Link) -> Log {
    if link.adapter != nil, !link.isBonded { return strangersLog.about(link.adapter) }
    let phone = link.phone.map { "\($0)" } ?? "the phone"
    let budget = budgets[phone] ?? LogBudget(phone, platform.scheduler)
    budgets[phone] = budget
    return log.limited(by: budget).about(link.adapter, link.phone?.address)
  }

  /// Saves what was learned of a bonded phone.
  private func remember(_ phone: Phone) {
    guard let identity = phone.identity, let adapter = radio?.adapter(named: phone.adapter),
      adapter.isBonded(identity)
    else { return }
    if let name = phone.displayName { adapter.updateBond(with: identity) { $0.name = name } }
    bonds.remember(
      PhoneMemory(
        handles: phone.handles, seen: phone.seen, client: phone.clientState, zone: phone.zone),
      of: identity, on: adapter.address)
  }

  /// Drops everything known of a phone whose bond was removed.
  func forget(_ phone: DeviceAddress) {
    for known in phones where known.identity == phone { known.kept.discard() }
    phones.removeAll { $0.identity == phone }
  }

  // MARK: Status

  /// Adapters, links and phones as they are now.
  func status() async -> StatusReport {
    // The controller is asked about each link; links may end and new ones begin meanwhile.
    var conditions: [Int: LinkCondition] = [:]
    for (number, session) in sessions { conditions[number] = await session.link.condition() }
    var report = StatusReport()
    report.version = version
    report.started = started
    report.life = life
    report.seq = feed.recent.lastSeq
    report.adapters = radio?.reports ?? []
    report.links = sessions.map { number, session in
      var link = session.report
      link.rssi = conditions[number]?.rssi
      link.parameters = conditions[number]?.parameters
      return link
    }
    report.phones = phoneReports
    report.waiting = WaitReport(wait, name: name)
    return report
  }

  /// The phones that are bonded.
  var phoneReports: [PhoneReport] { radio?.sortedAdapters.flatMap(\.phoneReports) ?? [] }

  // MARK: Waits

  /// What the daemon itself waits for, where no adapter and no link reports a wait.
  private var wait: Wait? {
    if let source { return sessions.isEmpty ? source.wait : nil }
    return radio?.wait
  }

  /// Called when what the daemon itself waits for may have changed.
  func updateWait() { waits.set(.daemon, wait.map { .init(wait: $0) }) }

  /// Whether a phone on this adapter does not share its notifications yet.
  func awaitsSharing(on adapter: String) -> Bool {
    sessions.contains { _, session in
      session.link.adapter == adapter && session.wait?.isAboutSharing == true
    }
  }

  private func updateWait(of session: Session, _ number: Int) {
    radio?.adapter(named: session.link.adapter)?.sharingMayHaveChanged()
    waits.set(
      .link(number),
      session.wait.map { .init(wait: $0, adapter: session.link.adapter, phone: session.address) })
  }

  /// Publishes each change of a wait, and logs the waits that last.
  private func reportWaits() {
    waits.onChange = { [unowned self] standing in
      let why = standing.wait.sentence(name: name)
      timeline.history(adapter: standing.adapter, phone: standing.phone)
        .step(.wait, standing.wait.name)
      feed.publish(
        Event(
          .why(wait: standing.wait.name, why: why), adapter: standing.adapter,
          phone: standing.phone))
      if options.printsWhy {
        log.about(standing.adapter, standing.phone).always(line(standing))
      }
    }
    waits.onChanges = { [unowned self] standings in
      let texts = standings.map { line($0, namesPhone: false) }
      if !texts.isEmpty { serviceManager.wait(for: texts.joined(separator: " | ")) }
    }
    waits.onLasting = { [unowned self] standing in
      if options.printsWhy { return }
      let (adapter, phone, line) = (standing.adapter, standing.phone, line(standing))
      switch standing.wait {
      case .adapter(.lost), .adapter(.failing): log.about(adapter, phone).warning(line)
      case let wait where wait.isRest: waitsLog.about(adapter, phone).info(line)
      default: waitsLog.about(adapter, phone).notice(line)
      }
    }
  }

  private func line(_ standing: WaitBoard.Standing, namesPhone: Bool = true) -> String {
    let phone = namesPhone ? standing.phone?.description : nil
    return [standing.adapter, phone, standing.wait.sentence(name: name)]
      .compactMap { $0 }.joined(separator: ": ")
  }
}

extension Failure {
  /// The capture can't begin.
  fileprivate init(capturingTo path: String, _ error: SystemError) {
    self.init(
      ExitStatus(error.errno, otherwise: .cannotCreate), "capturing to \(path)",
      CaptureFile.sentence(error), remedy: "name another file with --btsnoop")
  }
}
