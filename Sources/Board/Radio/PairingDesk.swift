// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Wire

/// The board's side of pairing: when unknown phones may pair, and which question an answer belongs to.
struct PairingDesk {
  var window: PairingWindow
  /// How often pairing was opened by hand.
  private var openings = 0
  /// The phones with the latest questions to the board's user, and when they asked, until somebody answers.
  private var questions: [(phone: Address, at: Instant)] = []

  init(_ window: PairingWindow) { self.window = window }

  /// Opens pairing by hand; returns the number of this opening.
  mutating func open(until end: Instant) -> Int {
    openings += 1
    window.open(until: end, number: openings)
    return openings
  }

  /// A phone's question was published.
  mutating func asked(by phone: Address, at now: Instant) {
    questions.removeAll { $0.phone == phone }
    questions = Array((questions + [(phone, now)]).suffix(2))
  }

  /// Accepts an answer to a phone's current question.
  ///
  /// - Throws: why the answer is ambiguous or invalid.
  mutating func answer(
    _ response: PairingResponse, to asking: Address, _ question: PairingQuestion, at now: Instant
  ) throws(RPCError) {
    if let phone = response.phone, !phone.matches(asking, name: nil) {
      throw .unavailable("\(phone) asks nothing: \(asking) does")
    }
    let former = questions.last { $0.phone != asking && now - $0.at < Pairing.answerTime }
    if response.phone == nil, let former {
      throw .unavailable(
        "ambiguous answer: \(asking) asks now, and \(former.phone) did just before; say "
          + "which with “phone”")
    }
    if question.method == .entry, response.accept, response.passkey == nil {
      throw .invalidParams("“passkey” is missing: the six digits that \(asking) shows")
    }
    if question.method == .confirm, let shown = response.passkey, shown != question.passkey {
      throw .unavailable("\(shown) is not the number shown for \(asking)")
    }
    questions = []
  }
}

/// Asks the question of a pairing at the daemon's own terminal. Lines are read only while a question is open, so
/// anything else typed there goes to the shell.
@LoopActor package final class PairingTerminal {
  private let platform: any Platform
  private let log: Log
  private let radio: Radio
  private var dialogue = PairingDialogue()
  /// What ends reading; nil while nothing is read.
  private var stopReading: (() -> Void)?

  package init(_ platform: any Platform, _ log: Log, _ feed: EventFeed, _ radio: Radio) {
    self.platform = platform
    self.log = log
    self.radio = radio
    feed.subscribe { [weak self] in self?.published($0.event) }
  }

  private func published(_ event: Event) {
    switch event.content {
    case .pairing(let question):
      guard let text = dialogue.begin(question, phone: event.phone) else { return end() }
      log.always(text)
      stopReading = stopReading ?? platform.readTerminal { [weak self] in self?.typed($0) }
    case .paired: end()
    // Other phones may connect and disconnect meanwhile.
    case .pairingFailed where event.phone == dialogue.phone: end()
    case .disconnected where event.phone == dialogue.phone: end()
    default: break
    }
  }

  /// - Parameter line: nil if nothing more can be read.
  private func typed(_ line: String?) {
    guard let line else {
      log.always("this terminal takes no input: answer with ancsd pair")
      return end()
    }
    switch dialogue.typed(line) {
    case .nothing: end()
    case .ask(let text): log.always(text)
    case .respond(let response):
      end()
      do {
        try radio.respond(response)
      } catch { log.always(error.message) }
    }
  }

  private func end() {
    dialogue.end()
    stopReading?()
    stopReading = nil
  }
}
