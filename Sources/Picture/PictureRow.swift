// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Capture
import GAP
import Wire

/// A row of the page's data: the drawing of a PDU, and the tree and bytes that a click shows.
struct PictureRow {
  /// Microseconds since 1970.
  var time: Int64 = 0
  /// The packet's number in the capture.
  var number = 0
  var layer = ""
  /// 0: neither; 1: sent by the captured host; 2: received by it.
  var direction = 0
  /// 0: none; otherwise the adapter's number and the connection handle, from 1.
  var link = 0
  var name = ""
  /// The opcode, code or type; −1 if there is none.
  var code = -1
  var length = 0
  /// Its subject, mostly an attribute.
  var label = ""
  var role = 0
  var facts: [Fact] = []
  var tree = Tree()

  /// A value that drawing needs, named as in `decode --json` or similarly.
  struct Fact {
    var key: StaticString
    var value: Detail.Value
  }

  /// The details that a click shows.
  struct Tree {
    /// The packet in one line, as `decode` prints it.
    var title = ""
    var notes: [String] = []
    var problem: String?
    /// The PDU in hexadecimal; two dots replace a byte that `decode` hides because it may belong to a key.
    var bytes = ""
    /// The PDU's details and attributes; each place is in the PDU.
    var nodes: [Detail] = []
  }

  static func link(adapter: UInt16, handle: UInt16) -> Int { Int(adapter) << 12 + Int(handle) + 1 }

  /// The number that stands for a role in a row, from 1.
  static func number(of role: Opcode.Role) -> Int {
    Opcode.Role.allCases.prefix { $0 != role }.count + 1
  }

  // MARK: Of a capture

  /// The rows of a decoded packet: one for each PDU that it completes, or one for the packet.
  static func rows(of frame: DecodedFrame) -> [PictureRow] {
    var row = PictureRow()
    row.time = frame.record.time.microseconds
    row.number = frame.number
    row.direction = frame.record.opcode.direction.map { $0 == .sent ? 1 : 2 } ?? 0
    row.length = frame.record.data.count
    row.tree.title = frame.title
    row.tree.notes = frame.notes
    guard frame.units.isEmpty else { return frame.units.map { row.with($0, frame) } }
    row.layer = "fragment"
    row.name = frame.notes.first ?? frame.title
    if let link = frame.link {
      row.link = Self.link(adapter: frame.record.adapter, handle: link.handle)
    }
    return [row]
  }

  private func with(_ unit: DecodedUnit, _ frame: DecodedFrame) -> PictureRow {
    var row = self
    row.layer = unit.layer.rawValue
    row.name = unit.name
    row.code = unit.code.map { Int($0) } ?? -1
    row.length = unit.length
    if let link = unit.link {
      row.link = Self.link(adapter: frame.record.adapter, handle: link.handle)
    }
    if unit.layer == .att, let code = unit.code {
      row.role = Self.number(of: Opcode(rawValue: UInt8(truncatingIfNeeded: code)).role)
    }
    row.label = Self.label(of: unit)
    row.facts = FactFinder.facts(of: unit)
    row.tree.problem = unit.problem
    row.tree.nodes = Self.nodes(of: unit)
    row.tree.bytes = Self.bytes(of: unit, row.tree.nodes)
    return row
  }

  /// The subject of a PDU in a few words.
  private static func label(of unit: DecodedUnit) -> String {
    if unit.isList {
      return unit.attributes.count == 1 ? name(of: unit.attributes[0]) ?? "" : "\(unit.attributes.count) attributes"
    }
    if let attribute = unit.attributes.first, let name = name(of: attribute) { return name }
    if let type = unit.type { return short(type) }
    if let handle = unit.attributes.first?.handle { return hexadecimal(handle, 4) }
    return unit.details.first { $0.label == "UUID" || $0.label == "Command" }
      .map {
        if case .named(let name?, _, _) = $0.value { return name }
        return "\($0.value)"
      } ?? ""
  }

  /// The name of an attribute without its number, since an arrow's label is short.
  private static func name(of attribute: AttributeUse) -> String? {
    guard let uuid = attribute.uuid else { return nil }
    guard let characteristic = attribute.characteristic else { return short(uuid) }
    let name = uuid == .clientConfiguration ? "CCCD" : short(uuid)
    return "\(name) of \(short(characteristic))"
  }

  static func short(_ uuid: UUID) -> String { AssignedNumbers.name(of: uuid) ?? uuid.description }

  private static func nodes(of unit: DecodedUnit) -> [Detail] {
    unit.details
      + unit.attributes.flatMap { attribute in
        var name = attribute.handle.map { hexadecimal($0, 4) } ?? ""
        if let end = attribute.end { name += "–" + hexadecimal(end, 4) }
        if let title = attribute.name { name += (name.isEmpty ? "" : " ") + title }
        let value = attribute.value.map {
          Detail("Value", .text(count($0.count))).at(attribute.valuePlace)
        }
        let below =
          [value].compactMap(\.self)
          + attribute.meaning.map { $0.moved(by: attribute.valuePlace?.lowerBound) }
        return name.isEmpty ? below : [Detail("Attribute", .text(name), below).at(attribute.place)]
      }
  }

