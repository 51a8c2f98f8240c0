// SPDX-License-Identifier: GPL-3.0-or-later
import Synchronization
import System
import Wire

/// The event loop: one thread that waits in epoll, and on which everything else runs.
///
///     ┌─► due timers ─► jobs, first come first served ─► wait for descriptors ─► handlers ─┐
///     └────────────────────────────────────────────────────────────────────────────────────┘
///
/// A job is a part of a task. The loop is the executor of `LoopActor` and the preferred executor of the
/// tasks that `Loop.start` starts, so a task that is resumed on the loop continues there, without another
/// thread. All deadlines share one timerfd, which is armed only before the loop sleeps. Other threads wake
/// the loop by one eventfd. Without work it sleeps indefinitely.
///
/// Everything but `enqueue` is called only on the thread that runs the loop, or before `run` on the one
/// that sets it up. That makes the loop Sendable.
public final class Loop: @unchecked Sendable, Scheduler {
  private let epoll: Epoll
  private let timer: TimerDescriptor
  private let alarm: EventDescriptor
  private let foreign = Mutex<[UnownedJob]>([])

  /// The thread that runs the loop; 0 before. Read by all threads.
  private let thread = Atomic<UInt>(0)
  private var status: Int32?
  private var work: [Work] = []
  /// The jobs of this turn, and the number that have run.
  private var batch: [Work] = []
  private var ran = 0
  /// The watches by descriptor number.
  private var watched: [(token: UInt64, handler: (Readiness) -> Void)?] = []
  private var generation: UInt32 = 0
  private var timers = TimerQueue()
  /// When the loop returned from waiting; nil outside of `run`.
  private var turnBegan: Instant?
  private var armed: Instant?
  private var hasFired = false
  private var signals: Watch?

  /// How often the loop returned from waiting.
  package private(set) var wakeUps: UInt64 = 0

  /// The buffer for all reads on the loop, since it reads one descriptor at a time.
  package let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
  let packets = PacketBatch()

  private enum Work {
    case job(UnownedJob)
    case action(() -> Void)
  }

  /// How many jobs run in a row before the descriptors get their turn.
  private static let jobsPerTurn = 16

  /// A separate loop, for tests; the program has `shared`.
  public init() throws(SystemError) {
    epoll = try Epoll()
    timer = try TimerDescriptor()
    alarm = try EventDescriptor()
    try epoll.add(timer.descriptor.raw, .readable, token: Token.timer)
    try epoll.add(alarm.descriptor.raw, .readable, token: Token.alarm)
    // Writing to a pipe without a reader must return an error instead of ending the process.
    Signal.pipe.ignore()
  }

  deinit { readBuffer.deallocate() }

  // MARK: Running

  /// Runs on the calling thread until `stop`, and returns its status.
  public func run() -> Int32 {
    thread.store(Syscall.currentThread(), ordering: .relaxed)
    while status == nil {
      runTimers()
      runJobs()
      if status == nil { waitAndDispatch() }
    }
    defer { (status, turnBegan) = (nil, nil) }
    return status ?? 0
  }

  /// Ends `run` at the end of this turn.
  public func stop(_ status: Int32 = 0) { self.status = status }

  /// Runs `action` before the loop waits again, after the jobs that are already queued.
  public func later(_ action: @escaping () -> Void) { work.append(.action(action)) }

  /// Whether the calling thread is the one that the loop runs on.
  public var isCurrent: Bool { thread.load(ordering: .relaxed) == Syscall.currentThread() }

  /// Whether nothing is queued: all remaining work waits for a timer, a descriptor or another thread.
  package var isIdle: Bool { work.isEmpty && batch.isEmpty }

  private func runJobs() {
    for _ in 0..<Self.jobsPerTurn {
      if batch.isEmpty {
        guard !work.isEmpty else { return }
        swap(&work, &batch)
      }
      switch batch[ran] {
      case .job(let job):
        job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
      case .action(let action): action()
      }
      ran += 1
      if ran == batch.count {
        batch.removeAll(keepingCapacity: true)
        ran = 0
      }
    }
  }

  private func runTimers() {
    guard !timers.isEmpty else { return }
    let now = self.now
    // Timers that these schedule for the past wait for the next turn.
    for _ in 0..<timers.count {
      guard let action = timers.popDue(now) else { return }
      action()
    }
  }

  private func waitAndDispatch() {
    // If a timer is already due, arming the timerfd would waste two system calls.
    let sleeps = isIdle && timers.next.map { now < $0 } ?? true
    if sleeps { arm() }
    let count: Int
    do throws(SystemError) {
      count = try epoll.wait(sleeps)
    } catch {
      // Only EINTR can happen here, and it is retried.
      return stop(71)
    }
    wakeUps += 1
    turnBegan = MonotonicClock.now
    for index in 0..<count {
      let (token, ready) = epoll[index]
      switch token {
      case Token.timer: hasFired = true
      case Token.alarm: enqueueForeignJobs()
      default: handler(at: token)?(ready)
      }
    }
  }

  /// Arms the timer for the next deadline.
  ///
  /// Timeouts are set and cancelled all the time. The timer is not re-armed for a later deadline, so a cancelled
  /// timeout may wake the loop once, which is cheaper than a system call for each.
  private func arm() {
    let next = timers.next
    if !hasFired {
      guard next != armed else { return }
      if let next, let armed, armed < next { return }
    }
    try? timer.arm(next)  // this also makes a descriptor that has fired unreadable again
    armed = next
    hasFired = false
  }

