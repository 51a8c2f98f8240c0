// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import EventLoop
import GAP
import Wire

/// The connection parameters of an adapter's links. mgmt does not expose them, so they are read and
/// requested over raw HCI, unless `--no-tune` is given.
@LoopActor final class ControllerLinks {
  private let channel: any ControllerChannel
  private let scheduler: any Scheduler
  private let log: Log
  private var parameters: [UInt16: ConnectionParameters] = [:]
  private var tunings: [UInt16: LinkTuning] = [:]
  /// The links whose requests the controller has not acknowledged, oldest first.
  private var unacknowledged: [UInt16] = []

  init(_ channel: any ControllerChannel, scheduler: any Scheduler, log: Log) {
    self.channel = channel
    self.scheduler = scheduler
    self.log = log
    channel.onEvent = { [weak self] in self?.received($0) }
  }

  /// The parameters in force on a link; nil if no event has reported them.
  func parameters(of handle: UInt16) -> ConnectionParameters? { parameters[handle] }

  /// Begins to tune a link.
  func tune(_ handle: UInt16) -> LinkTuning {
    let tuning = LinkTuning(scheduler: scheduler) { [weak self] wanted in
      self?.ask(handle, wanted) ?? false
    }
    tunings[handle] = tuning
    return tuning
  }

  /// Called when a link is over; its handle may soon be reused.
  func forget(_ handle: UInt16) {
    tunings.removeValue(forKey: handle)?.end()
    parameters[handle] = nil
  }

  func close() {
    for tuning in tunings.values { tuning.end() }
    tunings = [:]
    channel.close()
  }

  private func ask(_ handle: UInt16, _ wanted: ConnectionParameters) -> Bool {
    guard channel.send(.connectionUpdate(handle, wanted)) else { return false }
    log.debug("link \(handle): the phone is asked for \(wanted)")
    unacknowledged.append(handle)
    return true
  }

  private func received(_ event: HCIEvent) {
    switch event {
    case .connected(let handle, let held): parameters[handle] = held
    case .connectionUpdated(let handle, let status, let held):
      if status == 0 {
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

/// Tunes one link: runs the tuner's timer, and sends its requests.
@LoopActor final class LinkTuning {
  private var tuner = LinkTuner()
  private let scheduler: any Scheduler
  private let ask: (ConnectionParameters) -> Bool
  private var timer: TimerID?
  private var isOver = false

  /// - Parameter ask: requests these parameters; false if the controller did not get the command.
  init(scheduler: any Scheduler, ask: @escaping (ConnectionParameters) -> Bool) {
    self.scheduler = scheduler
    self.ask = ask
  }

  /// `backlog` notifications are to be fetched now.
  func work(backlog: Int) { send(tuner.work(backlog: backlog, at: scheduler.now)) }

  /// The controller reports that the parameters have changed, or failed to.
  func updated(status: UInt8) { send(tuner.updated(status: status, at: scheduler.now)) }

  /// The controller does not accept the command.
  func refused() {
    tuner.refused()
    send(nil)
  }

  /// Called when the link is over.
  func end() {
    isOver = true
    plan()
  }

  private func send(_ wanted: ConnectionParameters?) {
    if let wanted, !isOver, !ask(wanted) { tuner.refused() }
    plan()
  }

  private func plan() {
    if let timer { scheduler.cancel(timer) }
    timer = nil
    guard !isOver, let deadline = tuner.deadline else { return }
    timer = scheduler.schedule(at: deadline) { [weak self] in
      guard let self else { return }
      timer = nil
      send(tuner.timePassed(to: scheduler.now))
    }
  }
}
