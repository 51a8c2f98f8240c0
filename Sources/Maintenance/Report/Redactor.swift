// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import JSON
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

  /// A sentence of the program with its addresses and keys replaced.
  mutating func sentence(_ sentence: String) -> String {
    let bytes = Array(sentence.utf8)
    var result: [UInt8] = []
    var place = 0
    while place < bytes.count {
      let isStart = place == 0 || !Self.isWord(bytes[place - 1])
      if isStart, let length = Self.uuid(bytes, place) {
        result += bytes[place..<place + length]
        place += length
      } else if isStart, let (kind, length) = Self.hexadecimal(bytes, place) {
        let found = String(decoding: bytes[place..<place + length], as: UTF8.self)
        result += Array(token(kind, kind == .address ? Self.address(found) : found).utf8)
        place += length
      } else {
        result.append(bytes[place])
        place += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    isDigit(byte) || isLetter(byte) || byte == UInt8(ascii: "_") || byte >= 0x80
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

  private static func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte | 0x20) }

  private static func isHex(_ byte: UInt8) -> Bool {
    isDigit(byte) || (97...102).contains(byte | 0x20)
  }

  /// The length of the run of bytes that satisfy `condition`.
  private static func run(
    _ bytes: [UInt8], _ place: Int, _ condition: (UInt8) -> Bool
  ) -> Int { bytes[place...].prefix(while: condition).count }

  /// A UUID, which identifies a service and is not a secret.
  private static func uuid(_ bytes: [UInt8], _ place: Int) -> Int? {
    var end = place
    for (part, length) in [8, 4, 4, 4, 12].enumerated() {
      if part > 0 {
        guard end < bytes.count, bytes[end] == UInt8(ascii: "-") else { return nil }
        end += 1
      }
      guard end + length <= bytes.count, run(bytes, end, isHex) == length else { return nil }
      end += length
    }
    return end - place
  }

  /// An address (six bytes), or something long enough to be a key: pairs of digits with separators, or one run of
  /// digits.
  private static func hexadecimal(_ bytes: [UInt8], _ place: Int) -> (Kind, Int)? {
    let run = run(bytes, place, isHex)
    if run >= 12, place + run == bytes.count || !isWord(bytes[place + run]) {
      return (run == 12 ? .address : .hex, run)
    }
    guard run == 2, place + 2 < bytes.count,
      [UInt8(ascii: ":"), UInt8(ascii: "-"), 32, 95]
        .contains(bytes[place + 2])
    else { return nil }
    let separator = bytes[place + 2]
    var pairs = 1
    var end = place + 2
    while end + 2 < bytes.count, bytes[end] == separator, self.run(bytes, end + 1, isHex) == 2 {
      pairs += 1
      end += 3
    }
    return pairs < 6 ? nil : (pairs == 6 ? .address : .hex, end - place)
  }

  /// The usual form of an address.
  private static func address(_ text: String) -> String {
    let digits = Array(text.uppercased().utf8.filter(isHex))
    return stride(from: 0, to: digits.count, by: 2).map {
      String(decoding: digits[$0..<min($0 + 2, digits.count)], as: UTF8.self)
    }.joined(separator: ":")
  }
}

extension Redactor {
  /// An event of the daemon as one line of JSON. Only members whose values are words of the interface are kept; every
  /// other text is replaced, even in events that this program does not know.
  mutating func event(_ event: JSONValue) -> String {
    let name = event["event"]?.string ?? ""
    guard case .object(let redacted) = value(event, "", in: name) else { return "" }
    // Name and time come first, as in the daemon's own output.
    var ordered = JSONObject()
    for name in Self.first { ordered.add(name, redacted[name]) }
    for (name, value) in redacted.members where !Self.first.contains(name) {
      ordered.add(name, value)
    }
    return JSONValue.object(ordered).text
  }

  private static let first = ["event", "seq", "time", "adapter", "phone"]

  private mutating func value(_ value: JSONValue, _ member: String, in event: String) -> JSONValue {
    switch value {
    case .null, .bool: return value
    case .int, .double: return Self.secrets.contains(member) ? .string("left out") : value
    case .array(let elements): return .array(elements.map { self.value($0, member, in: event) })
    case .object(let object):
      var result = JSONObject()
      // Sorted by name, so a report does not depend on the daemon's order.
      for (name, below) in object.members.sorted(by: { $0.name < $1.name }) {
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
    "event", "time", "adapter", "version", "change", "category", "flags", "date", "truncated",
    "method", "services", "granted", "phone_time", "state", "shuffle", "repeat", "commands",
    "changed", "wait", "profile",
  ]
}
