// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import ControlClients
import System

extension DoctorFacts {
  /// Replaces everything that users or phones have written, so that no sentence about these facts contains it.
  mutating func redact(with redactor: inout Redactor) {
    stateDirectory = redactor.path(stateDirectory)
    switch state {
    case .fine(let bonds, let unusable):
      state = .fine(bonds: bonds, unusable: unusable.map { redactor.value(.path, $0) })
    case .missing: break
    case .unusable(let error): state = .unusable(redactor.error(error))
    case .refused(.failed(let error)): state = .refused(.failed(redactor.error(error)))
    case .refused: break
    }
    switch daemon {
    case .none: break
    case .closed(let path): daemon = .closed(path: redactor.path(path))
    case .mute(let path): daemon = .mute(path: redactor.path(path))
    case .status(var status):
      status.redact(with: &redactor)
      daemon = .status(status)
    }
  }
}

extension Redactor {
  /// A path, unless it is the usual one.
  fileprivate mutating func path(_ path: String) -> String {
    [DefaultPaths.systemState, "/run/ancsd/control.sock"].contains(path) ? path : value(.path, path)
  }

  fileprivate mutating func error(_ error: SystemError) -> SystemError {
    SystemError(error.call, error.errno, on: error.subject.map { path($0) })
  }
}

extension StatusReport {
  fileprivate mutating func redact(with redactor: inout Redactor) {
    for place in adapters.indices {
      adapters[place].name = adapters[place].name.map { redactor.value(.board, $0) }
      adapters[place].waiting.redact(redactor)
    }
    for place in links.indices {
      links[place].name = links[place].name.map { redactor.value(.phone, $0) }
      links[place].waiting.redact(redactor)
    }
    for place in phones.indices {
      phones[place].name = phones[place].name.map { redactor.value(.phone, $0) }
    }
    for place in bridges.indices { bridges[place].redact(with: &redactor) }
    for place in forwards.indices { forwards[place].redact(with: &redactor) }
    if let history { self.history?.file = redactor.path(history.file) }
    waiting.redact(redactor)
  }
}

extension WaitReport {
  /// Leaves its name alone, since the sentence may have the board's name in it.
  fileprivate mutating func redact(_ redactor: Redactor) { if !redactor.keepsText { why = wait } }
}

extension ForwardReport {
  fileprivate mutating func redact(with redactor: inout Redactor) {
    name = redactor.value(.text, name)
    to = to.hasPrefix("/") ? redactor.path(to) : redactor.value(.host, to)
    why = why.map { redactor.value(.text, $0) }
  }
}

extension BridgeReport {
  fileprivate mutating func redact(with redactor: inout Redactor) {
    let scheme = ["mqtt://", "mqtts://"].first { broker.hasPrefix($0) } ?? ""
    broker = scheme + redactor.value(.host, String(broker.dropFirst(scheme.count)))
    client = redactor.value(.client, client)
    user = user.map { redactor.value(.user, $0) }
    topics = redactor.value(.topic, topics)
    why = why.map { redactor.value(.text, $0) }
    refused = refused.map { redactor.value(.topic, $0) }
  }
}
