// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What the phone is about to say, in order. It is said on a later turn of the loop, so that the
/// answer to the request that caused it goes out first.
final class Outbox {
  private let scheduler: any Scheduler
  private var waiting: [() -> Void] = []
  private var timer: TimerID?

  init(scheduler: any Scheduler) { self.scheduler = scheduler }

  /// Puts in what is to be said.
  func add(_ say: @escaping () -> Void) {
    waiting.append(say)
    guard timer == nil else { return }
    timer = scheduler.schedule(after: .zero) { [weak self] in self?.empty() }
  }

  /// Nothing of it is said any more.
  func discard() {
    waiting = []
    if let timer { scheduler.cancel(timer) }
    timer = nil
  }

  private func empty() {
    timer = nil
    let batch = waiting
    waiting = []
    for say in batch { say() }
  }
}
