// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import JSON
import Wire

/// Vectors of ANCS and AMS: values of characteristics and how they are to be decoded.
///
/// A file is an object whose `vectors` each have an `id`, a `kind`, bytes (`hex`, `fragments`, `utf8`) and
/// usually an expectation. Only the members of the expectation are compared.
public enum ServiceVectors {
  /// The vectors of a file; nil if it is not such a file.
  public static func cases(in file: JSONValue) -> [VectorCase]? {
    guard let vectors = file["vectors"]?.array else { return nil }
    return vectors.enumerated().map { index, vector in
      let kind = vector["kind"]?.string ?? ""
      return VectorCase(id: vector["id"]?.string ?? "vectors[\(index)]", kind: kind) {
        run(Vector(json: vector), kind: kind)
      }
    }
  }

  /// A vector and its members.
  struct Vector: Sendable {
    let json: JSONValue

    /// The bytes of the value.
    var bytes: [UInt8] {
      get throws(Malformed) {
        guard let hex = json["hex"]?.string, let bytes = [UInt8](hex: hex) else {
          throw Malformed(what: "hex")
        }
        return bytes
      }
    }

    /// The text of the value.
    var text: String {
      get throws(Malformed) {
        guard let text = json["utf8"]?.string else { throw Malformed(what: "utf8") }
        return text
      }
    }

    var expected: JSONValue? { json["expect"] }
    var meaning: String { json["meaning"]?.string ?? "" }
    /// The expected error.
    var expectedError: String? { expected?["error"]?.string }

    /// Whether the words name these of all names, if any: those before a semicolon, without a promise to name all.
    func says(_ names: [String], of all: [String]) -> Bool {
      let words = meaning.prefix { $0 != ";" }.description.words
      let said = Set(all).intersection(words)
      return said.isEmpty || words.contains("all") || said == Set(names)
    }

    /// Whether this is the UID that the words name, if any: `uid=0x97`, `uid 0x37`.
    func says(_ uid: NotificationUID) -> Bool {
      let words = meaning.words
      guard let place = words.firstIndex(of: "uid"), place + 1 < words.count, words[place + 1].hasPrefix("0x")
      else { return true }
      return UInt32(words[place + 1].dropFirst(2), radix: 16) == uid.rawValue
    }
  }

  /// A vector without a member that its kind requires.
  struct Malformed: Error { let what: String }

  private static func run(_ vector: Vector, kind: String) -> Verdict {
    do {
      switch kind {
      case "ancs.notificationSource": return try notificationSource(vector)
      case "ancs.controlPoint": return try controlPoint(vector)
      case "ancs.dataSource": return try dataSource(vector)
      case "ancs.date": return try date(vector)
      case "att.errorResponse": return try errorResponse(vector)
      case "ams.entityUpdate": return try entityUpdate(vector)
      case "ams.remoteCommandNotification": return try remoteCommands(vector)
      case "ams.write": return try mediaWrite(vector)
      case "ams.numberString": return try numberString(vector)
      default: return .notApplicable("vectors of the kind \(kind) are not known")
      }
    } catch { return .failed("the vector has no usable \(error.what)") }
  }

  /// Compares the result with what the vector expects.
  static func compare(_ vector: Vector, with actual: JSONValue) -> Verdict {
    guard let expected = vector.expected else { return .notApplicable("nothing is expected") }
    return expected.difference(from: actual).map(Verdict.failed) ?? .passed
  }

  /// Compares the error with the expected one. The specifications have no names for these errors: any
  /// error matches a name that is not known here.
  static func refused(_ vector: Vector, with error: String) -> Verdict {
    guard let expected = vector.expectedError else { return .failed("refused with \(error)") }
    func word(_ text: String) -> String { String(text.prefix { $0.isLetter }) }
    let isSame = expected == error || expected.hasPrefix("\(error);")
    let areKnown = errorWords.contains(word(expected)) && errorWords.contains(word(error))
    return require(isSame || !areKnown, "refused with \(error) instead of \(expected)")
  }

  private static let errorWords: Set = [
    "incomplete", "unexpectedData", "commandMismatch", "uidMismatch", "appMismatch",
    "unexpectedAttribute", "attributeLongerThanRequested", "trailingBytes", "tooShort",
    "wrongLength", "unparsable", "fieldCount", "unknownCommand", "invalidCommand",
  ]

  /// Passes if `condition` holds.
  static func require(_ condition: Bool, _ otherwise: @autoclosure () -> String) -> Verdict {
    condition ? .passed : .failed(otherwise())
  }
}

extension String {
  /// `reserved(12)` for a number in place of a name.
  var orReserved: String { UInt8(self) == nil ? self : "reserved(\(self))" }

  /// Whether this text is a part. The library's own `contains` for that is in its module of regular expressions, which the SDK
  /// for another processor lacks (scripts/sdk).
  func has(_ part: String) -> Bool {
    part.isEmpty || indices.contains { self[$0...].hasPrefix(part) }
  }

  /// The words: letters and digits.
  var words: [String] { split { !$0.isLetter && !$0.isNumber }.map(String.init) }

  /// `Unknown Command` in the vectors' spelling: `unknownCommand`.
  var camelCaseWords: String { split(separator: " ").joined().camelCase }

  /// `positive-action` and `PositiveAction` in the vectors' spelling: `positiveAction`.
  var camelCase: String {
    let words = split(separator: "-")
    let joined =
      (words.first.map(String.init) ?? "")
      + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    return joined.prefix(1).lowercased() + joined.dropFirst()
  }
}
