// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon
import JSON
import System
import Wire

/// The client's end of the control socket: asks one thing at a time, and keeps the events that come
/// in between. It knows no socket: lines go out through `send`, and come in through the mailbox, as
/// does everything else that a client waits for.
final class ControlClient {
  /// Something that a client waits for.
  enum Input: Sendable {
    /// A line from the daemon, without its end.
    case line([UInt8])
    /// The connection ended, for this reason.
    case closed(String)
    /// A line that was typed on standard input; nil at its end.
    case typed(String?)
    case signal(Signal)
    /// Nobody reads standard output any more.
    case readerGone
    /// The time of `Timer` is up.
    case timeUp(Int)
  }

  let console: Console
  let inbox = Mailbox<Input>()

  private let send: ([UInt8]) -> Void
  private let schedule: (Duration, @escaping () -> Void) -> Void
  private var lastID: Int64 = 0
  private var lastTimer = 0
  /// What came while the answer to a request was awaited.
  private var kept: [Input] = []

  /// How long the daemon may take for an answer: longer than the phone may.
  static let patience = Duration.seconds(60)

  /// - Parameters:
  ///   - send: sends a line, to which it puts the end.
  ///   - schedule: calls back after a time.
  init(
    _ console: Console, send: @escaping ([UInt8]) -> Void,
    schedule: @escaping (Duration, @escaping () -> Void) -> Void
  ) {
    self.console = console
    self.send = send
    self.schedule = schedule
  }

  /// Has `timeUp` come in after a time; answers with its number.
  func startTimer(_ duration: Duration) -> Int {
    lastTimer += 1
    let number = lastTimer
    schedule(duration) { [inbox] in inbox.post(.timeUp(number)) }
    return number
  }

  /// Asks for something and waits for the answer. `what` says what was tried, for the error.
  func call(_ request: ControlRequest, _ what: String) async throws(Failure) -> JSONValue {
    lastID += 1
    send(request.json(id: .number(.int(lastID))).utf8)
    let timer = startTimer(Self.patience)
    while let input = await inbox.next() {
      switch input {
      case .line(let line) where RPCLine.eventText(in: line) != nil: kept.append(input)
      case .line(let line):
        if let result = try answer(in: line, what) { return result }
      case .timeUp(timer):
        throw Failure(.tryAgain, what, "the daemon does not answer")
      case .timeUp, .typed: kept.append(input)
      case .closed, .signal, .readerGone: try check(input)
      }
    }
    throw Failure(.unavailable, what, "the daemon has left")
  }

  /// Asks for something without waiting: on the way out.
  func tell(_ request: ControlRequest) {
    lastID += 1
    send(request.json(id: .number(.int(lastID))).utf8)
  }

  /// The next thing that comes in; the end of the connection and signals are thrown.
  func next() async throws(Failure) -> Input {
    let input: Input
    if kept.isEmpty {
      guard let arrived = await inbox.next() else {
        throw Failure(.unavailable, "waiting for events", "the daemon has left")
      }
      input = arrived
    } else {
      input = kept.removeFirst()
    }
    try check(input)
    return input
  }

  private func check(_ input: Input) throws(Failure) {
    switch input {
    case .closed(let why):
      throw Failure(.unavailable, "the connection to the daemon", why)
    case .signal(let signal):
      let status: ExitStatus = signal == .terminate ? .terminated : .interrupted
      throw Failure(status, "ancsd", "interrupted")
    case .readerGone: throw .readerGone
    case .line, .typed, .timeUp: break
    }
  }

  /// The result, where the line is the answer that is awaited; nil for an answer to something else.
  private func answer(in line: [UInt8], _ what: String) throws(Failure) -> JSONValue? {
    let answer: JSONValue
    do throws(JSONError) {
      answer = try JSONValue(parsing: line)
    } catch {
      throw Failure(.software, what, "the daemon's answer is \(error)")
    }
    guard answer["id"]?.int == lastID else { return nil }
    guard let error = answer["error"] else { return answer["result"] ?? .null }
    let refusal: RPCError
    do throws(ShapeError) {
      refusal = try RPCError(json: error)
    } catch {
      throw Failure(.software, what, "the daemon's answer is not understood: \(error)")
    }
    throw Failure(refusal, during: what)
  }

  /// Asks for something and reads the answer into its report.
  func fetch<Report>(
    _ request: ControlRequest, _ what: String,
    _ read: (JSONValue) throws(ShapeError) -> Report
  ) async throws(Failure) -> Report {
    let result = try await call(request, what)
    do throws(ShapeError) {
      return try read(result)
    } catch {
      throw Failure(.software, what, "the daemon's answer is not understood: \(error)")
    }
  }

  /// Asks for a list and reads its elements into their reports.
  func fetchAll<Report>(
    _ request: ControlRequest, _ what: String,
    _ read: (JSONValue) throws(ShapeError) -> Report
  ) async throws(Failure) -> [Report] {
    try await fetch(request, what) { result throws(ShapeError) in
      guard let elements = result.array else { throw ShapeError("not an array") }
      var reports: [Report] = []
      for element in elements { reports.append(try read(element)) }
      return reports
    }
  }
}

extension Failure {
  /// The daemon's refusal, with what can be done about it.
  init(_ error: RPCError, during what: String) {
    switch error.code {
    case RPCError.Code.phone:
      let code = error.attError.map { " (ATT error 0x\([$0].hex))" } ?? ""
      let remedy: String? =
        switch error.attError {
        case 0xA2: "it is gone by now: “ancsd list” shows what is there"
        case 0x03: "on the phone, turn on Settings › Bluetooth › Share System Notifications"
        default: nil
        }
      self.init(.refused, what, "the phone refused: \(error.message)\(code)", remedy: remedy)
    case RPCError.Code.unavailable: self.init(.unavailable, what, error.message)
    case RPCError.Code.tryAgain: self.init(.tryAgain, what, error.message)
    case RPCError.Code.noPermission: self.init(.noPermission, what, error.message)
    case -32601:
      self.init(
        .software, what, "the daemon does not know this",
        remedy: "it may be of another version: restart it")
    case -32602: self.init(.usage, what, error.message)
    default: self.init(.software, what, error.message)
    }
  }
}
