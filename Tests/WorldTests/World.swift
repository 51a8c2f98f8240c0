// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import JSON
import Mgmt
import OnLoop
import System
import TestLoop
import Testing
import VirtualKernel
import Wire

@testable import Board
@testable import Daemon

/// A board with one adapter, a phone, and the daemon between them, in virtual time.
///
///     @Suite("…", .inWorld) struct LinkTests: InWorld {
///       @Test("…") func link() async throws {
///         try await world.start()
///         world.phone.connect(to: world.adapter)
///         try await world.until(.subscribed)
@LoopActor
final class World {
  /// That of the test that runs.
  fileprivate(set) static var current = World()
  private(set) var platform = VirtualPlatform()
  /// The adapter that is plugged in.
  private(set) var adapter: VirtualAdapter
  private(set) var phone: Handset
  /// What the daemon has published since the world began, over all of its runs.
  private(set) var events: [Event] = []
  /// What the daemon has logged; errors only, unless the options say otherwise.
  private(set) var log: [String] = []
  /// How the last run of the daemon ended; nil while it runs.
  private(set) var end: Result<Control.ExitStatus, Failure>?
  private(set) var daemon: Supervisor?
  /// Called before each turn of the clock in `pass`.
  var onTurn: () -> Void = {}
  /// The daemons that failed or whose board lost its power, and their boards.
  private var former: [(Supervisor?, VirtualPlatform)] = []
  private var seen = 0

  var kernel: VirtualKernel { platform.kernel }
  var clock: HandClock { platform.clock }

  init() {
    adapter = platform.kernel.plug()
    phone = Handset(scheduler: platform.clock)
  }

  /// Has a phone of another kind in place of the usual one.
  func usePhone(_ change: (inout Handset.Kind) -> Void) {
    phone = Handset(Handset.Kind(change), scheduler: clock)
  }

  /// Has an adapter of another kind in place of the usual one.
  func useAdapter(_ change: (inout VirtualAdapter.Kind) -> Void) {
    kernel.unplug(adapter, tells: false)
    adapter = kernel.plug(VirtualAdapter.Kind(change))
  }

  /// Another phone, which has never met the board.
  func stranger(_ change: (inout Handset.Kind) -> Void = { _ in }) -> Handset {
    var kind = Handset.Kind()
    kind.identity = DeviceAddress(Address(0xC0AA_BBCC_DDEE), .random)
    kind.privateAddress = Address(0x4ABB_CCDD_EEFF)
    change(&kind)
    return Handset(kind, scheduler: clock)
  }

  /// Such a phone, which connects a second later.
  @discardableResult
  func strangerComes(_ change: (inout Handset.Kind) -> Void = { _ in }) async -> Handset {
    let stranger = stranger(change)
    await pass(.seconds(1))
    #expect(stranger.connect(to: adapter))
    return stranger
  }

  // MARK: The daemon

  /// Starts the daemon and waits until it is ready. Nothing of an earlier run is left but the disk.
  func start(_ change: (inout RunOptions) -> Void = { _ in }) async throws {
    launch(change)
    try await until(.ready)
  }

  /// Starts the daemon, and connects the phone once the board is on the air.
  func meet(_ change: (inout RunOptions) -> Void = { _ in }) async throws {
    try await begin(.onAir, change)
    #expect(phone.connect(to: adapter))
  }

  /// Starts the daemon, and has it serve the phone.
  func serve(_ change: (inout RunOptions) -> Void = { _ in }) async throws {
    try await meet(change)
    try await until(.subscribed)
  }

  /// The phone comes, and is served.
  func phoneComes() async throws {
    #expect(phone.connect(to: adapter))
    try await until(.subscribed)
  }

  /// The phone leaves, with or without telling the board, whose link ends.
  func phoneLeaves(silently: Bool = false) async throws {
    if silently { phone.goOutOfRange() } else { phone.leave() }
    try await until(.disconnected)
  }

  /// Starts the daemon with a file of settings, and waits until it is ready.
  func start(settings text: String) async throws {
    launch(try Self.settings(text))
    try await until(.ready)
  }

  /// Starts the daemon with a file of settings, and has it serve the phone.
  func serve(settings text: String) async throws {
    try await start(settings: text)
    try await until(.advertising)
    try await phoneComes()
  }

  /// Has the daemon read its settings again, of which the file now says this.
  func reload(_ text: String) { daemon?.reload { () throws(Failure) in try Self.settings(text) } }

  private static func settings(_ text: String) throws(Failure) -> Settings {
    try Settings(["--name", "kitchen", "--log-level", "notice"]) { _ throws(Failure) in
      SettingsFile(Array(text.utf8), path: "ancsd.toml")
    }
  }

  /// Starts the daemon.
  func launch(_ change: (inout RunOptions) -> Void = { _ in }) {
    var options = RunOptions()
    options.live.logLevel = .error
    options.start.name = "kitchen"
    change(&options)
    launch(Settings(options))
  }

