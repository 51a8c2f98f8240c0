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
    let meaning = vector.meaning
    let named = ["getNotificationAttributes", "getAppAttributes", "performNotificationAction"]
      .filter(meaning.has)
    guard named.isEmpty || named == [name(of: command)] else {
      return .failed("taken for \(name(of: command))")
    }
    switch command {
    case .performNotificationAction(let uid, let action):
      guard names(uid, in: meaning) else { return .failed("\(uid) is not in \"\(meaning)\"") }
      return require(meaning.has(action.description), "\(action) is not in \"\(meaning)\"")
    case .getAppAttributes(let app, let attributes):
      guard meaning.has(app) else { return .failed("\(app) is not in \"\(meaning)\"") }
      return require(
        attributes == [.displayName] || !meaning.words.contains("displayName"),
        "other attributes than in \"\(meaning)\"")
    case .getNotificationAttributes(let uid, let requests):
      guard names(uid, in: meaning) else { return .failed("\(uid) is not in \"\(meaning)\"") }
      let missing = requests.first { request in
        guard let maximum = request.maximumLength, maximum < .max else { return false }
        let words = "\(request.id.description.camelCase) max \(maximum)"
        return !meaning.has(words) && !meaning.has("max \(maximum)")
      }
      guard missing == nil else { return .failed("a maximum length is not in \"\(meaning)\"") }
      return require(
        names(requests.map(\.id), in: meaning), "other attributes than in \"\(meaning)\"")
    }
  }

  private static func name(of command: ControlPointCommand) -> String {
    switch command {
    case .getNotificationAttributes: "getNotificationAttributes"
    case .getAppAttributes: "getAppAttributes"
    case .performNotificationAction: "performNotificationAction"
    }
  }

  /// Whether `uid` is the one that the words name, if any: `uid=0x97`, `uid 0x37`.
  private static func names(_ uid: NotificationUID, in meaning: String) -> Bool {
    let words = meaning.words
    guard let place = words.firstIndex(of: "uid"), place + 1 < words.count,
      words[place + 1].hasPrefix("0x"), let named = UInt32(words[place + 1].dropFirst(2), radix: 16)
    else { return true }
    return named == uid.rawValue
  }

  /// Whether `ids` are the attributes that the words name, if any.
  private static func names(_ ids: [NotificationAttributeID], in meaning: String) -> Bool {
    let words = meaning.prefix { $0 != ";" }.description.words
    let known = (UInt8(0)...7).map { NotificationAttributeID(rawValue: $0) }
    let named = known.filter { words.contains($0.description.camelCase) }
    guard !named.isEmpty, !words.contains("all") else { return true }
    return Set(named) == Set(ids)
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
