// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import JSON
import Wire

extension ServiceVectors {
  static func notificationSource(_ vector: Vector) throws(Malformed) -> Verdict {
    let bytes = try vector.bytes
    let event: NotificationEvent
    do {
      event = try NotificationEvent(decoding: bytes)
    } catch { return refused(vector, with: "wrongLength(\(bytes.count))") }
    guard event.encoded == bytes else { return .failed("encodes as \(event.encoded.hex)") }
    return compare(
      vector,
      with: [
        "event": .string(event.change.description.camelCase.orReserved),
        "eventRaw": .number(event.change.rawValue),
        "flags": .strings(event.flags.names.map(\.camelCase)),
        "flagsRaw": .number(event.flags.rawValue),
        "unknownFlagBits": .number(event.flags.unnamed.rawValue),
        "category": .string(event.category.description.camelCase.orReserved),
        "categoryRaw": .number(event.category.rawValue),
        "categoryCount": .number(event.categoryCount),
        "uid": .number(event.uid.rawValue),
      ])
  }

  /// The vectors describe commands in words: the bytes must be the same after decoding and encoding, and
  /// UID, app, action, attributes and lengths must agree with the words.
  static func controlPoint(_ vector: Vector) throws(Malformed) -> Verdict {
    let bytes = try vector.bytes
    let command: ControlPointCommand
    do {
      command = try ControlPointCommand(decoding: bytes)
    } catch { return refused(vector, with: error.nameInANCS?.camelCaseWords ?? "\(error)") }
    guard vector.expectedError == nil else { return .failed("taken for \(command)") }
    guard command.encoded == bytes else { return .failed("encodes as \(command.encoded.hex)") }
    guard vector.says([name(of: command)], of: commands) else { return .failed("taken for \(name(of: command))") }
    let isSame =
      switch command {
      case .performNotificationAction(let uid, let action):
        vector.says(uid) && vector.says([action.description], of: ["positive", "negative"])
      case .getAppAttributes(let app, let attributes):
        vector.meaning.has(app) && vector.says(attributes.map(\.description.camelCase), of: ["displayName"])
      case .getNotificationAttributes(let uid, let requests):
        vector.says(uid) && vector.says(requests.map(\.id.description.camelCase), of: attributes)
          && requests.compactMap(\.maximumLength).allSatisfy { $0 == .max || vector.meaning.has("max \($0)") }
      }
    return require(isSame, "other than \"\(vector.meaning)\"")
  }

  private static let commands = ["getNotificationAttributes", "getAppAttributes", "performNotificationAction"]
  private static let attributes = NotificationAttributeID.all.map(\.description.camelCase)

  private static func name(of command: ControlPointCommand) -> String {
    switch command {
    case .getNotificationAttributes: commands[0]
    case .getAppAttributes: commands[1]
    case .performNotificationAction: commands[2]
    }
  }

  static func date(_ vector: Vector) throws(Malformed) -> Verdict {
    guard let date = CivilTime(notificationDate: Array(try vector.text.utf8)) else {
      return compare(vector, with: .null)
    }
    return compare(
      vector,
      with: [
        "year": .number(date.year), "month": .number(date.month), "day": .number(date.day),
        "hour": .number(date.hour), "minute": .number(date.minute),
        "second": .number(date.second),
      ])
  }

  /// The PDU must be an Error Response that is the same after decoding and encoding. Its code must be
  /// one of the vector's service or of ATT, and the one that the words name, if any.
  static func errorResponse(_ vector: Vector) throws(Malformed) -> Verdict {
    let bytes = try vector.bytes
    guard let pdu = try? PDU(decoding: bytes), case .errorResponse(let error) = pdu else {
      return .failed("not read as an Error Response")
    }
    guard pdu.encoded == bytes else { return .failed("encodes as \(pdu.encoded.hex)") }
    let isMedia = vector.json["id"]?.string?.hasPrefix("ams") == true
    guard let name = errorName(error.code.rawValue, isMedia: isMedia) else {
      let isOfATT = (0x01...0x13).contains(error.code.rawValue) || error.code.rawValue >= 0xFC
      return require(isOfATT, "the code \(error.code) has no name")
    }
    let words = vector.meaning.lowercased().filter { $0 != " " }
    let all = (UInt8(0xA0)...0xA3).compactMap { errorName($0, isMedia: isMedia) }
    let named = all.filter { words.has($0.lowercased().filter { $0 != " " }) }
    return require(named.isEmpty || named.contains(name), "\(name) is not in \"\(vector.meaning)\"")
  }
}
