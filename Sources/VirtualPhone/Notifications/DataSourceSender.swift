// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Sends the answers of the Data Source one after the other, a fragment on each turn of the loop, as
/// slowly as it is told to.
final class DataSourceSender {
  /// What becomes of an answer.
  enum Fate {
    case whole
    /// It breaks off in its middle.
    case cut
    /// It is not sent.
    case silent
  }

  /// How long a consumer has to wait before it may give up an answer that does not come. A
  /// consumer's own limit is longer; this one only tells it from a consumer that does not wait.
  static let patience: Duration = .seconds(4)

  /// The most bytes of a fragment.
  var limit: () -> Int = { 20 }
  /// Notifies one fragment.
  var notify: ([UInt8]) -> Void = { _ in }
  /// How long an answer waits before its first fragment.
  var answerDelay: Duration = .zero
  /// How long it waits between two fragments.
  var fragmentDelay: Duration = .zero

  private let scheduler: any Scheduler
  private var waiting: [ArraySlice<UInt8>] = []
  private var timer: TimerID?
  private var brokenUntil: Instant?

  init(scheduler: any Scheduler) { self.scheduler = scheduler }

  /// Whether an answer is still going out, or one that will not come is still to be waited for.
  var isBusy: Bool {
    timer != nil || brokenUntil.map { scheduler.now < $0 } ?? false
  }

  /// Takes an answer.
  func send(_ answer: [UInt8], _ fate: Fate) {
    if fate != .whole { brokenUntil = scheduler.now + Self.patience }
    guard fate != .silent else { return }
    waiting.append(fate == .cut ? answer.prefix(answer.count / 2) : answer[...])
    if timer == nil { schedule(after: answerDelay) }
  }

  /// The link is gone, or the subscription: nothing more is sent.
  func stop() {
    waiting = []
    brokenUntil = nil
    if let timer { scheduler.cancel(timer) }
    timer = nil
  }

  private func schedule(after delay: Duration) {
    timer = scheduler.schedule(after: delay) { [weak self] in self?.sendNext() }
  }

  private func sendNext() {
    timer = nil
    guard let answer = waiting.first else { return }
    let fragment = answer.prefix(max(1, limit()))
    let rest = answer.dropFirst(fragment.count)
    if rest.isEmpty { waiting.removeFirst() } else { waiting[0] = rest }
    // Before it is sent: the consumer may ask the next thing as soon as it has the last fragment.
    if !waiting.isEmpty { schedule(after: rest.isEmpty ? answerDelay : fragmentDelay) }
    notify(Array(fragment))
  }
}
