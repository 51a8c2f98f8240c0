// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Bluetooth
import Control
import EventLoop
import GAP
import JSON
import Mgmt
import VirtualPhone
import Wire

/// The virtual phone on the air: an adapter that is the central, as an iPhone is.
///
/// `CentralMachine` decides; this class performs its actions on the kernel, one after another.
@LoopActor final class PhoneRadio: PhoneBearer {
  var onEvent: (JSONObject) -> Void = { _ in }
  var onFailure: (Failure) -> Void = { _ in }

  private let options: PhoneOptions
  private let phone: VirtualPhone
  private let adapter: CentralAdapter
  private let store: PhoneStore
  private var keys: PhoneKeys
  private var machine: CentralMachine
  private lazy var timer = Deadline(Loop.shared) { [weak self] in
    self?.turn { machine, now in machine.timePassed(to: now) }
  }
  private var socket: ATTSocket?
  /// The actions that are still to be performed.
  private let actions = Mailbox<CentralMachine.Action>()
  private var isClosing = false
  private let closed = Mailbox<Void>()

  /// The connection parameters of iPhones: 30 ms, no latency, 720 ms.
  private static let parameters = ConnectionParameters(interval: 24, latency: 0, timeout: 72)
  /// An accessory that has just advertised responds at once.
  private static let connectTime = Duration.seconds(10)
  /// How long the kernel keeps a link whose socket was closed: 4.3 to 4.5 s, plus a margin.
  private static let afterlife = Duration.seconds(6)
  /// No event says that a link is encrypted by a stored key, so the level is polled.
  private static let pollPeriod = Duration.milliseconds(20)

  /// - Throws: if there is no such adapter, or another program uses it.
  init(_ options: PhoneOptions, on choice: AdapterChoice, _ phone: VirtualPhone) async throws(Failure) {
    self.options = options
    self.phone = phone
    guard !BluetoothDaemon.isRunning else {
      throw Failure(
        .unavailable, "the phone on \(choice)", "bluetoothd is running, and manages every adapter",
        remedy: "“ancsd doctor” says how to stop it")
    }
    adapter = try await CentralAdapter.open(choice)
    store = PhoneStore(directory: options.stateDirectory, adapter: adapter.information.address)
    keys = try store.load() ?? PhoneKeys()
    if options.forgets { keys.bonds = [] }
    machine = CentralMachine(bonds: keys.bonds, choice: options.accessory, asks: options.io == .ask)
    try await checkUnused()
  }

  /// Two programs can't share an adapter: each would undo the other's set-up.
  private func checkUnused() async throws(Failure) {
    let index = adapter.index
    // If it is switched off, it has neither advertisements nor links.
    guard adapter.information.current.contains(.powered) else { return }
    let what = "the phone on \(index)"
    let isAdvertising = try await attempt(what, await adapter.isAdvertising())
    // The links of a phone that was killed end by themselves.
    let deadline = Loop.shared.now + Self.afterlife
    var isConnected = try await attempt(what, await !adapter.connections().isEmpty)
    while isConnected, !isAdvertising, Loop.shared.now < deadline {
      await Loop.shared.sleep(for: .milliseconds(250))
      isConnected = try await attempt(what, await !adapter.connections().isEmpty)
    }
    guard isAdvertising || isConnected else { return }
    throw Failure(
      .unavailable, what, "another program \(isAdvertising ? "advertises with" : "has a link on") it",
      remedy: "if that is “ancsd run”, give it another adapter, as in “ancsd --hci0” next to "
        + "“ancsd phone --hci1”: without one it serves all adapters. To clear what a killed program has "
        + "left there, start and stop “ancsd --\(index)”")
  }

  func open() async throws(Failure) {
    try store.save(keys)
    adapter.onEvent = { [weak self] in self?.receive($0) }
    let address = adapter.information.address.isPlaceholder ? keys.staticAddress : nil
    let steps = adapter.information.setUpSteps(
      name: options.configuration.name, role: .phone(keys.identityResolvingKey), capability: options.io.capability,
      bonds: keys.bonds, staticAddress: address, interval: .standard)
    try await attempt("setting \(adapter.index) up", await adapter.setUp(steps, address))
    _ = try? phone.perform(.encrypt(false))
    onEvent(["event": "ready", "address": .string(adapter.identity.description)])
    Loop.start { while let action = await self.actions.next() { await self.perform(action) } }
    try? perform(LinkCommand.connect(nil))
  }

