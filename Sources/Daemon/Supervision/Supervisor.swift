// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import EventLoop
import GATT
import System
import Mgmt
import Wire

/// The daemon: where phones come from, the sessions with them, and whoever is told about it.
///
///     radio, socket or built-in phone ──▶ PhoneLink ──▶ Session ──▶ Journal ──▶ standard output
///                                                        ▲             └─────▶ control socket
///                                                        └── requests ◀──────────┘
@LoopActor
public final class Supervisor {
  public let options: RunOptions
  public let log: Log
  public let journal = Journal()
  public let bonds: BondStore
  /// The name that phones see.
  public let name: String
  /// When it began.
  public let started = WallTime.now

  /// Every phone that was here since the start.
  public private(set) var phones: [Phone] = []
  /// The sessions on links that are up.
  public private(set) var sessions: [Session] = [] { didSet { waits.mayHaveChanged() } }
  /// What everything waits for.
  public let waits = WaitBoard(scheduler: Loop.shared)
  /// The radio, where that is the source.
  public internal(set) var radio: Radio?

  /// Where phones come from without a radio.
  private(set) var source: (any PhoneSource)?
  private var sessionCount = 0
  /// Whether the end has begun: no phone is served any more.
  var isStopping = false

  private var control: ControlServer?
  /// The capture of all links, where one is kept.
  private var capture: CaptureWriter?
  private let ending = Mailbox<ExitStatus>()
  private let state: StateDirectory

  public init(_ options: RunOptions) {
    self.options = options
    log = Log(level: options.logLevel)
    name = options.name ?? Host.name
    state = StateDirectory(options.stateDirectory ?? UsualPlaces.stateDirectory, log: log)
    bonds = BondStore(state)
  }

  /// Serves until `leave` is called.
  ///
  /// - Returns: the status to leave with.
  /// - Throws: what keeps it from serving at all.
  public func run() async throws(Failure) -> ExitStatus {
    try prepare()
    watchWaits()
    try await startSource()
    let status = await ending.next() ?? .done
    await stop()
    return status
  }

  /// Ends it, cleanly; the first call counts.
  public func leave(_ status: ExitStatus) { ending.post(status) }

  private func prepare() throws(Failure) {
    do {
      try state.prepare()
    } catch {
      // Without a place for bonds a phone could pair once and never again.
      throw Failure(
        error.errno == .permissionDenied ? .noPermission : .cannotCreate,
        "keeping bonds in \(state.path)", "\(error)", remedy: "name another with --state-dir")
    }
    if let path = options.btsnoop {
      do {
        let capture = try CaptureWriter(path)
        capture.onError = { [log] in log.error("the capture ends here: \($0)") }
        self.capture = capture
      } catch {
        throw Failure(
          error.errno == .permissionDenied ? .noPermission : .cannotCreate,
          "capturing to \(path)", "\(error)", remedy: "name another file with --btsnoop")
      }
    }
    do {
      control = try ControlServer(self, at: options.socket ?? UsualPlaces.socket)
    } catch {
      throw Failure(
        error.errno == .permissionDenied ? .noPermission : .unavailable,
        "listening on the control socket", "\(error)",
        remedy: error.errno == .addressInUse
          ? "another ancsd serves there: end it, or name another socket with --socket"
          : "name another with --socket")
    }
  }

  private func startSource() async throws(Failure) {
    switch options.source {
    case .att(let path):
      serve(SocketSource(path, self))
    case .virtualPhone:
      serve(BuiltInSource(self))
    case .radio:
      let radio = Radio(self)
      self.radio = radio
      try await radio.start()
    }
  }

  private func serve(_ source: any PhoneSource) {
    self.source = source
    post(.ready(address: nil, name: name, version: version))
    Loop.start { await source.run() }
  }

  private func stop() async {
    isStopping = true
    radio?.beginStopping()
    waits.current = { [] }
    for session in sessions { session.link.end("the daemon is leaving") }
    // Their ends are told before the daemon's own.
    for _ in 0..<100 where !sessions.isEmpty { await Loop.shared.sleep(for: .milliseconds(10)) }
    await radio?.stop()
    control?.close()
  }

  /// Tells an event that is about no phone.
  public func post(_ content: Event.Content, adapter: String? = nil) {
    journal.post(Event(content, adapter: adapter))
  }

  // MARK: Sessions

  /// Runs a session on a link, from `connected` to `disconnected`.
  ///
  /// - Returns: whether the phone was subscribed to in between.
  @discardableResult
  public func serve(_ link: any PhoneLink) async -> Bool {
    let phone = phone(on: link)
    let session = Session(link, phone, surroundings)
    sessionCount += 1
    session.number = sessionCount
    sessions.append(session)
    session.post(.connected(encrypted: link.security.encrypted, bonded: link.isBonded))
    let reason = await session.run()
    sessions.removeAll { $0 === session }
    session.post(.disconnected(reason: reason))
    // Of a phone that did not stay for a bond nothing is kept: it comes with another address anyway.
    if link.adapter != nil, !link.isBonded { forget(phone) }
    if options.once { leave(.done) }
    return session.wasSubscribed
  }

  private func phone(on link: any PhoneLink) -> Phone {
    let known = phones.first {
      $0.identity == link.phone && $0.adapter == link.adapter && $0.session == nil
    }
    if let known { return known }
    let phone = Phone(identity: link.phone, adapter: link.adapter)
    if let identity = link.phone {
      phone.displayName = radio?.bond(with: identity, adapter: link.adapter)?.name
    }
    if let identity = link.phone, let adapter = radio?.address(of: link.adapter),
      let memory = bonds.memory(of: identity.address, on: adapter)
    {
      phone.handles = memory.handles
      phone.seen = memory.seen
      phone.clientState = memory.client
    }
    phones.append(phone)
    return phone
  }

  private var surroundings: Surroundings {
    Surroundings(
      journal: journal, log: log, name: name, scheduler: Loop.shared, database: database,
      fetch: options.fetch, quirks: options.quirks, capture: capture,
      remember: { [unowned self] in remember($0) },
      waitsChanged: { [waits] in waits.mayHaveChanged() })
  }

  private func remember(_ phone: Phone) {
    guard let identity = phone.identity, let adapter = radio?.address(of: phone.adapter),
      radio?.bond(with: identity, adapter: phone.adapter) != nil
    else { return }
    if let name = phone.displayName { radio?.name(identity, name, adapter: phone.adapter) }
    bonds.remember(
      PhoneMemory(handles: phone.handles, seen: phone.seen, client: phone.clientState),
      of: identity.address, on: adapter)
  }

  /// A phone was forgotten: nothing of it is kept.
  func forget(_ phone: Phone) { phones.removeAll { $0 === phone } }

  /// The board's own attributes.
  private lazy var database: AttributeDatabase = BoardDatabase.make(name: name, log: log)
}
