// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import JSON
import Wire

extension ServiceVectors {
  /// Reads an update, and applies it to a state that knows everything: what can't be read must leave
  /// that as it is.
  static func entityUpdate(_ vector: Vector) throws(Malformed) -> Verdict {
    let bytes = try vector.bytes
    let update: EntityUpdate
    do {
      update = try EntityUpdate(decoding: bytes)
    } catch {
      return compare(vector, with: ["error": .string("tooShort(\(bytes.count))")])
    }
    guard update.encoded == bytes else { return .failed("encodes as \(update.encoded.hex)") }
    if let error = vector.expected?["error"]?.string {
      return refused(update, expecting: error)
    }
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

  private static func refused(_ update: EntityUpdate, expecting error: String) -> Verdict {
    let fields = update.value.split(separator: 0x2C, omittingEmptySubsequences: false).count
    let counts = update.attribute == .playbackInfo && fields != 3
    let word = counts ? "fieldCount(\(fields))" : "unparsable"
    guard error.hasPrefix(word) else { return .failed("\(word) instead of \(error)") }
    var state = knownState
    let changed = state.apply(update, at: .zero)
    return require(changed.isEmpty && state == knownState, "the state was changed: \(changed)")
  }

  /// A state in which everything is known.
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

  /// What the media state takes from the update; null where it says that nothing is known.
  private static func decoded(_ update: EntityUpdate) -> JSONValue {
    var state = MediaState()
    _ = state.apply(update, at: .zero)
    switch update.attribute {
    case .playbackInfo:
      guard !update.value.isEmpty, let info = PlaybackInfo(decoding: update.value) else {
        return .null
      }
      return [
        "state": info.state.map { .string($0.description.camelCase) } ?? .null,
        "rate": number(info.rate), "elapsed": number(info.elapsed),
      ]
    case .volume:
      guard let volume = state.player.volume else { return .null }
      return ["volume": .double(volume), "percentRounded": .double((volume * 100).rounded())]
    case .queueIndex: return state.queue.index.map { ["index": .number($0)] } ?? .null
    case .queueCount: return state.queue.count.map { ["count": .number($0)] } ?? .null
    case .shuffleMode: return mode("shuffle", state.queue.shuffleMode)
    case .repeatMode: return mode("repeat", state.queue.repeatMode)
    case .duration: return state.track.duration.map { ["duration": .double($0)] } ?? .null
    default:
      return [update.attribute.description.camelCase: .string(update.text)]
    }
  }

  private static func number(_ value: Double?) -> JSONValue { value.map { .double($0) } ?? .null }

  private static func mode(_ name: String, _ mode: QueueMode?) -> JSONValue {
    mode.map { [name: .string($0.description)] } ?? .null
  }

  static func remoteCommands(_ vector: Vector) throws(Malformed) -> Verdict {
    let commands = RemoteCommand.list(decoding: try vector.bytes)
    return compare(vector, with: ["supported": .strings(commands.map(\.description.camelCase))])
  }

  /// What is written to the service must be the same when it is read and written again, and the
  /// vector's words must begin with what it is about.
  static func mediaWrite(_ vector: Vector) throws(Malformed) -> Verdict {
    let bytes = try vector.bytes
    let meaning = vector.meaning
    do throws(MediaError) {
      switch vector.json["characteristic"]?.string {
      case "remoteCommand":
        guard bytes.count == 1, let first = bytes.first else { return .failed("not one byte") }
        let word = RemoteCommand(rawValue: first).description.camelCase
        return require(meaning == word, "\(word) instead of \(meaning)")
      case "entityUpdate":
        let registration = try EntityRegistration(decoding: bytes)
        guard registration.encoded == bytes else {
          return .failed("encodes as \(registration.encoded.hex)")
        }
        let entity = registration.entity.description
        return require(meaning.hasPrefix(entity), "\(entity) is not in \"\(meaning)\"")
      case "entityAttribute":
        let attribute = try MediaAttribute(decoding: bytes)
        guard attribute.selection == bytes else {
          return .failed("encodes as \(attribute.selection.hex)")
        }
        let words = "\(attribute.entity) \(attribute.description.camelCase)"
        return require(meaning.contains(words), "\(words) is not in \"\(meaning)\"")
      default:
        return .notApplicable("the characteristic is not known")
      }
    } catch {
      return .failed("refused: \(error.name ?? "\(error.rawValue)")")
    }
  }

  static func numberString(_ vector: Vector) throws(Malformed) -> Verdict {
    let read = MediaNumber.double(try vector.text.utf8)
    return compare(vector, with: number(read))
  }

  /// The name of an error of ANCS or AMS.
  static func errorName(_ code: UInt8, isMedia: Bool) -> String? {
    isMedia ? MediaError(rawValue: code).name : ControlPointError(rawValue: code).name
  }
}
