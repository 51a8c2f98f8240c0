// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Bluetooth
import Board
import Control
import EventLoop
import GAP
import GATT
import Mgmt
import System
import Wire

/// The daemon: the source of links, the sessions on them, and the outputs that their events go to.
///
///     radio, socket or built-in phone ──▶ Link ──▶ Session ──▶ EventFeed ──▶ standard output
///                                                    ▲             └────────▶ control socket
///                                                    └── requests ◀──────────────┘
@LoopActor final class Supervisor: LinkServer {
  let feed: EventFeed
  /// The settings in force.
  private(set) var settings: SettingsInForce
  let platform: any Platform
  let log: Log
  /// For lines that any phone in range can cause, however often.
  let strangersLog: Log
  /// The name that phones see.
  let name: String
  /// The path of the control socket.
  let socket: String
  /// Identifies this run of the daemon, within which events are numbered. It can't come from the clock, which starts
  /// over at every boot of a board without a battery.
  let life = String(UInt64.random(in: 0...UInt64.max), radix: 16)
  let bonds: BondStore
  let waits: Waits
  let timeline: Timeline
  /// The user's programs.
  let hooks: HookRunner
  let rules: RuleBook
  private let serviceManager: ServiceManager
  /// The adapters; nil if links come from elsewhere.
  private(set) var radio: Radio?
  /// The sessions on the links that are up.
  private(set) var sessions: [Session] = [] { didSet { updateWait() } }
  /// Whether the daemon is stopping, and serves no phone anymore.
  private(set) var isStopping = false

  let phoneBook: PhoneBook
  /// What it waits for while a phone without a radio has no link; nil if links come from the radio.
  var sourceWait: Wait? { didSet { updateWait() } }
  private var control: ControlServer?
  private(set) var history: HistoryRecorder?
  /// Keeps other daemons out of the state directory.
  private var stateClaim: (any Sendable)?
  /// The terminal, if the daemon has one.
  private var terminal: PairingTerminal?
  /// Where the ATT PDUs are captured; nil without `--btsnoop`.
  private(set) var capture: CaptureWriter?
  private let waitsLog: Log
  /// For each bonded phone, across all its links.
  private var budgets: [String: LogBudget] = [:]
  private let ending = Mailbox<Result<ExitStatus, Failure>>()
  private let started: WallTime
  /// Of ended links, and of all notifications.
  private var totals = Totals()
  /// The board's own attributes, which phones may read.
  private(set) lazy var database = LocalDatabase.make(name: name, log: log)

  init(_ settings: Settings, on platform: any Platform, log: Log) {
    let (start, live) = (settings.options.start, settings.options.live)
    self.settings = SettingsInForce(settings)
    self.platform = platform
    self.log = log
    let scheduler = platform.scheduler
    strangersLog = log.limited(by: LogBudget("phones without a bond", scheduler))
    waitsLog = log.limited(by: LogBudget("waits", scheduler))
    name = start.name ?? platform.hostName
    socket = start.socket ?? DefaultPaths.sockets[0]
    started = platform.wallTime
    feed = EventFeed(clock: { platform.scheduler.now }) { platform.wallTime }
    waits = Waits(scheduler: platform.scheduler)
    timeline = Timeline(scheduler: platform.scheduler) { platform.wallTime }
    rules = RuleBook(live.rules, live.fetch, log: log) { platform.wallTime }
    phoneBook = PhoneBook(feed, rules, scheduler, grace: live.grace)
    hooks = HookRunner(live.hooks, live.hookLimits, on: platform, socket: socket, log: log)
    serviceManager = ServiceManager(platform.openServiceManager(), platform.scheduler)
    let path = start.stateDirectory ?? DefaultPaths.stateDirectory
    bonds = BondStore(StateDirectory(path, platform.files, log), platform.scheduler)
  }