  private func launch(_ settings: Settings) {
    if let daemon { former.append((daemon, platform)) }
    let sink = Log.Sink { [weak self] in self?.log.append($0.line) }
    let daemon = Supervisor(settings, on: platform, log: Log(level: settings.options.live.logLevel, to: sink))
    self.daemon = daemon
    end = nil
    daemon.feed.subscribe(readsQuiet: { _ in true }) { [weak self, weak daemon] in
      if let self, let daemon, daemon === self.daemon { events.append($0.event) }
    }
    Loop.start { [weak self] in
      let end: Result<Control.ExitStatus, Failure>
      do throws(Failure) {
        end = .success(try await daemon.run())
      } catch { end = .failure(error) }
      if let self, self.daemon === daemon { self.end = end }
    }
  }

  /// The board loses its power, and has it again: what was in memory is lost.
  func cutPower() {
    former.append((daemon, platform))
    daemon = nil
    kernel.unplug(adapter, tells: false)
    platform = VirtualPlatform(after: platform)
    adapter = kernel.plug(adapter.kind)
  }

  /// Ends the daemon and waits until it is gone.
  func stop() async throws {
    daemon?.leave(.terminated)
    try await until("the daemon has exited") { end != nil }
    daemon = nil
  }

  /// Waits until the daemon has exited by itself.
  @discardableResult
  func exit(within limit: Duration = .seconds(300)) async throws -> Control.ExitStatus? {
    try await until("the daemon has exited", within: limit) { end != nil }
    return try end?.get()
  }

  // MARK: Time

  /// Lets time pass.
  func pass(_ duration: Duration) async {
    let end = clock.now + duration
    repeat {
      await idle()
      onTurn()
    } while clock.turn(until: end)
  }

  /// Lets time pass, one event after another, until something holds.
  func until(_ what: String, within limit: Duration = .seconds(300), _ holds: () -> Bool) async throws {
    let end = clock.now + limit
    await idle()
    while !holds() {
      guard clock.turn(until: end) else { throw Timeout(what: what, story: story) }
      await idle()
    }
  }

  /// Lets time pass until the daemon publishes an event of this kind, and returns it. Events that were
  /// waited for before do not count.
  @discardableResult
  func until(_ name: EventName, within limit: Duration = .seconds(300)) async throws -> Event {
    try await until("\(name)", within: limit) { events[seen...].contains { $0.name == name } }
    let place = events[seen...].firstIndex { $0.name == name } ?? seen
    seen = place + 1
    return events[place]
  }

  /// The next notification that the daemon publishes.
  func notification() async throws -> NotificationReport {
    try #require(await until(.notification).content.report)
  }

  /// What the board asks next about a phone that pairs.
  func question() async throws -> PairingQuestion {
    try #require(await until(.pairing).content.question)
  }

  /// Why the next pairing fails.
  func pairingFailure() async throws -> String {
    try #require(await until(.pairingFailed).content.pairingFailure)
  }

  struct Timeout: Error, CustomStringConvertible {
    var what: String
    var story: [String]
    var description: String { "not within the time: \(what); there were \(story)" }
  }

  // MARK: What happened

  /// The names of all events so far, but `why`.
  var story: [String] { story(since: 0) }

  /// The names of the events since `mark`, but `why`.
  func story(since mark: Int) -> [String] {
    events[mark...].map(\.name.rawValue).filter { $0 != "why" }
  }

  /// What was told of notifications since `mark`: `added Mum`, `added Dad repeat`, `removed -`.
  func told(since mark: Int = 0) -> [String] {
    events[mark...].compactMap { event in
      guard let report = event.content.report else { return nil }
      let words = "\(report.event.change) \(report.attributes.title ?? "-")"
      return words + (report.isRepeat ? " repeat" : "") + (report.failure.map { " (\($0))" } ?? "")
    }
  }

  /// What the board waits for, by the name of the last `why`.
  var wait: String? {
    events.lazy.reversed().compactMap { event in
      if case .why(let wait, _) = event.content { wait } else { nil }
    }.first
  }

  /// The last event of a kind.
  func last(_ name: EventName) -> Event.Content? { events.last { $0.name == name }?.content }

  /// What the last event about a notification says.
  var lastReport: NotificationReport? { last(.notification)?.report }

  // MARK: The board

  /// Pulls the adapter out.
  func unplug() { kernel.unplug(adapter) }

  /// Plugs the adapter in again: its settings are the kernel's defaults.
  func replug() { adapter = kernel.plug(adapter.kind) }

  /// Pulls the adapter out, and plugs it in again a second later.
  func replugLater() async {
    unplug()
    await pass(.seconds(1))
    replug()
  }

  /// Sends a management command to the adapter from another socket, as another program would.
  func command(_ command: MgmtCommand) async throws {
    let socket = kernel.openManagement()
    socket.send(command.packet(index: ControllerIndex(adapter.number)).encoded)
    await pass(.milliseconds(10))
    socket.close()
  }

  // MARK: The control socket

  /// Calls a method of the control socket over a connection of its own.
  func call<Parameters, Response>(
    _ method: ControlMethod<Parameters, Response>, _ parameters: Parameters
  ) async throws -> Response {
    let client = try connectClient()
    client.onLine?(RPC.request(method.name, parameters, id: RequestID(1)))
    try await until("the response to \(method.name)") { !client.responses.isEmpty }
    let response = client.responses[0]
    client.onEnd?()
    if let error = response["error"] { throw try RPCError(reading: error) }
    return try Response(reading: response["result"] ?? .null)
  }

