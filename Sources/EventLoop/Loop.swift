// SPDX-License-Identifier: GPL-3.0-or-later
import Synchronization
import System
import Wire

/// The event loop: one thread that waits in epoll, and on which everything else runs.
///
///     ┌─► timers that are due ─► jobs, first come first served ─► wait for descriptors ─► handlers ─┐
///     └─────────────────────────────────────────────────────────────────────────────────────────────┘
///
/// A job is a piece of a task: the loop is the executor of `LoopActor`, and the preferred executor
/// of the tasks that `Loop.start` begins, so that a task resumed here goes on here, without a
/// thread in between. All deadlines share one timerfd, armed only before the loop goes to sleep;
/// other threads wake it by one eventfd. With nothing to do it sleeps without an end.
///
/// Everything but `enqueue` belongs to the thread that runs the loop, or, before `run`, to the one
/// that sets it up. That is why the loop may call itself Sendable.
public final class Loop: @unchecked Sendable {
  private let epoll: Epoll
  private let timer: TimerDescriptor
  private let alarm: EventDescriptor
  private let foreign = Mutex<[UnownedJob]>([])

  /// The thread that runs it; 0 before. All threads ask.
  private let thread = Atomic<UInt>(0)
  private var status: Int32?
  private var work: [Work] = []
  private var batch: [Work] = []
  private var watches: [Watch?] = []
  private var generation: UInt32 = 0
  private var timers = TimerQueue()
  private var armed: Instant?
  private var hasFired = false
  private var signals: SignalWatch?

  /// How often the loop came back from waiting; it stands still while nothing happens.
  public private(set) var wakeUps: UInt64 = 0

  /// One buffer for everything that is read here, since only one thing is read at a time; and the same
  /// for packets.
  package let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
  let packets = PacketBatch()

  private enum Work {
    case job(UnownedJob)
    case action(() -> Void)
  }

  /// After so many jobs in a row the descriptors get their turn.
  private static let jobsPerTurn = 256

  /// A loop of its own, for tests; the program has `shared`.
  public init() throws(SystemError) {
    epoll = try Epoll()
    timer = try TimerDescriptor()
    alarm = try EventDescriptor()
    try epoll.add(timer.descriptor.raw, .readable, token: Token.timer)
    try epoll.add(alarm.descriptor.raw, .readable, token: Token.alarm)
    Signal.pipe.ignore()  // a reader that went away is an error of write, not the end of us
  }

  deinit { readBuffer.deallocate() }

  // MARK: Running

  /// Runs on the calling thread until `stop`, and answers with its status.
  public func run() -> Int32 {
    thread.store(Syscall.currentThread(), ordering: .relaxed)
    while status == nil {
      runTimers()
      runJobs()
      if status == nil { waitAndDispatch() }
    }
    defer { status = nil }
    return status ?? 0
  }

  /// Ends `run` at the end of this turn.
  public func stop(_ status: Int32 = 0) { self.status = status }

  /// Runs `action` before the loop waits again, behind what already waits for its turn.
  public func later(_ action: @escaping () -> Void) { work.append(.action(action)) }

  /// Whether the calling thread is the one that the loop runs on.
  public var isCurrent: Bool { thread.load(ordering: .relaxed) == Syscall.currentThread() }