  /// Serves until `leave` is called.
  ///
  /// - Returns: the exit status.
  /// - Throws: what prevents it from serving at all.
  func run() async throws(Failure) -> ExitStatus {
    try prepare()
    feed.subscribe(readsQuiet: { [hooks] in hooks.reads($0) }) {
      [timeline, hooks, weak self] event in
      timeline.event(event.event)
      hooks.handle(event)
      if case .notification(let report) = event.event.content { self?.totals.count(report) }
    }
    reportWaits()
    // Concurrent with the wait for the exit, which an unresponsive adapter must not delay.
    Loop.start {
      do throws(Failure) { try await self.startSource() } catch { self.fail(error) }
    }
    let end = await ending.next() ?? .success(.done)
    await stop()
    return try end.get()
  }

  /// Stops the daemon cleanly; only the first call counts.
  func leave(_ status: ExitStatus) { ending.post(.success(status)) }

  /// Stops the daemon because it can't continue.
  func fail(_ failure: Failure) { ending.post(.failure(failure)) }

  /// Applies reloaded settings, as far as they can take effect while phones are served. If they are wrong, or the
  /// daemon would not start with them, it keeps the old ones.
  func reload(_ read: () throws(Failure) -> Settings) {
    serviceManager.reloading {
      do throws(Failure) {
        let new = try read()
        if new.options.start.source == .radio { _ = try policy(new.options.radio) }
        settings.replace(with: new)
        settingsChanged()
      } catch { log.error("keeping the old settings: \(error.sentence)") }
    }
  }

  private func settingsChanged() {
    let live = settings.live
    (rules.rules, rules.selection) = (live.rules, live.fetch)
    (hooks.hooks, hooks.limits) = (live.hooks, live.hookLimits)
    log.level = live.logLevel
    phoneBook.grace = live.grace
    phoneBook.rulesChanged()
    radio?.policy.pause = settings.quirks.encryptionPause
    log.notice("the settings were read again")
    for (effect, waiting) in Dictionary(grouping: settings.waiting(on: sessions.map(\.settings)), by: \.effect) {
      let names = waiting.map(\.name).joined(separator: ", ")
      log.notice("\(names) will take effect \(effect.text)")
    }
  }

  /// Which pairings the radio accepts with these settings.
  private func policy(_ radio: RadioSettings) throws(Failure) -> PairingPolicy {
    try radio.policy(isInteractive: platform.isInteractive, pause: settings.quirks.encryptionPause)
  }

  // MARK: Start and stop

  private func prepare() throws(Failure) {
    stateClaim = try bonds.directory.claim()
    if let path = settings.start.btsnoop {
      do {
        let capture = try CaptureWriter(
          path, limit: settings.start.captureLimit, files: settings.start.captureFiles)
        capture.onError = { [log] in
          log.error("the capture has ended: \(CaptureFile.sentence($0))")
        }
        self.capture = capture
      } catch {
        throw Failure(
          ExitStatus(error.errno, otherwise: .cannotCreate), "capturing to \(path)",
          CaptureFile.sentence(error), remedy: "name another file with --btsnoop")
      }
    }
    do {
      control = try ControlServer(self)
    } catch {
      let remedy =
        switch error.errno {
        case .addressInUse:
          "another ancsd is running there: stop it, or name another socket with --socket"
        case .permissionDenied: "run as root, or name another with --socket"
        default: "name another with --socket"
        }
      throw Failure(
        error.errno == .permissionDenied ? .noPermission : .unavailable,
        "listening on the control socket", "\(error)", remedy: remedy)
    }
  }

  /// The sockets are open: drops the privileges that are no longer needed, notifies those who wait for the daemon, and
  /// begins to keep the history, if one is wanted.
  private func becomeReady() throws(Failure) {
    do {
      try platform.reducePrivileges(tunes: settings.start.source == .radio && settings.radio.tunes)
    } catch { throw Failure(.software, "dropping privileges", "\(error)") }
    serviceManager.ready()
    guard var kept = settings.start.history else { return }
    if kept.file.isEmpty { kept.file = DefaultPaths.history(in: bonds.directory.path) }
    history = HistoryRecorder(kept, socket: socket, on: platform, log: log)
    history?.start()
  }

