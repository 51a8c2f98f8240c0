// SPDX-License-Identifier: GPL-3.0-or-later
import Conformance
import FoundationEssentials
import JSON
import Testing

/// The files under Tests/Vectors.
enum VectorFile {
  static func read(_ name: String) throws -> JSONValue {
    let folder = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
    let url = "/\(folder)/Vectors/\(name)"
    guard let data = FileManager.default.contents(atPath: url) else {
      throw JSONError("no file at \(url)")
    }
    return try JSONValue(parsing: data)
  }
}

extension VectorCase: CustomTestStringConvertible {
  public var testDescription: String { id }
}

@Suite("Conformance: vectors of ANCS and AMS")
struct ServiceVectorTests {
  static let cases = (try? ServiceVectors.cases(in: VectorFile.read("ancs-ams.json"))) ?? []

  @Test("All vectors of the file are run")
  func count() { #expect(Self.cases.count == 129) }

  @Test("A vector comes out as expected", arguments: cases)
  func run(vector: VectorCase) { #expect(vector.run() == .passed) }

  @Test("What is not as expected fails, and says where")
  func failing() throws {
    let file: JSONValue = [
      "vectors": [
        [
          "id": "wrong", "kind": "ancs.notificationSource", "hex": "001801013a000000",
          "expect": ["uid": 59],
        ],
        ["id": "odd", "kind": "ancs.weather"],
      ]
    ]
    let cases = try #require(ServiceVectors.cases(in: file))
    #expect(cases[0].run() == .failed("uid is 58 instead of 59"))
    #expect(cases[1].run() == .notApplicable("vectors of the kind ancs.weather are not known"))
  }
}
