// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Glibc
import System
import Testing

/// The suites that share the program's loop, one test at a time, so that one that looks at how often
/// the loop wakes up sees only itself.
@Suite(.serialized) struct OnTheLoop {}

/// The thread of these tests on which the program's loop runs.
enum LoopThread {
  private static let identity: pthread_t = {
    var thread = pthread_t()
    let body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { _ in
      _ = Loop.shared.run()
      return nil
    }
    pthread_create(&thread, nil, body, nil)
    return thread
  }()

  /// Whether the caller runs on it.
  static var isCurrent: Bool { pthread_equal(pthread_self(), identity) != 0 }

  /// Has the loop run.
  static func begin() { _ = identity }
}

/// Runs a test on the loop.
func onLoop(_ body: @escaping @LoopActor () async throws -> Void) async throws {
  LoopThread.begin()
  try await withCheckedThrowingContinuation { (finished: CheckedContinuation<Void, any Error>) in
    Loop.start {
      do {
        try await body()
        finished.resume()
      } catch {
        finished.resume(throwing: error)
      }
    }
  }
}

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
