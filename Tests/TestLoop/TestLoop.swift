// SPDX-License-Identifier: GPL-3.0-or-later
import Synchronization
import Wire

/// An executor whose jobs run when `runJobs` is called, on the calling thread.
///
/// It is also the tasks' preferred executor: without that, every resumed continuation reaches its actor
/// through the global executor, on another thread.
public final class HandExecutor: SerialExecutor, TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

  /// A test runs everything on its own thread.
  public func checkIsolated() {}

  /// Runs the enqueued jobs; returns whether there were any.
  func runJobs() -> Bool {
    let batch = jobs.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    for job in batch {
      job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    }
    return !batch.isEmpty
  }
}

/// The loop of a test: an actor whose clock advances to the next deadline when nothing is left to run, so
/// that a test neither waits nor hangs.
///
///     try TestLoop.run { loop in
///       let bearer = Bearer(scheduler: loop.clock)
///       let answer = loop.start { try await bearer.request(.readRequest(1)) }
///       await loop.settle()
///       …
///     }
///
/// Do not await inside of `#expect(throws:)`, which leaves the loop: start the work and check its result.
public actor TestLoop {
  private nonisolated let executor = HandExecutor()
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  /// The clock of this loop.
  public let clock = HandClock()
  private var settling: [CheckedContinuation<Void, Never>] = []
  private var outcome: Result<Void, any Error>?

  /// A test that would wait forever.
  public struct Stuck: Error {}

  /// Runs `body`, and everything that it starts, until `body` is done.
  ///
  /// - Throws: what `body` throws, or `Stuck` if it waits for something that never happens.
  public static func run(_ body: @escaping @Sendable (isolated TestLoop) async throws -> Void) throws {
    let loop = TestLoop()
    try loop.assumeIsolated { loop in
      loop.begin(body)
      try loop.drive()
    }
  }

  private func begin(_ body: @escaping @Sendable (isolated TestLoop) async throws -> Void) {
    Task.immediate(executorPreference: executor) {
      do {
        try await body(self)
        self.outcome = .success(())
      } catch { self.outcome = .failure(error) }
    }
  }

  private func drive() throws {
    while outcome == nil {
      if executor.runJobs() { continue }
      if let waiter = settling.popLast() {
        waiter.resume()
        continue
      }
      guard clock.turn() else { throw Stuck() }
    }
    try outcome?.get()
  }

  /// Lets `duration` pass on this loop.
  public func sleep(for duration: Duration) async {
    await withCheckedContinuation { waiter in
      _ = clock.schedule(after: duration) { waiter.resume() }
    }
  }

  /// Runs everything that can run now, without letting time pass.
  public func settle() async { await withCheckedContinuation { settling.append($0) } }

  /// Runs `work` beside the test, and returns a handle to its result.
  @discardableResult
  public func start<Value>(_ work: @escaping () async throws -> Value) -> Started<Value> {
    let started = Started<Value>()
    Task.immediate(executorPreference: executor) {
      do {
        started.result = .success(try await work())
      } catch { started.result = .failure(error) }
      _ = self
    }
    return started
  }
}

/// Work that runs beside a test.
public final class Started<Value> {
  /// Its result; nil while it runs.
  public fileprivate(set) var result: Result<Value, any Error>?

  /// The value that it returned, if it has.
  public var value: Value? { try? result?.get() }

  /// The error that it threw, if it has.
  public var failure: (any Error)? { if case .failure(let error) = result { error } else { nil } }
}

/// A clock that advances only by `turn`: hours of protocol time pass in microseconds.
public final class HandClock: Scheduler {
  public private(set) var now = Instant.zero
  /// The next one is the last.
  private var timers: [(id: TimerID, deadline: Instant, action: () -> Void)] = []
  private var lastNumber: UInt64 = 0

  public init() {}

  public func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> TimerID {
    lastNumber += 1
    let timer = TimerID(lastNumber)
    var (place, end) = (0, timers.count)
    while place < end {
      let middle = (place + end) / 2
      if timers[middle].deadline > deadline { place = middle + 1 } else { end = middle }
    }
    timers.insert((timer, deadline, action), at: place)
    return timer
  }

  public func cancel(_ timer: TimerID) { timers.removeAll { $0.id == timer } }

  /// Time passes in which nothing is done, as on a machine that was suspended.
  public func skip(_ duration: Duration) { now = now + duration }

  /// The number of scheduled actions.
  public var scheduled: Int { timers.count }

  /// Advances to the next deadline that is not after `end` and runs its action. If there is none,
  /// advances to `end`, and returns false.
  public func turn(until end: Instant) -> Bool {
    if let next = timers.last, next.deadline <= end { return turn() }
    now = max(now, end)
    return false
  }

  /// Advances to the next deadline and runs its action; returns whether there was one.
  public func turn() -> Bool {
    guard let next = timers.popLast() else { return false }
    now = max(now, next.deadline)
    next.action()
    return true
  }
}
