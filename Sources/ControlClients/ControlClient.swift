// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import JSON
import System
import Wire

/// The client's end of the control socket. It sends one request at a time, and keeps the events that arrive before the
/// response. It sends lines through a `Connection`; everything that it waits for arrives in the mailbox. The class
/// itself uses no socket.
package final class ControlClient {
  /// Something that a client waits for.
  package enum Input: Sendable {
    /// A line from the daemon, without its end.
    case line([UInt8])
    /// The connection ended, for this reason.
    case closed(String)
    /// A line that was typed on standard input; nil at its end.
    case typed(String?)
    case signal(Signal)
    /// The reader of standard output has gone.
    case readerGone
    /// The timer of this number has expired.
    case timeUp(Int)
  }

  /// A connection to the daemon: sends a line, adding its end, and closes.
  package typealias Connection = (send: ([UInt8]) -> Void, close: () -> Void)

  package let console: Console
  package let inbox = Mailbox<Input>()
  /// How long to wait for a response.
  package var patience = ControlClient.patience
  /// Prints what the client waits for.
  package lazy var remark: (String) -> Void = { [console] in console.remark($0) }
  /// Reports a failure after which the client continues.
  package lazy var report: (Failure) -> Void = { [console] in console.report($0) }

  /// The connection; nil before the first, and after the last has ended.
  private var connection: Connection?
  private let open: (Mailbox<Input>) throws(Failure) -> Connection
  private let schedule: (Duration, @escaping () -> Void) -> Void
  private var lastID: Int64 = 0
  private var lastTimer = 0
  /// What arrived while the client waited for a response.
  private var kept: [Input] = []

  /// The default time to wait for a response: as long as the phone has for one (Core Specification Vol 3 Part F,
  /// 3.3.3).
  package static let patience = Duration.seconds(30)
  /// When it prints that it is waiting for the phone.
  static let remarkTime = Duration.seconds(3)

  /// - Parameters:
  ///   - open: connects to the daemon; what arrives goes into the mailbox.
  ///   - schedule: calls back after a time.
  package init(
    _ console: Console, open: @escaping (Mailbox<Input>) throws(Failure) -> Connection,
    schedule: @escaping (Duration, @escaping () -> Void) -> Void
  ) {
    self.console = console
    self.open = open
    self.schedule = schedule
  }

  /// A client of the daemon at the first of these paths that accepts. It is not connected yet.
  @LoopActor package convenience init(_ console: Console, toFirstOf paths: [String]) {
    self.init(
      console,
      open: { inbox throws(Failure) in
        let socket = try LineSocket.connect(toFirstOf: paths)
        socket.onLine = { inbox.post(.line($0)) }
        socket.onOverlong = { inbox.post(.closed("it sent an overlong line")) }
        socket.onClose = { inbox.post(.closed($0.text)) }
        return (send: { socket.send($0) }, close: { socket.close() })
      }, schedule: { duration, action in _ = Loop.shared.schedule(after: duration, action) })
  }

  /// From now on, until the reader is closed, typed lines arrive in the same mailbox as everything else.
  package func readTyped() -> LineReader {
    let reader = LineReader(lineLimit: 256)
    reader.onLine = { [inbox] in inbox.post(.typed(String(decoding: $0, as: UTF8.self))) }
    reader.onEnd = { [inbox] _ in inbox.post(.typed(nil)) }
    return reader
  }

  // MARK: The connection

  /// Whether there is a connection to the daemon.
  package var isConnected: Bool { connection != nil }

  /// Whether there was no daemon at first, so that all its events are new.
  private(set) var hasWaited = false

  /// The pauses between attempts to connect.
  private static let pauses = [100, 200, 500, 1_000].map { Duration.milliseconds($0) }

  /// Connects to the daemon.
  package func connect() throws(Failure) {
    // The events of an earlier connection are no news on this one.
    kept.removeAll { if case .line = $0 { true } else { false } }
    connection = try open(inbox)
  }

  /// Connects to the daemon as soon as one is running.
  ///
  /// - Parameter timer: ends the wait.
  /// - Returns: whether it is connected.
  @discardableResult package func connect(until timer: Int?) async throws(Failure) -> Bool {
    var attempts = 0
    while true {
      do throws(Failure) {
        try connect()
        return true
      } catch {
        guard error.status != .noPermission else { throw error }
        if attempts == 0 { remark("no daemon is running: waiting for it…") }
        hasWaited = true
        try await sleep(Self.pauses[min(attempts, Self.pauses.count - 1)])
        attempts += 1
        let isOver = kept.contains {
          if case .timeUp(let number) = $0 { number == timer } else { false }
        }
        if isOver { return false }
      }
    }
  }

  /// Ends the connection.
  package func close() {
    connection?.close()
    connection = nil
  }

  /// Waits, and discards what the daemon sends meanwhile. Signals are thrown.
  package func sleep(_ duration: Duration) async throws(Failure) {
    let timer = startTimer(duration)
    while let input = await inbox.next() {
      if case .timeUp(timer) = input { return }
      switch input {
      case .signal, .readerGone: try check(input)
      case .typed, .timeUp: kept.append(input)
      case .line, .closed: break
      }
    }
  }

  // MARK: Requests

  /// The lines of events that arrived before the last response.
  package var keptEvents: [[UInt8]] {
    kept.compactMap { input in if case .line(let line) = input { line } else { nil } }
  }

  /// Starts a timer, which posts `timeUp` with the returned number.
  package func startTimer(_ duration: Duration) -> Int {
    lastTimer += 1
    let number = lastTimer
    schedule(duration) { [inbox] in inbox.post(.timeUp(number)) }
    return number
  }

  /// Calls a method and waits for its response. `what` names the attempt in errors.
  @discardableResult package func call<Parameters, Response>(
    _ method: ControlMethod<Parameters, Response>, _ parameters: Parameters, _ what: String,
    within patience: Duration? = nil
  ) async throws(Failure) -> Response {
    try await response(to: method, parameters, what, within: patience) { line throws(Failure) in
      try self.response(in: line, what)
    }
  }

  /// Calls a list method until all pages have arrived.
  package func list<Parameters: PagedParameters, Element>(
    _ method: ControlMethod<Parameters, Page<Element>>, _ parameters: Parameters, _ what: String
  ) async throws(Failure) -> [Element] {
    var parameters = parameters
    var all: [Element] = []
    while true {
      let page = try await call(method, parameters, what)
      all += page.elements
      guard let next = page.next, !page.elements.isEmpty else { return all }
      parameters.after = next
    }
  }

  /// The same, with each element's JSON exactly as the daemon wrote it. They are taken as they arrive: a whole history may not
  /// fit in memory.
  func listAsWritten<Parameters: PagedParameters, Element>(
    _ method: ControlMethod<Parameters, Page<Element>>, _ parameters: Parameters, _ what: String,
    take: (ArraySlice<UInt8>) throws(Failure) -> Void
  ) async throws(Failure) {
    var parameters = parameters
    while true {
      let page = try await response(to: method, parameters, what) { line throws(Failure) in
        if let page = RPC.elements(of: line, listed: Element.listName, id: lastID) { return page }
        let page: Page<Element>? = try response(in: line, what)
        return page.map { ($0.elements.map { $0.json[...] }, $0.next) }
      }
      for element in page.elements { try take(element) }
      guard let next = page.next, !page.elements.isEmpty else { return }
      parameters.after = next
    }
  }

  /// Sends a request and waits for the line that `read` accepts as its response.
  private func response<Parameters, Response, Result>(
    to method: ControlMethod<Parameters, Response>, _ parameters: Parameters, _ what: String,
    within limit: Duration? = nil, _ read: ([UInt8]) throws(Failure) -> Result?
  ) async throws(Failure) -> Result {
    send(method, parameters)
    let limit = limit ?? patience
    let end = startTimer(limit)
    let late = method.asksPhone ? startTimer(Self.remarkTime) : nil
    while let input = await inbox.next() {
      switch input {
      case .line(let line) where RPC.event(in: line) != nil: kept.append(input)
      case .line(let line):
        if let response = try read(line) { return response }
      case .timeUp(end):
        let who = method.asksPhone ? "the phone" : "the daemon"
        throw Failure(
          .tryAgain, what, "\(who) did not respond within \(limit.inSeconds.shortText) s")
      case .timeUp(let timer) where timer == late: remark("waiting for the phone…")
      case .timeUp, .typed: kept.append(input)
      case .closed, .signal, .readerGone: try check(input)
      }
    }
    throw Failure(.unavailable, what, "the daemon has exited")
  }

  /// Calls a method that has no parameters.
  package func call<Response>(
    _ method: ControlMethod<NoParameters, Response>, _ what: String,
    within patience: Duration? = nil
  ) async throws(Failure) -> Response {
    try await call(method, NoParameters(), what, within: patience)
  }

  /// Sends a request without waiting for the response, when the client is about to exit.
  package func send<Parameters, Response>(_ method: ControlMethod<Parameters, Response>, _ parameters: Parameters) {
    lastID += 1
    connection?.send(RPC.request(method.name, parameters, id: RequestID(lastID)))
  }

  /// The next input. The end of the connection and signals are thrown.
  package func next() async throws(Failure) -> Input {
    guard let input = kept.isEmpty ? await inbox.next() : kept.removeFirst() else {
      throw Failure(.unavailable, "waiting for events", "the daemon has exited")
    }
    try check(input)
    return input
  }

  /// The next line from the daemon; nil once the timer has expired. Whatever else arrives is left out.
  package func nextLine(until timer: Int?) async throws(Failure) -> [UInt8]? {
    while true {
      switch try await next() {
      case .line(let line): return line
      case .timeUp(let number) where number == timer: return nil
      case .timeUp, .typed, .closed, .signal, .readerGone: continue
      }
    }
  }

  private func check(_ input: Input) throws(Failure) {
    switch input {
    case .closed(let why):
      close()
      throw Failure(.unavailable, "the connection to the daemon", why)
    case .signal(let signal):
      throw Failure(ExitStatus(signal: signal.rawValue), "ancsd", "interrupted")
    case .readerGone: throw .readerGone
    case .line, .typed, .timeUp: break
    }
  }

  /// The expected response, if the line is one; nil for a response to another request. A line without an id says why
  /// the daemon refuses this client.
  private func response<Response: JSONCodable>(in line: [UInt8], _ what: String) throws(Failure) -> Response? {
    let response = try attempt(try JSONValue(parsing: line)) { (error: JSONError) in
      Failure(.software, what, "invalid response from the daemon: \(error)")
    }
    guard response["id"]?.int == lastID || response["id"] == .null else { return nil }
    guard let error = response["error"] else { return try read(response["result"] ?? .null, what) }
    throw Failure(try read(error, what), during: what)
  }

  private func read<Value: JSONCodable>(_ json: JSONValue, _ what: String) throws(Failure) -> Value {
    try attempt(try Value(reading: json)) { (error: JSONError) in
      Failure(.software, what, "unexpected response from the daemon: \(error)")
    }
  }
}

