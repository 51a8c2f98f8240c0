// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import EventLoop
import Mgmt
import System
import Wire

/// The adapters that are served, those that are plugged in later too, and the two sockets behind all of
/// them: the management protocol's, and the one that phones' ATT channels arrive on.
@LoopActor
public final class Radio {
  unowned let supervisor: Supervisor
  let mgmt = MgmtClient(scheduler: Loop.shared)
  var adapters: [ControllerIndex: Adapter] = [:] { didSet { supervisor.waits.mayHaveChanged() } }
  /// Whether all adapters that were there at the start are known.
  var isStarted = false { didSet { supervisor.waits.mayHaveChanged() } }
  private(set) var hasExtendedAdvertising = false
  private(set) var isStopping = false
  /// For adapters without an address of their own.
  let staticAddress: Address
  /// How adapters were found, before anything was done to them.
  private var snapshots: [Address: AdapterSnapshot] = [:]
  private var socket: MgmtSocket?
  private var listener: ATTListener?
  private var switches: RadioSwitch?
  /// Whether an adapter's radio may send; nil where it has no switch.
  var block: (UInt16) -> RadioBlock? = { _ in nil }
  /// Whether another program wants the adapters for itself.
  var isRivalled: () -> Bool = { Rivals.bluetoothd }
  private var waitingForRadio: [CheckedContinuation<Void, Never>] = []
  private let opened = Loop.shared.now

  init(_ supervisor: Supervisor) {
    self.supervisor = supervisor
    staticAddress = supervisor.bonds.staticAddress()
  }

  var options: RunOptions { supervisor.options }
  var advertising: AdvertisingChoice { options.advertise.map { .only($0) } ?? .auto }
  var capability: IOCapability {
    (options.io ?? (Terminal.isTerminal(Standard.input) ? .yesno : .none)).capability
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
    do {
      if Rivals.bluetoothd {
        throw Failure(
          .unavailable, "serving the radio", "bluetoothd runs, and takes every phone's connection",
          remedy: Rivals.remedy)
      }
      try open()
      let commands = try await mgmt.readCommands()
      hasExtendedAdvertising = commands.commands.contains(.addExtendedAdvertisingParameters)
      for index in try await mgmt.readIndexList() { await add(index) }
    } catch let error as BluetoothError {
      throw Failure(
        error.kind == .notPermitted ? .noPermission : .unavailable, "opening the radio", "\(error)")
    } catch let error as Failure {
      throw error
    } catch let error as MgmtError where error.status == .permissionDenied {
      throw Failure(
        .noPermission, "managing the kernel's Bluetooth", "\(error)",
        remedy: "run it as root, or with CAP_NET_ADMIN and CAP_NET_RAW")
    } catch {
      throw Failure(.unavailable, "speaking to the kernel's Bluetooth", "\(error)")
    }
    isStarted = true
  }

  private func open() throws(BluetoothError) {
    let socket = try MgmtSocket()
    socket.onPacket = { [mgmt] in mgmt.receive($0) }
    socket.onClose = { [weak self] errno in
      self?.mgmt.close(.closed("\(errno.map { "\($0)" } ?? "the kernel closed it")"))
      self?.supervisor.leave(.unavailable)
    }
    mgmt.send = { [weak socket] in socket?.send($0).map { "\($0)" } }
    mgmt.onEvent = { [weak self] in self?.receive($1, $0) }
    mgmt.onMalformed = { [log = supervisor.log] in log.warning("dropped from the kernel: \($0)") }
    self.socket = socket
    // A kernel without rfkill has nothing to tell.
    switches = try? RadioSwitch()
    block = { [weak self] in self?.switches?.block(of: $0) }
    switches?.onChange = { [weak self] _, _ in self?.radioChanged() }
    try listen()
  }

  private func listen() throws(BluetoothError) {
    let listener = try ATTListener()
    listener.onConnection = { [weak self] in self?.accept($0) }
    listener.onError = { [log = supervisor.log] in log.warning("a phone was not accepted: \($0)") }
    self.listener = listener
  }

  /// Listens anew: the socket that listened last gets the phones, and another program may have.
  func listenAgain() {
    listener?.close()
    do {
      try listen()
    } catch {
      supervisor.log.error("\(error)")
    }
  }

