// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import JSON
import Wire

/// One transcript: what a bearer is to send and what it is sent, PDU by PDU, while one side does
/// `step`.
///
/// The form of a file of them: `tests`, each with `name`, `role` (`client`: our GATT client after a
/// discovery, `att`: one procedure of it after the MTU exchange, `server`: our GATT server on the
/// database `db`), `step` and `pdus`; and `databases` by their names. `tx` is what our side sends.
struct Transcript: Sendable {
  var name: String
  var role: String
  var step: JSONValue
  var lines: [Line]
  var database: TranscriptDatabase?

  struct Line: Sendable {
    var isSent: Bool
    var bytes: [UInt8]
    /// Whether our side does its step right after this line.
    var runsStep: Bool
  }

  /// What in a file cannot be used.
  struct Malformed: Error {
    var what: String
  }

  init(_ json: JSONValue, databases: JSONValue?) throws(Malformed) {
    guard let name = json["name"]?.string else { throw Malformed(what: "name") }
    self.name = name
    guard let role = json["role"]?.string else { throw Malformed(what: "role") }
    self.role = role
    step = json["step"] ?? [:]
    lines = []
    for line in json["pdus"]?.array ?? [] {
      guard let direction = line["dir"]?.string, let hex = line["hex"]?.string,
        let bytes = [UInt8](hex: hex), direction == "tx" || direction == "rx"
      else { throw Malformed(what: "PDU \(lines.count)") }
      lines.append(
        Line(
          isSent: direction == "tx", bytes: bytes, runsStep: line["after"]?.string == "run_step"))
    }
    if let name = json["db"]?.string {
      guard let database = databases?[name] else { throw Malformed(what: "database \(name)") }
      self.database = try TranscriptDatabase(database)
    }
  }
}

extension Transcript {
  /// What our side can receive: the reference's side says 512, unless the step's note has another
  /// number.
  var mtu: Int {
    let words = (step["func_note"]?.string ?? "").split { " ,;()".contains($0) }
    let number = zip(words, words.dropFirst()).first { $0.0 == "MTU" && Int($0.1) != nil }?.1
    return number.flatMap { Int($0) } ?? 512
  }
}

/// Transcripts of ATT and GATT, as cases to run.
public enum Transcripts {
  /// The transcripts of a file; nil where it is not such a file.
  public static func cases(in file: JSONValue) -> [VectorCase]? {
    guard let tests = file["tests"]?.array, tests.contains(where: { $0["pdus"] != nil }) else {
      return nil
    }
    return tests.map { test in
      VectorCase(id: test["name"]?.string ?? "?", kind: test["role"]?.string ?? "?") {
        do throws(Transcript.Malformed) {
          return play(try Transcript(test, databases: file["databases"]))
        } catch {
          return .notApplicable("the transcript has no usable \(error.what)")
        }
      }
    }
  }
}

extension JSONValue {
  /// A handle or another small number.
  func u16(_ name: String) -> UInt16? { self[name]?.int.flatMap { UInt16(exactly: $0) } }

  /// Octets written as hexadecimal digits.
  func octets(_ name: String) -> [UInt8]? { self[name]?.string.flatMap { [UInt8](hex: $0) } }
}
