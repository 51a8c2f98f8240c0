// SPDX-License-Identifier: GPL-3.0-or-later
public import Mgmt
public import Wire

/// A kernel's Bluetooth without a kernel: adapters, management sockets, and phones that connect, as
/// docs/kernel.md describes the real one. It speaks the management protocol byte by byte, and owns no
/// clock.
///
///     daemon ── commands ──▶ ManagementSocket ──▶ VirtualAdapter ──┐
///            ◀── events ────                                     Connection ◀──▶ Handset
///            ◀── ATT channels ◀───────── listeners ◀──────────────┘
///
/// Tests plug adapters in and out, block their radios, start bluetoothd, and move phones about.
public final class VirtualKernel {
  /// The adapters that are plugged in, by their numbers.
  public private(set) var adapters: [UInt16: VirtualAdapter] = [:]
  /// The commands that were sent on management sockets, in order.
  public internal(set) var commands: [MgmtOpcode] = []
  /// The status with which commands fail, until it is removed.
  public var refusals: [MgmtOpcode: MgmtStatus] = [:]
  /// The commands that are never answered.
  public var unanswered: Set<MgmtOpcode> = []
  /// Says what becomes of each command.
  public var commandFate: (MgmtOpcode) -> Fate<MgmtStatus> = { _ in .arrives }
  /// Says what becomes of each packet that goes to a management socket, by its code: the events, and the responses to
  /// commands (1 and 2). What fails becomes another packet.
  public var packetFate: (_ code: UInt16, _ packet: [UInt8]) -> Fate<[UInt8]> = { _, _ in .arrives }
  /// The longest packet that a management socket takes: as the daemon asks for; 1,028 bytes before Linux 5.16.
  public var packetLimit = 65_535
  /// The adapters whose commands are never answered.
  public var deaf: Set<UInt16> = []
  /// Whether the ends of ATT channels are lost, so that only an event may tell of them.
  public var losesChannelEnds = false
  /// Whether it powers an adapter off in good order when its radio is blocked, as Linux 6.12 does (docs/kernel.md, “Adapter
  /// removal and rfkill”).
  public var powersOffInOrder = false
  /// Called when an adapter's radio was blocked or unblocked.
  public var onRadioChange: () -> Void = {}
  /// Whether bluetoothd runs.
  public private(set) var isBluetoothDaemonRunning = false

  let scheduler: any Scheduler
  private var sockets: [ManagementSocket] = []
  private var listeners: [ChannelListener] = []
  private var bluetoothDaemonsListener: ChannelListener?
  private var lastHandle: UInt16 = 0x3F

  public init(scheduler: any Scheduler) { self.scheduler = scheduler }

  // MARK: Adapters

  /// Plugs an adapter in. It gets the lowest number that is free, and settings that are the kernel's
  /// defaults.
  @discardableResult
  public func plug(_ kind: VirtualAdapter.Kind = .init()) -> VirtualAdapter {
    let number = (0...).first { adapters[$0] == nil } ?? 0
    let adapter = VirtualAdapter(number, kind, self)
    adapters[number] = adapter
    announce(adapter)
    return adapter
  }

  /// Index Added, or Unconfigured Index Added.
  func announce(_ adapter: VirtualAdapter) {
    broadcast(adapter.isConfigured ? 0x0004 : 0x001D, about: adapter.number)
  }

  /// An adapter that was given a public address goes and comes back, configured.
  func renew(_ adapter: VirtualAdapter, wasConfigured: Bool) {
    broadcast(wasConfigured ? 0x0005 : 0x001E, about: adapter.number)
    after(.milliseconds(20)) { self.announce(adapter) }
  }

  /// Pulls an adapter out (docs/kernel.md, “Adapter removal and rfkill”).
  /// - Parameter tells: whether Index Removed says so. It does not while the adapter is being set up.
  public func unplug(_ adapter: VirtualAdapter, tells: Bool = true) {
    guard adapters[adapter.number] === adapter else { return }
    adapter.loseRadio()
    adapters[adapter.number] = nil
    guard tells else { return }
    after(.milliseconds(50)) { self.broadcast(0x0005, about: adapter.number) }  // Index Removed
  }

