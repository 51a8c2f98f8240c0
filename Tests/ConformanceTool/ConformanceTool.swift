// SPDX-License-Identifier: GPL-3.0-or-later
import Conformance
import JSON
import System

/// Runs files of vectors and transcripts: prints a line for each case, then how many passed and failed.
/// Exits with 1 if one failed, otherwise with 66 if a file could not be read or has an unknown form; the
/// other files are run in any case.
@main
struct ConformanceTool {
  static func main() {
    let paths = CommandLine.arguments.dropFirst()
    guard !paths.isEmpty else {
      complain("usage: conformance FILE…")
      Host.exit(64)
    }
    var unusable = false
    var vectors: [VectorCase] = []
    for path in paths {
      do {
        vectors += try cases(of: path)
      } catch {
        complain("\(path): \(error)")
        unusable = true
      }
    }
    var passed = 0
    var failed = 0
    var skipped = 0
    for vector in vectors {
      let id = vector.id.split(whereSeparator: \.isNewline).joined(separator: " ")
      switch vector.run() {
      case .passed:
        passed += 1
        print("passed  \(id)")
      case .failed(let why):
        failed += 1
        print("FAILED  \(id): \(why)")
      case .notApplicable(let why):
        skipped += 1
        print("n/a     \(id): \(why)")
      }
    }
    let rest = skipped > 0 ? ", \(skipped) not applicable" : ""
    print("\(passed) passed, \(failed) failed\(rest)")
    if failed > 0 { Host.exit(1) }
    if unusable { Host.exit(66) }
  }

  private static func cases(of path: String) throws -> [VectorCase] {
    let file = try JSONValue(parsing: try Files.read(path))
    let cases = (Transcripts.cases(in: file) ?? []) + (ServiceVectors.cases(in: file) ?? [])
    guard !cases.isEmpty else {
      throw JSONError("has neither transcripts (tests) nor vectors (vectors)")
    }
    return cases
  }

  private static func complain(_ why: String) {
    try? FileDescriptor.writeAll(Array("conformance: \(why)\n".utf8), to: Standard.error)
  }
}
