// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import OnLoop
import Testing

/// The suites that share the program's loop, one test at a time.
@Suite(.serialized) struct OnTheLoop {}

/// A value that a handler brings and a test awaits.
@LoopActor final class Arrivals<Value: Sendable> {
  private(set) var values: [Value] = []
  private var waiter: (count: Int, CheckedContinuation<Void, Never>)?

  nonisolated init() {}

  func append(_ value: Value) {
    values.append(value)
    if let (count, continuation) = waiter, values.count >= count {
      waiter = nil
      continuation.resume()
    }
  }

  /// Waits until there are `count` of them.
  @discardableResult
  func wait(for count: Int) async -> [Value] {
    if values.count < count {
      await withCheckedContinuation { waiter = (count, $0) }
    }
    return values
  }
}
