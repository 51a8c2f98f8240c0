// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Capture
import JSON
import TestLoop
import Testing
import Wire

/// One PDU of a transcript of Tests/Vectors/att-gatt.json.
private struct Step {
  var isSent: Bool
  var bytes: [UInt8]
}

private struct Transcript: CustomTestStringConvertible {
  var testDescription: String
  var steps: [Step]

  static let all: [Transcript] = {
    guard
      let file = try? JSONValue(parsing: Repository.read("Tests/Vectors/att-gatt.json"))
    else { return [] }
    return (file["tests"]?.array ?? []).map { test in
      Transcript(
        testDescription: test["name"]?.string ?? "",
        steps: (test["pdus"]?.array ?? []).compactMap { pdu in
          guard let bytes = pdu["hex"]?.string.flatMap([UInt8].init(hex:)), !bytes.isEmpty else {
            return nil
          }
          return Step(isSent: pdu["dir"]?.string == "tx", bytes: bytes)
        })
    }
  }()
}

@Suite("Captures of BlueZ's transcripts")
struct TranscriptTests {
  @Test("The transcripts are there")
  func count() { #expect(Transcript.all.count > 130) }

  @Test(
    "Every PDU is decoded, and responses have their requests", arguments: Transcript.all)
  private func transcript(transcript: Transcript) {
    var link = DecodedLink()
    for step in transcript.steps {
      let unit = step.isSent ? link.send(step.bytes) : link.receive(step.bytes)
      #expect(unit?.code == UInt16(step.bytes[0]))
      #expect(unit?.length == step.bytes.count)
      // The reference sends malformed PDUs on purpose; what it reads as one, so do we.
      let isWell = (try? PDU(decoding: step.bytes)) != nil
      #expect((unit?.problem == nil) == isWell)
      switch Opcode(rawValue: step.bytes[0]) {
      case .readResponse, .readBlobResponse:
        #expect(unit?.attributes.first?.handle != nil)
        #expect(unit?.attributes.first?.value == Array(step.bytes.dropFirst()))
      case .readByTypeResponse where isWell:
        #expect(unit?.attributes.allSatisfy { $0.uuid != nil } == true)
      default: break
      }
    }
  }
}
