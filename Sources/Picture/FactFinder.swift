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
    let isATT = unit.layer == .att
    let channel = isATT && unit.channel != 4 ? unit.channel : nil
    let handle = unit.isList ? nil : unit.attributes.first?.handle
    let namesPeer = unit.layer == .hciEvent || unit.layer == .linkLayer
    let known: [(StaticString, PictureRow.Fact.Value?)] = [
      ("channel", channel.map { .number(Double($0)) }),
      ("ancs", unit.profiles.contains(.ancs) ? .number(1) : nil),
      ("ams", unit.profiles.contains(.ams) ? .number(1) : nil),
      ("phoneside", isATT && unit.link?.peerKind == .accessory ? .number(1) : nil),
      ("problem", unit.problem.map { .text(cut($0)) }),
      ("handle", handle.map { .number(Double($0)) }),
      ("peer", namesPeer ? unit.link?.peer.map { .text($0.description) } : nil),
    ]
    var facts = known.compactMap { key, value in value.map { PictureRow.Fact(key: key, value: $0) }
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