  // MARK: Time

  /// The time at which this turn of the loop began, so the clock is read once per turn. Code that blocks the loop
  /// until some time must read the clock itself.
  public var now: Instant { turnBegan ?? MonotonicClock.now }

  public func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> TimerID {
    timers.insert(deadline, action)
  }

  public func cancel(_ timer: TimerID) { timers.remove(timer) }

  /// Suspends the calling task.
  public func sleep(for duration: Duration) async {
    await withCheckedContinuation { waiter in _ = schedule(after: duration) { waiter.resume() } }
  }
}

// MARK: - Descriptors

extension Loop {
  /// Tokens that no watch has, since their generations start at 1.
  private enum Token {
    static let timer: UInt64 = 0
    static let alarm: UInt64 = 1
  }

  /// Calls `handler` on each turn on which the descriptor is ready for one of `wanted`, or has
  /// failed or hung up, for as long as the watch lives. The descriptor must stay open until then.
  ///
  /// - Throws: EPERM for descriptors that are always ready, such as files.
  package func watch(
    number: Int32, for wanted: Readiness, _ handler: @escaping (Readiness) -> Void
  ) throws(SystemError) -> Watch {
    generation = generation == .max ? 1 : generation + 1
    let token = UInt64(generation) << 32 | UInt64(number)
    try epoll.add(number, wanted, token: token)
    while watched.count <= Int(number) { watched.append(nil) }
    watched[Int(number)] = (token, handler)
    return Watch(self, number, token, wanted)
  }

  /// The handler with this token; nil if its watch ended in the same turn, even if the descriptor's
  /// number is in use again.
  private func handler(at token: UInt64) -> ((Readiness) -> Void)? {
    guard let entry = watched[Int(token & 0xFFFF_FFFF)], entry.token == token else { return nil }
    return entry.handler
  }

  fileprivate func modify(_ number: Int32, _ token: UInt64, _ wanted: Readiness) -> Bool {
    (try? epoll.modify(number, wanted, token: token)) != nil
  }

  fileprivate func unwatch(_ number: Int32, _ token: UInt64) {
    guard handler(at: token) != nil else { return }
    watched[Int(number)] = nil
    try? epoll.remove(number)
  }

  /// Calls `handler` for these signals instead of their default action. They stay blocked for this thread
  /// and those it starts. Another call replaces the list and the handler.
  public func onSignal(_ signals: [Signal], _ handler: @escaping (Signal) -> Void) throws(SystemError) {
    self.signals = nil
    let pending = try SignalDescriptor(signals)
    // One signal per turn, since the handler may replace itself.
    self.signals = try watch(number: pending.descriptor.raw, for: .readable) { _ in
      if let signal = pending.next() { handler(signal) }
    }
  }
}

// MARK: - Executor

extension Loop: SerialExecutor, TaskExecutor {
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isCurrent {
      work.append(.job(job))
    } else {
      let first = foreign.withLock { jobs in
        defer { jobs.append(job) }
        return jobs.isEmpty
      }
      if first { alarm.signal() }
    }
  }

  /// Queues the jobs from other threads. The eventfd is cleared first, so a job that arrives in between wakes the loop
  /// again.
  private func enqueueForeignJobs() {
    alarm.clear()
    let jobs = foreign.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    for job in jobs { work.append(.job(job)) }
  }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

  /// Handlers and timers run on the loop without being jobs.
  public func isIsolatingCurrentContext() -> Bool? { isCurrent }

  public func checkIsolated() { precondition(isCurrent, "called outside the event loop's thread") }
}

// MARK: - The program's loop

/// The actor of the event loop: code isolated to it runs on the loop's thread.
@globalActor public actor LoopActor {
  public static let shared = LoopActor()

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    Loop.shared.asUnownedSerialExecutor()
  }
}

extension Loop {
  /// The program's loop, which `main.swift` runs.
  public static let shared: Loop = {
    do throws(SystemError) {
      return try Loop()
    } catch {
      // Nothing works without descriptors (sysexits(3): EX_OSERR).
      try? FileDescriptor.writeAll("ancsd: no event loop: \(error)\n".utf8, to: Standard.error)
      Host.exit(71)
    }
  }()

  /// Starts a task on the loop, after the jobs that are already queued. It may be called anywhere, including in
  /// `main.swift` before `run`.
  ///
  /// All tasks are started here. A task without the loop as its preferred executor would go through
  /// another thread each time it is resumed.
  @discardableResult
  public static func start(_ work: @escaping @LoopActor () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: Loop.shared, operation: work)
  }
}

// MARK: - Watches

/// A descriptor that the loop watches until this object is released. After that the handler is not called, even if the
/// descriptor was already reported as ready.
public final class Watch {
  private let loop: Loop
  private let number: Int32
  private let token: UInt64
  private var wanted: Readiness

  fileprivate init(_ loop: Loop, _ number: Int32, _ token: UInt64, _ wanted: Readiness) {
    self.loop = loop
    self.number = number
    self.token = token
    self.wanted = wanted
  }

  deinit { loop.unwatch(number, token) }

  /// Changes what the descriptor is watched for. Errors and hang-up are always reported.
  public func modify(for wanted: Readiness) {
    // Fails only for a descriptor that is not watched.
    if wanted != self.wanted, loop.modify(number, token, wanted) { self.wanted = wanted }
  }
}
