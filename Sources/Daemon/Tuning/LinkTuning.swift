// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import EventLoop
import Wire

/// Tunes one link: keeps the tuner's time, and hands on what it asks for.
@LoopActor
final class LinkTuning {
  private var tuner = LinkTuner()
  private let scheduler: any Scheduler
  private let ask: (ConnectionParameters) -> Bool
  private var timer: TimerID?
  private var isOver = false

  /// - Parameter ask: asks the phone for these; false where the controller was not even told.
  init(scheduler: any Scheduler, ask: @escaping (ConnectionParameters) -> Bool) {
    self.scheduler = scheduler
    self.ask = ask
  }

  /// There is so much to be fetched now.
  func work(backlog: Int) { send(tuner.work(backlog: backlog, at: scheduler.now)) }

  /// The controller says that the parameters have changed, or were not.
  func updated(status: UInt8) { send(tuner.updated(status: status, at: scheduler.now)) }

  /// The controller does not take such requests.
  func refused() {
    tuner.refused()
    send(nil)
  }

  /// The link is over.
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
