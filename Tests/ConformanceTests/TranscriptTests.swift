// SPDX-License-Identifier: GPL-3.0-or-later
import Conformance
import JSON
import Testing

@Suite("Conformance: transcripts of ATT and GATT")
struct TranscriptTests {
  static let file = (try? VectorFile.read("att-gatt.json")) ?? .null
  static let cases = Transcripts.cases(in: file) ?? []
  static let ownFile = (try? VectorFile.read("own-att-gatt.json")) ?? .null
  static let ownCases = Transcripts.cases(in: ownFile) ?? []

  @Test("All transcripts of the files are run")
  func count() {
    #expect(Self.cases.count == 134)
    #expect(Self.ownCases.count == 162)
  }

  @Test("Our side sends the PDUs of the transcript, one by one", arguments: cases + ownCases)
  func run(transcript: VectorCase) { #expect(transcript.run() == .passed) }

  /// The transcript at `index` with `change` made to it.
  static func changed(
    _ index: Int, of file: JSONValue = file, _ change: (inout JSONObject) -> Void
  ) throws -> VectorCase {
    var test = try #require(file["tests"]?.array?[index].object)
    change(&test)
    let changed: JSONValue = ["tests": [.object(test)], "databases": file["databases"] ?? [:]]
    return try #require(Transcripts.cases(in: changed)?.first)
  }

  @Test("A changed octet in any PDU to be sent fails the transcript")
  func altered() throws {
    for file in [Self.file, Self.ownFile] {
      for (index, test) in (file["tests"]?.array ?? []).enumerated() {
        let pdus = test["pdus"]?.array ?? []
        for line in pdus.indices where pdus[line]["dir"] == "tx" {
          let altered = try Self.changed(index, of: file) { test in
            var pdus = pdus
            guard var pdu = pdus[line].object, let hex = pdu["hex"]?.string else { return }
            pdu["hex"] = .string(hex.dropLast() + (hex.last == "0" ? "1" : "0"))
            pdus[line] = .object(pdu)
            test["pdus"] = .array(pdus)
          }
          #expect(RunnerTests.fails(altered), "\(altered.id) passes with PDU \(line) changed")
        }
      }
    }
  }

  @Test("A missing or additional PDU fails the transcript")
  func length() throws {
    let long = try Self.changed(3) { test in
      test["pdus"] = .array((test["pdus"]?.array ?? []) + [["dir": "tx", "hex": "13"]])
    }
    #expect(long.run() == .failed("PDU 6: nothing was sent instead of 13"))
    let short = try Self.changed(3) { test in
      test["pdus"] = .array(test["pdus"]?.array?.dropLast() ?? [])
    }
    #expect(short.run() == .failed("PDU 5: sent 011006000a where nothing was to be sent"))
  }

  @Test("A step with an unexpected result fails, and an unknown one does not apply")
  func ends() throws {
    let index = try #require(Self.cases.firstIndex { $0.id == "/TP/GAR/CL/BV-01-C" })
    func step(_ name: String, _ value: JSONValue) throws -> Verdict {
      try Self.changed(index) { test in
        guard var step = test["step"]?.object else { return }
        step[name] = value
        test["step"] = .object(step)
      }.run()
    }
    #expect(try step("value", "010204") == .failed("read 010203 instead of 010204"))
    #expect(try step("expected_att_ecode", 2) == .failed("succeeded where error 2 was expected"))
    #expect(try step("op", "dance") == .notApplicable("a client's step dance is not known"))
  }
}
