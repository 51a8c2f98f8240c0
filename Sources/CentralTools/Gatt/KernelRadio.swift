// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import EventLoop
import Mgmt
import Wire

/// Devices on the air, through the kernel: an L2CAP socket on the ATT channel, and mgmt for
/// everything else.
@LoopActor final class KernelRadio {
  /// Asks the user a question while pairing; nil if nobody answers.
  var ask: (String) async -> String? = { _ in nil }
  /// Shows the user a text.
  var inform: (String) -> Void = { _ in }
  /// Whether later links may be paired with a user's help.
  var hasUser = false

  private let openAdapter: () async throws(Failure) -> CentralAdapter
  private var opened: CentralAdapter?
  /// The scan in progress, from before its adapter is opened: what is called with devices, and its rounds of the kernel; it
  /// ends when these are closed.
  private var scanning: (rounds: Mailbox<Void>, found: (FoundDevice) -> Void)?
  /// The attempt to connect, from before its adapter is opened.
  private var connecting: ATTSocket.Attempt?
  private var pairing: CentralPairing?
  /// Disconnects that the kernel has not confirmed yet.
  private var disconnects: [Task<Void, Never>] = []

  /// A device in range responds within a few seconds; the kernel would try for forty.
  private static let connectTime = Duration.seconds(25)

  /// - Parameter open: opens the adapter.
  init(_ open: @escaping () async throws(Failure) -> CentralAdapter) { openAdapter = open }

  private func adapter() async throws(Failure) -> CentralAdapter {
    if let opened { return opened }
    let adapter = try await openAdapter()
    opened = adapter
    adapter.onEvent = { [weak self] in self?.receive($0) }
    try await attempt("switching the adapter on", await adapter.switchOn())
    return adapter
  }

  /// Restores the adapter's settings.
  func restoreAdapter() async {
    for disconnect in disconnects { await disconnect.value }
    await opened?.restore()
    opened = nil
  }

  private func receive(_ event: MgmtEvent) {
    pairing?.receive(event)
    switch event {
    case .deviceFound(let device, let rssi, let flags, let data) where device.type != .classic:
      let isConnectable = !flags.contains(.notConnectable)
      scanning?.found(FoundDevice(address: device, rssi: rssi, isConnectable: isConnectable, data: data))
    case .discovering(false): scanning?.rounds.post(())
    case .indexRemoved:
      // Plugged in again it is another one, switched off and perhaps with another number.
      let gone = opened
      opened = nil
      scanning?.rounds.post(())
      Loop.start { await gone?.restore("the adapter was removed") }
    default: break
    }
  }

  // MARK: Connecting

  /// Connects, as the central.
  func connect(to device: DeviceAddress, mtu: Int) async throws(Failure) -> GATTLink {
    let connecting = ATTSocket.Attempt()
    self.connecting = connecting
    defer { if self.connecting === connecting { self.connecting = nil } }
    let adapter = try await adapter()
    // An already connected device is in use by another program.
    let connected = try await attempt("reading the adapter's connections", await adapter.connections())
    let isOurs = !connected.contains(device)
    if hasUser { try await attempt("preparing to connect", await adapter.enableUserInteraction()) }
    let socket = try await open(device, adapter, connecting)
    let link = GATTLink(socket.packets, to: .device(device), mtu: mtu)
    link.security = { [weak socket] in socket?.security() }
    link.secure = { [weak self, weak link] level throws(Failure) in
      guard let self, let link else { return }
      try await secure(socket, link, level, adapter)
    }
    if isOurs {
      // A link whose socket is only closed would stay up for four more seconds.
      link.hangUp = { [weak self] in
        self?.disconnects.append(Loop.start { await adapter.hangUp(socket) })
      }
    }
    return link
  }

  private func open(
    _ device: DeviceAddress, _ adapter: CentralAdapter, _ connecting: ATTSocket.Attempt
  ) async throws(Failure) -> ATTSocket {
    do throws(BluetoothError) {
      return try await adapter.connect(to: device, timeout: Self.connectTime, connecting)
    } catch {
      var failure = Failure("connecting to \(device)", error)
      if error.isAboutLink, device.type == .public {
        failure.remedy = "if its address is random, write \(device)/random"
      }
      throw failure
    }
  }

  /// Cancels `connect`, which then throws.
  func stopConnecting() { connecting?.cancel() }

  /// Removes the adapter's keys for a device, so that they can pair again.
  func forget(_ device: DeviceAddress) async throws(Failure) {
    let adapter = try await adapter()
    do throws(MgmtError) {
      try await adapter.call(.unpairDevice(device, disconnect: true))
    } catch {
      if error.status == .notPaired {
        throw Failure(.refused, "unpair \(device)", "the adapter has no key for it")
      }
      throw Failure("unpair \(device)", error)
    }
  }

  private func secure(
    _ socket: ATTSocket, _ link: GATTLink, _ level: GATTSecurity, _ adapter: CentralAdapter
  ) async throws(Failure) {
    let pairing = CentralPairing(of: socket, adapter, for: self)
    self.pairing = pairing
    defer { if self.pairing === pairing { self.pairing = nil } }
    try await attempt("preparing to pair", await adapter.prepareForPairing())
    let wanted: SecurityLevel = level == .medium ? .medium : .high
    let isReached = try attempt(try socket.setSecurity(wanted)) { (error: BluetoothError) in
      Failure("securing the link", error)
    }
    if !isReached { try await pairing.wait(for: wanted) }
  }

