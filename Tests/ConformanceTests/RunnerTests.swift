// SPDX-License-Identifier: GPL-3.0-or-later
import Conformance
import JSON
import Testing

/// How the runner treats invalid transcripts, and forms that the files do not have.
@Suite("Conformance: the transcript runner")
struct RunnerTests {
  /// A transcript; our PDUs begin with `>`.
  static func transcript(
    _ role: String, _ step: JSONValue, _ pdus: [String], database: JSONValue? = nil
  ) throws -> VectorCase {
    let lines = pdus.map { line -> JSONValue in
      ["dir": line.hasPrefix(">") ? "tx" : "rx", "hex": .string(String(line.dropFirst()))]
    }
    let test: JSONValue = [
      "name": "own", "role": .string(role), "step": step, "pdus": .array(lines), "db": database == nil ? .null : "db",
    ]
    let file: JSONValue = ["tests": [test], "databases": ["db": database ?? .null]]
    return try #require(Transcripts.cases(in: file)?.first)
  }

  static let exchange = [">020002", "<030002"]

  static let database: JSONValue = [
    "attributes": [
      attribute(1, "2800", "0f18", "service", nil, end: 4), attribute(2, "2803", "120300192a", "characteristic", 1),
      attribute(3, "2A19", "64", "value", 1), attribute(4, "2902", "0000", "descriptor", 3),
    ]
  ]

  static func attribute(
    _ handle: Int64, _ type: String, _ value: String, _ kind: String, _ bits: Int64?, end: Int64? = nil
  ) -> JSONValue {
    [
      "handle": .int(handle), "type": .string(type), "value": .string(value), "kind": .string(kind),
      "perm_bits": bits.map { .int($0) } ?? .null, "group_end": end.map { .int($0) } ?? .null,
    ]
  }

  static let discovery =
    exchange + [
      ">100100ffff0028", "<1106" + "01000400" + "0f18", ">100500ffff0028", "<011005000a", ">08010004000328",
      "<0907" + "0200" + "120300192a", ">08030004000328", "<010803000a", ">0404000400", "<0501" + "04000229",
    ]

  static func fails(_ transcript: VectorCase) -> Bool {
    if case .failed = transcript.run() { true } else { false }
  }

  @Test("The discovery must find what the database has")
  func otherDatabase() throws {
    let step: JSONValue = ["func": "client"]
    #expect(try Self.transcript("client", step, Self.discovery, database: Self.database).run() == .passed)
    var lines = Self.discovery
    lines[7] = "<0907" + "0200" + "1a0300192a"
    #expect(Self.fails(try Self.transcript("client", step, lines, database: Self.database)))
  }

  @Test("A step that is unfinished at the end of the transcript fails")
  func unfinished() throws {
    let step: JSONValue = ["func": "client", "op": "read", "handle": 3, "value": "64"]
    #expect(
      try Self.transcript("client", step, Self.discovery + [">0a0300"], database: Self.database)
        .run() == .failed("the step waits for more than the transcript has"))
    let never: JSONValue = ["op": "server_notification", "handle": 3, "value": "32"]
    #expect(
      try Self.transcript("server", never, ["<020002", ">030002"], database: Self.database).run()
        == .failed("not all steps were done"))
  }

  @Test("Other files have no transcripts")
  func otherFiles() {
    #expect(Transcripts.cases(in: ["vectors": []]) == nil)
    #expect(ServiceVectors.cases(in: ["tests": []]) == nil)
    #expect(Transcripts.cases(in: []) == nil)
  }

  @Test(
    "An incomplete transcript fails; one of an unknown kind does not apply")
  func unusable() throws {
    let exchange: JSONValue = [["dir": "rx", "hex": "021700"], ["dir": "tx", "hex": "030002"]]
    let cases = try #require(
      Transcripts.cases(in: [
        "databases": ["d": ["attributes": []], "broken": ["attributes": [["handle": 1]]]],
        "tests": [
          ["role": "server", "db": "d", "pdus": exchange], ["name": "no role", "db": "d", "pdus": exchange],
          ["name": "no PDUs", "role": "server", "db": "d"], ["name": "empty", "role": "server", "db": "d", "pdus": []],
          ["name": "no octets", "role": "att", "pdus": [["dir": "tx", "hex": ""]]],
          ["name": "up", "role": "client", "pdus": [["dir": "up", "hex": "00"]]],
          ["name": "odd", "role": "client", "pdus": [["dir": "tx", "hex": "020"]]],
          ["name": "no database", "role": "server", "db": "none", "pdus": exchange],
          ["name": "nothing to serve", "role": "server", "pdus": exchange],
          ["name": "broken", "role": "server", "db": "broken", "pdus": exchange],
        ],
      ]))
    #expect(cases[0].id == "tests[0]")
    for transcript in cases { #expect(Self.fails(transcript), "\(transcript.id)") }
    let unknown = try Self.transcript("dancer", [:], Self.exchange)
    #expect(unknown.run() == .notApplicable("the role dancer is not known"))
    let other = try Self.transcript("server", ["func": "dance"], ["<021700", ">030002"], database: Self.database)
    #expect(other.run() == .notApplicable("the procedure dance is not known"))
  }
}
