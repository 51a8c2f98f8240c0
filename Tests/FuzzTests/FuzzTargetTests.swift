// SPDX-License-Identifier: GPL-3.0-or-later
import FuzzTargets
import System
import TestLoop
import Testing

extension FuzzTarget: CustomTestStringConvertible {
  public var testDescription: String { name }
}

@Suite("The fuzzer's targets")
struct FuzzTargetTests {
  /// What scripts/fuzz once found: Found/TARGET/NAME.
  private static let found = Repository.path(of: "Tests/FuzzTests/Found")

  @Test("Inputs that once broke a parser no longer do", arguments: FuzzTarget.all)
  func found(target: FuzzTarget) throws {
    let folder = "\(Self.found)/\(target.name)"
    guard try Files.kind(of: folder) != nil else { return }
    for name in try Files.names(in: folder) {
      #expect(throws: Never.self, "\(target.name)/\(name)") {
        try target.play(try Files.read("\(folder)/\(name)"))
      }
    }
  }

  @Test("Any bytes at all are no trouble", arguments: FuzzTarget.all)
  func random(target: FuzzTarget) {
    var generator = SeededGenerator(seed: 2026)
    for _ in 0..<500 {
      let input = generator.bytes(upTo: target.longest)
      #expect(throws: Never.self, "\(input)") { try target.play(input) }
    }
  }
}
