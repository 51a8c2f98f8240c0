// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import Control
import EventLoop
import System
import Wire

/// Runs the user's programs, a few at a time and each for a limited time. They never delay the
/// daemon: the queue is limited too, and drops are logged.
@LoopActor final class HookRunner {
  /// Limits on the programs.
  struct Limits: Hashable, Sendable {
    /// How many may run at once.
    var programs = 4
    /// How long each may run.
    var time: Duration = .seconds(30)
  }

  /// The maximum number of queued runs.
  static let capacity = 256
  /// How long a program may take to exit after SIGTERM.
  private static let grace: Duration = .seconds(2)

  /// Which programs to run for which events.
  var hooks: [Hook]
  var limits: Limits { didSet { startWaiting() } }

  private let platform: any Platform
  /// The control socket, for the programs.
  private let socket: String
  private let log: Log
  private var waiting = FIFO<(program: [String], event: NumberedEvent)>()
  /// By the numbers of their starts.
  private var running: [Int: Run] = [:]
  private var lastNumber = 0
  /// The number of runs dropped since the queue was full.
  private var omitted = 0
  /// The programs that failed in their last run, and how.
  private var failing: [[String]: String] = [:]
  /// The logs for each program's lines.
  private var budgets: [[String]: Log] = [:]

  private struct Run {
    let program: [String]
    let child: any RunningProgram
    let limit: Deadline
    /// Whether it ran too long.
    var isLate = false
  }

  init(
    _ hooks: [Hook], _ limits: Limits, on platform: any Platform, socket: String, log: Log
  ) {
    self.socket = socket
    self.hooks = hooks
    self.limits = limits
    self.platform = platform
    self.log = log
  }

  /// Whether nothing is running or queued.
  var isIdle: Bool { running.isEmpty && waiting.isEmpty }

  /// Whether any program runs for events of this kind.
  func reads(_ name: EventName) -> Bool { hooks.contains { $0.event == name } }

  /// Runs the programs for an event.
  func handle(_ event: NumberedEvent) {
    for hook in hooks where hook.matches(event.event) { run(hook.program, for: event) }
  }

  /// Queues a program.
  func run(_ program: [String], for event: NumberedEvent) {
    guard waiting.count < Self.capacity else {
      omitted += 1
      if omitted == 1 {
        endings.warning(
          "\(Self.capacity) programs are waiting to run: further runs are dropped")
      }
      return
    }
    waiting.append((program, event))
    startWaiting()
  }

  private func startWaiting() {
    while running.count < limits.programs, let next = waiting.popFirst() {
      start(next.program, for: next.event)
    }
    guard waiting.isEmpty, omitted > 0 else { return }
    endings.warning(
      "\(omitted) program runs were dropped, because too many were waiting")
    omitted = 0
  }

  private func start(_ program: [String], for event: NumberedEvent) {
    let environment = HookEnvironment.variables(
      for: event, inherited: platform.environment, socket: socket)
    let child: any RunningProgram
    do throws(SystemError) {
      child = try platform.start(
        program, environment: environment, input: Array(event.json) + [UInt8(ascii: "\n")])
    } catch {
      let remark = Hook.homeRemark(program[0]).map { "; \($0)" } ?? ""
      return note(program, "was not started: \(error)\(remark)")
    }
    lastNumber += 1
    let number = lastNumber
    let output = output(of: program)
    let name = Self.name(of: program)
    child.onLine = { output.notice("\(name): \(String(decoding: $0, as: UTF8.self))") }
    child.onEnd = { [weak self] in self?.ended(number, $0) }
    let limit = Deadline(platform.scheduler) { [weak self] in self?.timeIsOver(number) }
    limit.due = platform.scheduler.now + limits.time
    running[number] = Run(program: program, child: child, limit: limit)
  }

  private func timeIsOver(_ number: Int) {
    guard let run = running[number] else { return }
    run.child.signal(run.isLate ? .kill : .terminate)
    running[number]?.isLate = true
    run.limit.due = platform.scheduler.now + Self.grace
  }

  private func ended(_ number: Int, _ end: ProcessEnd) {
    guard let run = running.removeValue(forKey: number) else { return }
    if run.isLate {
      note(
        run.program, "was killed, because it ran longer than \(limits.time.components.seconds) s")
    } else {
      note(run.program, end == .exit(0) ? nil : "\(end)")
    }
    startWaiting()
  }

  /// Logs that a program has failed, once for each kind of failure in a row.
  private func note(_ program: [String], _ failure: String?) {
    guard failing[program] != failure else { return }
    if let failure {
      endings.warning("\(program[0]) \(failure)")
    } else {
      endings.notice("\(program[0]) works again")
    }
    failing[program] = failure
  }

  /// For lines about how programs exit, which every notification may cause.
  private lazy var endings = log.limited(by: LogBudget("programs", platform.scheduler))

  private func output(of program: [String]) -> Log {
    if let log = budgets[program] { return log }
    let log = log.limited(by: LogBudget(Self.name(of: program), platform.scheduler))
    budgets[program] = log
    return log
  }

  private static func name(of program: [String]) -> String {
    program[0].split(separator: "/").last.map(String.init) ?? program[0]
  }

  /// Lets running and queued programs finish until `deadline`, then kills them.
  func stop(by deadline: Instant) async {
    await platform.wait(until: deadline) { isIdle }
    waiting.removeAll()
    for run in running.values { run.child.signal(.kill) }
    running = [:]
  }
}
