// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Wire

/// Asks the question of a pairing at the daemon's own terminal. Lines are read only while a question is open, so
/// anything else typed there goes to the shell.
@LoopActor package final class PairingTerminal {
  private let platform: any Platform
  private let log: Log
  private let radio: Radio
  private var dialogue = PairingDialogue()
  private var reader: (any Listener)?

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
      reader = reader ?? platform.readTerminal { [weak self] in self?.typed($0) }
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
      } catch {
        log.always(error.message)
      }
    }
  }

  private func end() {
    dialogue.end()
    reader?.close()
    reader = nil
  }
}
