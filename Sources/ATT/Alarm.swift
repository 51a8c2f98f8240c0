// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A wait on a link that ends when the alarm is rung, a deadline passes or the link ends, whichever
/// comes first.
///
/// A ring while nothing waits ends the next wait. There is one waiter at a time: a second one ends the
/// first one's wait.
public final class Alarm {
  private let bearer: Bearer
  private var waiter: CheckedContinuation<Void, Never>?
  private lazy var timer = Deadline(bearer.scheduler) { [weak self] in self?.release() }
  private var isRung = false

  /// An alarm that has not been rung.
  public init(_ bearer: Bearer) { self.bearer = bearer }

  /// Ends the wait, or the next one if nothing waits.
  public func ring() {
    isRung = true
    release()
  }

  /// Waits for a ring, until `deadline` if there is one.
  ///
  /// - Returns: whether it was rung.
  /// - Throws: why the link has ended.
  @discardableResult
  public func wait(until deadline: Instant? = nil) async throws(ATTFailure) -> Bool {
    if let end = bearer.end { throw end }
    release()
    await withCheckedContinuation { waiter in
      // Other tasks may have run before this is reached.
      guard !isRung, bearer.end == nil else { return waiter.resume() }
      self.waiter = waiter
      timer.due = deadline
      bearer.hold(self)
    }
    if let end = bearer.end { throw end }
    defer { isRung = false }
    return isRung
  }

  /// Has the wait end at `deadline`, if it would take longer.
  public func limit(to deadline: Instant) { if waiter != nil { timer.limit(to: deadline) } }

  /// Ends the wait.
  func release() {
    timer.due = nil
    guard let waiter else { return }
    self.waiter = nil
    bearer.drop(self)
    waiter.resume()
  }
}
