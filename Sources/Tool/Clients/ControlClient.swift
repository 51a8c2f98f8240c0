// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
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

  /// Calls a method and waits for its answer. `what` says what was tried, for the error.
  @discardableResult func call<Parameters, Answer>(
    _ method: ControlMethod<Parameters, Answer>, _ parameters: Parameters, _ what: String
  ) async throws(Failure) -> Answer {
    send(method, parameters)
    let timer = startTimer(Self.patience)
    while let input = await inbox.next() {
      switch input {
      case .line(let line) where RPC.event(in: line) != nil: kept.append(input)
      case .line(let line):
        guard let result = try result(in: line, what) else { continue }
        do throws(ShapeError) {
          return try Answer(reading: result)
        } catch {
          throw Failure(.software, what, "the daemon's answer is not understood: \(error)")
        }
      case .timeUp(timer):
        throw Failure(.tryAgain, what, "the daemon does not answer")
      case .timeUp, .typed: kept.append(input)
      case .closed, .signal, .readerGone: try check(input)
      }
    }
    throw Failure(.unavailable, what, "the daemon has left")
  }

  /// Calls a method that has no parameters.
  func call<Answer>(
    _ method: ControlMethod<NoParameters, Answer>, _ what: String
  ) async throws(Failure) -> Answer {
    try await call(method, NoParameters(), what)
  }

  /// Calls a method without waiting for its answer: on the way out.
  func send<Parameters, Answer>(
    _ method: ControlMethod<Parameters, Answer>, _ parameters: Parameters
  ) {
    lastID += 1
    send(RPC.request(method.name, parameters, id: .number(.int(lastID))))
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
      throw Failure(ExitStatus(signal: signal.rawValue), "ancsd", "interrupted")
    case .readerGone: throw .readerGone
    case .line, .typed, .timeUp: break
    }
  }

  /// The result, where the line is the answer that is awaited; nil for an answer to something else.
  private func result(in line: [UInt8], _ what: String) throws(Failure) -> JSONValue? {
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
      refusal = try RPCError(reading: error)
    } catch {
      throw Failure(.software, what, "the daemon's answer is not understood: \(error)")
    }
    throw Failure(refusal, during: what)
  }
}

extension Console {
  /// Prints a value as JSON on one line, or as `text` lays it out.
  func show(
    _ value: some JSONCodable, text: (TextStyle) -> String
  ) throws(Failure) {
    switch usualFormat {
    case .json: try print(value.json + [UInt8(ascii: "\n")])
    case .text: try print(line: text(style))
    }
  }
}

extension Failure {
  /// The daemon's refusal, with what can be done about it.
  init(_ error: RPCError, during what: String) {
    switch error.code {
    case RPCError.Code.phone:
      let code = error.att.map { " (ATT error 0x\([$0].hex))" } ?? ""
      let remedy: String? =
        switch error.att {
        case 0xA2: "it is gone by now: “ancsd list” shows what is there"
        case 0x03: "on the phone, turn on Settings › Bluetooth › Share System Notifications"
        default: nil
        }
      self.init(.refused, what, "the phone refused: \(error.message)\(code)", remedy: remedy)
    case RPCError.Code.unavailable: self.init(.unavailable, what, error.message)
    case RPCError.Code.tryAgain: self.init(.tryAgain, what, error.message)
    case RPCError.Code.methodNotFound:
      self.init(
        .software, what, "the daemon does not know this",
        remedy: "it may be of another version: restart it")
    case RPCError.Code.invalidParams: self.init(.usage, what, error.message)
    default: self.init(.software, what, error.message)
    }
  }
}