  /// The controller reports a hardware error: the kernel resets it, and ends its links without a word.
  /// The advertising instance stays in the kernel, but the controller does not know it any more.
  public func failHardware(of adapter: VirtualAdapter) { adapter.resetController() }

  /// Blocks an adapter's radio, by software or by a switch, or unblocks it with nil.
  public func block(_ adapter: VirtualAdapter, _ block: RadioBlock?) {
    let isNew = block != nil && adapter.block == nil
    adapter.block = block
    switch (isNew, powersOffInOrder) {
    case (true, true): adapter.powerOff(isBlocked: true)
    case (true, false): adapter.loseRadio()
    case (false, _): break
    }
    onRadioChange()
  }

  /// How a radio is blocked.
  public enum RadioBlock: Hashable, Sendable { case soft, hard }

  // MARK: bluetoothd

  /// Starts bluetoothd, which takes the adapters and all phones for itself (docs/kernel.md,
  /// “bluetoothd”).
  public func startBluetoothDaemon() {
    isBluetoothDaemonRunning = true
    bluetoothDaemonsListener = listen(at: nil) { $0.close() }
    for adapter in adapters.values where adapter.settings.contains(.powered) {
      adapter.removeAdvertising()
      // It unblocks all devices, and makes an adapter that is connectable neither that nor bondable.
      broadcast(0x0015, about: adapter.number, [UInt8](repeating: 0, count: 7))
      guard adapter.settings.contains(.connectable) else { continue }
      adapter.change(removing: [.connectable, .bondable])
    }
  }

  /// Ends bluetoothd, which powers the adapters off.
  public func stopBluetoothDaemon() {
    isBluetoothDaemonRunning = false
    bluetoothDaemonsListener?.close()
    for adapter in adapters.values where adapter.settings.contains(.powered) { adapter.powerOff() }
  }

  // MARK: Sockets

  /// Opens a management socket.
  public func openManagement() -> ManagementSocket {
    let socket = ManagementSocket(self)
    sockets.append(socket)
    return socket
  }

  /// Listens for the ATT channels of phones that connect to this address; nil: to any. The listener that came last gets
  /// them all.
  public func listen(at address: DeviceAddress?, _ accept: @escaping (VirtualChannel) -> Void) -> ChannelListener {
    let listener = ChannelListener(self, address, accept)
    listeners.append(listener)
    return listener
  }

  func close(_ socket: ManagementSocket) { sockets.removeAll { $0 === socket } }

  func close(_ listener: ChannelListener) { listeners.removeAll { $0 === listener } }

  /// The listener that gets the next phone that connects to this address.
  func listener(at address: DeviceAddress) -> ChannelListener? {
    listeners.last { $0.address == nil || $0.address == address }
  }

  /// Sends an event to all management sockets but one.
  func broadcast(_ code: UInt16, about number: UInt16, _ body: [UInt8] = [], except excluded: ManagementSocket? = nil) {
    for socket in sockets where socket !== excluded { socket.deliver(code, number, body) }
  }

  /// The controller's handle of a new connection.
  func makeHandle() -> UInt16 {
    lastHandle = lastHandle == 0xEFF ? 0x40 : lastHandle + 1
    return lastHandle
  }

  /// Does something on a later turn of the loop.
  func after(_ delay: Duration = .zero, _ action: @escaping () -> Void) {
    _ = scheduler.schedule(after: delay, action)
  }
}

/// What becomes of something that is sent.
public enum Fate<Failure> {
  case arrives
  case lost
  case twice
  case late(Duration)
  /// It is answered with a failure.
  case fails(Failure)
}

/// A socket of the management protocol.
public final class ManagementSocket {
  /// Called with each packet from the kernel, each on a turn of its own.
  public var receive: ([UInt8]) -> Void = { _ in }
  public var packetLimit: Int { kernel.packetLimit }
  private let kernel: VirtualKernel
  private var isClosed = false

