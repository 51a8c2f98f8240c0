// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import JSON
import System
import Wire

@testable import Board

/// The programs of a board, in virtual time.
@LoopActor final class VirtualPrograms {
  /// What a program does.
  enum Behaviour {
    /// It writes these lines, and ends after a while.
    case ends(ProcessEnd = .exit(0), after: Duration = .milliseconds(100), lines: [String] = [])
    /// It never ends by itself; only some signals end it.
    case hangs(endedBy: Set<Signal> = [.terminate, .kill])
    case isMissing
  }

  /// What each program does, by its path.
  var behaviours: [String: Behaviour] = [:]
  /// The runs so far, in order.
  private(set) var runs: [Run] = []
  /// How many run now, and at most at the same time.
  private(set) var running = 0 { didSet { most = max(most, running) } }
  private(set) var most = 0
  private let clock: any Scheduler

  init(_ clock: any Scheduler) { self.clock = clock }

  /// A program that was started.
  final class Run: RunningProgram {
    let arguments: [String]
    let environment: [String: String]
    let input: [UInt8]
    var onLine: ([UInt8]) -> Void = { _ in }
    var onEnd: (ProcessEnd) -> Void = { _ in }
    /// The signals that it has got, with their times.
    fileprivate(set) var signals: [(Signal, Instant)] = []
    fileprivate var onSignal: (Signal) -> Void = { _ in }

    /// The event on its standard input.
    var event: JSONValue? { try? JSONValue(parsing: input) }

    fileprivate init(_ arguments: [String], _ environment: [String], _ input: [UInt8]) {
      self.arguments = arguments
      var variables: [String: String] = [:]
      for entry in environment {
        let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        variables[String(parts[0])] = String(parts[1])
      }
      self.environment = variables
      self.input = input
    }

    func signal(_ signal: Signal) { onSignal(signal) }
  }

  func start(
    _ arguments: [String], _ environment: [String], _ input: [UInt8]
  ) throws(SystemError) -> Run {
    let behaviour = behaviours[arguments[0]] ?? .ends()
    if case .isMissing = behaviour {
      throw SystemError("posix_spawn", .noSuchFile, on: arguments[0])
    }
    let run = Run(arguments, environment, input)
    runs.append(run)
    running += 1
    var hasEnded = false
    let end = { [weak self] (result: ProcessEnd) in
      guard !hasEnded else { return }
      hasEnded = true
      self?.running -= 1
      run.onEnd(result)
    }
    switch behaviour {
    case .ends(let result, let time, let lines):
      _ = clock.schedule(after: time) {
        for line in lines { run.onLine(Array(line.utf8)) }
        end(result)
      }
    case .hangs(let deadly):
      run.onSignal = { [clock] signal in
        run.signals.append((signal, clock.now))
        if deadly.contains(signal) { _ = clock.schedule(after: .zero) { end(.signal(signal)) } }
      }
    case .isMissing: break
    }
    return run
  }
}
