// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import EventLoop
import Mgmt
import System
import Wire

/// The adapters that are served, those that are plugged in later too, and the two sockets behind all of
/// them: the management channel, and the one that phones' ATT channels arrive on.
@LoopActor final class Radio {
  unowned let supervisor: Supervisor
  let mgmt: MgmtClient
  private(set) var adapters: [ControllerIndex: Adapter] = [:] { didSet { updateWaits() } }
  /// Whether all adapters that were there at the start are known.
  private(set) var isStarted = false { didSet { updateWaits() } }
  private(set) var hasExtendedAdvertising = false
  private(set) var isStopping = false
  /// For adapters without an address of their own.
  let staticAddress: Address

  /// How adapters were found, before anything was done to them.
  private var snapshots: [Address: AdapterSnapshot] = [:]
  private var channel: (any ManagementChannel)?
  private var listener: (any Listener)?
  private var rfkill: (any RFKillDevice)?
  private var waitingForRadio: [CheckedContinuation<Void, Never>] = []
  private let opened: Instant

  init(_ supervisor: Supervisor) {
    self.supervisor = supervisor
    mgmt = MgmtClient(scheduler: supervisor.platform.scheduler)
    opened = supervisor.platform.scheduler.now
    staticAddress = supervisor.bonds.staticAddress()
  }

  var options: RunOptions { supervisor.options }
  private var log: Log { supervisor.log }

  var capability: IOCapability {
    (options.io ?? (supervisor.platform.isInteractive ? .yesno : .none)).capability
  }

  /// Who may pair, as the command line says.
  var pairingRule: PairingWindow.Rule {
    switch options.pairable {
    case .untilBonded: .whileUnbonded
    case .seconds(let seconds): .until(opened + .seconds(seconds))
    case .always: .always
    }
  }

  // MARK: Beginning and end

  func start() async throws(Failure) {
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
    do {
      hasExtendedAdvertising = try await mgmt.readCommands()
        .contains(.addExtendedAdvertisingParameters)
      for index in try await mgmt.readIndexList() { await add(index) }
    } catch {
      throw Failure("managing the kernel's Bluetooth", error)
    }
    isStarted = true
  }

  private func open() throws(BluetoothError) {
    let channel = try supervisor.platform.openManagement()
    mgmt.onEvent = { [weak self] in self?.receive($1, $0) }
    mgmt.onMalformed = { [log] in log.warning("dropped from the kernel: \($0)") }
    channel.attach(mgmt) { [weak self] in self?.supervisor.leave(.unavailable) }
    self.channel = channel
    rfkill = supervisor.platform.openRFKill()
    rfkill?.onChange = { [weak self] _, _ in self?.radioChanged() }
    try listen()
  }

  private func listen() throws(BluetoothError) {
    listener = try supervisor.platform.listenForPhones(log: log) { [weak self] in
      self?.accept($0)
    }
  }

  /// Listens anew: the socket that listened last gets the phones, and another program's may have.
  func listenAgain() {
    listener?.close()
    do {
      try listen()
    } catch {
      log.error("\(error)")
    }
  }

  /// The daemon is about to end: nothing goes on the air any more.
  func beginStopping() {
    isStopping = true
    radioChanged()
  }

  /// Leaves the adapters as they were found.
  func stop() async {
    listener?.close()
    for adapter in adapters.values { await adapter.restore() }
    mgmt.close(.closed("the daemon is leaving"))
    channel?.close()
  }

  // MARK: What may be in the way

  var isBluetoothDaemonRunning: Bool { supervisor.platform.isBluetoothDaemonRunning }

  /// What is in an adapter's way, as far as the machine can tell; nil: nothing that is known.
  func obstacle(to index: ControllerIndex) -> Wait? {
    switch rfkill?.state(of: index.value) {
    case .soft: .adapter(.blocked(byHardware: false))
    case .hard: .adapter(.blocked(byHardware: true))
    case nil, .unblocked: isBluetoothDaemonRunning ? .adapter(.bluetoothd) : nil
    }
  }

  /// Waits as long as an adapter's radio is blocked; mgmt would not tell when it is free.
  func radioIsFree(_ index: ControllerIndex) async {
    while !isStopping, let state = rfkill?.state(of: index.value), state != .unblocked {
      await withCheckedContinuation { waitingForRadio.append($0) }
    }
  }