  private func runJobs() {
    var count = 0
    while !work.isEmpty, count < Self.jobsPerTurn {
      swap(&work, &batch)
      count += batch.count
      for item in batch {
        switch item {
        case .job(let job):
          job.runSynchronously(
            isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        case .action(let action): action()
        }
      }
      batch.removeAll(keepingCapacity: true)
    }
  }

  private func runTimers() {
    guard !timers.isEmpty else { return }
    let now = self.now
    // Those that they schedule for the past wait for the next turn.
    for _ in 0..<timers.count {
      guard let action = timers.popDue(now) else { return }
      action()
    }
  }

  private func waitAndDispatch() {
    let sleeps = work.isEmpty
    if sleeps { arm() }
    let count: Int
    do throws(SystemError) {
      count = try epoll.wait(sleeps)
    } catch {
      // Only EINTR can happen to a list of ours, and that one is repeated.
      return stop(71)
    }
    wakeUps += 1
    for index in 0..<count {
      let (token, ready) = epoll[index]
      switch token {
      case Token.timer: hasFired = true
      case Token.alarm: takeForeignJobs()
      default: watch(at: token)?.dispatch(ready)
      }
    }
  }

  /// Sees to it that the kernel wakes the loop for the next deadline.
  ///
  /// Time-outs are set and called off all the time. While there is any, one that was called off may
  /// still wake the loop: once, which is cheaper than telling the kernel of each.
  private func arm() {
    let next = timers.next
    if !hasFired {
      guard next != armed else { return }
      if let next, let armed, armed < next { return }
    }
    try? timer.arm(next)  // which also makes a descriptor that has fired unreadable again
    armed = next
    hasFired = false
  }
}

// MARK: - Time

extension Loop: Scheduler {
  public var now: Instant { MonotonicClock.now }

  public func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> TimerID {
    timers.insert(deadline, action)
  }

  public func cancel(_ timer: TimerID) { timers.remove(timer) }

  /// Lets the time pass for the task that waits.
  public func sleep(for duration: Duration) async {
    await withCheckedContinuation { waiter in
      _ = schedule(after: duration) { waiter.resume() }
    }
  }
}

// MARK: - Descriptors

extension Loop {
  /// Tokens below the first descriptor's: a generation starts at 1, above these bits.
  private enum Token {
    static let timer: UInt64 = 0
    static let alarm: UInt64 = 1
  }

  /// Calls `handler` on each turn on which the descriptor is ready for one of `wanted`, or has
  /// failed or hung up, until the watch is cancelled. The descriptor must stay open until then.
  ///
  /// - Throws: EPERM for what is always ready, as files are.
  public func watch(
    _ descriptor: borrowing FileDescriptor, for wanted: Readiness,
    _ handler: @escaping (Readiness) -> Void
  ) throws(SystemError) -> Watch {
    try watch(number: descriptor.raw, for: wanted, handler)
  }

  /// The same for a descriptor that somebody else owns.
  package func watch(
    number: Int32, for wanted: Readiness, _ handler: @escaping (Readiness) -> Void
  ) throws(SystemError) -> Watch {
    generation = generation == .max ? 1 : generation + 1
    let token = UInt64(generation) << 32 | UInt64(number)
    try epoll.add(number, wanted, token: token)
    let watch = Watch(self, number, token, wanted, handler)
    while watches.count <= Int(number) { watches.append(nil) }
    watches[Int(number)] = watch
    return watch
  }

  /// The watch that a report is about; nil for one that was cancelled in the same turn, even when
  /// its number is already another descriptor's.
  private func watch(at token: UInt64) -> Watch? {
    let index = Int(token & 0xFFFF_FFFF)
    guard index < watches.count, let watch = watches[index], watch.token == token else {
      return nil
    }
    return watch
  }

  func change(_ watch: Watch, to wanted: Readiness) throws(SystemError) {
    try epoll.modify(watch.number, wanted, token: watch.token)
  }

  func forget(_ watch: Watch) {
    guard self.watch(at: watch.token) === watch else { return }
    watches[Int(watch.number)] = nil
    try? epoll.remove(watch.number)
  }

  /// Calls `handler` for these signals instead of what they do by themselves. They stay blocked
  /// for this thread and those it starts; called again, the new handler and list replace the old.
  public func onSignal(
    _ signals: [Signal], _ handler: @escaping (Signal) -> Void
  ) throws(SystemError) {
    self.signals?.cancel()
    self.signals = try SignalWatch(self, signals, handler)
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

  /// The alarm is cleared first: a job that comes in between rings it again.
  private func takeForeignJobs() {
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

  /// Handlers and timers run on the loop without being jobs; they are in their right place too.
  public func isIsolatingCurrentContext() -> Bool? { isCurrent }

  public func checkIsolated() {
    precondition(isCurrent, "this belongs to the event loop, and was called from another thread")
  }
}
