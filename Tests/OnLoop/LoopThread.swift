// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Glibc
import Testing
import Wire

/// The thread of all tests in a process on which the program's loop runs.
public enum LoopThread {
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
  public static var isCurrent: Bool { pthread_equal(pthread_self(), identity) != 0 }

  /// Has the loop run.
  public static func begin() { _ = identity }
}

/// Has the tests of a suite, whose functions are isolated to `LoopActor`, run on the program's loop.
public struct OnLoopTrait: TestTrait, SuiteTrait, TestScoping {
  public let isRecursive = true

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws { try await withTaskExecutorPreference(Loop.shared) { try await function() } }
}

extension Trait where Self == OnLoopTrait {
  public static var onLoop: Self {
    LoopThread.begin()
    return Self()
  }
}

/// Runs a test on the program's loop.
public func onLoop<Value: Sendable>(_ body: @escaping @LoopActor () async throws -> Value) async throws -> Value {
  LoopThread.begin()
  return try await withCheckedThrowingContinuation { finished in
    Loop.start {
      do {
        finished.resume(returning: try await body())
      } catch { finished.resume(throwing: error) }
    }
  }
}

/// Lets everything that can run now run.
@LoopActor public func settle() async {
  for _ in 0..<40 {
    await withCheckedContinuation { waiter in Loop.shared.later { waiter.resume() } }
  }
}

/// Waits until nothing is left to run now: every task waits for a timer, a descriptor or another thread.
@LoopActor public func idle() async {
  var isIdle = false
  while !isIdle {
    await withCheckedContinuation { waiter in
      // Timers that are due run once all jobs are done.
      _ = Loop.shared.schedule(at: .zero) {
        isIdle = Loop.shared.isIdle
        waiter.resume()
      }
    }
  }
}

/// Waits until something holds, for a few seconds at most.
@LoopActor public func eventually(_ holds: () -> Bool) async {
  for _ in 0..<1_000 where !holds() { await Loop.shared.sleep(for: .milliseconds(5)) }
}

/// Runs one body after the other, in the order of their calls. Many that wait for `idle` at the same time
/// would keep each other waiting.
@LoopActor public enum OneAtATime {
  private static var isTaken = false
  private static var waiting: [CheckedContinuation<Void, Never>] = []

  public static func run<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    if isTaken { await withCheckedContinuation { waiting.append($0) } }
    isTaken = true
    defer { if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() } }
    return try await body()
  }
}
