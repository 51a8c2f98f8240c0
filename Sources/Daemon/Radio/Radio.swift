// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import EventLoop
import Mgmt
import System
import Wire

/// The adapters that are served, including those plugged in later, and the two sockets that they
/// share: the management channel, and the listener for phones' ATT channels.
@LoopActor final class Radio {
  unowned let supervisor: Supervisor
  let mgmt: MgmtClient
  private(set) var adapters: [ControllerIndex: Adapter] = [:] { didSet { updateWaits() } }
  /// Whether every adapter that was present at the start has been added.
  private(set) var isStarted = false { didSet { updateWaits() } }
  private(set) var hasExtendedAdvertising = false
  private(set) var isStopping = false
  /// Why the adapters that are not served yet failed at the first attempt.
  private var failures: [ControllerIndex: String] = [:] { didSet { updateWaits() } }
  /// How often an adapter with this number has gone.
  private var removals: [ControllerIndex: Int] = [:]
  /// The adapters' pairing windows, by their addresses: one that was closed by hand is closed when its adapter is
  /// plugged in again.
  private var windows: [Address: PairingWindow] = [:]
  /// The adapters' settings before the daemon changed anything.
  private var snapshots: [Address: AdapterSnapshot] = [:]
  private var channel: (any ManagementChannel)?
  private var listeners: [any Listener] = []
  private var rfkill: (any RFKillDevice)?
  private var waitingForRadio: [CheckedContinuation<Void, Never>] = []
  private var searchTimer: TimerID?
  private static let searchPause: Duration = .seconds(30)
  /// How long the start may take before it is said.
  private static let startTime: Duration = .seconds(1)
  private let opened: Instant
  /// The phones that asked something of the board's user last, and when, until somebody answers.
  private var questions: [(phone: Address, at: Instant)] = []

  init(_ supervisor: Supervisor) {
    self.supervisor = supervisor
    mgmt = MgmtClient(scheduler: supervisor.platform.scheduler)
    opened = supervisor.platform.scheduler.now
  }

  var options: RunOptions { supervisor.options }
  private var log: Log { supervisor.log }

  var capability: IOCapability {
    (options.io ?? (supervisor.platform.isInteractive ? .yesno : .none)).capability
  }

  /// Which phones may pair, by the command line.
  var pairingRule: PairingWindow.Rule {
    switch options.pairable {
    case .firstPhone: .firstPhone(until: opened + PairingWindow.firstPhoneTime)
    case .seconds(let seconds): .until(opened + .seconds(seconds))
    case .always: .always
    }
  }

  var policy: PairingMachine.Policy {
    .init(
      capability: capability, allowsLegacy: options.allowLegacy,
      requiresAuthentication: options.requiresAuthentication, pause: options.quirks.encryptionPause)
  }

  // MARK: Start and stop

  func start() async throws(Failure) {
    let scheduler = supervisor.platform.scheduler
    let timer = scheduler.schedule(after: Self.startTime) { [weak supervisor] in
      supervisor?.updateWait()
    }
    defer { scheduler.cancel(timer) }
    if options.requiresAuthentication, capability == .noInputNoOutput {
      throw Failure(
        .usage, "--require-mitm", "the board can neither show a number nor take one",
        remedy: "say what it can with --io display, keyboard or yesno")
    }
    guard !isBluetoothDaemonRunning else {
      throw Failure(
        .unavailable, "serving the radio", "bluetoothd runs, and takes every phone's connection",
        remedy: BluetoothDaemon.remedy)
    }
    do {
      try open()
    } catch {
      throw Failure("opening the radio", error)
    }
    try supervisor.socketsAreOpen()
    do {
      hasExtendedAdvertising = try await insist { () throws(MgmtError) in
        try await self.mgmt.readCommands().contains(.addExtendedAdvertisingParameters)
      }
      let present = try await insist { () throws(MgmtError) in try await self.mgmt.readIndexList() }
      // Together: one that answers nothing must not hold up the others.
      let adding = present.map { added($0) }
      let configuring = ((try? await mgmt.readUnconfiguredIndexList()) ?? []).map {
        unconfigured($0)
      }
      for task in adding + configuring { await task.value }
    } catch {
      throw Failure("managing the kernel's Bluetooth", error)
    }
    isStarted = true
  }

