// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import Fleet
import JSON
import MQTT
import System
import Wire

/// A client of the broker that sees all boards: it connects, collects the retained messages, and then prints them,
/// keeps printing changes, or sends a request to each board. It is for one connection.
@LoopActor final class FleetClient {
  private let options: FleetOptions
  private let plan: FleetPlan
  private let console: Console
  private var view: FleetView
  /// What comes from the broker; nil: the time is up.
  private let inbox = Mailbox<BrokerConnection.Input?>()
  /// When the broker accepted the connection; nil: not yet.
  private var connected: Instant?
  /// Why nothing is read anymore: a signal came, or the reader of the output has gone.
  private var interruption = ExitStatus.software
  private lazy var timer = Deadline(Loop.shared) { [inbox] in inbox.post(nil) }

  /// The time without a retained message after which all have arrived; and the timeout for CONNACK and for all of them.
  private static let quietTime = Duration.milliseconds(500)
  private static let connectTime = Duration.seconds(20)
  /// Changes within this time are printed together.
  private static let changeTime = Duration.milliseconds(100)

  init(_ options: FleetOptions, _ plan: FleetPlan, _ console: Console) {
    (self.options, self.plan, self.console) = (options, plan, console)
    view = FleetView(prefix: plan.prefix)
  }

  /// The same with one client after the other: whoever watches waits for a broker that was there.
  static func run(_ options: FleetOptions, _ plan: FleetPlan, _ console: Console) async throws(Failure) -> ExitStatus {
    let pauses = RetryPauses(longest: BrokerMachine.longestPause) { Double.random(in: 0...1) }
    var failures = 0
    var reported: Failure?
    while true {
      let client = FleetClient(options, plan, console)
      do throws(Failure) {
        return try await client.run()
      } catch {
        guard options.watches, failures > 0 || client.connected != nil,
          error.status == .unavailable
        else { throw error }
        if client.connected != nil || reported != error { console.report(error) }
        reported = error
        failures = client.hasLasted ? 1 : failures + 1
        try await client.wait(pauses.pause(after: failures))
      }
    }
  }

  private var hasLasted: Bool {
    connected.map { Loop.shared.now - $0 >= BrokerMachine.goodTime } ?? false
  }

  /// Waits before the next client.
  private func wait(_ pause: Duration) async throws(Failure) {
    let end = Loop.shared.now + pause
    while case .some = try await next(until: end) {}
  }

  /// What comes next from the broker; nil if nothing has come until then. A signal is thrown.
  private func next(until end: Instant?) async throws(Failure) -> BrokerConnection.Input? {
    timer.due = end
    while let input = await inbox.next() {
      if let input { return input }
      // It may be that of an earlier wait.
      if let end, Loop.shared.now >= end { return nil }
    }
    throw Failure(interruption, "ancsd", "interrupted")
  }

  private func interrupt(_ status: ExitStatus) {
    interruption = status
    inbox.close()
  }

  private func run() async throws(Failure) -> ExitStatus {
    let connection = BrokerConnection(plan.identity) { [inbox] in inbox.post($0) }
    defer { connection.close() }
    // If signals can't be caught, they end the process, which is harmless here.
    try? Loop.shared.onSignal([.interrupt, .terminate]) { [weak self] in
      self?.interrupt(ExitStatus(signal: $0.rawValue))
    }
    let output = Console.watchReader { [weak self] in self?.interrupt(.done) }
    defer { withExtendedLifetime(output) {} }
    try await connect(connection)
    connection.subscribe(view.filters + responses)
    try await collect()
    if let request = options.request { return try await ask(request, connection) }
    guard options.watches || !shown.all.isEmpty else { throw nobody }
    try show()
    if options.watches { try await watch() }
    return .done
  }

  /// The topics on which boards respond.
  private var responses: [String] {
    ["\(plan.prefix)/+/response/+", "\(plan.prefix)/+/phone/+/response/+"]
  }

  private func failure(_ why: String) -> Failure {
    Failure(.unavailable, "reaching the broker", why)
  }

  private var noResponse: Failure { failure("\(plan.identity.address) does not respond") }

  // MARK: Steps

  private func connect(_ connection: BrokerConnection) async throws(Failure) {
    let end = Loop.shared.now + Self.connectTime
    connection.open()
    while connected == nil {
      guard let input = try await next(until: end) else { throw noResponse }
      _ = try take(input)
      if case .accepted = input { connected = Loop.shared.now }
    }
  }

