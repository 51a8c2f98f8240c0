// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import JSON
import Wire

extension ServiceVectors {
  /// Decodes an update, and applies it to a state in which every value is known: an invalid value must
  /// leave that unchanged.
  static func entityUpdate(_ vector: Vector) throws(Malformed) -> Verdict {
    let bytes = try vector.bytes
    let update: EntityUpdate
    do {
      update = try EntityUpdate(decoding: bytes)
    } catch { return refused(vector, with: "tooShort(\(bytes.count))") }
    guard update.encoded == bytes else { return .failed("encodes as \(update.encoded.hex)") }
    if vector.expectedError != nil { return unreadable(update, vector) }
    return compare(
      vector,
      with: [
        "entity": .string(update.attribute.entity.description),
        "attribute": .string(update.attribute.description.camelCase),
        "truncated": .bool(update.isTruncated),
        "flagsRaw": .number(update.flags.rawValue),
        "value": .string(String(decoding: update.value, as: UTF8.self)),
        "decoded": decoded(update),
      ])
  }

  private static func unreadable(_ update: EntityUpdate, _ vector: Vector) -> Verdict {
    var state = knownState
    let changed = state.apply(update, at: .zero)
    guard changed.isEmpty, state == knownState else {
      return .failed("the state was changed: \(changed)")
    }
    let fields = update.value.split(separator: 0x2C, omittingEmptySubsequences: false).count
    let counts = update.attribute == .playbackInfo && fields != 3
    return refused(vector, with: counts ? "fieldCount(\(fields))" : "unparsable")
  }

  /// A state in which every value is known.
  private static let knownState: MediaState = {
    var state = MediaState()
    let values: [(MediaAttribute, String)] = [
      (.playerName, "Music"), (.playbackInfo, "1,1.0,100.5"), (.volume, "0.25"),
      (.queueIndex, "4"), (.queueCount, "9"), (.shuffleMode, "1"), (.repeatMode, "2"),
      (.artist, "Artist"), (.album, "Album"), (.title, "Title"), (.duration, "1000"),
    ]
    for (attribute, text) in values {
      _ = state.apply(EntityUpdate(attribute, Array(text.utf8)), at: .zero)
    }
    return state
  }()

  /// The value that the media state gets from the update, as sent (the state clamps numbers); null if the
  /// update says that it is unknown.
  private static func decoded(_ update: EntityUpdate) -> JSONValue {
    var state = MediaState()
    _ = state.apply(update, at: .zero)
    switch update.attribute {
    case .playbackInfo:
      guard !update.value.isEmpty, let info = PlaybackInfo(decoding: update.value) else {
        return .null
      }
      return [
        "state": info.state.map { .string($0.description.camelCase.orReserved) } ?? .null,
        "rate": number(info.rate), "elapsed": number(info.elapsed),
      ]
    case .volume:
      guard state.player.volume != nil, let volume = MediaNumber.double(update.value) else {
        return .null
      }
      return ["volume": .double(volume), "percentRounded": .double((volume * 100).rounded())]
    case .queueIndex: return state.queue.index.map { ["index": .number($0)] } ?? .null
    case .queueCount: return state.queue.count.map { ["count": .number($0)] } ?? .null
    case .shuffleMode: return mode("shuffle", state.queue.shuffleMode)
    case .repeatMode: return mode("repeat", state.queue.repeatMode)
    case .duration:
      guard state.track.duration != nil, let duration = MediaNumber.double(update.value) else {
        return .null
      }
      return ["duration": .double(duration)]
    default: return [update.attribute.description.camelCase: .string(update.text)]
    }
  }

  private static func number(_ value: Double?) -> JSONValue { value.map { .double($0) } ?? .null }

  private static func mode(_ name: String, _ mode: QueueMode?) -> JSONValue {
    mode.map { [name: .string($0.description.orReserved)] } ?? .null
  }

  static func remoteCommands(_ vector: Vector) throws(Malformed) -> Verdict {
    let commands = RemoteCommand.list(decoding: try vector.bytes)
    return compare(vector, with: ["supported": .strings(commands.map(\.description.camelCase))])
  }

  /// A written value must be the same after decoding and encoding, and agree with the vector's words.
  static func mediaWrite(_ vector: Vector) throws(Malformed) -> Verdict {
    let bytes = try vector.bytes
    let written: (encoded: [UInt8], text: String, isSame: Bool)
    do throws(ErrorCode) {
      switch vector.json["characteristic"]?.string {
      case "remoteCommand":
        guard bytes.count == 1, let first = bytes.first else { throw .invalidCommand }
        let word = RemoteCommand(rawValue: first).description.camelCase
        written = (bytes, "a command", vector.meaning == word)
      case "entityUpdate":
        let registration = try EntityRegistration(decoding: bytes)
        let namesAttributes = vector.meaning.hasPrefix("\(registration.entity):")
        let isSame = !namesAttributes || vector.says(registration.attributes, of: registration.entity)
        written = (registration.encoded, "\(registration)", vector.says(registration.entity) && isSame)
      case "entityAttribute":
        let attribute = try MediaAttribute(decoding: bytes)
        let isSame = vector.says(attribute.entity) && vector.says([attribute.id], of: attribute.entity)
        written = (attribute.selection, "\(attribute)", isSame)
      default: return .notApplicable("the characteristic is not known")
      }
    } catch { return refused(vector, with: error.nameInAMS?.camelCaseWords ?? "\(error)") }
    guard vector.expectedError == nil else { return .failed("taken for \(written.text)") }
    guard written.encoded == bytes else { return .failed("encodes as \(written.encoded.hex)") }
    return require(written.isSame, "other than \"\(vector.meaning)\"")
  }

  static func numberString(_ vector: Vector) throws(Malformed) -> Verdict {
    let read = MediaNumber.double(try vector.text.utf8)
    return compare(vector, with: number(read))
  }

  /// The name of an error of ANCS or AMS.
  static func errorName(_ code: UInt8, isMedia: Bool) -> String? {
    isMedia ? ErrorCode(code).nameInAMS : ErrorCode(code).nameInANCS
  }
}

extension ServiceVectors.Vector {
  fileprivate func says(_ entity: Entity) -> Bool { meaning.words.contains(entity.description) }

  /// Whether the words name these attributes of an entity, if any; `shuffle` is enough for ShuffleMode.
  fileprivate func says(_ ids: [UInt8], of entity: Entity) -> Bool {
    func name(_ attribute: MediaAttribute) -> String {
      let name = attribute.description.camelCase
      return name.hasSuffix("Mode") ? String(name.dropLast(4)) : name
    }
    return says(ids.map { name(MediaAttribute(entity, $0)) }, of: entity.attributes.map(name))
  }
}
