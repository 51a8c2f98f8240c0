// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import Mgmt
import System
import Wire

/// What `pair` is told.
struct PairOptions: Sendable {
  var client = ClientOptions()
  /// How long anybody may pair.
  var seconds = 120
}

extension Clients {
  /// `ancsd pair`: brings a phone in.
  static let pair = ClientCommand(
    "pair", "lets a phone pair, and helps with it",
    grammar: Grammar(
      [
        .value(
          "--timeout", value: "SECONDS", expects: "a number of seconds, at least 5",
          help: "how long anybody may pair (default: 120)",
          read: { Int32($0).flatMap { $0 >= 5 ? Int($0) : nil } }, set: { $0.seconds = $1 })
      ] + Grammar.clientOptions(\PairOptions.client, phone: false)),
    defaults: PairOptions(), client: \.client,
    notes: ["The status is 0 once a phone has paired, 1 where it refused, 75 where none came."]
  ) { options, client throws(Failure) in
    // What is typed comes in like everything else.
    let inbox = client.inbox
    let reader = LineReader(lineLimit: 256)
    reader.onLine = { inbox.post(.typed(String(decoding: $0, as: UTF8.self))) }
    reader.onEnd = { _ in inbox.post(.typed(nil)) }
    defer { reader.close() }
    var pairing = Pairing(client)
    return try await pairing.run(seconds: options.seconds)
  }
}

/// The work of `pair`: a conversation between the daemon, the phone's user and whoever sits here.
struct Pairing {
  private let client: ControlClient
  private var question: Question?
  /// Standard input has ended: nobody answers any more.
  private var isDeaf = false

  private enum Question {
    case confirm
    case entry
  }

  /// How long the phone has after pairing to show its services.
  private static let patience = Duration.seconds(15)

  init(_ client: ControlClient) { self.client = client }

  /// Opens the window, waits for a phone, and helps until it is paired.
  mutating func run(seconds: Int) async throws(Failure) -> ExitStatus {
    let events: Set<EventName> = [
      .connected, .pairing, .paired, .pairingFailed, .subscribed, .authorization, .disconnected,
    ]
    try await client.call(ControlMethods.subscribe, Subscription(events: events), "pair")
    let window = try await client.call(
      ControlMethods.openPairing, PairingParameters(seconds: seconds), "pair")
    try say(
      "On the phone, open Settings › Bluetooth and tap “\(window.name)”. "
        + "(Ctrl-C ends it; the window is open for \(window.seconds ?? seconds) s.)")
    do throws(Failure) {
      let status = try await converse(client.startTimer(.seconds(window.seconds ?? seconds)))
      client.send(ControlMethods.closePairing, NoParameters())
      return status
    } catch {
      client.send(ControlMethods.closePairing, NoParameters())
      throw error.status == .tryAgain ? Self.nobodyCame(window.name) : error
    }
  }

  /// Until a phone has paired, or refused, or the time is up.
  private mutating func converse(_ timer: Int) async throws(Failure) -> ExitStatus {
    while true {
      switch try await client.next() {
      case .line(let line):
        guard let event = try show(line) else { continue }
        switch event.content {
        case .pairing(let method, _): try await ask(method)
        case .paired: return try await seeItServed()
        case .pairingFailed(let reason): throw Failure(.refused, "pair", reason)
        default: break
        }
      case .typed(let text): try await answer(text)
      case .timeUp(timer): throw Failure(.tryAgain, "pair", "no phone came")
      case .timeUp, .closed, .signal, .readerGone: break
      }
    }
  }

  /// Prints the event that a line holds.
  private func show(_ line: [UInt8]) throws(Failure) -> Event? {
    guard let event = NumberedEvent(line: line) else { return nil }
    switch client.console.usualFormat {
    case .json: try client.console.print((RPC.event(in: line) ?? []) + [UInt8(ascii: "\n")])
    case .text: try client.console.print(line: event.text(client.console.style))
    }
    return event.event
  }

  private mutating func ask(_ method: PairingMethod) async throws(Failure) {
    switch method {
    case .confirm:
      question = .confirm
      try say("Is it the same number? [y/n]")
    case .entry:
      question = .entry
      try say("Type the six digits that the phone shows:")
    case .justWorks, .display:
      question = nil
    }
    if question != nil, isDeaf { try await answer(nil) }
  }

  private mutating func answer(_ text: String?) async throws(Failure) {
    if text == nil { isDeaf = true }
    guard let question else { return }
    let typed = (text ?? "").lowercased().filter { $0 != " " && $0 != "\r" }
    let response: PairingResponse
    switch question {
    case .confirm where ["y", "yes"].contains(typed): response = PairingResponse(accept: true)
    case .confirm where text == nil || ["n", "no"].contains(typed):
      response = PairingResponse(accept: false)
    case .entry where text == nil: response = PairingResponse(accept: false)
    case .entry where Passkey(typed) != nil:
      response = PairingResponse(accept: true, passkey: Passkey(typed))
    case .confirm: return try say("y or n?")
    case .entry: return try say("Six digits, please:")
    }
    self.question = nil
    try await client.call(ControlMethods.respondToPairing, response, "pair")
  }

  /// After pairing: the phone's services, for a while.
  private func seeItServed() async throws(Failure) -> ExitStatus {
    let timer = client.startTimer(Self.patience)
    while true {
      switch try await client.next() {
      case .line(let line):
        switch try show(line)?.content {
        case .authorization(true): return .done
        case .authorization(false):
          try say("It is paired; notifications come once the phone is told to share them.")
          return .done
        default: break
        }
      case .timeUp(timer): return .done
      case .timeUp, .typed, .closed, .signal, .readerGone: break
      }
    }
  }

  /// Guidance: for people only.
  private func say(_ text: String) throws(Failure) {
    guard client.console.usualFormat == .text else { return }
    try client.console.print(line: text.printable)
  }

  private static func nobodyCame(_ name: String) -> Failure {
    Failure(
      .tryAgain, "pair", "no phone has paired in that time",
      remedy: "where Settings › Bluetooth does not list “\(name)”, connect to it once with an app "
        + "such as nRF Connect or LightBlue and accept the pairing there")
  }
}
