// SPDX-License-Identifier: GPL-3.0-or-later
import Conformance
import JSON
import Testing

/// Transcripts of our own, for what the reference's do not have: so that the runner does not know only
/// what is in one file.
@Suite("Conformance: transcripts that are not the reference's")
struct OwnTranscriptTests {
  /// A transcript; PDUs that we send begin with `>`.
  static func transcript(
    _ role: String, _ step: JSONValue, _ pdus: [String], database: JSONValue? = nil
  ) throws -> VectorCase {
    let lines = pdus.map { line -> JSONValue in
      let hex = String(line.dropFirst())
      return hex.hasSuffix("!")
        ? ["dir": "tx", "hex": .string(String(hex.dropLast())), "after": "run_step"]
        : ["dir": line.hasPrefix(">") ? "tx" : "rx", "hex": .string(hex)]
    }
    let test: JSONValue = [
      "name": "own", "role": .string(role), "step": step, "pdus": .array(lines),
      "db": database == nil ? .null : "db",
    ]
    let file: JSONValue = ["tests": [test], "databases": ["db": database ?? .null]]
    return try #require(Transcripts.cases(in: file)?.first)
  }

  static let exchange = [">020002", "<030002"]
  static let long = "0f0e0d0c0b0a09080706050403020100"

  @Test("Included services, whose long types are read where they are declared")
  func includes() throws {
    let step: JSONValue = [
      "func": "search_included", "func_note": "included services 0x0001-0x0020",
    ]
    let passing = try Self.transcript(
      "att", step,
      Self.exchange + [
        ">08010020000228", "<0908" + "020030003f000f18", ">08030020000228",
        "<0906" + "040040004f00", ">0a4000", "<0b" + Self.long, ">08050020000228", "<010805000a",
      ])
    #expect(passing.run() == .passed)
  }

  @Test("Descriptors, of both widths")
  func descriptors() throws {
    let passing = try Self.transcript(
      "att", ["func": "search_descs", "handle": 0x10, "end_handle": 0x13],
      Self.exchange + [
        ">0410001300", "<0501" + "10000229" + "11000129", ">0412001300",
        "<0502" + "1200" + Self.long, ">0413001300", "<010413000a",
      ])
    #expect(passing.run() == .passed)
  }

  @Test("Secondary services, and all values of a type")
  func others() throws {
    let secondary = try Self.transcript(
      "att", ["func": "search_secondary"],
      Self.exchange + [">100100ffff0128", "<1106" + "0100ffff0f18"])
    #expect(secondary.run() == .passed)
    let values = try Self.transcript(
      "att", ["func": "read_by_type", "uuid": "2A19", "value": "64", "expected_att_ecode": 10],
      Self.exchange + [
        ">080100ffff192a", "<0903" + "030064" + "070064", ">080800ffff192a", "<010808000a",
      ])
    #expect(values.run() == .passed)
  }

  @Test("Another MTU than 512, where the note says so")
  func mtu() throws {
    let passing = try Self.transcript(
      "att", ["func": "search_secondary", "func_note": "(client MTU 185)"],
      [">02b900", "<030002", ">100100ffff0128", "<011001000a"])
    #expect(passing.run() == .passed)
  }

  static let database: JSONValue = [
    "attributes": [
      attribute(1, "2800", "0f18", "service", nil, end: 4),
      attribute(2, "2803", "120300192a", "characteristic", 1),
      attribute(3, "2A19", "64", "value", 1),
      attribute(4, "2902", "0000", "descriptor", 3),
    ]
  ]

  static func attribute(
    _ handle: Int64, _ type: String, _ value: String, _ kind: String, _ bits: Int64?,
    end: Int64? = nil
  ) -> JSONValue {
    [
      "handle": .int(handle), "type": .string(type), "value": .string(value),
      "kind": .string(kind), "perm_bits": bits.map { .int($0) } ?? .null,
      "group_end": end.map { .int($0) } ?? .null,
    ]
  }

  static let discovery =
    exchange + [
      ">100100ffff0028", "<1106" + "01000400" + "0f18", ">100500ffff0028", "<011005000a",
      ">08010004000328", "<0907" + "0200" + "120300192a", ">08030004000328", "<010803000a",
      ">0404000400", "<0501" + "04000229",
    ]

  @Test("A discovery without the stages that the reference has, then several values")
  func multipleVariable() throws {
    let step: JSONValue = [
      "func": "client", "op": "multiple_read_variable", "handles": [3, 4], "value": "640100",
    ]
    let passing = try Self.transcript(
      "client", step, Self.discovery + [">2003000400", "<21" + "010064" + "02000100"],
      database: Self.database)
    #expect(passing.run() == .passed)
  }

  @Test("What is discovered must be what the database has")
  func otherDatabase() throws {
    let step: JSONValue = ["func": "client"]
    #expect(
      try Self.transcript("client", step, Self.discovery, database: Self.database).run() == .passed)
    var lines = Self.discovery
    lines[7] = "<0907" + "0200" + "1a0300192a"
    let differing = try Self.transcript("client", step, lines, database: Self.database)
    guard case .failed = differing.run() else {
      Issue.record("a characteristic with other properties was taken for the same")
      return
    }
  }

  @Test("A reliable write whose echo differs is cancelled")
  func echo() throws {
    let step: JSONValue = [
      "func": "client", "op": "reliable_write", "handle": 3, "value": "010203",
    ]
    let lines = [
      ">1603000000010203", "<1703000000010204", ">1800", "<19",
    ]
    let passing = try Self.transcript(
      "client", step, Self.discovery + lines, database: Self.database)
    #expect(passing.run() == .passed)
  }

  @Test("A server notifies after the step, and needs a subscription for it")
  func notification() throws {
    let step: JSONValue = ["op": "server_notification", "handle": 3, "value": "32"]
    let lines = ["<020002", ">030002", "<1204000100", ">13!", ">1b030032"]
    #expect(
      try Self.transcript("server", step, lines, database: Self.database).run() == .passed)
    let silent = ["<020002", ">030002", "<1204000000", ">13!", ">1b030032"]
    #expect(
      try Self.transcript("server", step, silent, database: Self.database).run()
        == .failed("PDU 4: nothing was sent instead of 1b030032"))
  }

  @Test("A file that is not one of ours, and a transcript that lacks what it needs")
  func unusable() throws {
    #expect(Transcripts.cases(in: ["tests": [["name": "x"]]])?.count == nil)
    #expect(Transcripts.cases(in: ["vectors": []])?.count == nil)
    let cases = try #require(
      Transcripts.cases(
        in: [
          "tests": [
            ["name": "a", "role": "server", "pdus": []],
            ["name": "b", "role": "client", "pdus": [["dir": "up", "hex": "00"]]],
            ["name": "c", "role": "dancer", "pdus": []],
            ["name": "d", "role": "server", "db": "none", "pdus": []],
          ]
        ]))
    for transcript in cases {
      guard case .notApplicable = transcript.run() else {
        Issue.record("\(transcript.id) ran")
        continue
      }
    }
  }
}
