// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import EventLoop
import Mgmt
import Wire

/// An adapter in use as a central, by `gatt` and by `phone`. The settings that they change are
/// restored at the end.
@LoopActor final class CentralAdapter {
  let index: ControllerIndex
  /// The address by which peers know it.
  private(set) var identity: DeviceAddress
  /// Its capabilities, and its original state.
  let information: ControllerInformation
  /// Called with the adapter's events.
  var onEvent: (MgmtEvent) -> Void = { _ in }

  private let mgmt: MgmtClient
  private let closeSocket: () -> Void
  /// The commands that restore the settings, in order.
  private var undo: [MgmtCommand] = []
  /// Closes once the setting that is being changed can be restored.
  private var changing: Mailbox<Void>?
  private var isOver = false
  /// The attempt to connect; `end` closes once its socket is closed or has become a link.
  private var connecting: (attempt: ATTSocket.Attempt, end: Mailbox<Void>)?

  /// The chosen adapter, or the first that has LE, unchanged.
  static func open(_ choice: AdapterChoice?) async throws(Failure) -> CentralAdapter {
    let socket = try attempt(try MgmtSocket()) { (error: BluetoothError) in
      Failure("opening the kernel's Bluetooth", error)
    }
    let mgmt = MgmtClient(scheduler: Loop.shared)
    socket.attach(mgmt)
    return try await open(choice, mgmt) { socket.close() }
  }

  /// The same with a client of a management socket, which is closed in the end.
  static func open(
    _ choice: AdapterChoice?, _ mgmt: MgmtClient, close: @escaping () -> Void
  ) async throws(Failure) -> CentralAdapter {
    do throws(MgmtError) {
      for index in try await mgmt.readIndexList() {
        let information = try await mgmt.readControllerInformation(index)
        guard choice?.matches(index, information.address) ?? true,
          information.supported.contains(.lowEnergy)
        else { continue }
        return CentralAdapter(index, information, mgmt, close)
      }
    } catch { throw Failure("finding the adapter", error) }
    throw Failure(
      .unavailable, "finding \(choice?.description ?? "an adapter")", "there is no such adapter with Bluetooth LE",
      remedy: "is it plugged in? `ls /sys/class/bluetooth` lists them")
  }

  private init(
    _ index: ControllerIndex, _ information: ControllerInformation, _ mgmt: MgmtClient, _ close: @escaping () -> Void
  ) {
    self.index = index
    self.information = information
    self.mgmt = mgmt
    closeSocket = close
    identity = DeviceAddress(information.address, .public)
    mgmt.onEvent = { [weak self] about, event in if about == index { self?.onEvent(event) } }
  }

  // MARK: Setting up

  /// Switches it on, with LE, and changes nothing else.
  func switchOn() async throws(MgmtError) {
    try await change(.setLowEnergy(true), undo: .setLowEnergy(false), unless: .lowEnergy)
    try await change(.setPowered(true), undo: .setPowered(false), unless: .powered)
  }

  /// Sets everything up, whatever its state; with a static random address, if one is given.
  func setUp(_ steps: [MgmtClient.Step], _ address: Address?) async throws(MgmtError) {
    undo = information.restoreCommands
    if let address { identity = DeviceAddress(address, .random) }
    try await mgmt.perform(steps, index: index)
  }

  /// Lets pairing create a bond, by Secure Connections if the adapter can.
  func prepareForPairing() async throws(MgmtError) {
    try await change(.setBondable(true), undo: .setBondable(false), unless: .bondable)
    if information.supported.contains(.secureConnections) {
      try await change(
        .setSecureConnections(true), undo: .setSecureConnections(false), unless: .secureConnections)
    }
  }

  /// Sets the IO capability for a pairing with a user's help. It must be set before the link is
  /// created, because a link keeps the capability that the adapter had at that time.
  func enableUserInteraction() async throws(MgmtError) {
    // The old value can't be read; the kernel's default is restored.
    try await change(.setIOCapability(.keyboardDisplay), undo: .setIOCapability(.noInputNoOutput))
  }

  /// Changes a setting once, unless the adapter already had it.
  private func change(
    _ command: MgmtCommand, undo inverse: MgmtCommand, unless setting: ControllerSettings? = nil
  ) async throws(MgmtError) {
    if let setting, information.current.contains(setting) { return }
    guard !undo.contains(inverse) else { return }
    if isOver { throw .closed("leaving") }
    let end = Mailbox<Void>()
    changing = end
    defer { end.close() }
    try await call(command)
    undo.insert(inverse, at: 0)
  }

  func call(_ command: MgmtCommand) async throws(MgmtError) {
    try await mgmt.call(command, index: index)
  }

  /// The devices that are connected.
  func connections() async throws(MgmtError) -> [DeviceAddress] {
    try await mgmt.getConnections(index)
  }

  /// Whether a program advertises with it, as the daemon does.
  func isAdvertising() async throws(MgmtError) -> Bool {
    try await !mgmt.readAdvertisingInstances(index).isEmpty
  }

  // MARK: Links

  /// Connects to a device that advertises.
  func connect(
    to device: DeviceAddress, timeout: Duration, _ attempt: ATTSocket.Attempt = ATTSocket.Attempt()
  ) async throws(BluetoothError) -> ATTSocket {
    let end = Mailbox<Void>()
    connecting = (attempt, end)
    defer {
      if connecting?.end === end { connecting = nil }
      end.close()
    }
    return try await ATTSocket.connect(to: device, from: identity, timeout: timeout, attempt: attempt)
  }

  /// Cancels `connect`, which then throws.
  func stopConnecting() { connecting?.attempt.cancel() }

  /// Ends a link at once: if only its socket were closed, it would stay up for four more seconds.
  func hangUp(_ socket: ATTSocket) async {
    let peer = socket.currentPeer() ?? socket.peer
    socket.packets.close()
    try? await call(.disconnect(peer))
  }

  /// Restores the adapter's settings and releases it; what is still under way fails with `why`.
  func restore(_ why: String = "leaving") async {
    onEvent = { _ in }
    isOver = true
    _ = await changing?.next()
    // Some kernels (Debian's 6.1.0-56) crash if a connecting socket is closed after its adapter was
    // switched off.
    if let connecting {
      connecting.attempt.cancel()
      _ = await connecting.end.next()
    }
    for command in undo { try? await call(command) }
    undo = []
    mgmt.close(.closed(why))
    closeSocket()
  }
}