  private func radioChanged() {
    let waiting = waitingForRadio
    waitingForRadio = []
    for waiter in waiting { waiter.resume() }
  }

  // MARK: Adapters that come and go

  private func receive(_ event: MgmtEvent, _ index: ControllerIndex) {
    switch event {
    case .indexAdded, .unconfiguredIndexAdded: Loop.start { await self.add(index) }
    default: adapters[index]?.receive(event)
    }
  }

  private func add(_ index: ControllerIndex) async {
    guard !isStopping, adapters[index] == nil else { return }
    do {
      let information = try await mgmt.readControllerInformation(index)
      guard !isStopping, adapters[index] == nil, isWanted(index, information) else { return }
      let adapter = Adapter(index, information, self)
      adapters[index] = adapter
      await adapter.begin()
    } catch {
      supervisor.publish(
        .error(what: "adapter", code: nil, message: "\(error)"), adapter: "\(index)")
    }
  }

  private func isWanted(_ index: ControllerIndex, _ information: ControllerInformation) -> Bool {
    if options.adapters.isEmpty { return information.supported.contains(.lowEnergy) }
    return options.adapters.contains { $0.matches(index, information.address) }
  }

  /// An adapter was unplugged.
  func removed(_ adapter: Adapter) {
    adapters[adapter.index] = nil
    supervisor.waits.set(.adapter(adapter.name), nil)
    updateWaits()
  }

  /// The adapters, in the order of their numbers.
  var sortedAdapters: [Adapter] { adapters.values.sorted { $0.index < $1.index } }

  /// The adapters that were named and are not there.
  private var missing: [AdapterChoice] {
    options.adapters.filter { choice in
      !adapters.values.contains { choice.matches($0.index, $0.address) }
    }
  }

  private func updateWaits() {
    supervisor.updateWait()
    let missing = isStarted ? missing : []
    for choice in options.adapters
    where !adapters.values.contains(where: { $0.name == "\(choice)" }) {
      let wait = Wait.adapter(.absent("\(choice)"))
      supervisor.waits.set(
        .adapter("\(choice)"),
        missing.contains(choice) ? .init(wait: wait, adapter: "\(choice)") : nil)
    }
  }

  /// How an adapter was found; asked before anything is done to it.
  func snapshot(of information: ControllerInformation) -> AdapterSnapshot {
    if let known = snapshots[information.address] { return known }
    let snapshot = AdapterSnapshot(information)
    snapshots[information.address] = snapshot
    return snapshot
  }

  /// The adapters as `status` shows them.
  var reports: [AdapterReport] {
    missing.map { choice in
      var report = AdapterReport()
      report.adapter = "\(choice)"
      report.isPresent = false
      report.waiting = WaitReport(.adapter(.absent("\(choice)")), name: supervisor.name)
      return report
    } + sortedAdapters.map(\.report)
  }

  // MARK: Phones

  private func accept(_ channel: any ATTChannel) {
    let adapter =
      adapters.values.first { $0.address == channel.local.address }
      ?? (adapters.count == 1 ? adapters.values.first : nil)
    guard let adapter else {
      log.notice("refused \(channel.peer): its adapter is not served")
      return channel.close()
    }
    adapter.accept(channel)
  }

  /// The adapter of that name, where it is there.
  func adapter(named name: String?) -> Adapter? { adapters.values.first { $0.name == name } }

  /// Forgets a phone on every adapter; false where none knows it.
  func forget(_ selector: PhoneSelector) async throws(SystemError) -> Bool {
    var found = false
    for adapter in adapters.values {
      for bond in adapter.bonds where selector.matches(bond.identity.address, name: bond.name) {
        found = true
        try await adapter.forget(bond)
        supervisor.forget(bond.identity)
      }
    }
    return found
  }

  /// Somebody at the board answers what pairing asked; false where nothing was asked.
  func respond(accept: Bool, passkey: Passkey?) -> Bool {
    adapters.values.lazy.flatMap(\.links).contains { $0.respond(accept: accept, passkey: passkey) }
  }
}
