// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import JSON
import Wire

extension Redactor {
  /// An event of the daemon as one line of JSON. Only members whose values are words of the interface
  /// stay as they are; every other text is replaced, also in events that this program does not know.
  mutating func event(_ event: JSONValue) -> String {
    let name = event["event"]?.string ?? ""
    guard case .object(let redacted) = value(event, "", in: name) else { return "" }
    // What it is and when comes first, as on the daemon's own output.
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
      // By name: a report is in the same order whatever order the daemon writes.
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
    case ("notification", _), ("media", _), ("incoming", _): return value(.text, text)
    case (_, "reason"), (_, "what"), (_, "remedy"), (_, "message"): return sentence(text)
    default: return value(.text, text)
    }
  }

  /// Members that are left out whatever they are.
  private static let secrets: Set<String> = ["passkey", "key", "value"]

  /// Members whose values are words of the interface, numbers or times.
  private static let words: Set<String> = [
    "event", "time", "adapter", "version", "change", "category", "flags", "date", "truncated",
    "method", "services", "granted", "phone_time", "state", "shuffle", "repeat", "commands",
    "changed", "wait", "profile",
  ]
}
