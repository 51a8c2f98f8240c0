// SPDX-License-Identifier: GPL-3.0-or-later
import Conformance
import JSON
import System

/// Runs files of vectors and transcripts: a line a case, then how many passed and failed. Ends with 1
/// where one failed, with 66 where a file cannot be read or is none that we know.
@main
struct ConformanceTool {
  static func main() {
    let paths = CommandLine.arguments.dropFirst()
    guard !paths.isEmpty else { end(64, "usage: conformance FILE…") }
    let vectors = paths.flatMap { cases(of: $0) }
    var passed = 0
    var failed = 0
    var skipped = 0
    for vector in vectors {
      switch vector.run() {
      case .passed:
        passed += 1
        print("passed  \(vector.id)")
      case .failed(let why):
        failed += 1
        print("FAILED  \(vector.id): \(why)")
      case .notApplicable(let why):
        skipped += 1
        print("n/a     \(vector.id): \(why)")
      }
    }
    let rest = skipped > 0 ? ", \(skipped) not applicable" : ""
    print("\(passed) passed, \(failed) failed\(rest)")
    if failed > 0 { Host.exit(1) }
  }

  private static func cases(of path: String) -> [VectorCase] {
    let file: JSONValue
    do {
      file = try JSONValue(parsing: try Files.read(path))
    } catch {
      end(66, "\(path): \(error)")
    }
    guard let cases = Transcripts.cases(in: file) ?? ServiceVectors.cases(in: file) else {
      end(66, "\(path): has neither transcripts (tests) nor vectors (vectors)")
    }
    return cases
  }

  private static func end(_ status: Int32, _ why: String) -> Never {
    try? FileDescriptor.writeAll(Array("conformance: \(why)\n".utf8), to: Standard.error)
    Host.exit(status)
  }
}
