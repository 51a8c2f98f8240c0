// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import EventLoop
import Mgmt
import System
import Wire

/// The served adapters, including those plugged in later. The kernel's sockets, which they share, are in
/// RadioSockets.swift.
@LoopActor package final class Radio {
  /// Called when `wait` may have changed.
  package var onWaitChange: () -> Void = {}
  /// Called when the kernel has closed the management channel.
  package var onClosed: () -> Void = {}
  let mgmt: MgmtClient
  var channel: (any ManagementChannel)?
  var rfkill: (any RFKillDevice)?
  /// Those who wait until rfkill may no longer block an adapter.
  var rfkillWaiters: [CheckedContinuation<Void, Never>] = []
  let settings: RadioSettings
  /// The board's name, as phones see it.
  let name: String
  /// Identifies this run of the daemon.
  let life: String
  let platform: any Platform
  let log: Log
  /// For lines that any phone in range can cause, however often.
  let strangersLog: Log
  let feed: EventFeed
  let waits: Waits
  let timeline: Timeline
  let bonds: BondStore
  weak let sessions: (any LinkServer)?
  package private(set) var adapters: [ControllerIndex: Adapter] = [:] { didSet { updateWaits() } }
  /// Whether every adapter that was present at the start has been added.
  private(set) var isStarted = false { didSet { updateWaits() } }
  private(set) var hasExtendedAdvertising = false
  private(set) var isStopping = false
  /// Why the adapters that are not served yet failed at the first attempt.
  private var failures: [ControllerIndex: String] = [:] {
    didSet {
      for index in oldValue.keys where failures[index] == nil {
        waits.set(.adapter("\(index)"), nil)
        adapters[index]?.updateWait()
      }
      updateWaits()
    }
  }
  /// How many times an adapter with this number was removed.
  private var removals: [ControllerIndex: Int] = [:]
  /// Who may pair, and which phone the board's user is answering.
  var desk: PairingDesk
  private lazy var windowEnd = Deadline(platform.scheduler) { [weak self] in self?.windowChanged() }
  /// The adapters as they were before the daemon changed anything.
  private var originals: [Address: ControllerInformation] = [:]
  private lazy var nextSearch = Deadline(platform.scheduler) { [weak self] in
    Loop.start { await self?.search() }
  }
  private static let searchPause: Duration = .seconds(30)
  /// How long startup may take before it is logged.
  private static let startTime: Duration = .seconds(1)
  private let opened: Instant
  /// Which pairings and bonds are accepted; a new link takes its pause.
  package var policy: PairingPolicy

  package init(
    _ settings: RadioSettings, _ policy: PairingPolicy, name: String, life: String,
    on platform: any Platform, _ log: Log, strangersLog: Log, _ feed: EventFeed,
    _ waits: Waits, _ timeline: Timeline, _ bonds: BondStore, _ sessions: any LinkServer
  ) {
    (self.settings, self.policy, self.name, self.life) = (settings, policy, name, life)
    (self.platform, self.log, self.strangersLog) = (platform, log, strangersLog)
    (self.feed, self.waits, self.timeline) = (feed, waits, timeline)
    (self.bonds, self.sessions) = (bonds, sessions)
    mgmt = MgmtClient(scheduler: platform.scheduler)
    opened = platform.scheduler.now
    desk = PairingDesk(PairingWindow(settings.pairable, since: opened))
  }

  // MARK: Start and stop

  /// Opens the sockets.
  package func open() throws(Failure) {
    guard !platform.isBluetoothDaemonRunning else {
      throw Failure(
        .unavailable, "serving the radio", "bluetoothd is running, and takes every phone's connection",
        remedy: "“ancsd doctor” says how to stop it")
    }
    windowChanged()
    mgmt.onEvent = { [weak self] in self?.receive($1, $0) }
    do {
      try openSockets()
    } catch { throw Failure("opening the radio", error) }
  }

  /// Serves the adapters that are present.
  package func start() async throws(Failure) {
    let timer = platform.scheduler.schedule(after: Self.startTime) { [weak self] in
      self?.onWaitChange()
    }
    defer { platform.scheduler.cancel(timer) }
    do {
      hasExtendedAdvertising = try await insist { () throws(MgmtError) in
        try await self.mgmt.readCommands().contains(.addExtendedAdvertisingParameters)
      }
      let present = try await insist { () throws(MgmtError) in try await self.mgmt.readIndexList() }
      // Concurrently, because an unresponsive one must not delay the others.
      let adding = present.map { added($0) }
      let configuring = ((try? await mgmt.readIndexList(unconfigured: true)) ?? []).map {
        added($0, isConfigured: false)
      }
      for task in adding + configuring { await task.value }
    } catch { throw Failure("managing the kernel's Bluetooth", error) }
    isStarted = true
  }

  /// Retries a kernel query up to three times: a single failure is no reason to give up.
  private func insist<Response>(
    on question: @LoopActor () async throws(MgmtError) -> Response
  ) async throws(MgmtError) -> Response {
    for pause in [1, 2] {
      do { return try await question() } catch { log.info("\(error)") }
      await platform.sleep(for: .seconds(pause))
    }
    return try await question()
  }

  /// Called when the daemon begins to stop: stops advertising.
  package func beginStopping() {
    isStopping = true
    rfkillChanged()
  }

  /// Restores the adapters' original states; skips what the kernel has not done by `deadline`.
  package func stop(by deadline: Instant) async {
    let left = MgmtError.closed("the daemon is exiting")
    let timer = platform.scheduler.schedule(at: deadline) { [mgmt] in mgmt.close(left) }
    let restoring = adapters.values.map { adapter in Loop.start { await adapter.restore() } }
    for task in restoring { await task.value }
    platform.scheduler.cancel(timer)
    mgmt.close(left)
    channel?.close()
  }

  // MARK: Adapters

  private func receive(_ event: MgmtEvent, _ index: ControllerIndex) {
    switch event {
    case .indexAdded, .unconfiguredIndexAdded:
      // The one with this number was removed without an event.
      removed(index)
      added(index, isConfigured: event == .indexAdded)
    case .indexRemoved: removed(index)
    default: adapters[index]?.receive(event)
    }
  }

  private func removed(_ index: ControllerIndex) {
    mgmt.controllerRemoved(index)
    failures[index] = nil
    removals[index, default: 0] += 1
    adapters[index]?.unplugged()
  }

  /// While an adapter is missing, looks for it now and then, because its event may be lost.
  private func searchLater() {
    guard isStarted, !isStopping, isWithoutAdapters || !missing.isEmpty else { return }
    nextSearch.limit(to: platform.scheduler.now + Self.searchPause)
  }

  private func search() async {
    let present = (try? await mgmt.readIndexList()) ?? []
    for index in present where adapters[index] == nil && failures[index] == nil { added(index) }
    searchLater()
  }

  /// Serves the adapter with this number, if it is present and wanted; or configures it, if the kernel reports it as
  /// unconfigured.
  ///
  /// - Returns: the first attempt.
  @discardableResult func added(
    _ index: ControllerIndex, isConfigured: Bool = true
  ) -> Task<Void, Never> {
    Loop.start { await self.attempt(index, isConfigured, again: .seconds(1)) }
  }

  /// Does the first work on an adapter. A failure is reported, and retried in the background after 1, 2, 4 … 30 s
  /// while the adapter is present.
  private func attempt(_ index: ControllerIndex, _ isConfigured: Bool, again pause: Duration) async {
    guard !isStopping else { return }
    let removal = removals[index]
    do {
      if isConfigured { try await add(index) } else { try await configure(index) }
      if removals[index] == removal { failures[index] = nil }
    } catch {
      guard !isStopping, removals[index] == removal else { return }
      // Already removed again.
      guard error.status != .invalidIndex else { return failures[index] = nil }
      if failures[index] == nil {
        publishError("\(error)", of: index)
      } else {
        log.info("\(index): \(error)")
      }
      failures[index] = "\(error)"
      Loop.start {
        await self.platform.sleep(for: pause)
        guard self.removals[index] == removal else { return }
        await self.attempt(index, isConfigured, again: min(pause + pause, .seconds(30)))
      }
    }
  }

  private func publishError(_ message: String, of index: ControllerIndex) {
    feed.publish(Event(.error(what: "adapter", code: nil, message: message), adapter: "\(index)"))
  }

  private func add(_ index: ControllerIndex) async throws(MgmtError) {
    guard !isStopping, adapters[index] == nil else { return }
    let information = try await mgmt.readControllerInformation(index)
    guard !isStopping, adapters[index] == nil, isWanted(index, information) else { return }
    if await replacePlaceholder(of: index, information) { return }
    guard !isStopping, adapters[index] == nil else { return }
    let identity = identity(of: index, information)
    if identity.type == .random, information.address == Address(0) { bonds.adoptBonds(of: identity.address) }
    let adapter = Adapter(index, information, identity, self)
    adapters[index] = adapter
    failures[index] = nil
    await adapter.begin()
  }

  private func isWanted(_ index: ControllerIndex, _ information: ControllerInformation) -> Bool {
    if settings.adapters.isEmpty { return information.supported.contains(.lowEnergy) }
    let address = identity(of: index, information).address
    return settings.adapters.contains {
      $0.matches(index, information.address) || $0.matches(index, address)
    }
  }

  // MARK: Addresses

  /// The address that an adapter should use on the air.
  private func identity(of index: ControllerIndex, _ information: ControllerInformation) -> DeviceAddress {
    let needsStatic = settings.address == .static || information.address.isPlaceholder
    guard needsStatic, information.supported.contains(.staticAddress) else {
      return DeviceAddress(information.address, .public)
    }
    return DeviceAddress(bonds.address(.static, of: index), .random)
  }

  /// Replaces a controller's placeholder address.
  ///
  /// - Returns: whether that worked; the kernel then adds the adapter again.
  private func replacePlaceholder(of index: ControllerIndex, _ information: ControllerInformation) async -> Bool {
    // One without BR/EDR and without an address, like Zephyr's, is meant to use a static one.
    guard information.address.isPlaceholder, information.address != Address(0),
      settings.address == .public
    else { return false }
    do {
      try await mgmt.call(.setPowered(false), index: index)
      try await mgmt.call(.setPublicAddress(bonds.address(.public, of: index)), index: index)
      return true
    } catch {
      log.info("\(index) keeps its address \(information.address): \(error)")
      return false
    }
  }

  /// Configures a controller that the kernel reports as unconfigured, by giving it an address. The kernel then adds
  /// the adapter.
  private func configure(_ index: ControllerIndex) async throws(MgmtError) {
    // Its address is not known yet, so only its number can name it.
    let isWanted = settings.adapters.isEmpty || settings.adapters.contains(AdapterChoice(index))
    guard !isStopping, isWanted else { return }
    guard try await mgmt.needsOnlyAddress(index) else {
      let message = "\(index) needs to be configured by a tool from its vendor"
      return publishError(message, of: index)
    }
    let address = bonds.address(.public, of: index)
    try await mgmt.call(.setPublicAddress(address), index: index)
    log.notice("\(index) has no address; using \(address)")
  }

  /// Forgets an adapter that was unplugged.
  func drop(_ adapter: Adapter) {
    guard adapters[adapter.index] === adapter else { return }
    adapters[adapter.index] = nil
    waits.set(.adapter(adapter.name), nil)
    updateWaits()
  }

  /// The adapters, ordered by index.
  package var sortedAdapters: [Adapter] { adapters.values.sorted { $0.index < $1.index } }

  /// The adapters named on the command line that are not present.
  private var missing: [AdapterChoice] {
    settings.adapters.filter { choice in
      !adapters.values.contains { choice.matches($0.index, $0.address) }
        && !failures.keys.contains { "\($0)" == "\(choice)" }
    }
  }

  private func updateWaits() {
    onWaitChange()
    searchLater()
    let missing = isStarted ? missing : []
    for choice in settings.adapters where !adapters.values.contains(where: { $0.name == "\(choice)" }) {
      let wait = Wait.absent("\(choice)")
      waits.set(
        .adapter("\(choice)"),
        missing.contains(choice) ? .init(wait, adapter: "\(choice)") : nil)
    }
    for (index, failure) in failures {
      waits.set(
        .adapter("\(index)"), .init(.failing(failure), adapter: "\(index)"))
    }
  }

  /// A phone has paired.
  func phonePaired() {
    desk.window.phonePaired()
    windowChanged()
  }

  /// Pairing may have opened or closed.
  private func windowChanged() {
    windowEnd.due = desk.window.deadline(after: now)
    for adapter in sortedAdapters { adapter.windowChanged() }
    pairingMayBeOver()
  }

  /// A pairing may have ended that phones wait for, on whichever adapter.
  func pairingMayBeOver() { for adapter in sortedAdapters { adapter.admitNext() } }

  /// An adapter as it was before the daemon changed anything; called before it does.
  func original(_ found: ControllerInformation, at address: Address) -> ControllerInformation {
    let original = originals[address] ?? found
    originals[address] = original
    return original
  }

  /// The adapters, as `status` shows them.
  package var reports: [AdapterReport] {
    missing.map { report(of: "\($0)", .absent("\($0)"), isPresent: false) }
      + failures.sorted { $0.key < $1.key }.map { report(of: "\($0)", .failing($1)) }
      + sortedAdapters.map(\.report)
  }

  private func report(of adapter: String, _ wait: Wait, isPresent: Bool = true) -> AdapterReport {
    var report = AdapterReport()
    report.adapter = adapter
    report.isPresent = isPresent
    report.waiting = WaitReport(wait, name: name)
    return report
  }

  /// Whether none is served, and none that failed may be served later.
  var isWithoutAdapters: Bool { adapters.isEmpty && failures.isEmpty }

  /// The wait while there is no adapter; nil if there is none.
  package var wait: Wait? {
    guard isWithoutAdapters else { return nil }
    if isStarted { return settings.adapters.isEmpty ? .absent(nil) : nil }
    let isLate = platform.scheduler.now - opened >= Self.startTime
    return isLate ? .settingUp : nil
  }

  // MARK: Phones

  /// The adapter of that name, if it is present.
  package func adapter(named name: String?) -> Adapter? {
    adapters.values.first { $0.name == name }
  }

  /// Removes a phone's bonds on every adapter, present or not: first its keys in the kernel and in memory,
  /// then the files.
  ///
  /// - Returns: whether there were any.
  /// - Throws: why a file is still on the disk. The phone is refused anyway, and the removal is retried.
  package func forget(_ selector: PhoneSelector) async throws(SystemError) -> Bool {
    func isMeant(_ bond: Bond) -> Bool { selector.matches(bond.identity.address, name: bond.name) }
    var failure: SystemError?
    // The disk may have less than memory: a bond, or its name, could not be saved.
    var stored: [BondStore.Place: Bond] = [:]
    do throws(SystemError) { stored = try bonds.bonds() } catch { failure = error }
    var places = Set(stored.filter { isMeant($0.value) }.keys)
    for adapter in sortedAdapters {
      for bond in adapter.keys.ring.bonds where isMeant(bond) {
        places.insert(BondStore.Place(adapter: adapter.address, phone: bond.identity))
      }
    }
    // So that an adapter plugged in from now on does not get them.
    for place in places { bonds.revoke(place) }
    for adapter in sortedAdapters {
      // Also those that the policy refuses, which its keyring does not list.
      for place in places where place.adapter == adapter.address {
        await adapter.revoke(place.phone)
        if bonds.isRevoked(place) { sessions?.forget(place.phone) }
      }
    }
    // A phone may have paired again while the kernel was waited for.
    for place in places where bonds.isRevoked(place) {
      do {
        try bonds.forget(place)
      } catch { failure = failure ?? error }
    }
    // The bonds of an absent adapter are on the disk alone, and so is one that could not be removed.
    let isLast =
      failure == nil && places.isSuperset(of: stored.keys)
      && adapters.values.allSatisfy { $0.keys.ring.bonds.isEmpty }
    if !places.isEmpty, isLast { desk.window.lastBondForgotten(at: now) }
    windowChanged()
    if let failure { throw failure }
    return !places.isEmpty
  }

  // MARK: Pairing

  private var now: Instant { platform.scheduler.now }

  /// Lets phones without a bond pair until `end`, and asks connected ones to pair.
  ///
  /// - Returns: the number of this opening.
  package func openPairing(until end: Instant) -> Int {
    let number = desk.open(until: end)
    windowChanged()
    for adapter in sortedAdapters { adapter.advertiser.begin() }
    return number
  }

  /// Ends the opening of that number, if it is not over; without one, lets no phone pair from now on. If pairing closes,
  /// an unknown phone that is pairing is refused.
  package func closePairing(_ opening: Int?) {
    var hasEnded = true
    if let opening { hasEnded = desk.window.end(opening, at: now) } else { desk.window.close() }
    if hasEnded {
      for adapter in sortedAdapters where !adapter.isPairable {
        for link in adapter.links { link.handle(.windowClosed) }
      }
    }
    windowChanged()
  }

  /// The links on which a phone is pairing.
  var pairingLinks: [RadioLink] {
    sortedAdapters.flatMap(\.links).filter { $0.machine.pairing != nil }
  }

  /// The question of a pairing phone to the board's user, and the phone; nil if there is none.
  package var pairingQuestion: (PairingQuestion, Address)? {
    pairingLinks.lazy.compactMap { link in link.question.map { ($0, link.peer.address) } }.first
  }

  /// Passes the user's answer to the phone concerned.
  ///
  /// - Throws: why it matches no phone.
  package func respond(_ response: PairingResponse) throws(RPCError) {
    let asked = pairingLinks.lazy.compactMap { link in link.question.map { (link, $0) } }
      .first { $0.1.method != .display }
    guard let (link, question) = asked else {
      throw .unavailable("no pairing is waiting for an answer")
    }
    try desk.answer(response, to: link.peer.address, question, at: now)
    link.handle(.answered(accept: response.accept, response.passkey))
  }
}