  // MARK: Scanning

  /// Scans until it is stopped. A device that is seen again may be reported again.
  func scan(_ found: @escaping (FoundDevice) -> Void) async throws(Failure) {
    let rounds = Mailbox<Void>()
    scanning = (rounds, found)
    defer { if scanning?.rounds === rounds { scanning = nil } }
    let adapter = try await adapter()
    rounds.post(())
    // The kernel scans for ten seconds at a time.
    while await rounds.next() != nil { try await attempt("scan", await adapter.call(.startDiscovery)) }
    try? await adapter.call(.stopDiscovery)
  }

  /// Ends `scan`, which then returns.
  func stopScan() { scanning?.rounds.close() }
}

extension ChannelSecurity {
  /// The security in words.
  var sentence: String {
    switch level {
    case .low: "not encrypted"
    case .medium: "encrypted, with a key of \(keySize) bytes from an unauthenticated pairing"
    case .high: "encrypted, with a key of \(keySize) bytes from an authenticated pairing"
    case .fips: "encrypted, with a key of 16 bytes from an authenticated Secure Connections pairing"
    default: "at level \(level.rawValue)"
    }
  }
}

/// A device that was seen on the air.
struct FoundDevice: Hashable, Sendable {
  var address: DeviceAddress
  /// In dBm; nil if the controller does not report it.
  var rssi: Int8?
  var isConnectable: Bool
  /// The advertising data, followed by the scan response if that came.
  var data: [UInt8]
}

/// The devices that a scan has found.
struct FoundDevices {
  private(set) var devices: [FoundDevice] = []

  /// Adds a report.
  ///
  /// - Returns: whether it has more data than those before, and whether the device is new.
  mutating func add(_ device: FoundDevice) -> (isNews: Bool, isNew: Bool) {
    guard let place = devices.firstIndex(where: { $0.address == device.address }) else {
      devices.append(device)
      return (true, true)
    }
    let before = devices[place]
    devices[place].rssi = device.rssi ?? before.rssi
    guard device.data.count > before.data.count else { return (false, false) }
    devices[place] = device
    return (true, false)
  }
}

/// Raises a link's security as the central: the kernel encrypts with the key it has, or pairs. It
/// asks the user what the kernel needs to know for this.
@LoopActor final class CentralPairing {
  private let adapter: CentralAdapter
  private let radio: KernelRadio
  private let socket: ATTSocket
  private var failure: MgmtStatus?

  /// Pairing waits for a user, and each step of SMP may take 30 s (Vol 3 Part H, 3.4).
  private static let patience = Duration.seconds(60)
  /// No event reports encryption with a stored key, so the level is polled.
  private static let pollPeriod = Duration.milliseconds(50)

  /// - Parameters:
  ///   - socket: the link.
  ///   - radio: asks and informs the user.
  init(of socket: ATTSocket, _ adapter: CentralAdapter, for radio: KernelRadio) {
    (self.adapter, self.radio, self.socket) = (adapter, radio, socket)
  }

  /// Waits until the link has that level.
  func wait(for wanted: SecurityLevel) async throws(Failure) {
    let deadline = Loop.shared.now + Self.patience
    while Loop.shared.now < deadline {
      if let failure {
        throw Failure(.refused, "securing the link", "\(failure): \(failure.sentence)")
      }
      guard socket.packets.isOpen else {
        throw Failure(
          .refused, "securing the link", "the link was lost",
          remedy: "if they were paired before, one side has lost its keys: remove the pairing on the device "
            + "and here (“unpair”)")
      }
      if let level = socket.security()?.level, level >= wanted { return }
      await Loop.shared.sleep(for: Self.pollPeriod)
    }
    throw Failure(.tryAgain, "securing the link", "timed out")
  }

  func receive(_ event: MgmtEvent) {
    // Other programs pair on the same adapter, and their events come here, too.
    guard let peer = event.device, peer == socket.peer || peer == socket.currentPeer() else {
      return
    }
    if case .authenticationFailed(_, let status) = event { failure = status }
    switch PairingPrompt(event) {
    // The question is only whether to pair, which the user's command has answered.
    case .consent?: Loop.start { [self] in await send(.userConfirmReply(peer)) }
    case .comparison(let number)?:
      Loop.start { [self] in
        let answer = await radio.ask("Does \(peer) show \(number)? (yes or no)")
        let isYes = answer?.lowercased().hasPrefix("y") ?? false
        await send(isYes ? .userConfirmReply(peer) : .userConfirmNegativeReply(peer))
      }
    case .entry?:
      Loop.start { [self] in
        let answer = await radio.ask("The six digits that \(peer) shows:")
        let passkey = answer.flatMap { Passkey($0) }
        await send(passkey.map { .userPasskeyReply(peer, $0) } ?? .userPasskeyNegativeReply(peer))
      }
    case .display(let number, entered: 0)?: radio.inform("Type \(number) on \(peer).")
    case .display?, nil: break
    }
  }

  private func send(_ command: MgmtCommand) async {
    do throws(MgmtError) {
      try await adapter.call(command)
    } catch { failure = failure ?? error.status }
  }
}
