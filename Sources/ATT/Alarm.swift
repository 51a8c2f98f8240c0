// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Something to wait for on a link: that it is rung, that a moment has come, or that the link has
/// ended, whichever is first.
///
/// A ring that nobody waits for is kept for the next who does. One waits at a time: a second one sends
/// the first on its way.
public final class Alarm {
  private let bearer: Bearer
  private var waiter: CheckedContinuation<Void, Never>?
  private var timer: TimerID?
  private var isRung = false

  /// An alarm that nobody has rung.
  public init(_ bearer: Bearer) { self.bearer = bearer }

  /// Wakes whoever waits.
  public func ring() {
    isRung = true
    release()
  }

  /// Waits for a ring, but not beyond `deadline` where there is one.
  ///
  /// - Returns: whether it was rung.
  /// - Throws: why the link has ended, where it has.
  @discardableResult
  public func wait(until deadline: Instant? = nil) async throws(ATTFailure) -> Bool {
    if let end = bearer.end { throw end }
    release()
    await withCheckedContinuation { waiter in
      // The loop may have turned on the way here.
      guard !isRung, bearer.end == nil else { return waiter.resume() }
      self.waiter = waiter
      timer = deadline.map { deadline in
        bearer.scheduler.schedule(at: deadline) { [weak self] in self?.release() }
      }
      bearer.hold(self)
    }
    if let end = bearer.end { throw end }
    defer { isRung = false }
    return isRung
  }

  /// Lets whoever waits go on.
  func release() {
    if let timer { bearer.scheduler.cancel(timer) }
    timer = nil
    guard let waiter else { return }
    self.waiter = nil
    bearer.drop(self)
    waiter.resume()
  }
}
