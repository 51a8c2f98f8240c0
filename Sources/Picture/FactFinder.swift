// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Wire

/// Finds the details of a PDU that drawing needs.
enum FactFinder {
  /// The name of a fact by the label of its detail.
  private static let top: [String: StaticString] = [
    "Status": "status", "Reason": "reason", "Role": "role", "Interval": "interval",
    "Latency": "latency", "Supervision Timeout": "timeout", "Encryption": "encryption",
    "RSSI": "rssi", "Advertising": "advertising", "Command": "command", "Error": "error",
    "Request": "request", "Subscription": "subscription", "Client RX MTU": "mtu",
    "Server RX MTU": "mtu", "Identifier": "identifier", "ANCS Event": "event",
    "ANCS Command": "fetch", "ANCS Response": "response", "AMS Update": "update",
    "AMS Command": "remote", "Text": "text", "Handles": "range",
  ]

  private static let below: [String: StaticString] = [
    "UID": "uid", "Category": "category", "Attributes": "attributes", "Fragments": "fragments",
    "Bytes": "bytes", "AppIdentifier": "app", "Title": "title", "Attribute": "attribute",
    "Text": "text", "State": "state", "Elapsed": "elapsed", "Rate": "rate", "Action": "action",
    "Flags": "flags",
  ]

  /// Longer texts are truncated; the tree has them in full.
  private static let mostCharacters = 80

  static func facts(of unit: DecodedUnit) -> [PictureRow.Fact] {
    var facts: [PictureRow.Fact] = []
    if let channel = unit.channel, channel != 4, unit.layer == .att {
      facts.append(.init(key: "channel", value: .number(Double(channel))))
    }
    for profile in unit.profiles {
      facts.append(.init(key: profile == .ancs ? "ancs" : "ams", value: .number(1)))
    }
    if unit.layer == .att, unit.link?.peerKind == .accessory {
      facts.append(.init(key: "phoneside", value: .number(1)))
    }
    if let problem = unit.problem {
      facts.append(.init(key: "problem", value: .text(cut(problem))))
    }
    if let handle = unit.attributes.first?.handle, !unit.isList {
      facts.append(.init(key: "handle", value: .number(Double(handle))))
    }
    if let peer = unit.link?.peer, unit.layer == .hciEvent || unit.layer == .linkLayer {
      facts.append(.init(key: "peer", value: .text(peer.description)))
    }
    add(unit.details, top, to: &facts)
    if !unit.isList, let meaning = unit.attributes.first?.meaning { add(meaning, top, to: &facts) }
    return facts
  }

  private static func add(
    _ details: [Detail], _ names: [String: StaticString], to facts: inout [PictureRow.Fact]
  ) {
    for detail in details {
      guard let key = names[detail.label] else { continue }
      if let value = value(of: detail) { facts.append(.init(key: key, value: value)) }
      if !detail.children.isEmpty { add(detail.children, below, to: &facts) }
    }
  }

  /// Nil for success, which needs no mention.
  private static func value(of detail: Detail) -> PictureRow.Fact.Value? {
    switch detail.value {
    case .none, .bytes: nil
    case .text(let text): .text(cut(text))
    case .number(let number): .number(Double(number))
    case .measure(let number, _): .number(number)
    case .named("Success", 0, _): nil
    case .named(let name?, _, _): .text(name)
    case .named(nil, let number, _): .number(Double(number))
    case .flags(let names, _, _), .list(let names): .text(cut(names.joined(separator: ", ")))
    case .flag(let flag): .number(flag ? 1 : 0)
    }
  }

  private static func cut(_ text: String) -> String {
    text.utf8.count <= mostCharacters ? text : String(text.prefix(mostCharacters - 1)) + "…"
  }
}
