// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Board
import Control
import EventLoop
import JSON
import System
import Wire

/// A user's program to run for an event.
struct Hook: Hashable, Sendable {
  /// The event to run it for.
  var event: EventName
  /// Whether it also runs for notifications from before the session.
  var includesPreExisting = false
  /// The program's absolute path, and its arguments.
  var program: [String]

  /// Whether these can be a program's absolute path and its arguments.
  static func isProgram(_ arguments: [String]) -> Bool {
    arguments.first?.first == "/" && !arguments.contains { $0.utf8.contains(0) }
  }

  /// Why a program can't be run, as far as this process can tell; nil if it can.
  ///
  /// - Parameter isService: whether to judge by the unit's sandbox, which this process may be outside of.
  static func hindrance(to path: String, isService: Bool) -> String? {
    do throws(SystemError) {
      try Files.checkRunnable(path)
      return isService ? homeRemark(path).map { "\(path) can't be run: \($0)" } : nil
    } catch {
      let array = path.split(separator: " ").map { SettingValue.text(String($0)).description }
      let hint =
        array.count > 1
        ? "arguments are elements of an array: run = [\(array.joined(separator: ", "))]" : homeRemark(path)
      return "\(path) can't be run: \(error)" + (hint.map { "; \($0)" } ?? "")
    }
  }

  /// Why the service can't run a program in a home directory; nil for other programs.
  static func homeRemark(_ path: String) -> String? {
    guard ["/home/", "/root/", "/run/user/"].contains(where: { path.hasPrefix($0) }) else {
      return nil
    }
    return
      "the service sees no home directories (ProtectHome= in its unit): keep it in /usr/local/bin"
  }

  /// Whether it runs for this event.
  func matches(_ event: Event) -> Bool {
    guard event.name == self.event else { return false }
    return includesPreExisting || !event.isPreExisting
  }
}

extension Hook {
  /// Reads `EVENT=PROGRAM` or `EVENT+=PROGRAM`; nil if there is no such event, or the path is not absolute. The plus includes
  /// notifications from before the session.
  init?(_ text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    includesPreExisting = parts[0].last == "+"
    program = [String(parts[1])]
    let name = includesPreExisting ? parts[0].dropLast() : parts[0]
    guard let event = EventName(rawValue: String(name)), Hook.isProgram(program) else { return nil }
    self.event = event
  }

  /// Its table in a settings file.
  var table: String {
    let run = program.count == 1 ? SettingValue.text(program[0]) : .list(program)
    return "[[hook]]\nevent = \(SettingValue.text(event.rawValue))\nrun = \(run)"
      + (includesPreExisting ? "\npreexisting = true" : "")
  }
}

extension Event {
  /// Whether it is about a notification from before the session.
  fileprivate var isPreExisting: Bool {
    switch content {
    case .notification(let report): report.event.flags.contains(.preExisting)
    case .incoming(let event): event.flags.contains(.preExisting)
    default: false
    }
  }
}

/// The environment of a hook.
enum HookEnvironment {
  /// Variables for the daemon only: systemd's socket, its watchdog, and the journal's mark.
  private static let withheld = Set([
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID",
    "LISTEN_FDNAMES", "JOURNAL_STREAM", "INVOCATION_ID",
  ])

  /// The daemon's own environment, and the members of the event: `title` is `ANCSD_TITLE`, `player.name` is
  /// `ANCSD_PLAYER_NAME`, an array's elements are joined by commas. Null or absent members have no variable. Texts are
  /// printable on a terminal, on one line except for a message.
  ///
  /// - Parameter socket: the control socket, `ANCSD_SOCKET`, so that `ancsd` in a program finds this daemon.
  static func variables(for event: NumberedEvent, inherited: [String], socket: String) -> [String] {
    let usual = inherited.filter { entry in
      let name = entry.prefix { $0 != "=" }
      return !withheld.contains(String(name)) && !name.hasPrefix("ANCSD_")
    }
    var variables = ["ANCSD_SOCKET=\(socket)"]
    if let json = try? JSONValue(parsing: event.json) { add(json, as: "ANCSD", to: &variables) }
    return usual + variables
  }

  /// The variable of the only text that may have several lines.
  private static let message = "ANCSD_MESSAGE"

  private static func add(_ value: JSONValue, as name: String, to variables: inout [String]) {
    switch value {
    case .string(let text) where name == message: variables.append("\(name)=\(text.printableLines)")
    case .object(let members):
      for (key, member) in members.members {
        add(member, as: "\(name)_\(key.uppercased())", to: &variables)
      }
    case .array(let elements):
      let texts = elements.compactMap(\.word)
      variables.append("\(name)=\(texts.joined(separator: ","))")
    default: if let word = value.word { variables.append("\(name)=\(word)") }
    }
  }
}

extension JSONValue {
  /// A string, number or boolean as the value of a variable, without control characters; nil for anything else.
  fileprivate var word: String? {
    switch self {
    case .string(let text): text.printable
    case .bool(let value): "\(value)"
    case .int(let value): "\(value)"
    case .double(let value): "\(value)"
    case .null, .array, .object: nil
    }
  }
}

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

  init(_ hooks: [Hook], _ limits: Limits, on platform: any Platform, socket: String, log: Log) {
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
        endings.warning("\(Self.capacity) programs are waiting to run: further runs are dropped")
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
    endings.warning("\(omitted) program runs were dropped, because too many were waiting")
    omitted = 0
  }

  private func start(_ program: [String], for event: NumberedEvent) {
    let environment = HookEnvironment.variables(for: event, inherited: platform.environment, socket: socket)
    let child: any RunningProgram
    do throws(SystemError) {
      child = try platform.start(
        program, environment: environment, input: Array(event.json) + [UInt8(ascii: "\n")], lineLimit: 1_024)
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
      note(run.program, "was killed, because it ran longer than \(limits.time.components.seconds) s")
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