  func status() async throws -> StatusReport {
    try await call(ControlMethods.status, NoParameters())
  }

  /// The only link, as `status` has it.
  func link() async throws -> LinkReport { try #require(try await status().links.first) }

  /// The notifications that are listed.
  func notifications() async throws -> [ActiveNotification] {
    try await call(ControlMethods.listNotifications, NotificationQuery()).elements
  }

  /// Opens pairing, for ten minutes unless told otherwise.
  func openPairing(seconds: Int = 600) async throws {
    _ = try await call(ControlMethods.openPairing, PairingParameters(seconds: seconds))
  }

  /// Closes pairing, as by hand.
  func closePairing() async throws {
    _ = try await call(ControlMethods.closePairing, ClosingParameters())
  }

  /// Answers what a phone that pairs has asked.
  func respond(_ response: PairingResponse) async throws {
    _ = try await call(ControlMethods.respondToPairing, response)
  }

  /// The pages of a client's list of notifications.
  func pages(
    _ client: Client, before: (_ number: Int) async throws -> Void = { _ in }
  ) async throws -> [[JSONValue]] {
    var query = NotificationQuery()
    var pages: [[JSONValue]] = []
    repeat {
      try await before(pages.count)
      client.call(ControlMethods.listNotifications, query)
      await idle()
      let result = try #require(client.responses.last?["result"])
      pages.append(try #require(result["notifications"]?.array))
      query.after = result["next"]?.string
    } while query.after != nil
    return pages
  }

  /// Connects to the control socket.
  func connectClient() throws -> Client {
    let accept = try #require(platform.acceptClient, "nobody listens on the control socket")
    let client = Client()
    accept(client)
    return client
  }

  /// A client of the control socket.
  final class Client: LineChannel {
    /// Nil while the daemon does not read; lines wait meanwhile.
    var onLine: (([UInt8]) -> Void)? {
      didSet { Loop.shared.later { [weak self] in self?.flush() } }
    }
    var onOverlong: (() -> Void)?
    var onEnd: (() -> Void)?
    var onClose: ((LineSocket.End) -> Void)?
    var onDrained: (() -> Void)?
    /// Whether it reads nothing of what the daemon sends.
    var isStuck = false
    /// How many bytes it has not read.
    private(set) var queuedBytes = 0
    /// The length of the longest line that the daemon has sent.
    private(set) var longest = 0
    private var unread: [[UInt8]] = []
    private var unsent = FIFO<[UInt8]>()
    /// Whether the daemon has closed the connection.
    private(set) var isClosed = false
    private(set) var events: [NumberedEvent] = []
    private(set) var responses: [JSONValue] = []

    /// Subscribes to events.
    func subscribe(_ subscription: Subscription) {
      onLine?(RPC.request(ControlMethods.subscribe.name, subscription, id: RequestID(1)))
    }

    /// Called by the daemon with each line.
    func send(_ line: [UInt8]) {
      longest = max(longest, line.count)
      guard isStuck else { return take(line) }
      unread.append(line)
      queuedBytes += line.count + 1
    }

    /// Reads what the daemon has sent so far.
    func read() {
      for line in unread { take(line) }
      unread = []
      queuedBytes = 0
      onDrained?()
    }

    private func take(_ line: [UInt8]) {
      if let event = NumberedEvent(line: line) {
        events.append(event)
      } else if let response = try? JSONValue(parsing: line) {
        responses.append(response)
      }
    }
    func closeAfterSending() { isClosed = true }
    func close() { isClosed = true }

    /// Calls a method; the responses are in `responses`, in the order in which they came.
    func call<Parameters, Response>(
      _ method: ControlMethod<Parameters, Response>, _ parameters: Parameters, id: Int64 = 1
    ) {
      unsent.append(RPC.request(method.name, parameters, id: RequestID(id)))
      flush()
    }

    private func flush() { while let onLine, let line = unsent.popFirst() { onLine(line) } }
  }
}

// MARK: - Tests in a world

/// A suite whose tests have a world each (`.inWorld`).
@LoopActor protocol InWorld {}

extension InWorld { var world: World { World.current } }

extension Trait where Self == WorldTrait {
  /// Runs each test in a world of its own, on the loop.
  static var inWorld: Self {
    LoopThread.begin()
    return Self()
  }
}

/// Swift Testing looks for the tests of suites on the loop there, which this one begins.
@Test("A world is on the loop", .inWorld) func worldIsOnLoop() { #expect(LoopThread.isCurrent) }

struct WorldTrait: TestTrait, SuiteTrait, TestScoping {
  let isRecursive = true

  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(Loop.shared) { try await perform(function) }
  }

  @LoopActor private func perform(_ test: @Sendable () async throws -> Void) async throws {
    try await OneAtATime.run {
      World.current = World()
      try await test()
      if World.current.end == nil, World.current.daemon != nil { try await World.current.stop() }
    }
  }
}
