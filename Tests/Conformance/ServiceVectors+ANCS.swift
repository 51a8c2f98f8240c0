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
    } catch {
      return compare(vector, with: ["error": .string("wrongLength(\(bytes.count))")])
    }
    guard event.encoded == bytes else { return .failed("encodes as \(event.encoded.hex)") }
    return compare(
      vector,
      with: [
        "event": .string(event.change.description.camelCase),
        "eventRaw": .number(event.change.rawValue),
        "flags": .strings(event.flags.names.map(\.camelCase)),
        "flagsRaw": .number(event.flags.rawValue),
        "unknownFlagBits": .number(event.flags.unnamed.rawValue),
        "category": .string(
          event.category.name?.camelCase ?? "reserved(\(event.category.rawValue))"),
        "categoryRaw": .number(event.category.rawValue),
        "categoryCount": .number(event.categoryCount),
        "uid": .number(event.uid.rawValue),
      ])
  }

  /// The vectors describe commands in words: read and written again they must be the same bytes, and
  /// the words must begin with the command's name and hold its UID.
  static func controlPoint(_ vector: Vector) throws(Malformed) -> Verdict {
    let bytes = try vector.bytes
    let command: ControlPointCommand
    do {
      command = try ControlPointCommand(decoding: bytes)
    } catch {
      return .failed("refused with \(error)")
    }
    guard command.encoded == bytes else { return .failed("encodes as \(command.encoded.hex)") }
    let meaning = vector.meaning
    switch command {
    case .performNotificationAction(_, let action):
      return require(
        meaning.contains(action.description), "\(action) is not in \"\(meaning)\"")
    case .getAppAttributes(let app, _):
      return require(meaning.contains(app), "\(app) is not in \"\(meaning)\"")
    case .getNotificationAttributes(_, let requests):
      let missing = requests.first { request in
        guard let maximum = request.maximumLength, maximum < .max else { return false }
        let words = "\(request.id.description.camelCase) max \(maximum)"
        return !meaning.contains(words) && !meaning.contains("max \(maximum)")
      }
      return require(missing == nil, "a maximum length is not in \"\(meaning)\"")
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

  /// The PDU must be an Error Response that says the same when it is written again, with a code that
  /// the vector's service has a name for.
  static func errorResponse(_ vector: Vector) throws(Malformed) -> Verdict {
    let bytes = try vector.bytes
    guard let pdu = try? PDU(decoding: bytes), case .errorResponse(let error) = pdu else {
      return .failed("not read as an Error Response")
    }
    guard pdu.encoded == bytes else { return .failed("encodes as \(pdu.encoded.hex)") }
    let isMedia = vector.json["id"]?.string?.hasPrefix("ams") == true
    guard let name = errorName(error.code.rawValue, isMedia: isMedia) else {
      return .failed("the code \(error.code) has no name")
    }
    let words = vector.meaning.lowercased().filter { $0 != " " }
    let all = (UInt8(0xA0)...0xA3).compactMap { errorName($0, isMedia: isMedia) }
    let named = all.filter { words.contains($0.lowercased().filter { $0 != " " }) }
    return require(named.isEmpty || named.contains(name), "\(name) is not in \"\(vector.meaning)\"")
  }
}
