// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import EventLoop
import Mgmt
import Wire

/// An adapter in use as a central. It is switched on if it was off, and its settings are restored
/// at the end.
@LoopActor final class CentralAdapter {
  let address: Address
  /// Called with the adapter's events.
  var onEvent: (MgmtEvent) -> Void = { _ in }

  private let index: ControllerIndex
  private let mgmt: MgmtClient
  private let socket: MgmtSocket
  private let found: ControllerSettings
  private let supported: ControllerSettings
  /// The commands that restore the settings, the last one first.
  private var undo: [MgmtCommand] = []

  /// The chosen adapter, or the first that has LE, switched on with LE.
  static func open(_ choice: AdapterChoice?) async throws(Failure) -> CentralAdapter {
    let socket: MgmtSocket
    do throws(BluetoothError) {
      socket = try MgmtSocket()
    } catch {
      throw Failure("opening the kernel's Bluetooth", error)
    }
    let mgmt = MgmtClient(scheduler: Loop.shared)
    socket.attach(mgmt)
    do throws(MgmtError) {
      for index in try await mgmt.readIndexList() {
        let information = try await mgmt.readControllerInformation(index)
        guard choice?.matches(index, information.address) ?? true,
          information.supported.contains(.lowEnergy)
        else { continue }
        let adapter = CentralAdapter(index, information, mgmt, socket)
        try await adapter.change(
          .setLowEnergy(true), undo: .setLowEnergy(false), unless: .lowEnergy)
        try await adapter.change(.setPowered(true), undo: .setPowered(false), unless: .powered)
        return adapter
      }
    } catch {
      throw Failure("switching the adapter on", error)
    }
    throw Failure(
      .unavailable, "looking for \(choice?.description ?? "an adapter")",
      "there is no such adapter with Bluetooth LE",
      remedy: "is it plugged in? `ls /sys/class/bluetooth` lists them")
  }

  private init(
    _ index: ControllerIndex, _ information: ControllerInformation, _ mgmt: MgmtClient,
    _ socket: MgmtSocket
  ) {
    self.index = index
    self.mgmt = mgmt
    self.socket = socket
    address = information.address
    found = information.current
    supported = information.supported
    mgmt.onEvent = { [weak self] about, event in if about == index { self?.onEvent(event) } }
  }

  /// Lets pairing create a bond, by Secure Connections if the adapter can.
  func prepareForPairing() async throws(MgmtError) {
    try await change(.setBondable(true), undo: .setBondable(false), unless: .bondable)
    if supported.contains(.secureConnections) {
      try await change(
        .setSecureConnections(true), undo: .setSecureConnections(false), unless: .secureConnections)
    }
  }

  /// Sets the IO capability for a pairing with a user's help. It must be set before the link is
  /// made, since a link keeps the capability that the adapter had then.
  func enableUserInteraction() async throws(MgmtError) {
    // The old value can't be read; the kernel's default is restored.
    try await change(.setIOCapability(.keyboardDisplay), undo: .setIOCapability(.noInputNoOutput))
  }

  /// Changes a setting, once, unless the adapter was found with it.
  private func change(
    _ command: MgmtCommand, undo inverse: MgmtCommand, unless setting: ControllerSettings? = nil
  ) async throws(MgmtError) {
    if let setting, found.contains(setting) { return }
    guard !undo.contains(inverse) else { return }
    try await call(command)
    undo.append(inverse)
  }

  func call(_ command: MgmtCommand) async throws(MgmtError) {
    try await mgmt.call(command, index: index)
  }

  /// The devices that are connected.
  func connections() async throws(MgmtError) -> [DeviceAddress] {
    try await mgmt.getConnections(index)
  }

  /// Restores the adapter's settings and releases it.
  func restore() async {
    onEvent = { _ in }
    for command in undo.reversed() { try? await call(command) }
    undo = []
    mgmt.close(.closed("leaving"))
    socket.close()
  }
}

/// Raises a link's security as the central: the kernel encrypts with the key it has, or pairs. The
/// user is asked what the kernel needs to know for that.
@LoopActor final class CentralPairing {
  private let adapter: CentralAdapter
  private let radio: KernelRadio
  private var failure: MgmtStatus?

  /// Pairing takes a user's time, and each step of SMP may take 30 s (Vol 3 Part H, 3.4).
  private static let patience = Duration.seconds(60)
  /// No event reports encryption with a stored key, so the level is polled.
  private static let pace = Duration.milliseconds(50)

  /// - Parameter radio: asks and informs the user.
  init(_ adapter: CentralAdapter, for radio: KernelRadio) {
    self.adapter = adapter
    self.radio = radio
    adapter.onEvent = { [weak self] in self?.receive($0) }
  }

  func end() { adapter.onEvent = { _ in } }

  /// Waits until the link has that level.
  func wait(for wanted: SecurityLevel, on socket: ATTSocket) async throws(Failure) {
    let deadline = Loop.shared.now + Self.patience
    while Loop.shared.now < deadline {
      if let failure {
        throw Failure(.refused, "securing the link", "\(failure): \(failure.sentence)")
      }
      guard socket.packets.isOpen else {
        throw Failure(
          .refused, "securing the link", "the link was lost over it",
          remedy: "if the two were paired before, one of them forgot that: forget it on the device "
            + "too, and here by “unpair”")
      }
      if let level = socket.security()?.level, level >= wanted { return }
      await Loop.shared.sleep(for: Self.pace)
    }
    throw Failure(.tryAgain, "securing the link", "it took too long")
  }

  private func receive(_ event: MgmtEvent) {
    switch event {
    case .authenticationFailed(_, let status): failure = status
    case .userConfirmRequest(let peer, let hint, let passkey):
      Loop.start { [self] in
        // With a hint the question is only whether to pair, which the user's command has answered.
        let answer = hint ? "yes" : await radio.ask("Does \(peer) show \(passkey)? (yes or no)")
        let isYes = answer?.lowercased().hasPrefix("y") ?? false
        await send(isYes ? .userConfirmReply(peer) : .userConfirmNegativeReply(peer))
      }
    case .userPasskeyRequest(let peer):
      Loop.start { [self] in
        let answer = await radio.ask("The six digits that \(peer) shows:")
        let passkey = answer.flatMap { Passkey($0) }
        await send(passkey.map { .userPasskeyReply(peer, $0) } ?? .userPasskeyNegativeReply(peer))
      }
    case .passkeyNotify(let peer, let passkey, entered: 0):
      radio.inform("Type \(passkey) on \(peer).")
    default: break
    }
  }

  private func send(_ command: MgmtCommand) async {
    do throws(MgmtError) {
      try await adapter.call(command)
    } catch {
      failure = failure ?? error.status
    }
  }
}