  private func collect() async throws(Failure) {
    let end = Loop.shared.now + Self.connectTime
    // When all retained messages have arrived, unless another one comes.
    var quiet: Instant?
    while let input = try await next(until: min(quiet ?? end, end)) {
      // What boards publish meanwhile does not count.
      var isRetained = false
      if case .message(let message) = input { isRetained = message.isRetained }
      // It begins once the broker has answered: what is retained comes behind that.
      if case .subscribed = input, quiet == nil { quiet = Loop.shared.now + Self.quietTime }
      if try take(input), isRetained, quiet != nil { quiet = Loop.shared.now + Self.quietTime }
    }
    if quiet == nil { throw noResponse }
  }

  /// The boards that are meant.
  private var shown: FleetView { options.board.map { view.only($0) } ?? view }

  /// Prints the boards whenever something has changed.
  private func watch() async throws(Failure) -> Never {
    var due: Instant?
    while true {
      if let input = try await next(until: due) {
        if try take(input), due == nil { due = Loop.shared.now + Self.changeTime }
      } else {
        due = nil
        try show()
      }
    }
  }

  /// Processes an input from the broker.
  ///
  /// - Returns: whether something has changed.
  private func take(_ input: BrokerConnection.Input) throws(Failure) -> Bool {
    switch input {
    case .message(let message): return view.receive(message.topic, message.payload)
    case .lost(let why), .refused(let why): throw failure(why)
    case .subscriptionRefused(_, let reason):
      throw Failure(
        .noPermission, "reading the boards' topics",
        reason.sentence(.subscribing("\(plan.prefix)/#"), as: plan.identity.name))
    case .takenOver: throw failure("another client has this client's id")
    case .closed: throw failure("the broker closed the connection")
    case .accepted, .acknowledged, .willRefused, .subscribed: return false
    }
  }

  private var nobody: Failure {
    Failure(
      .unavailable, "fleet",
      options.board.map { "there is no board “\($0)” below \(plan.prefix)/" }
        ?? "there is no board below \(plan.prefix)/ at \(plan.identity.address)")
  }

  /// None of the boards that are meant is online.
  private func away(_ boards: [FleetBoard]) -> Failure {
    let names = boards.map { "“\($0.board)”" }.joined(separator: ", ")
    let why = boards.count == 1 ? boards[0].why.map { ": \($0)" } ?? "" : ""
    return Failure(
      .unavailable, "fleet", "\(names) \(boards.count == 1 ? "is" : "are") offline\(why)")
  }

  private func show() throws(Failure) {
    let shown = shown
    if console.format == .json {
      for board in shown.all { try console.print(board.json + [UInt8(ascii: "\n")]) }
      return
    }
    // On a terminal each view replaces the one before.
    let clear = options.watches && console.style.width != nil ? "\u{1B}[H\u{1B}[2J" : ""
    try console.print(line: clear + shown.table(console.style))
  }

  // MARK: Requests

  private func ask(_ request: FleetRequest, _ connection: BrokerConnection) async throws(Failure) -> ExitStatus {
    let known = shown.all
    guard !known.isEmpty else { throw nobody }
    let boards = known.filter(\.isOnline).compactMap { TopicName($0.board) }
    guard !boards.isEmpty else { throw away(known) }
    // What the boards have not responded to; of long lists, with the parts that have come.
    var open: [String: (board: TopicName, transaction: String, parts: FleetResponse?)] = [:]
    func send(to board: TopicName, after parts: FleetResponse?) {
      let topics = request.topics(prefix: plan.prefix, board: board, phone: options.phone)
      let transaction = String(UInt64.random(in: 0...(.max)), radix: 16)
      open[topics.response] = (board, transaction, parts)
      let payload = request.payload(transaction: transaction, at: .now, after: parts?.next)
      _ = connection.publish(Publication(topics.request, payload, .request))
    }
    for board in boards { send(to: board, after: nil) }
    let end = Loop.shared.now + options.patience
    var status = ExitStatus.done
    while !open.isEmpty {
      guard let input = try await next(until: end) else {
        let names = open.values.map(\.board.description).sorted().joined(separator: ", ")
        throw Failure(.tryAgain, "fleet \(request.method)", "no response from \(names)")
      }
      _ = try take(input)
      guard case .message(let message) = input, let (board, transaction, parts) = open[message.topic],
        let part = FleetResponse(message.payload, transaction: transaction, board: board)
      else { continue }
      open[message.topic] = nil
      let response = part.following(parts)
      if response.next != nil {
        send(to: board, after: response)
        continue
      }
      try console.show(response) { response.text($0, now: .now) }
      if !response.isDone { status = .refused }
    }
    return status
  }
}
