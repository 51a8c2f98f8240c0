// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import EventLoop
import Mgmt
import Wire

extension Clients {
  /// `ancsd pair`: lets a phone pair.
  static let pair = ClientCommand(
    "pair", "lets a phone pair, and helps with it",
    options: [
      .pairingTime(help: "how long pairing stays open (default: 2m)", set: { $0.seconds = Int($1.inSeconds) })
    ], phone: nil, ends: false,
    notes: ["The status is 0 once a phone has paired, 1 if it refused, 75 if none connected."],
    examples: [
      "",
      "--timeout 10m",
      "--json",
    ]
  ) { options, client throws(Failure) in
    let reader = client.readTyped()
    defer { reader.close() }
    var pairing = PairingGuide(client)
    return try await pairing.run(seconds: options.seconds)
  }
}

extension CommandOption {
  /// `--timeout` of a command that lets a phone pair.
  package static func pairingTime(help: String, set: @escaping Setter<Duration>) -> CommandOption {
    .value(
      "--timeout", value: "TIME", kind: .time, expects: "\(Duration.forms), and at least 5 s", help: help,
      read: { Duration(typed: $0).flatMap { $0 >= .seconds(5) ? $0 : nil } }, set: set)
  }
}

/// The work of `pair`: a dialogue between the daemon, the phone's user and the user of the
/// terminal.
package struct PairingGuide {
  private let client: ControlClient
  private var dialogue = PairingDialogue()
  /// Whether standard input has ended, so that nobody can answer.
  private var hasInputEnded = false
  /// What it has opened; nil once a phone has paired, which closes it.
  private var opening: Int?

  /// How long the phone has after pairing to show its services.
  private static let patience = Duration.seconds(15)

  package init(_ client: ControlClient) { self.client = client }

  /// Opens the window, waits for a phone, and helps until it is paired.
  package mutating func run(seconds: Int) async throws(Failure) -> ExitStatus {
    let events: Set<EventName> = [
      .connected, .pairing, .paired, .pairingFailed, .subscribed, .authorization, .disconnected,
    ]
    try await client.call(ControlMethods.subscribe, Subscription(events: events), "pair")
    let window = try await client.call(ControlMethods.openPairing, PairingParameters(seconds: seconds), "pair")
    opening = window.opening
    defer { if let opening { client.send(ControlMethods.closePairing, .init(opening: opening)) } }
    try client.console.guide(
      "On the phone, open Settings › Bluetooth and tap “\(window.name)”. "
        + "(Pairing is open for \(window.seconds ?? seconds) s; Ctrl-C closes it.)")
    do throws(Failure) {
      // A phone that connected before this command started may be waiting for an answer.
      if let question = window.question {
        if question.method == .display, let passkey = question.passkey {
          try client.console.guide("Type \(passkey) on the phone (\(question.seconds ?? 0) s left).")
        }
        try await ask(question, window.phone)
      }
      return try await pair(within: .seconds(window.seconds ?? seconds))
    } catch {
      guard error.status == .tryAgain else { throw error }
      throw Failure(
        .tryAgain, "pair", "no phone has paired in time",
        remedy: "if Settings › Bluetooth does not list “\(window.name)”, look for it under "
          + "Settings › Accessibility › Switch Control › Switches, or connect to it once with an app such "
          + "as nRF Connect or LightBlue, and accept the pairing there")
    }
  }

  /// Waits until a phone has paired and is served, has refused, or the time runs out.
  private mutating func pair(within time: Duration) async throws(Failure) -> ExitStatus {
    let timer = client.startTimer(time)
    while true {
      switch try await client.next() {
      case .line(let line):
        guard let event = try show(line) else { break }
        switch event.content {
        case .pairing(let question): try await ask(question, event.phone)
        case .paired:
          opening = nil
          return try await waitUntilServed()
        // Others may fail while one pairs.
        case .pairingFailed(let reason)
        where reason != "\(PairingFailure.busy)" && [nil, event.phone].contains(dialogue.phone):
          throw Failure(.refused, "pair", reason)
        default: break
        }
      case .typed(let text): try await respond(text)
      case .timeUp(timer): throw Failure(.tryAgain, "pair", "no phone connected")
      case .timeUp, .closed, .signal, .readerGone: break
      }
    }
  }

  /// Prints the event that a line holds, and returns its content.
  private func show(_ line: [UInt8]) throws(Failure) -> Event? {
    guard let event = NumberedEvent(line: line) else { return nil }
    try client.console.show(event, on: line)
    return event.event
  }

  private mutating func ask(_ question: PairingQuestion, _ phone: Address?) async throws(Failure) {
    guard let text = dialogue.begin(question, phone: phone) else { return }
    try client.console.guide(text)
    if hasInputEnded { try await respond(nil) }
  }

  /// Sends the typed answer, or asks again if it is invalid. If nobody can answer, the answer is
  /// no.
  private mutating func respond(_ text: String?) async throws(Failure) {
    if text == nil { hasInputEnded = true }
    switch dialogue.typed(text) {
    case .nothing: break
    case .ask(let text): try client.console.guide(text)
    case .respond(let response):
      try await client.call(ControlMethods.respondToPairing, response, "pair")
    }
  }

  /// After pairing, waits for a while until the phone's services are used.
  private func waitUntilServed() async throws(Failure) -> ExitStatus {
    let timer = client.startTimer(Self.patience)
    while let line = try await client.nextLine(until: timer) {
      guard case .authorization(let authorization) = try show(line)?.content else { continue }
      switch authorization {
      case .granted, .unknown(until: .notification): break
      case .refused, .unknown(until: .response):
        try client.console.guide("Paired. Notifications arrive once you allow the phone to share them.")
      }
      break
    }
    return .done
  }
}
