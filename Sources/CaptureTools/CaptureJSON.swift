// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Capture
import GAP
import JSON
import Wire

extension DecodedUnit {
  /// The unit as an object (docs/captures.md).
  func json(in frame: DecodedFrame) -> JSONValue {
    let record = frame.record
    let adapter = record.adapter == MonitorOpcode.noAdapter ? nil : "hci\(record.adapter)"
    var object: JSONObject = [
      "frame": .number(frame.number),
      "time": .string("\(record.time.civil()).\(record.time.fraction)Z"),
      "adapter": adapter.map { .string($0) },
      "direction": record.opcode.direction.map { $0 == .sent ? "tx" : "rx" },
      "layer": .string(layer.rawValue), "connection": link.map { .number($0.handle) },
      (link?.peerKind ?? .phone).rawValue: link?.peer.map { .string($0.description) },
      "cid": channel.map { .number($0) }, "opcode": code.map { .number($0) }, "name": .string(name),
      "length": .number(length), "start": range.map { .number($0.start) }, "end": range.map { .number($0.end) },
      "type": type.map { .string($0.description) },
    ]
    var decoded = details
    if isList {
      object.add("attributes", .array(attributes.map(\.json)))
    } else if let attribute = attributes.first {
      attribute.add(to: &object)
      decoded += attribute.meaning
    }
    if !decoded.isEmpty { object.add("decoded", Detail.json(decoded)) }
    object.add("problem", problem.map { .string($0) })
    return .object(object)
  }
}

extension AttributeUse {
  fileprivate func add(to object: inout JSONObject) {
    object.add("handle", handle.map { .number($0) })
    object.add("end", end.map { .number($0) })
    object.add("uuid", uuid.map { .string($0.description) })
    object.add("attribute", uuid.flatMap(AssignedNumbers.name).map { .string($0) })
    object.add("characteristic", characteristic.map { .string($0.description) })
    object.add("service", service.map { .string($0.description) })
    object.add("value", value.map { .string($0.hex) })
  }

  fileprivate var json: JSONValue {
    var object = JSONObject()
    add(to: &object)
    if !meaning.isEmpty { object.add("decoded", Detail.json(meaning)) }
    return .object(object)
  }
}

extension Detail {
  /// Details as an object; those that may occur several times are arrays.
  package static func json(_ details: [Detail]) -> JSONValue {
    var object = JSONObject()
    for detail in details {
      if detail.repeats {
        object[detail.key] = .array((object[detail.key]?.array ?? []) + [detail.json])
      } else if object[detail.key] == nil {
        object.add(detail.key, detail.json)
      }
    }
    return .object(object)
  }

  private var json: JSONValue {
    guard !children.isEmpty else { return value.json }
    guard value != .none, case .object(let below) = Self.json(children) else {
      return Self.json(children)
    }
    var object = JSONObject()
    object.add(valueKey, value.json)
    for (name, value) in below.members where name != valueKey { object.add(name, value) }
    return .object(object)
  }
}

extension Detail.Value {
  /// A number that has a name is represented by the name.
  fileprivate var json: JSONValue {
    switch self {
    case .none: .null
    case .text(let text): .string(text)
    case .number(let number): .int(number)
    case .measure(let number, _): Int64(exactly: number).map { .int($0) } ?? .double(number)
    case .named(let name?, _, _): .string(name)
    case .named(nil, let number, _): .number(number)
    case .flags(let names, _, _): .strings(names)
    case .bytes(let bytes): .string(bytes.hex)
    case .flag(let flag): .bool(flag)
    case .list(let list): .strings(list)
    }
  }
}
