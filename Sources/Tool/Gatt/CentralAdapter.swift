// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Arguments
import Control
import EventLoop
import Mgmt
import Wire

/// An adapter that is used for a while: switched on where it was off, and left as it was found.
@LoopActor
final class CentralAdapter {
  let index: ControllerIndex
  let address: Address
  let mgmt: MgmtClient
  /// Told what happens on the adapter.
  var onEvent: (MgmtEvent) -> Void = { _ in }

  private let socket: MgmtSocket
  private let found: ControllerSettings
  private let supported: ControllerSettings
  /// What puts everything back, the last first.
  private var undo: [MgmtCommand] = []

  /// The adapter that is meant, or the first that has LE, with LE and power.
  static func take(_ choice: AdapterChoice?) async throws(Failure) -> CentralAdapter {
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
        guard choice.map({ $0.matches(index, information.address) }) ?? true,
          information.supported.contains(.lowEnergy)
        else { continue }
        let loan = CentralAdapter(index, information, mgmt, socket)
        try await loan.switchOn()
        return loan
      }
    } catch {
      throw Failure("switching the adapter on", error)
    }
    let what = choice.map { "looking for \($0)" } ?? "looking for an adapter"
    throw Failure(
      .unavailable, what, "there is no such adapter with Bluetooth LE",
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
    mgmt.onEvent = { [weak self] about, event in
      if about == index { self?.onEvent(event) }
    }
  }

  private func switchOn() async throws(MgmtError) {
    if !found.contains(.lowEnergy) {
      try await mgmt.call(.setLowEnergy(true), index: index)
      undo.append(.setLowEnergy(false))
    }
    if !found.contains(.powered) {
      try await mgmt.call(.setPowered(true), index: index)
      undo.append(.setPowered(false))
    }
  }

  /// Lets pairing make a bond, by Secure Connections where the device can.
  func prepareForPairing() async throws(MgmtError) {
    if !found.contains(.bondable) {
      try await change(.setBondable(true), back: .setBondable(false))
    }
    if supported.contains(.secureConnections), !found.contains(.secureConnections) {
      try await change(.setSecureConnections(true), back: .setSecureConnections(false))
    }
  }

  /// Lets a person help with pairing. A link keeps what the adapter had when it was made, so this is to
  /// be done before.
  func expectPerson() async throws(MgmtError) {
    // What it was cannot be read; back goes the kernel's own default.
    try await change(
      .setIOCapability(.keyboardDisplay), back: .setIOCapability(.noInputNoOutput))
  }

  private func change(_ command: MgmtCommand, back: MgmtCommand) async throws(MgmtError) {
    guard !undo.contains(back) else { return }
    try await mgmt.call(command, index: index)
    undo.append(back)
  }

  /// Leaves the adapter as it was found.
  func giveBack() async {
    onEvent = { _ in }
    for command in undo.reversed() { _ = try? await mgmt.call(command, index: index) }
    undo = []
    mgmt.close(.closed("leaving"))
    socket.close()
  }
}