extension LineSocket.End {
  fileprivate var text: String {
    switch self {
    case .ended, .failed(.brokenPipe), .failed(.connectionReset): "the daemon has exited"
    case .failed(let errno): errno.text
    case .queueFull: "the daemon does not read"
    }
  }
}

extension Double {
  /// The number, without a decimal point if it is whole.
  fileprivate var shortText: String { Int64(exactly: self).map { "\($0)" } ?? "\(self)" }
}

extension Console {
  /// Prints an event that arrived on `line`.
  package func show(_ event: NumberedEvent, on line: [UInt8]) throws(Failure) {
    try show(json: Array(RPC.event(in: line) ?? [])) { event.text(style) }
  }
}

extension Failure {
  /// The daemon's refusal, with a remedy.
  init(_ error: RPCError, during what: String) {
    typealias Code = RPCError.Code
    let statuses: [Int: ExitStatus] = [
      Code.phone: .refused, Code.unavailable: .unavailable, Code.tryAgain: .tryAgain,
      Code.forbidden: .noPermission, Code.invalidParams: .usage,
    ]
    let remedy: String? =
      switch (error.code, error.att) {
      case (Code.phone, 0xA2): "it no longer exists: “ancsd list” shows what does"
      case (Code.phone, 0x03):
        "on the phone, turn on Settings › Bluetooth › Share System Notifications"
      // Without a code it is the daemon that knows of no such notification.
      case (Code.phone, nil): "“ancsd list” shows those that are active"
      case (Code.forbidden, _):
        "join the group: \(ServiceHost.here.admitting()), then log in again"
      case (Code.methodNotFound, _): "it may be a different version: restart it"
      default: nil
      }
    let why = error.att.map { "the phone refused: \(error.message) (ATT error 0x\([$0].hex))" }
    self.init(
      statuses[error.code] ?? .software, what,
      error.code == Code.methodNotFound ? "the daemon does not support this" : why ?? error.message, remedy: remedy)
  }
}