  /// Asks the kernel for something up to three times: what it can't tell at once is no reason to give up.
  private func insist<Answer>(
    on question: @LoopActor () async throws(MgmtError) -> Answer
  ) async throws(MgmtError) -> Answer {
    for pause in [1, 2] {
      do { return try await question() } catch { log.info("\(error)") }
      await supervisor.platform.sleep(for: .seconds(pause))
    }
    return try await question()
  }

  private func open() throws(BluetoothError) {
    let channel = try supervisor.platform.openManagement()
    mgmt.onEvent = { [weak self] in self?.receive($1, $0) }
    let kernelLog = log.limited(
      by: LogBudget("packets of the kernel", supervisor.platform.scheduler))
    mgmt.onLate = { [weak self] index, opcode in self?.adapters[index]?.changedLate(by: opcode) }
    mgmt.onMalformed = { malformed in
      kernelLog.warning("dropped from the kernel: \(malformed.error)")
      kernelLog.debug("what was dropped: \(malformed)")
    }
    channel.attach(mgmt) { [weak self] in self?.supervisor.leave(.unavailable) }
    self.channel = channel
    rfkill = supervisor.platform.openRFKill()
    rfkill?.onChange = { [weak self] _, _ in self?.radioChanged() }
    try listen()
  }

  private func listen() throws(BluetoothError) {
    for type in [AddressType.public, .random] {
      listeners.append(
        try supervisor.platform.listenForPhones(at: type, log: supervisor.strangersLog) {
          [weak self] in self?.accept($0)
        })
    }
  }

  private func stopListening() {
    for listener in listeners { listener.close() }
    listeners = []
  }

  /// Listens again: the kernel gives phones to the latest listening socket, which may be another
  /// program's.
  func listenAgain() {
    stopListening()
    do {
      try listen()
    } catch {
      log.error("\(error)")
    }
  }

  /// Called when the daemon begins to stop: nothing is advertised any more.
  func beginStopping() {
    isStopping = true
    radioChanged()
  }

  /// Restores the adapters to the state they were found in; what the kernel has not done by then is left.
  func stop(by deadline: Instant) async {
    stopListening()
    let left = MgmtError.closed("the daemon is leaving")
    let timer = supervisor.platform.scheduler.schedule(at: deadline) { [mgmt] in mgmt.close(left) }
    let restoring = adapters.values.map { adapter in Loop.start { await adapter.restore() } }
    for task in restoring { await task.value }
    supervisor.platform.scheduler.cancel(timer)
    mgmt.close(left)
    channel?.close()
  }

  // MARK: Obstacles

  var isBluetoothDaemonRunning: Bool { supervisor.platform.isBluetoothDaemonRunning }

  /// What prevents an adapter from being set up: the kernel's bug, rfkill or bluetoothd; nil: nothing.
  func obstacle(to index: ControllerIndex) -> Wait? {
    guard supervisor.platform.mayAcceptPhones else { return .adapter(.silentLinks) }
    return switch rfkill?.state(of: index.value) {
    case .soft: .adapter(.blocked(byHardware: false))
    case .hard: .adapter(.blocked(byHardware: true))
    case nil, .unblocked: isBluetoothDaemonRunning ? .adapter(.bluetoothd) : nil
    }
  }

  /// Closes a phone's channel, if the kernel survives that. When there is no room for another socket that is left
  /// open, nobody is accepted any more, and the links that are up are closed while that is safe.
  func close(_ channel: any ATTChannel) {
    channel.close()
    guard channel.isLeftOpen else { return }
    supervisor.strangersLog.notice(
      "\(channel.peer) never sent a byte: its socket is left open, because this kernel would not survive "
        + "closing it; a newer kernel does")
    guard !supervisor.platform.mayAcceptPhones, !listeners.isEmpty else { return }
    stopListening()
    for adapter in adapters.values { adapter.retire() }
  }

  /// While rfkill blocks an adapter, waits until that may have changed, for some seconds at most; mgmt
  /// does not report it.
  ///
  /// - Returns: whether the adapter was blocked.
  func waitForRadio(_ index: ControllerIndex) async -> Bool {
    guard !isStopping, let state = rfkill?.state(of: index.value), state != .unblocked else {
      return false
    }
    let scheduler = supervisor.platform.scheduler
    let timer = scheduler.schedule(after: .seconds(10)) { [weak self] in self?.radioChanged() }
    await withCheckedContinuation { waitingForRadio.append($0) }
    scheduler.cancel(timer)
    return true
  }

  private func radioChanged() {
    let waiting = waitingForRadio
    waitingForRadio = []
    for waiter in waiting { waiter.resume() }
  }