  private func startSource() async throws(Failure) {
    // It may have been told to exit before it began.
    guard !isStopping else { return }
    let source = settings.start.source
    if source == .radio { return try await startRadio() }
    try becomeReady()
    sourceWait = .dialling
    feed.publish(Event(.ready(address: nil, name: name, version: Program.version, life: life)))
    if case .att(let path) = source { await serve(socket: path) } else { await serveBuiltInPhone() }
  }

  private func startRadio() async throws(Failure) {
    let radio = Radio(
      settings.radio, try policy(settings.radio), name: name, life: life, on: platform, log,
      strangersLog: strangersLog, feed, waits, timeline, bonds, self)
    self.radio = radio
    radio.onWaitChange = { [weak self] in self?.updateWait() }
    radio.onClosed = { [weak self] in self?.leave(.unavailable) }
    if platform.isInteractive { terminal = PairingTerminal(platform, log, feed, radio) }
    try radio.open()
    try becomeReady()
    try await radio.start()
  }

  /// How long stopping may take.
  private static let longestStop: Duration = .seconds(4)

  /// How long running programs may take at exit.
  private static let longestHookStop: Duration = .seconds(2)

  /// How long phones on their way to a subscription are waited for at exit: a link that ends before one counts against
  /// the board (docs/guesses.md).
  private static let longestSetUp: Duration = .milliseconds(2500)

  private func stop() async {
    let deadline = platform.scheduler.now + Self.longestStop
    isStopping = true
    serviceManager.stopping()
    radio?.beginStopping()
    let patience = platform.scheduler.now + Self.longestSetUp
    await platform.wait(until: patience) { !sessions.contains(where: \.isOnItsWay) }
    phoneBook.close()
    for session in sessions { session.link.end(LinkEnd.daemonExits) }
    // Their `disconnected` events are published before the daemon exits.
    await platform.wait(until: platform.scheduler.now + .seconds(1)) { sessions.isEmpty }
    await radio?.stop(by: deadline)
    await hooks.stop(by: min(deadline, platform.scheduler.now + Self.longestHookStop))
    control?.close()
    await history?.stop(by: deadline)
    bonds.close()
    stateClaim = nil
  }

  // MARK: Sessions

  /// Runs a session on a link, from `connected` to `disconnected`.
  ///
  /// - Returns: whether the session ever subscribed.
  @discardableResult func serve(_ link: any Link) async -> Bool {
    totals.links += 1
    let number = totals.links
    let session = Session(link, number, self, settings.latest, log(about: link))
    session.onWaitChange = { [weak self, weak session] in
      if let session { self?.updateWait(of: session) }
    }
    sessions.append(session)
    updateWait(of: session)
    session.publish(
      .connected(encrypted: link.security.encrypted, bonded: link.isBonded, profile: link.profile))
    let reason = await session.run()
    sessions.removeAll { $0 === session }
    totals.add(session)
    // Nothing is kept for a phone without a bond: it returns with a different address anyway.
    if link.adapter != nil, !link.isBonded { phoneBook.forget(session.phone) }
    session.publish(.disconnected(reason: reason))
    bonds.writeDown()
    if settings.start.once { leave(.done) }
    return session.wasSubscribed
  }

  func countUnproven() { totals.unproven += 1 }

  /// The phone on a link that is secured.
  ///
  /// - Parameter number: the link's.
  func phone(on link: any Link, _ number: Int) -> Phone {
    if let known = phoneBook.known(on: link) {
      totals.reconnections += 1
      return known
    }
    return phoneBook.add(on: link, number, radio?.adapter(named: link.adapter)?.keys)
  }

  /// The log for lines about a phone. A stranger has no budget of its own, because it would get a new one with every
  /// link.
  private func log(about link: any Link) -> Log {
    if link.adapter != nil, !link.isBonded { return strangersLog.about(link.adapter) }
    let phone = link.phone.map { "\($0)" } ?? "the phone"
    let budget = budgets[phone] ?? LogBudget(phone, platform.scheduler)
    budgets[phone] = budget
    return log.limited(by: budget).about(link.adapter, link.phone?.address)
  }

  /// Saves what was learned about a bonded phone.
  func remember(_ phone: Phone) {
    guard let identity = phone.identity else { return }
    let adapter = radio?.adapter(named: phone.adapter)
    adapter?.keys.remember(phone.cache(at: platform.wallTime), of: identity)
  }

