// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import JSON
import Wire

extension ServiceVectors {
  /// Assembles the fragments as they are, byte by byte, and in one piece, which must give the same answer
  /// or the same error.
  static func dataSource(_ vector: Vector) throws(Malformed) -> Verdict {
    var fragments: [[UInt8]] = []
    for fragment in vector.json["fragments"]?.array ?? [] {
      guard let hex = fragment.string, let bytes = [UInt8](hex: hex) else {
        throw Malformed(what: "fragments")
      }
      fragments.append(bytes)
    }
    let whole = fragments.reduce([], +)
    let command = command(of: vector, response: whole)
    let result = assemble(fragments, command)
    for cuts in [whole.map { [$0] }, [whole]] {
      let other = assemble(cuts, command)
      let isSame = result.error == other.error && result.response == other.response
      guard isSame else { return .failed("other fragments come to another result") }
    }
    guard let response = result.response else { return refused(vector, with: result.error) }
    guard whole.starts(with: response.encoded) else {
      return .failed("encodes as \(response.encoded.hex)")
    }
    return compare(vector, with: describe(response, result, in: whole))
  }

  /// The result of assembling a response: it is whole, or the error.
  private struct Assembled {
    var response: DataSourceResponse?
    var error = "incomplete"
    var fragments = 0
  }

  private static func assemble(
    _ fragments: [[UInt8]], _ command: ControlPointCommand?
  ) -> Assembled {
    var result = Assembled()
    // Without a command under way, all data is unexpected.
    guard let command, var assembler = DataSourceAssembler(for: command) else {
      result.error = "unexpectedData"
      return result
    }
    for fragment in fragments {
      result.fragments += 1
      switch assembler.receive(fragment) {
      case .more: continue
      case .dropped(let error), .failed(let error): result.error = word(for: error)
      case .complete(let response, _):
        result.error = ""
        result.response = response
      }
      return result
    }
    return result
  }

  /// The command whose response it is; nil if no attribute was asked for, or if the vector has no UID and the
  /// first byte is not a CommandID.
  private static func command(of vector: Vector, response: [UInt8]) -> ControlPointCommand? {
    let asked = vector.json["requestedAttributeIDs"]?.array ?? []
    let ids = asked.compactMap { $0.int.flatMap { UInt8(exactly: $0) } }
    guard !ids.isEmpty else { return nil }
    let expected = vector.expected
    if vector.json["command"]?.string == "getAppAttributes" {
      let echoed = String(decoding: response.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
      let said = vector.json["requestedAppIdentifier"] ?? expected?["appIdentifier"]
      return .getAppAttributes(
        appIdentifier: said?.string ?? echoed, ids.map(AppAttributeID.init(rawValue:)))
    }
    let requests = ids.map { id in
      let maximum = vector.json["maxLengths"]?[String(id)]?.int
      return ControlPointCommand.AttributeRequest(
        NotificationAttributeID(rawValue: id),
        maximumLength: maximum.flatMap { UInt16(exactly: $0) })
    }
    let said = vector.json["requestedUid"] ?? expected?["uid"] ?? expected?["firstUid"]
    if let uid = said?.int.flatMap({ UInt32(exactly: $0) }) {
      return .getNotificationAttributes(NotificationUID(rawValue: uid), requests)
    }
    guard let first = response.first, first <= 2, response.count >= 5 else { return nil }
    let uid = response[1..<5].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return .getNotificationAttributes(NotificationUID(rawValue: uid), requests)
  }

  private static func describe(
    _ response: DataSourceResponse, _ result: Assembled, in whole: [UInt8]
  ) -> JSONValue {
    let length = response.encoded.count
    var object: JSONObject = [
      "totalBytes": .number(length), "firstLength": .number(length),
      "trailingBytes": .number(whole.count - length),
      "completeOnFragment": .number(result.fragments),
    ]
    if whole.count > length { object["error"] = "trailingBytes" }
    var names: (UInt8) -> String = { AppAttributeID(rawValue: $0).description.camelCase }
    switch response.subject {
    case .notification(let uid):
      object["uid"] = .number(uid.rawValue)
      object["firstUid"] = .number(uid.rawValue)
      names = { NotificationAttributeID(rawValue: $0).description.camelCase }
    case .app(let identifier):
      object["appIdentifier"] = .string(identifier)
    }
    object["attributes"] = .array(
      response.attributes.map { attribute in
        [
          "id": .number(attribute.id), "name": .string(names(attribute.id)),
          "length": .number(attribute.value.count),
          "utf8": String(validating: attribute.value, as: UTF8.self).map { .string($0) } ?? .null,
          "hex": .string(attribute.value.hex),
          "lossyUtf8": .string(String(decoding: attribute.value, as: UTF8.self)),
          "trimmedUtf8": .string(String(cutUTF8: attribute.value)),
        ]
      })
    return .object(object)
  }

  private static func word(for error: DataSourceError) -> String {
    switch error {
    case .unexpectedData: return "unexpectedData"
    case .commandMismatch(let command): return "commandMismatch(\(command))"
    case .uidMismatch(let expected, let received):
      return "uidMismatch(expected \(expected), got \(received))"
    case .appMismatch: return "appMismatch"
    case .unexpectedAttribute(let id): return "unexpectedAttribute(\(id))"
    case .attributeTooLong(let id, let length, let maximum):
      let name = NotificationAttributeID(rawValue: id).description.camelCase
      return "attributeLongerThanRequested(\(name),\(length)>\(maximum))"
    }
  }
}
