// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import EventLoop
import Wire

/// What the controller of one adapter knows of its links that the kernel keeps to itself: their
/// connection parameters. By raw HCI, beside the kernel, and only while nobody says `--no-tune`.
@LoopActor
final class ControllerLinks {
  private let socket: RawHCISocket
  private let log: Log
  private var parameters: [UInt16: LinkParameters] = [:]
  private var tunings: [UInt16: LinkTuning] = [:]
  /// The links whose requests the controller has not acknowledged, oldest first.
  private var unacknowledged: [UInt16] = []

  /// Opens the adapter with that number. It takes CAP_NET_RAW.
  init(_ adapter: UInt16, log: Log) throws(BluetoothError) {
    self.log = log
    socket = try RawHCISocket(adapter)
    socket.onEvent = { [weak self] in self?.received($0) }
  }

  /// What holds on a link now, as far as it was told.
  func parameters(of handle: UInt16) -> LinkParameters? { parameters[handle] }

  /// Begins to tune a link.
  func tune(_ handle: UInt16) -> LinkTuning {
    let tuning = LinkTuning(scheduler: Loop.shared) { [weak self] wanted in
      self?.ask(handle, wanted) ?? false
    }
    tunings[handle] = tuning
    return tuning
  }

  /// A link is over; its handle may soon be another's.
  func forget(_ handle: UInt16) {
    tunings.removeValue(forKey: handle)?.end()
    parameters[handle] = nil
  }

  func close() {
    for tuning in tunings.values { tuning.end() }
    tunings = [:]
    socket.close()
  }

  private func ask(_ handle: UInt16, _ wanted: ConnectionParameters) -> Bool {
    guard socket.send(.connectionUpdate(handle, wanted)) else { return false }
    log.debug("link \(handle): the phone is asked for \(wanted)")
    unacknowledged.append(handle)
    return true
  }

  private func received(_ event: HCIEvent) {
    switch event {
    case .connected(let handle, let interval, let latency, let timeout):
      parameters[handle] = LinkParameters(interval, latency: latency, timeout: timeout)
    case .connectionUpdated(let handle, let status, let interval, let latency, let timeout):
      if status == 0 {
        let held = LinkParameters(interval, latency: latency, timeout: timeout)
        parameters[handle] = held
        log.debug("link \(handle): \(held)")
      } else {
        log.debug(
          "link \(handle): its parameters stay as they are: HCI error 0x\(String(status, radix: 16))"
        )
      }
      tunings[handle]?.updated(status: status)
    case .commandStatus(HCICommand.connectionUpdateOpcode, let status):
      guard !unacknowledged.isEmpty else { return }
      let handle = unacknowledged.removeFirst()
      if status != 0 {
        log.debug(
          "link \(handle): the controller does not ask for parameters: HCI error 0x\(String(status, radix: 16))"
        )
        tunings[handle]?.refused()
      }
    case .commandStatus, .other: break
    }
  }
}

/// The connection parameters of a link.
public struct LinkParameters: Hashable, Sendable, CustomStringConvertible {
  /// In milliseconds.
  public var interval: Double
  /// How many events the board may sleep through.
  public var latency: Int
  /// In milliseconds.
  public var timeout: Int

  /// From the controller's units: 1.25 ms and 10 ms.
  init(_ interval: UInt16, latency: UInt16, timeout: UInt16) {
    self.interval = Double(interval) * 1.25
    self.latency = Int(latency)
    self.timeout = Int(timeout) * 10
  }

  public var description: String {
    "an interval of \(interval) ms, latency \(latency), lost after \(timeout) ms"
  }
}

/// How a link is doing on the air, as far as that is known.
public struct LinkCondition: Hashable, Sendable {
  /// The strength of the phone's signal here, in dBm.
  public var rssi: Int?
  public var parameters: LinkParameters?

  public init(rssi: Int? = nil, parameters: LinkParameters? = nil) {
    self.rssi = rssi
    self.parameters = parameters
  }
}