  /// Drops everything known about a phone whose bond was removed.
  func forget(_ phone: DeviceAddress) { phoneBook.forget(phone) }

  // MARK: Status

  /// Adapters, links and phones as they are now.
  func status() async -> StatusReport {
    // This queries the controller about each link; meanwhile links may end and new ones begin.
    var conditions: [Int: LinkReport] = [:]
    for session in sessions { conditions[session.number] = await session.link.condition() }
    var report = StatusReport()
    report.version = Program.version
    report.started = started
    report.life = life
    report.seq = feed.recent.lastSeq
    report.adapters = radio?.reports ?? []
    report.links = sessions.map { $0.report(with: conditions[$0.number] ?? LinkReport()) }
    report.phones = phoneReports
    report.history = history?.kept
    report.forwards = settings.live.forwards.map(\.absence)
    report.waiting = WaitReport(wait, name: name)
    var totals = totals
    for session in sessions { totals.add(session) }
    report.totals = totals
    report.memory = platform.residentMemory
    return report
  }

  var phoneReports: [PhoneReport] { radio?.sortedAdapters.flatMap(\.phoneReports) ?? [] }

  // MARK: Waits

  /// What the daemon itself waits for if no adapter and no link reports a wait.
  private var wait: Wait? {
    if let sourceWait { return sessions.isEmpty ? sourceWait : nil }
    return radio?.wait
  }

  /// Called when what the daemon itself waits for may have changed.
  func updateWait() { waits.set(.daemon, wait.map { .init($0) }) }

  /// What to advertise while a phone on this adapter does not share its notifications yet; nil if there is no such
  /// phone.
  func sharingAdvertisement(on adapter: String) -> SharingAdvertisement? {
    sessions.first { $0.link.adapter == adapter && $0.wait?.isAboutSharing == true }?
      .quirks.sharingAdvertisement
  }

  private func updateWait(of session: Session) {
    radio?.adapter(named: session.link.adapter)?.sharingMayHaveChanged()
    waits.set(
      .link(session.number),
      session.wait.map { .init($0, adapter: session.link.adapter, phone: session.phone.address) })
  }

  /// Publishes each change of a wait, and logs the waits that last, until the daemon stops.
  private func reportWaits() {
    waits.onNewWait = { [weak self] current in
      guard let self, !isStopping else { return }
      let why = current.wait.sentence(name: name)
      timeline.history(adapter: current.adapter, phone: current.phone)
        .step(.wait, current.wait.name.rawValue)
      feed.publish(
        Event(
          .why(wait: current.wait.name.rawValue, why: why), adapter: current.adapter,
          phone: current.phone))
      if settings.live.printsWhy { log.about(current.adapter, current.phone).always(line(current)) }
    }
    waits.onAllWaits = { [weak self] all in
      guard let self, !isStopping else { return }
      let texts = all.map { line($0, namesPhone: false) }
      if !texts.isEmpty { serviceManager.wait(for: texts.joined(separator: " | ")) }
    }
    waits.onLastingWait = { [weak self] current in
      guard let self, !isStopping else { return }
      if settings.live.printsWhy { return }
      let (adapter, phone, line) = (current.adapter, current.phone, line(current))
      switch current.wait.name.weight {
      case .fault: log.about(adapter, phone).warning(line)
      case .rest: waitsLog.about(adapter, phone).info(line)
      case .progress, .action, .urgent: waitsLog.about(adapter, phone).notice(line)
      }
    }
  }

  private func line(_ current: Waits.CurrentWait, namesPhone: Bool = true) -> String {
    let phone = namesPhone ? current.phone?.description : nil
    return [current.adapter, phone, current.wait.sentence(name: name)]
      .compactMap { $0 }.joined(separator: ": ")
  }
}

extension Totals {
  /// Counts a session by its progress.
  @LoopActor fileprivate mutating func add(_ session: Session) {
    sessions += session.wasSubscribed ? 1 : 0
    requests += session.bearer.requestsSent
    if case .timedOut? = session.bearer.end { timeouts += 1 }
  }
}
