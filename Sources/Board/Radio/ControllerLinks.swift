// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import EventLoop
import GAP
import Mgmt
import Wire

/// The connection parameters of an adapter's links. mgmt does not expose them, so they are read and
/// requested over raw HCI, unless `--no-tune` is given. If the controller refuses to request them, L2CAP's request is sent
/// instead (Vol 3 Part A, 4.20), where the kernel survives that.
@LoopActor final class ControllerLinks {
  /// The HCI errors with which a controller accepts no requests (Vol 1 Part F, 1.3). Controllers of
  /// Bluetooth 4.0, which lack the Connection Parameters Request procedure, return Command
  /// Disallowed.
  private static let refusals: Set<UInt8> = [
    0x01,  // Unknown HCI Command
    0x0C,  // Command Disallowed
    0x11,  // Unsupported Feature or Parameter Value
    unsupported,
  ]
  /// Unsupported Remote Feature: one of the two controllers lacks the procedure. Some say so only in Complete.
  private static let unsupported: UInt8 = 0x1A

  /// Called with the HCI error of each reply to a request, 0 if the parameters have changed, and the connection handle of
  /// its link; `isRefusal`: the controller requests none.
  var onReply: (_ handle: UInt16, _ error: UInt8, _ isRefusal: Bool) -> Void = { _, _, _ in }

  /// Called with the phone of each link that ends after a request, and the reason.
  var onEnd: (_ phone: DeviceAddress, _ reason: UInt8) -> Void = { _, _ in }

  private let channel: any ControllerChannel
  private let log: Log
  private var parameters: [UInt16: ConnectionParameters] = [:]
  /// The links whose requests the controller has not acknowledged, oldest first.
  private var unacknowledged: [UInt16] = []
  /// The phones that were asked, by their links, and for what last.
  private var asked: [UInt16: (phone: DeviceAddress, wanted: ConnectionParameters)] = [:]
  /// Whether the controller has refused.
  private var hasRefused = false
  /// Why links have ended, until their handles are used again.
  private var ends: [UInt16: UInt8] = [:]

  /// - Parameter onlyPHY1M: whether links stay on the 1M PHY.
  init(_ channel: any ControllerChannel, onlyPHY1M: Bool, log: Log) {
    self.channel = channel
    self.log = log
    channel.onEvent = { [weak self] in self?.received($0) }
    if onlyPHY1M { _ = channel.send(.onlyPHY1M) }
  }

  /// The parameters in force on a link; nil if no event has reported them.
  func parameters(of handle: UInt16) -> ConnectionParameters? { parameters[handle] }

  /// Why a link has ended, as an HCI error; nil if that is not known.
  func end(of handle: UInt16) -> UInt8? { ends[handle] }

  func close() { channel.close() }

  /// Requests parameters from a phone; false if the command could not be sent.
  func request(_ wanted: ConnectionParameters, from phone: DeviceAddress, on handle: UInt16) -> Bool {
    asked[handle] = (phone, wanted)
    if hasRefused, signal(wanted, on: handle) { return true }
    guard channel.send(.connectionUpdate(handle, wanted)) else { return false }
    log.debug("link \(handle): requested \(wanted)")
    unacknowledged.append(handle)
    return true
  }

  private func signal(_ wanted: ConnectionParameters, on handle: UInt16) -> Bool {
    guard channel.signal(wanted, on: handle) else { return false }
    log.debug("link \(handle): requested \(wanted) by L2CAP")
    return true
  }

  /// The controller refuses to request parameters on a link.
  private func refused(_ status: UInt8, on handle: UInt16) {
    log.info("link \(handle): the controller refuses to request parameters: \(error(status))")
    hasRefused = true
    if let (_, wanted) = asked[handle], signal(wanted, on: handle) { return }
    onReply(handle, status, true)
  }

  private func received(_ event: HCIEvent) {
    switch event {
    case .connected(let handle, let held):
      parameters[handle] = held
      ends[handle] = nil
    case .connectionUpdated(let handle, let status, let held):
      if status == 0 { parameters[handle] = held }
      log.debug("link \(handle): \(status == 0 ? "\(held)" : "no new parameters: \(error(status))")")
      if status == Self.unsupported { return refused(status, on: handle) }
      onReply(handle, status, false)
    case .disconnected(let handle, let reason):
      // It may soon be another link's.
      parameters[handle] = nil
      ends[handle] = reason
      if let (phone, _) = asked.removeValue(forKey: handle) { onEnd(phone, reason) }
    case .commandStatus(HCICommand.connectionUpdateOpcode, let status):
      guard !unacknowledged.isEmpty else { return }
      let handle = unacknowledged.removeFirst()
      if Self.refusals.contains(status) { return refused(status, on: handle) }
      guard status != 0 else { return }
      log.info("link \(handle): the controller has not requested parameters: \(error(status))")
      onReply(handle, status, false)
    case .commandStatus, .other: break
    }
  }

  private func error(_ status: UInt8) -> String { "HCI error 0x\(String(status, radix: 16))" }
}
