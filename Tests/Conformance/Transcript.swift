// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import JSON
import Wire

/// A transcript: the PDUs that a bearer is to send and to receive while one side performs `step`.
///
/// A file has `tests`, each with `name`, `role` (`client`: our GATT client after a discovery, `att`: one
/// procedure of it after the MTU exchange, `server`: our GATT server on the database `db`), `step` and
/// `pdus`; and `databases` by their names. `tx` is what our side sends. Other members are ignored;
/// docs/conformance.md describes those of a step.
struct Transcript: Sendable {
  var name: String
  var role: String
  var step: JSONValue
  var lines: [Line]
  var database: TranscriptDatabase?

  struct Line: Sendable {
    var isSent: Bool
    var bytes: [UInt8]
    /// Whether our side performs its step right after this line.
    var runsStep: Bool
  }

  /// Why a file or a transcript cannot be used.
  struct Malformed: Error { var what: String }

  init(_ json: JSONValue, databases: JSONValue?) throws(Malformed) {
    guard let name = json["name"]?.string else { throw Malformed(what: "name") }
    self.name = name
    guard let role = json["role"]?.string else { throw Malformed(what: "role") }
    self.role = role
    step = json["step"] ?? [:]
    lines = []
    guard let pdus = json["pdus"]?.array else { throw Malformed(what: "list of PDUs") }
    for line in pdus {
      guard let direction = line["dir"]?.string, let hex = line["hex"]?.string,
        let bytes = [UInt8](hex: hex), !bytes.isEmpty, direction == "tx" || direction == "rx"
      else { throw Malformed(what: "PDU \(lines.count)") }
      lines.append(Line(isSent: direction == "tx", bytes: bytes, runsStep: line["after"]?.string == "run_step"))
    }
    guard !lines.isEmpty || step["func"]?.string == "hash_db" else { throw Malformed(what: "PDU") }
    if let name = json["db"]?.string {
      guard let database = databases?[name] else { throw Malformed(what: "database \(name)") }
      self.database = try TranscriptDatabase(database)
    }
  }
}

extension Transcript {
  /// Our receive MTU: that of the step, otherwise 512, as in the reference.
  var mtu: Int { Int(step.u16("mtu") ?? 512) }
}

/// Transcripts of ATT and GATT as cases.
public enum Transcripts {
  /// The transcripts of a file; nil if it is not such a file.
  public static func cases(in file: JSONValue) -> [VectorCase]? {
    guard let tests = file["tests"]?.array else { return nil }
    return tests.enumerated().map { index, test in
      let name = test["name"]?.string ?? "tests[\(index)]"
      return VectorCase(id: name, kind: test["role"]?.string ?? "") {
        do throws(Transcript.Malformed) {
          return play(try Transcript(test, databases: file["databases"]))
        } catch { return .failed("the transcript has no usable \(error.what)") }
      }
    }
  }
}

extension JSONValue {
  /// A handle or another small number.
  func u16(_ name: String) -> UInt16? { self[name]?.int.flatMap { UInt16(exactly: $0) } }

  /// Octets as hexadecimal digits.
  func octets(_ name: String) -> [UInt8]? { self[name]?.string.flatMap { [UInt8](hex: $0) } }
}