  init(_ kernel: VirtualKernel) { self.kernel = kernel }

  /// Writes a command; false if the kernel does not take it.
  @discardableResult public func send(_ packet: [UInt8]) -> Bool {
    guard packet.count <= kernel.packetLimit, let packet = try? Packet(decoding: packet) else { return false }
    let (code, number, body) = (packet.code, packet.index.value, packet.body)
    let opcode = MgmtOpcode(rawValue: code)
    kernel.commands.append(opcode)
    if kernel.unanswered.contains(opcode) || kernel.deaf.contains(number) { return true }
    let fate = kernel.commandFate(opcode)
    var delay = Duration.milliseconds(1)
    switch fate {
    case .lost: return true
    case .late(let by): delay = by
    case .arrives, .twice, .fails: break
    }
    kernel.after(delay) { [self] in
      // The kernel begins a command in the call that sends it: one that is late is only long under way.
      if isClosed, case .late = fate { return }
      var refusal = kernel.refusals[opcode]
      if case .fails(let status) = fate { refusal = status }
      if let refusal {
        kernel.adapters[number]?.failed(opcode)
        return complete(code, number, refusal)
      }
      execute(opcode, number, body)
    }
    return true
  }

  private func execute(_ opcode: MgmtOpcode, _ number: UInt16, _ body: [UInt8]) {
    switch opcode {
    case .readCommands:
      let known = VirtualAdapter.commands + [.readCommands, .readIndexList]
      var reply = ByteWriter()
      reply.u16(UInt16(known.count))
      reply.u16(0)  // events
      for command in known { reply.u16(command.rawValue) }
      complete(opcode.rawValue, number, .success, reply.bytes)
    case .readIndexList, .readUnconfiguredIndexList:
      let list = kernel.adapters.filter { $0.value.isConfigured == (opcode == .readIndexList) }
      var reply = ByteWriter()
      reply.u16(UInt16(list.count))
      for number in list.keys.sorted() { reply.u16(number) }
      complete(opcode.rawValue, number, .success, reply.bytes)
    default:
      let configuring: [MgmtOpcode] = [.readControllerConfiguration, .setPublicAddress]
      guard let adapter = kernel.adapters[number],
        adapter.isConfigured || configuring.contains(opcode)
      else { return complete(opcode.rawValue, number, .invalidIndex) }
      adapter.perform(opcode, body, for: self)
    }
  }

  /// Answers a command.
  func complete(_ code: UInt16, _ number: UInt16, _ status: MgmtStatus, _ reply: [UInt8] = []) {
    var body = ByteWriter()
    body.u16(code)
    body.u8(status.rawValue)
    body.bytes(reply)
    deliver(0x0001, number, body.bytes)
  }

  /// Delivers a packet on a later turn.
  func deliver(_ code: UInt16, _ number: UInt16, _ body: [UInt8]) {
    var bytes = Packet(code: code, index: ControllerIndex(number), body: body).encoded
    var delays = [Duration.zero]
    switch kernel.packetFate(code, bytes) {
    case .arrives: break
    case .lost: return
    case .twice: delays.append(.milliseconds(1))
    case .late(let by): delays = [by]
    case .fails(let other): bytes = other
    }
    for delay in delays { kernel.after(delay) { [weak self] in self?.receive(bytes) } }
  }

  public func close() {
    receive = { _ in }
    isClosed = true
    kernel.close(self)
  }
}

/// A socket that listens on the ATT channel.
public final class ChannelListener {
  let address: DeviceAddress?
  let accept: (VirtualChannel) -> Void
  private weak var kernel: VirtualKernel?

  init(_ kernel: VirtualKernel, _ address: DeviceAddress?, _ accept: @escaping (VirtualChannel) -> Void) {
    self.kernel = kernel
    self.address = address
    self.accept = accept
  }

  public func close() { kernel?.close(self) }
}