  static func count(_ bytes: Int) -> String { bytes == 1 ? "1 byte" : "\(bytes) bytes" }

  /// The PDU's bytes: all of them for ATT and signalling, otherwise those that the tree covers.
  private static func bytes(of unit: DecodedUnit, _ nodes: [Detail]) -> String {
    let head: Int
    switch unit.layer {
    case .att, .signalling: return unit.bytes.hex
    case .hciCommand: head = 3
    case .hciEvent: head = 2
    case .smp: head = 1
    case .linkLayer: head = 0
    default: return ""
    }
    var isShown = [Bool](repeating: false, count: unit.bytes.count)
    for index in isShown.indices.prefix(head) { isShown[index] = true }
    func show(_ nodes: [Detail]) {
      for node in nodes {
        if let place = node.place {
          for index in place.clamped(to: isShown.indices) { isShown[index] = true }
        }
        show(node.children)
      }
    }
    show(nodes)
    var text = ""
    for (byte, isShown) in zip(unit.bytes, isShown) { text += isShown ? [byte].hex : ".." }
    return text
  }
}

extension Detail {
  /// The same with its places, which count from the beginning of a value, in the PDU; with none if it is unknown where the
  /// value begins.
  fileprivate func moved(by start: Int?) -> Detail {
    var detail = self
    detail.place = start.flatMap { start in
      place.map { $0.lowerBound + start..<$0.upperBound + start }
    }
    detail.children = children.map { $0.moved(by: start) }
    return detail
  }
}

// MARK: - Facts

/// Finds the details of a PDU that drawing needs.
enum FactFinder {
  /// The name of a fact by the label of its detail.
  private static let top: [String: StaticString] = [
    "Status": "status", "Reason": "reason", "Role": "role", "Interval": "interval", "Latency": "latency",
    "Supervision Timeout": "timeout", "Encryption": "encryption", "RSSI": "rssi", "Advertising": "advertising",
    "Command": "command", "Error": "error", "Request": "request", "Subscription": "subscription",
    "Client RX MTU": "mtu", "Server RX MTU": "mtu", "Identifier": "identifier", "ANCS Event": "event",
    "ANCS Command": "fetch", "ANCS Response": "response", "AMS Update": "update", "AMS Command": "remote",
    "Text": "text", "Handles": "range", "Version": "version", "C to P": "phy", "MaxTxOctets": "octets",
  ]

  private static let below: [String: StaticString] = [
    "UID": "uid", "Category": "category", "Attributes": "attributes", "Fragments": "fragments", "Bytes": "bytes",
    "AppIdentifier": "app", "Title": "title", "Attribute": "attribute", "Text": "text", "State": "state",
    "Elapsed": "elapsed", "Rate": "rate", "Action": "action", "Flags": "flags",
  ]

  static func facts(of unit: DecodedUnit) -> [PictureRow.Fact] {
    let isATT = unit.layer == .att
    let channel = isATT && unit.channel != 4 ? unit.channel : nil
    let handle = unit.isList ? nil : unit.attributes.first?.handle
    let namesPeer = unit.layer == .hciEvent || unit.layer == .linkLayer
    let known: [(StaticString, Detail.Value?)] = [
      ("channel", channel.map { .number(Int64($0)) }), ("ancs", unit.profiles.contains(.ancs) ? .number(1) : nil),
      ("ams", unit.profiles.contains(.ams) ? .number(1) : nil),
      ("phoneside", isATT && unit.link?.peerKind == .accessory ? .number(1) : nil),
      ("problem", unit.problem.map { .text($0) }), ("asked", unit.request.map { .number(Int64($0)) }),
      ("handle", handle.map { .number(Int64($0)) }),
      ("peer", namesPeer ? unit.link?.peer.map { .text($0.description) } : nil),
    ]
    var facts = known.compactMap { key, value in value.map { PictureRow.Fact(key: key, value: $0) }
    }
    add(unit.details, top, to: &facts)
    if !unit.isList, let meaning = unit.attributes.first?.meaning { add(meaning, top, to: &facts) }
    return facts
  }

  private static func add(_ details: [Detail], _ names: [String: StaticString], to facts: inout [PictureRow.Fact]) {
    for detail in details {
      guard let key = names[detail.label] else { continue }
      if isMentioned(detail.value) { facts.append(.init(key: key, value: detail.value)) }
      if !detail.children.isEmpty { add(detail.children, below, to: &facts) }
    }
  }

  /// Success needs no mention.
  private static func isMentioned(_ value: Detail.Value) -> Bool {
    switch value {
    case .none, .bytes, .named("Success", 0, _): false
    default: true
    }
  }
}