  func close() async {
    isClosing = true
    turn { machine, _ in machine.leave() }
    if machine.state != .away { _ = await closed.next() }
    actions.close()
    try? await adapter.call(.removeAdvertisementMonitors)
    try? await adapter.call(.loadConnectionParameters([:]))
    await adapter.restore()
  }

  // MARK: Commands

  func perform(_ command: PhoneCommand) throws(PhoneRefusal) -> [NotificationUID] {
    let hasLink = machine.link != nil
    switch command {
    case .leave: turn { machine, _ in machine.leave() }
    case .comeBack:
      try phone.perform(command)
      try perform(LinkCommand.connect(nil))
    case .encrypt(false):
      throw PhoneRefusal("on the air a link stays encrypted until it ends; use “disconnect”")
    case .disconnect where hasLink: turn { machine, _ in machine.disconnect() }
    case .encrypt where hasLink: turn { machine, _ in machine.needsSecurity() }
    case .disconnect, .encrypt: throw PhoneRefusal("nobody is connected")
    default: return try phone.perform(command)
    }
    return []
  }

  func perform(_ command: LinkCommand) throws(PhoneRefusal) {
    do throws(CentralRefusal) {
      switch command {
      case .forget: turn { machine, _ in machine.forget() }
      case .connect(let choice):
        try turn { machine, now throws(CentralRefusal) in
          try machine.comeBack(to: choice, at: now)
        }
      case .respond(let accept, let passkey):
        try turn { machine, _ throws(CentralRefusal) in
          try machine.respond(accept: accept, passkey: passkey)
        }
      }
    } catch { throw PhoneRefusal("\(error)") }
  }

  // MARK: The machine

  /// Passes an input to the machine, reports its events at once, and queues its actions.
  private func turn<Refusal: Error>(
    _ input: (inout CentralMachine, Instant) throws(Refusal) -> [CentralMachine.Action]
  ) throws(Refusal) {
    for action in try input(&machine, Loop.shared.now) {
      if case .report(let event) = action { onEvent(event.json) } else { actions.post(action) }
    }
    timer.due = machine.deadline
  }

  private func perform(_ action: CentralMachine.Action) async {
    switch action {
    case .scan: await scan()
    case .stopScanning: try? await adapter.call(.removeAdvertisementMonitors)
    case .connect(let device): await connect(to: device)
    case .hangUp: await hangUp()
    case .secure: secure()
    case .explore: Loop.start { await self.phone.ask(.explore) }
    case .save: saveKeys()
    case .forget(let accessories):
      saveKeys()
      for accessory in accessories {
        try? await adapter.call(.unpairDevice(accessory, disconnect: true))
      }
    // A late reply, after the accessory has given up, is harmless.
    case .send(let command): try? await adapter.call(command)
    case .report: break
    }
  }

  /// Saves the keys with the bonds that the machine has now.
  private func saveKeys() {
    keys.bonds = machine.bonds
    do throws(Failure) {
      try store.save(keys)
    } catch { onEvent(["event": "error", "what": "state", "message": .string(error.line)]) }
  }

  private func receive(_ event: MgmtEvent) {
    switch event {
    case .deviceFound(let device, let rssi, let flags, let data):
      guard !flags.contains(.notConnectable), device.type != .classic,
        phone.accepts(isBonded: machine.bonds.contains { $0.identity == device })
      else { return }
      turn { machine, now in machine.seen(device, rssi: rssi, data: data, at: now) }
    case .newSettings(let settings) where !settings.contains(.powered) && !isClosing:
      // Setting the adapter up begins with switching it off.
      guard machine.state != .away else { return }
      lose(AdapterTrouble.switchedOff.sentence(adapter: adapter.index))
    case .indexRemoved: lose("\(adapter.index) is gone")
    default: turn { machine, now in machine.receive(event, at: now) }
    }
  }

  private func lose(_ why: String) {
    onFailure(Failure(.unavailable, "the phone on \(adapter.index)", why))
  }

  // MARK: Scanning and connecting

  private func scan() async {
    // A restarted scan reports devices again.
    try? await adapter.call(.removeAdvertisementMonitors)
    do throws(MgmtError) {
      try await adapter.call(.addAdvertisementMonitor(Accessory.Sign.allPatterns))
    } catch {
      guard !isClosing else { return }
      var failure = Failure("scanning with \(adapter.index)", error)
      if error.status == .unknownCommand {
        failure.remedy = "scanning passively needs Linux 5.10 or newer"
      }
      onFailure(failure)
    }
  }