  /// The daemon is about to leave: nothing goes on the air any more.
  func beginStopping() {
    isStopping = true
    radioChanged()
  }

  /// Ends every link, and leaves the adapters as they were found.
  func stop() async {
    listener?.close()
    for adapter in adapters.values { await adapter.restore() }
    mgmt.close(.closed("the daemon is leaving"))
    socket?.close()
  }

  // MARK: Radios that are blocked

  /// Waits as long as an adapter's radio is blocked; mgmt would not tell when it is free.
  func radioIsFree(_ index: ControllerIndex) async {
    while isBlocked(index) {
      await withCheckedContinuation { waiter in
        if isBlocked(index) { waitingForRadio.append(waiter) } else { waiter.resume() }
      }
    }
  }

  private func isBlocked(_ index: ControllerIndex) -> Bool {
    guard !isStopping, let block = block(index.value) else { return false }
    return block != .none
  }

  /// What is in an adapter's way, as far as the machine can tell; nil: nothing that is known.
  func obstacle(to index: ControllerIndex) -> Wait? {
    switch block(index.value) {
    case .soft: .blocked(byHardware: false)
    case .hard: .blocked(byHardware: true)
    case nil, .some(.none): isRivalled() ? .bluetoothd : nil
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
    case .indexAdded, .unconfiguredIndexAdded:
      Loop.start { await self.add(index) }
    default:
      guard let adapter = adapters[index] else { return }
      adapter.watchOver(event)
      adapter.receive(event)
    }
  }

  private func add(_ index: ControllerIndex) async {
    guard !isStopping, adapters[index] == nil else { return }
    let adapter: Adapter
    do {
      let information = try await mgmt.readControllerInformation(index)
      guard adapters[index] == nil, isWanted(index, information) else { return }
      adapter = Adapter(index, information, self)
      adapters[index] = adapter
      try await adapter.setUp()
    } catch {
      let failed = adapters[index]
      failed?.trouble = obstacle(to: index) ?? .failing("\(error)")
      supervisor.post(
        .error(what: "adapter", code: nil, message: "\(error)"), adapter: "\(index)")
      if let failed { Loop.start { await failed.recover() } }
    }
  }

  private func isWanted(_ index: ControllerIndex, _ information: ControllerInformation) -> Bool {
    if options.adapters.isEmpty { return information.supported.contains(.lowEnergy) }
    return options.adapters.contains { $0.matches(index, information.address) }
  }

  /// An adapter was unplugged.
  func removed(_ adapter: Adapter) {
    adapters[adapter.index] = nil
  }

  /// The adapters that were named and are not there.
  var missing: [AdapterChoice] {
    options.adapters.filter { choice in
      !adapters.values.contains { choice.matches($0.index, $0.address) }
    }
  }

  func snapshot(of information: ControllerInformation) -> AdapterSnapshot {
    if let known = snapshots[information.address] { return known }
    let snapshot = AdapterSnapshot(information)
    snapshots[information.address] = snapshot
    return snapshot
  }

  // MARK: Phones

  private func accept(_ socket: ATTSocket) {
    let adapter =
      adapters.values.first { $0.address == socket.local.address }
      ?? (adapters.count == 1 ? adapters.values.first : nil)
    guard let adapter else {
      return supervisor.log.notice("refused \(socket.peer): its adapter is not served")
    }
    adapter.accepted(socket)
  }

  /// The address of an adapter that is there, by its name.
  public func address(of name: String?) -> Address? {
    adapters.values.first { $0.name == name }?.address
  }

  /// Keeps the name that a bonded phone has told.
  func name(_ phone: DeviceAddress, _ name: String, adapter adapterName: String?) {
    for adapter in adapters.values where adapter.name == adapterName {
      adapter.note(phone) { $0.name = name }
    }
  }

  /// The bond with a phone on an adapter that is there.
  func bond(with phone: DeviceAddress, adapter name: String?) -> Bond? {
    adapters.values.first { $0.name == name }?.bonds.first { $0.identity == phone }
  }
}

extension AdapterChoice {
  /// Whether it means this adapter.
  fileprivate func matches(_ index: ControllerIndex, _ address: Address) -> Bool {
    switch self {
    case .index(let number): index == ControllerIndex(number)
    case .address(let named): named == address
    }
  }
}