  // MARK: Adapters

  private func receive(_ event: MgmtEvent, _ index: ControllerIndex) {
    switch event {
    case .indexAdded:
      // The one that had this number has gone without an event.
      removed(index)
      added(index)
    case .unconfiguredIndexAdded:
      removed(index)
      unconfigured(index)
    case .indexRemoved: removed(index)
    default: adapters[index]?.receive(event)
    }
  }

  private func removed(_ index: ControllerIndex) {
    mgmt.controllerRemoved(index)
    failures[index] = nil
    removals[index, default: 0] += 1
    adapters[index]?.removed()
  }

  /// While an adapter is missing, looks for it now and then: the event that tells of it may be lost.
  private func searchLater() {
    guard isStarted, !isStopping, searchTimer == nil, isWithoutAdapters || !missing.isEmpty else {
      return
    }
    searchTimer = supervisor.platform.scheduler.schedule(after: Self.searchPause) { [weak self] in
      Loop.start { await self?.search() }
    }
  }

  private func search() async {
    let present = (try? await mgmt.readIndexList()) ?? []
    for index in present where adapters[index] == nil && failures[index] == nil { added(index) }
    searchTimer = nil
    searchLater()
  }

  /// Serves the adapter with this number, if it is there and wanted.
  ///
  /// - Returns: the first attempt.
  @discardableResult func added(_ index: ControllerIndex) -> Task<Void, Never> {
    Loop.start {
      await self.attempt(index) { () throws(MgmtError) in try await self.add(index) }
    }
  }

  /// Makes a controller usable that the kernel calls unconfigured.
  ///
  /// - Returns: the first attempt.
  @discardableResult private func unconfigured(_ index: ControllerIndex) -> Task<Void, Never> {
    Loop.start {
      await self.attempt(index) { () throws(MgmtError) in try await self.configure(index) }
    }
  }

  /// Does the first work on an adapter. If that fails it is reported, and tried again in the background after
  /// 1, 2, 4 … 30 s for as long as the adapter is there.
  private func attempt(
    _ index: ControllerIndex, again pause: Duration = .seconds(1),
    _ work: @escaping @LoopActor () async throws(MgmtError) -> Void
  ) async {
    guard !isStopping else { return }
    let removal = removals[index]
    do {
      try await work()
      if removals[index] == removal { failures[index] = nil }
    } catch {
      guard !isStopping, removals[index] == removal else { return }
      // Already gone again.
      guard error.status != .invalidIndex else { return failures[index] = nil }
      if failures[index] == nil {
        supervisor.publish(
          .error(what: "adapter", code: nil, message: "\(error)"), adapter: "\(index)")
      } else {
        log.info("\(index): \(error)")
      }
      failures[index] = "\(error)"
      Loop.start {
        await self.supervisor.platform.sleep(for: pause)
        guard self.removals[index] == removal else { return }
        await self.attempt(index, again: min(pause + pause, .seconds(30)), work)
      }
    }
  }

  private func add(_ index: ControllerIndex) async throws(MgmtError) {
    guard !isStopping, adapters[index] == nil else { return }
    let information = try await mgmt.readControllerInformation(index)
    guard !isStopping, adapters[index] == nil, isWanted(index, information) else { return }
    if await replacePlaceholder(of: index, information) { return }
    guard !isStopping, adapters[index] == nil else { return }
    let adapter = Adapter(index, information, identity(of: index, information), self)
    adapters[index] = adapter
    await adapter.begin()
  }

  private func isWanted(_ index: ControllerIndex, _ information: ControllerInformation) -> Bool {
    if options.adapters.isEmpty { return information.supported.contains(.lowEnergy) }
    let address = identity(of: index, information).address
    return options.adapters.contains {
      $0.matches(index, information.address) || $0.matches(index, address)
    }
  }

  // MARK: Addresses

  /// The address that an adapter is to have on the air.
  private func identity(
    of index: ControllerIndex, _ information: ControllerInformation
  ) -> DeviceAddress {
    let needsStatic = options.address == .static || information.address.isPlaceholder
    guard needsStatic, information.supported.contains(.staticAddress) else {
      return DeviceAddress(information.address, .public)
    }
    let address = supervisor.bonds.staticAddress(of: index)
    if information.address == Address(0) { supervisor.bonds.adoptBonds(of: address) }
    return DeviceAddress(address, .random)
  }

