// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Board
import Control
import EventLoop
import JSON
import System
import Wire

/// Runs the helper that writes the history: a separate process, so that the daemon never waits for the disk. The helper
/// is a client of the control socket, and is restarted when it exits.
@LoopActor final class HistoryRecorder {
  /// What is kept, and where.
  let kept: HistoryReport
  private let arguments: [String]
  private let platform: any Platform
  private let log: Log
  private var child: (any RunningProgram)?
  /// How many helpers read now.
  private var readers = 0
  private var isStopping = false
  private var pause = HistoryRecorder.pauses.lowerBound

  /// The pauses before a restart, which grow while the helper keeps failing.
  private static let pauses = Duration.seconds(5) ... .seconds(600)

  /// This program itself, even if its file was replaced.
  private static let program = "/proc/self/exe"

  /// - Parameter socket: the control socket.
  init(_ kept: HistoryReport, socket: String, on platform: any Platform, log: Log) {
    arguments = [Self.program, DefaultPaths.historyHelper, "--socket", socket]
    self.kept = kept
    self.platform = platform
    self.log = log.limited(by: LogBudget("the history", platform.scheduler))
  }

  func start() {
    let began = platform.scheduler.now
    do throws(SystemError) {
      let child = try platform.start(
        arguments, environment: platform.environment, input: HistoryTask(kept).json, lineLimit: 1_024)
      child.onLine = { [log] in log.warning("history: \(String(decoding: $0, as: UTF8.self))") }
      child.onEnd = { [weak self] in self?.ended($0, began) }
      self.child = child
    } catch {
      log.warning("the history is off: its helper did not start: \(error)")
      tryAgain(began)
    }
  }

  private func ended(_ end: ProcessEnd, _ began: Instant) {
    child = nil
    guard !isStopping else { return }
    log.warning("the history is interrupted: its helper \(end)")
    tryAgain(began)
  }

  private func tryAgain(_ began: Instant) {
    let lasted = platform.scheduler.now - began
    pause = lasted > Self.pauses.upperBound ? Self.pauses.lowerBound : pause
    _ = platform.scheduler.schedule(after: pause) { [weak self] in
      guard let self, !isStopping else { return }
      start()
    }
    pause = min(pause * 2, Self.pauses.upperBound)
  }

  // MARK: Reading

  /// How many helpers read at once.
  private static let mostReaders = 4
  /// How long each may take: a disk that fails must not keep later ones from reading.
  private static let readingTime: Duration = .seconds(30)

  /// A page of the history, which another helper reads, so that the daemon does not wait for the disk here either.
  func read(_ query: HistoryQuery) async throws(RPCError) -> Page<RecordedEvent> {
    guard readers < Self.mostReaders else {
      throw .tryAgain("\(Self.mostReaders) clients are reading the history already")
    }
    var task = HistoryTask(kept)
    task.query = query
    let child: any RunningProgram
    do throws(SystemError) {
      child = try platform.start(
        [Self.program, DefaultPaths.historyHelper], environment: platform.environment,
        input: task.json, lineLimit: ControlLimits.page)
    } catch { throw .unavailable("the history can't be read: \(error)") }
    readers += 1
    var line: [UInt8] = []
    child.onLine = { line = $0 }
    var isLate = false
    let timer = platform.scheduler.schedule(after: Self.readingTime) {
      isLate = true
      child.signal(.kill)
    }
    let end = await withCheckedContinuation { done in child.onEnd = { done.resume(returning: $0) } }
    platform.scheduler.cancel(timer)
    withExtendedLifetime(child) { readers -= 1 }
    if isLate { throw .tryAgain("reading the history took more than \(Self.readingTime.components.seconds) s") }
    guard end == .exit(0), let json = try? JSONValue(parsing: line), let page = Page<RecordedEvent>(json: json) else {
      throw .unavailable(line.isEmpty ? "the helper \(end)" : String(decoding: line, as: UTF8.self))
    }
    return page
  }

  // MARK: The end

  /// Lets it finish writing until `deadline`; it exits by itself once its connection is closed.
  func stop(by deadline: Instant) async {
    isStopping = true
    await platform.wait(until: deadline) { child == nil }
    child?.signal(.kill)
    child = nil
  }
}
