// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import ControlClients
import JSON
import Patterns
import System
import Wire

/// Replaces everything that identifies people and devices, consistently:
///
///     C4:11:22:33:44:55  address-1       a phone's name     phone-1
///     /home/anna/state   path-1          the board's name   board-1
///     32 digits          hex-1           a message          text-1 (12 bytes)
///
/// Texts that users or phones have written are known by their kind, from the member that holds them, and never reach a
/// sentence; in sentences, which the program has written, only addresses and keys are searched for.
struct Redactor {
  /// The kind of a text, which names its replacement.
  enum Kind: String {
    case address, phone, board, host, user, client, topic, path, app, hex, text
  }

  /// Whether names, texts and paths are kept. Addresses and keys never are.
  let keepsText: Bool

  private var numbers: [Kind: [String: Int]] = [:]

  init(keepsText: Bool = false) { self.keepsText = keepsText }

  /// How many different things of a kind were replaced.
  func count(of kind: Kind) -> Int { numbers[kind]?.count ?? 0 }

  mutating func address(_ address: Address) -> String { token(.address, address.description) }

  /// A text of a known kind.
  mutating func value(_ kind: Kind, _ text: String) -> String {
    if keepsText { return sentence(text) }
    let token = token(kind, text)
    return kind == .text ? "\(token) (\(text.utf8.count) bytes)" : token
  }

  private mutating func token(_ kind: Kind, _ text: String) -> String {
    let number = numbers[kind]?[text] ?? count(of: kind) + 1
    numbers[kind, default: [:]][text] = number
    return "\(kind.rawValue)-\(number)"
  }

  // MARK: Sentences

  /// An address (six bytes), or something long enough to be a key: one run of digits, or pairs of digits with separators.
  /// A UUID, which identifies a service, is not a secret.
  private static let secret = try? TextPattern(
    #"(?<!\w)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])(*SKIP)(*F)"#
      + #"|(?<!\w)[0-9a-f]{12,}(?!\w)"#
      + #"|(?<!\w)[0-9a-f]{2}([-:_ ])[0-9a-f]{2}(?:\1[0-9a-f]{2}(?![0-9a-f])){4,}"#)

  /// A sentence of the program with its addresses and keys replaced.
  mutating func sentence(_ sentence: String) -> String {
    let bytes = Array(sentence.utf8)
    var (result, place) = ("", 0)
    // One that takes too long to search is replaced as a whole.
    guard let secret = Self.secret else { return token(.text, sentence) }
    do throws(TextPattern.LimitReached) {
      while let match = try secret.firstMatch(in: bytes, from: place) {
        let found = String(decoding: bytes[match], as: UTF8.self)
        let address = Address(folder: found.filter(\.isHexDigit))
        result += String(decoding: bytes[place..<match.lowerBound], as: UTF8.self)
        result += address.map { self.address($0) } ?? token(.hex, found)
        place = match.upperBound
      }
    } catch { return token(.text, sentence) }
    return result + String(decoding: bytes[place...], as: UTF8.self)
  }

  /// An event of the daemon as one line of JSON. Only members whose values are words of the interface are kept; every
  /// other text is replaced, even in events that this program does not know.
  mutating func event(_ event: JSONValue) -> String {
    value(event, "", in: event["event"]?.string ?? "").text
  }

  /// Name and time come first, as in the daemon's own output; the others are sorted by name, so a report does not depend
  /// on the daemon's order.
  private static func order(_ member: String) -> (Int, String) {
    let first = ["event", "seq", "time", "adapter", "phone"]
    return (first.firstIndex(of: member) ?? first.count, member)
  }

  private mutating func value(_ value: JSONValue, _ member: String, in event: String) -> JSONValue {
    switch value {
    case .null, .bool: return value
    case .int, .double: return Self.secrets.contains(member) ? .string("left out") : value
    case .array(let elements): return .array(elements.map { self.value($0, member, in: event) })
    case .object(let object):
      var result = JSONObject()
      for (name, below) in object.members.sorted(by: { Self.order($0.name) < Self.order($1.name) }) {
        result.add(name, self.value(below, name, in: event))
      }
      return .object(result)
    case .string(let text): return .string(self.text(text, member, in: event))
    }
  }

  private mutating func text(_ text: String, _ member: String, in event: String) -> String {
    if Self.secrets.contains(member) { return "left out" }
    if text.isEmpty || Self.words.contains(member) { return text }
    if let address = Address(text) { return self.address(address) }
    switch (event, member) {
    case (_, "app"), (_, "app_id"): return value(.app, text)
    case ("ready", "name"): return value(.board, text)
    // Also sentences: the timeline has them, without what users have named.
    default: return value(.text, text)
    }
  }

  /// Members that are always removed.
  private static let secrets: Set<String> = ["passkey", "key", "value"]

  /// Members whose values are words of the interface, numbers or times.
  private static let words: Set<String> = [
    "event", "time", "adapter", "version", "change", "category", "flags", "date", "truncated", "method", "services",
    "granted", "phone_time", "state", "shuffle", "repeat", "commands", "changed", "wait", "profile",
  ]
}

// MARK: - Facts

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