  /// Begins to connect; the rest runs concurrently with other actions.
  private func connect(to device: DeviceAddress) async {
    // Without them the link has the kernel's default parameters, which also work.
    try? await adapter.call(.loadConnectionParameters([device: Self.parameters]))
    guard machine.state == .connecting(device) else { return connectFailed("cancelled") }
    Loop.start {
      do throws(BluetoothError) {
        self.connected(try await self.adapter.connect(to: device, timeout: Self.connectTime))
      } catch { self.connectFailed("\(error)") }
    }
  }

  private func connectFailed(_ why: String) {
    turn { machine, now in machine.connectFailed(why, at: now) }
    noteEnd()
  }

  private func connected(_ socket: ATTSocket) {
    self.socket = socket
    guard case .connecting = machine.state else { return actions.post(.hangUp) }
    turn { machine, now in machine.connected(at: now) }
    let packets = socket.packets
    phone.onSecurityNeeded = { [weak self] in self?.turn { machine, _ in machine.needsSecurity() } }
    let hangUp = { [weak self] (_: String) -> Void in
      self?.turn { machine, _ in machine.disconnect() }
    }
    // It may have begun to stay away since the accessory was seen.
    let isAccepted = phone.connect(
      isBonded: machine.link?.isBonded ?? false, send: { [weak packets] in packets?.send($0) }, hangUp: hangUp)
    guard isAccepted else { return hangUp("the phone stays away") }
    packets.onClose = { [weak self] in self?.ended(ChannelEnd($0)) }
    packets.onPacket = { [weak self] in self?.phone.receive(Array($0)) }
    poll(socket)
  }

  /// Watches for the link's encryption.
  private func poll(_ socket: ATTSocket) {
    guard case .open = machine.state, socket === self.socket else { return }
    if let level = socket.security()?.level, level >= .medium {
      _ = try? phone.perform(.encrypt(true))
      return turn { machine, _ in machine.secured() }
    }
    _ = Loop.shared.schedule(after: Self.pollPeriod) { [weak self] in self?.poll(socket) }
  }

  private func secure() {
    guard let socket else { return }
    do throws(BluetoothError) {
      try socket.setSecurity(.medium)
    } catch { onEvent(["event": "error", "what": "encryption", "message": .string("\(error)")]) }
  }

  // MARK: The end of a link

  private func hangUp() async {
    adapter.stopConnecting()
    guard let socket else { return }
    await adapter.hangUp(socket)
    ended(.disconnected)
  }

  private func ended(_ end: ChannelEnd) {
    guard let socket else { return }
    socket.packets.close()
    self.socket = nil
    phone.disconnected(end.sentence)
    _ = try? phone.perform(.encrypt(false))
    turn { machine, now in machine.ended(end, at: now) }
    noteEnd()
  }

  private func noteEnd() { if isClosing { closed.post(()) } }
}

extension ChannelEnd {
  /// The end in words, as the virtual phone reports it.
  fileprivate var sentence: String {
    switch self {
    case .disconnected: "the link was ended"
    case .timedOut: "the accessory is out of range"
    case .authenticationFailed: "the two could not pair or encrypt"
    case .keysDiffer: "the two sides' keys differ, or the link was never established"
    case .aborted: "the adapter was removed or switched off"
    case .other(let error): error
    }
  }
}

extension CentralEvent {
  /// The object that is printed on a line.
  fileprivate var json: JSONObject {
    switch self {
    case .scanning(let choice):
      ["event": "scanning", "accessory": choice.map { .string($0.description) }]
    case .seen(let device, let accessory, let rssi, let isBonded):
      [
        "event": "seen", "address": .string(device.description), "name": accessory.name.map { .string($0) },
        "signs": .strings(accessory.signs.map(\.rawValue).sorted()), "rssi": rssi.map { .number($0) },
        "bonded": .bool(isBonded),
      ]
    case .undecided(let devices):
      ["event": "undecided", "accessories": .strings(devices.map(\.description))]
    case .connecting(let device):
      ["event": "connecting", "address": .string(device.description)]
    case .connectFailed(let device, let why):
      ["event": "connect-failed", "address": .string(device.description), "reason": .string(why)]
    case .pairing(let prompt):
      [
        "event": "pairing", "method": .string(prompt.method.rawValue),
        "passkey": prompt.number.map { .string($0.description) },
      ]
    case .paired(let device): ["event": "paired", "address": .string(device.description)]
    case .encrypted(let isNew): ["event": "encrypted", "new": .bool(isNew)]
    case .resting(let failure): ["event": "resting", "reason": .string(failure.description)]
    }
  }
}