  /// Gives a controller with a placeholder for an address another one.
  ///
  /// - Returns: whether that worked; the kernel then adds the adapter anew.
  private func replacePlaceholder(
    of index: ControllerIndex, _ information: ControllerInformation
  ) async -> Bool {
    // One without BR/EDR and without an address, as those of Zephyr, is meant to have a static one.
    guard information.address.isPlaceholder, information.address != Address(0),
      options.address == .public
    else { return false }
    do {
      try await mgmt.call(.setPowered(false), index: index)
      try await mgmt.call(
        .setPublicAddress(supervisor.bonds.publicAddress(of: index)), index: index)
      return true
    } catch {
      log.info("\(index) keeps its address \(information.address): \(error)")
      return false
    }
  }

  /// Makes a controller usable that the kernel calls unconfigured: gives it an address. The kernel then adds
  /// the adapter.
  private func configure(_ index: ControllerIndex) async throws(MgmtError) {
    guard !isStopping, options.adapters.isEmpty || isNamed(index) else { return }
    let configuration = try await mgmt.readControllerConfiguration(index)
    guard configuration.needsOnlyAddress else {
      let message = "\(index) needs configuration that only a tool of its vendor can give it"
      return supervisor.publish(
        .error(what: "adapter", code: nil, message: message), adapter: "\(index)")
    }
    let address = supervisor.bonds.publicAddress(of: index)
    try await mgmt.call(.setPublicAddress(address), index: index)
    log.notice("\(index) has no address of its own: it gets \(address)")
  }

  /// Whether the command line names it by its number.
  private func isNamed(_ index: ControllerIndex) -> Bool {
    options.adapters.contains { choice in
      if case .index(let number) = choice { index == ControllerIndex(number) } else { false }
    }
  }

  /// Called when an adapter was unplugged.
  func removed(_ adapter: Adapter) {
    guard adapters[adapter.index] === adapter else { return }
    adapters[adapter.index] = nil
    supervisor.waits.set(.adapter(adapter.name), nil)
    updateWaits()
  }

  /// The adapters, ordered by index.
  var sortedAdapters: [Adapter] { adapters.values.sorted { $0.index < $1.index } }

  /// The adapters that the command line names and that are not present.
  private var missing: [AdapterChoice] {
    options.adapters.filter { choice in
      !adapters.values.contains { choice.matches($0.index, $0.address) }
        && !failures.keys.contains { "\($0)" == "\(choice)" }
    }
  }

  private func updateWaits() {
    supervisor.updateWait()
    searchLater()
    let missing = isStarted ? missing : []
    for choice in options.adapters
    where !adapters.values.contains(where: { $0.name == "\(choice)" }) {
      let wait = Wait.adapter(.absent("\(choice)"))
      supervisor.waits.set(
        .adapter("\(choice)"),
        missing.contains(choice) ? .init(wait: wait, adapter: "\(choice)") : nil)
    }
    for (index, failure) in failures {
      supervisor.waits.set(
        .adapter("\(index)"), .init(wait: .adapter(.failing(failure)), adapter: "\(index)"))
    }
  }

  /// The pairing window of the adapter with this address.
  subscript(windowOf address: Address) -> PairingWindow {
    get { windows[address] ?? PairingWindow(pairingRule) }
    set { windows[address] = newValue }
  }

  /// A phone has paired, for which pairing may have been opened on every adapter.
  func phonePaired() {
    for address in windows.keys { windows[address]?.phonePaired() }
    for adapter in sortedAdapters { adapter.pairingMayBeClosed() }
  }

  /// The settings of an adapter before the daemon changed anything; called before it does.
  func snapshot(of address: Address, _ information: ControllerInformation) -> AdapterSnapshot {
    if let known = snapshots[address] { return known }
    let snapshot = AdapterSnapshot(information)
    snapshots[address] = snapshot
    return snapshot
  }

  /// The adapters, as `status` shows them.
  var reports: [AdapterReport] {
    missing.map { choice in
      var report = AdapterReport()
      report.adapter = "\(choice)"
      report.isPresent = false
      report.waiting = WaitReport(.adapter(.absent("\(choice)")), name: supervisor.name)
      return report
    } + failingReports + sortedAdapters.map(\.report)
  }

  private var failingReports: [AdapterReport] {
    failures.sorted { $0.key < $1.key }.map { index, failure in
      var report = AdapterReport()
      report.adapter = "\(index)"
      report.waiting = WaitReport(.adapter(.failing(failure)), name: supervisor.name)
      return report
    }
  }

