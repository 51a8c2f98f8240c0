// SPDX-License-Identifier: GPL-3.0-or-later
import Conformance
import JSON
import TestLoop
import Testing

/// The files under Tests/Vectors.
enum VectorFile {
  static func read(_ name: String) throws -> JSONValue {
    try JSONValue(parsing: Repository.read("Tests/Vectors/\(name)"))
  }
}

extension VectorCase: CustomTestStringConvertible { public var testDescription: String { id } }

@Suite("Conformance: vectors of ANCS and AMS")
struct ServiceVectorTests {
  static let cases = (try? ServiceVectors.cases(in: VectorFile.read("ancs-ams.json"))) ?? []
  static let ownCases = (try? ServiceVectors.cases(in: VectorFile.read("own-ancs-ams.json"))) ?? []

  @Test("All vectors of the files are run")
  func count() {
    #expect(Self.cases.count == 129)
    #expect(Self.ownCases.count == 419)
  }

  @Test("A vector has the expected result", arguments: cases + ownCases)
  func run(vector: VectorCase) { #expect(vector.run() == .passed) }

  static func verdict(_ vector: JSONValue) throws -> Verdict {
    try #require(ServiceVectors.cases(in: ["vectors": [vector]])?.first).run()
  }

  @Test("A deviation fails and reports where")
  func failing() throws {
    #expect(
      try Self.verdict([
        "kind": "ancs.notificationSource", "hex": "001801013a000000", "expect": ["uid": 59],
      ]) == .failed("uid is 58 instead of 59"))
    #expect(
      try Self.verdict([
        "kind": "ancs.controlPoint", "hex": "023a00000000", "meaning": "negative action, uid 0x3a",
      ]) == .failed("other than \"negative action, uid 0x3a\""))
    #expect(
      try Self.verdict([
        "kind": "ams.write", "characteristic": "entityUpdate", "hex": "0001", "meaning": "player: volume",
      ]) == .failed("other than \"player: volume\""))
    #expect(
      try Self.verdict([
        "kind": "ams.write", "characteristic": "remoteCommand", "hex": "00", "expect": ["error": "invalidCommand"],
      ]) == .failed("taken for a command"))
    #expect(
      try Self.verdict(["kind": "ancs.notificationSource"])
        == .failed("the vector has no usable hex"))
    #expect(
      try Self.verdict(["kind": "ancs.weather"])
        == .notApplicable("vectors of the kind ancs.weather are not known"))
  }

  @Test("A response is refused without a command, or to a command for another app")
  func unasked() throws {
    func verdict(_ asked: JSONValue, _ app: JSONValue, _ error: JSONValue) throws -> Verdict {
      try Self.verdict([
        "kind": "ancs.dataSource", "command": "getAppAttributes", "requestedAttributeIDs": asked,
        "requestedAppIdentifier": app, "fragments": ["016100", "000000"], "expect": ["error": error],
      ])
    }
    #expect(try verdict([], "a", "unexpectedData") == .passed)
    #expect(try verdict([0], "b", "appMismatch") == .passed)
    #expect(try verdict([0], "a", "appMismatch") == .failed("error is missing"))
  }

  @Test("Bytes must be refused with the vector's error, if its name is known")
  func refusing() throws {
    func verdict(_ error: JSONValue, _ hex: JSONValue = "0001") throws -> Verdict {
      try Self.verdict(["kind": "ancs.notificationSource", "hex": hex, "expect": ["error": error]])
    }
    #expect(try verdict("wrongLength(2)") == .passed)
    #expect(try verdict("wrongLength(2); ignore") == .passed)
    #expect(try verdict("malformed") == .passed)
    #expect(try verdict("wrongLength(3)") == .failed("refused with wrongLength(2) instead of wrongLength(3)"))
    #expect(try verdict("uidMismatch") == .failed("refused with wrongLength(2) instead of uidMismatch"))
    #expect(try verdict("malformed", "001801013a000000") == .failed("error is missing"))
  }
}
