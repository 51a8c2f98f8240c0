// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import Control
import EventLoop
import System
import Wire

/// Runs the user's programs, a few at a time and each for a limited time. They never hold up the daemon:
/// what waits for its turn is limited too, and the log says what was dropped.
@LoopActor final class HookRunner {
  /// What the programs may take.
  struct Limits: Hashable, Sendable {
    /// How many run at the same time.
    var programs = 4
    /// How long each may run.
    var time: Duration = .seconds(30)
  }

  /// The most runs that wait for their turn.
  static let capacity = 256
  /// How long a program that was asked to end may take for it.
  private static let grace: Duration = .seconds(2)

  /// What is run for which events.
  var hooks: [Hook]
  var limits: Limits { didSet { startWaiting() } }

  private let platform: any Platform
  /// The control socket, for the programs.
  private let socket: String
  private let log: Log
  private var waiting = FIFO<(program: [String], event: NumberedEvent)>()
  private var running: [Run] = []
  private var lastNumber = 0
  /// How many runs were left out since there was room.
  private var omitted = 0
  /// The programs that failed when they ran last, and how.
  private var failing: [[String]: String] = [:]
  /// For the lines of each program.
  private var budgets: [[String]: Log] = [:]

  private struct Run {
    let number: Int
    let program: [String]
    let child: any RunningProgram
    var timer: TimerID
    /// Whether its time was over.
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

  /// Whether nothing runs or waits.
  var isIdle: Bool { running.isEmpty && waiting.isEmpty }

  /// Whether anything is run for events of this kind.
  func reads(_ name: EventName) -> Bool { hooks.contains { $0.event == name } }

  /// Runs what is to be run for an event.
  func handle(_ event: NumberedEvent) {
    for hook in hooks where hook.matches(event.event) { run(hook.program, for: event) }
  }

  /// Runs a program as soon as it is its turn.
  func run(_ program: [String], for event: NumberedEvent) {
    guard waiting.count < Self.capacity else {
      omitted += 1
      if omitted == 1 {
        endings.warning(
          "\(Self.capacity) runs of programs wait for their turn: those that come now are left out")
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
      "\(omitted) runs of programs were left out, because too many waited for their turn")
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
    let timer = platform.scheduler.schedule(after: limits.time) { [weak self] in
      self?.timeIsOver(number)
    }
    running.append(Run(number: number, program: program, child: child, timer: timer))
  }

  private func timeIsOver(_ number: Int) {
    guard let index = running.firstIndex(where: { $0.number == number }) else { return }
    running[index].child.signal(running[index].isLate ? .kill : .terminate)
    running[index].isLate = true
    running[index].timer = platform.scheduler.schedule(after: Self.grace) { [weak self] in
      self?.timeIsOver(number)
    }
  }

  private func ended(_ number: Int, _ end: ProcessEnd) {
    guard let index = running.firstIndex(where: { $0.number == number }) else { return }
    let run = running.remove(at: index)
    platform.scheduler.cancel(run.timer)
    if run.isLate {
      note(
        run.program, "was ended, because it took longer than \(limits.time.components.seconds) s")
    } else {
      note(run.program, end == .exit(0) ? nil : "\(end)")
    }
    startWaiting()
  }

  /// Says that a program has failed, once for each way of failing in a row.
  private func note(_ program: [String], _ failure: String?) {
    guard failing[program] != failure else { return }
    if let failure {
      endings.warning("\(program[0]) \(failure)")
    } else {
      endings.notice("\(program[0]) works again")
    }
    failing[program] = failure
  }

  /// For lines about how programs end, which each notification may cause.
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

  /// Lets what runs and waits come to its end, until `deadline`; then it is killed.
  func stop(by deadline: Instant) async {
    while !isIdle, platform.scheduler.now < deadline {
      await platform.sleep(for: .milliseconds(10))
    }
    waiting.removeAll()
    for run in running { run.child.signal(.kill) }
    running = []
  }
}