  /// Whether none is served, and none failed that may be later.
  var isWithoutAdapters: Bool { adapters.isEmpty && failures.isEmpty }

  /// What is waited for while there is no adapter; nil: nothing.
  var wait: Wait? {
    guard isWithoutAdapters else { return nil }
    if isStarted { return options.adapters.isEmpty ? .adapter(.absent(nil)) : nil }
    let isLate = supervisor.platform.scheduler.now - opened >= Self.startTime
    return isLate ? .adapter(.settingUp) : nil
  }

  // MARK: Phones

  private func accept(_ channel: any ATTChannel) {
    let adapter =
      sortedAdapters.first { $0.address == channel.local.address }
      ?? (adapters.count == 1 ? sortedAdapters.first : nil)
    guard let adapter else {
      supervisor.strangersLog.notice("refused \(channel.peer): its adapter is not served")
      return close(channel)
    }
    adapter.accept(channel)
  }

  /// The adapter of that name, if it is present.
  func adapter(named name: String?) -> Adapter? { adapters.values.first { $0.name == name } }

  /// Removes a phone's bonds on every adapter, present or not: first its keys in the kernel and in memory,
  /// then the files.
  ///
  /// - Returns: whether there were any.
  /// - Throws: what keeps a file on the disk. The phone is refused all the same, and the removal is tried again.
  func forget(_ selector: PhoneSelector) async throws(SystemError) -> Bool {
    func isMeant(_ bond: Bond) -> Bool { selector.matches(bond.identity.address, name: bond.name) }
    func place(of bond: Bond, on adapter: Adapter) -> BondStore.Place {
      BondStore.Place(adapter: adapter.address, phone: bond.identity)
    }
    let store = supervisor.bonds
    var failure: SystemError?
    // What is on the disk may be less than what is in memory: a bond, or its name, could not be saved.
    var places: Set<BondStore.Place> = []
    do throws(SystemError) { places = try store.places(where: isMeant) } catch { failure = error }
    for adapter in sortedAdapters {
      for bond in adapter.bonds where isMeant(bond) { places.insert(place(of: bond, on: adapter)) }
    }
    // So that an adapter which is plugged in from now on does not get them.
    for place in places { store.revoke(place) }
    for adapter in sortedAdapters {
      for bond in adapter.bonds where places.contains(place(of: bond, on: adapter)) {
        await adapter.revoke(bond)
        supervisor.forget(bond.identity)
      }
    }
    for place in places {
      do {
        try store.forget(place.phone, of: place.adapter)
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return !places.isEmpty
  }

  // MARK: Pairing

  /// The links on which a phone is pairing.
  var pairingLinks: [RadioLink] { sortedAdapters.flatMap(\.links).filter(\.isPairing) }

  /// What a phone that is pairing asks the board's user to do, and which phone; nil: none does.
  var pairingQuestion: (PairingQuestion, Address)? {
    pairingLinks.lazy.compactMap { link in link.question.map { ($0, link.peer.address) } }.first
  }

  /// Called when a phone's question has been published.
  func asked(by phone: Address) {
    questions.removeAll { $0.phone == phone }
    questions = Array((questions + [(phone, supervisor.platform.scheduler.now)]).suffix(2))
  }

  /// The phone that has asked something not long before the one that asks now.
  private func former(than asking: Address) -> Address? {
    let now = supervisor.platform.scheduler.now
    return questions.last { $0.phone != asking && now - $0.at < PairingMachine.answerTime }?.phone
  }

  /// Passes the board user's answer to the phone that it is for.
  ///
  /// - Throws: why it is for none.
  func respond(_ response: PairingResponse) throws(RPCError) {
    let asked = pairingLinks.lazy.compactMap { link in link.question.map { (link, $0) } }
      .first { $0.1.method != .display }
    guard let (link, question) = asked else {
      throw .unavailable("no pairing waits for an answer")
    }
    let asking = link.peer.address
    if let phone = response.phone, !phone.matches(asking, name: nil) {
      throw .unavailable("\(phone) waits for no answer: \(asking) does")
    }
    if response.phone == nil, let former = former(than: asking) {
      throw .unavailable(
        "it is not clear whom this answers: \(asking) asks now, and \(former) did just before; say "
          + "which with “phone”")
    }
    if question.method == .confirm, let shown = response.passkey, shown != question.passkey {
      throw .unavailable("\(shown) is not the number that is shown for \(asking)")
    }
    questions = []
    link.respond(accept: response.accept, passkey: response.passkey)
  }
}
