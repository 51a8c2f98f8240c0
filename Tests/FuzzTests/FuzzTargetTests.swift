// SPDX-License-Identifier: GPL-3.0-or-later
import System
import TestLoop
import Testing
import Wire

@testable import FuzzTargets

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

  /// Well-formed inputs, of which the suite makes others that are nearly so.
  private static let wellFormed: [String: [String]] = [
    "att-pdu": [
      "0110341210", "020502", "0501010000280200032a", "07010004000500ffff", "080100ffff0328",
      "09030500aa0600bb", "0e01000200", "110610f018f00018ffffffff0a18", "1204000100",
      "1604001200ff",
      "1801", "1d040001", "210000" + "0100aa" + "0500bbcc", "2304000100aa" + "05000000",
      "d20400ff" + "000000000102030405060708",
    ],
    "notification-source": ["0018040141000000"],
    "control-point": [
      "0004030201" + "00" + "010800" + "05", "01" + "636f6d2e6170706c65" + "00" + "00",
      "020700000001",
    ],
    // The command, and its response in one fragment, and that for an app's name in two.
    "data-source": [
      "03" + "0080" + "0108" + "0580" + "22" + "0001020304" + "000300636f6d" + "0102004869"
        + "050f00" + "323032363131323154303730303030",
      "09" + "00" + "05" + "01636f6d2e" + "06" + "610000010058",
    ],
    "media-values": ["000100312c312e302c37312e313437", "020102", "0202"],
    "companion": ["ea070b15071e0f068001", "0404", "1800280004005802"],
    "advertising-data": ["020106" + "0609626f617264" + "03190102", "05030d180f18"],
    "mgmt-event": ["0b0000000d00" + "665544332211" + "02" + "00000000" + "0000"],
  ]

  @Test("Any bytes are no trouble, nor is what is nearly well formed", arguments: FuzzTarget.all)
  func random(target: FuzzTarget) {
    var generator = SeededGenerator(seed: 2026)
    var inputs = (0..<500).map { _ in generator.bytes(upTo: target.longest) }
    let wellFormed = Self.wellFormed[target.name]?.compactMap { [UInt8](hex: $0) } ?? []
    for input in target.name == "capture" ? Sample.files.map(\.bytes) : wellFormed {
      inputs += (0..<1_000).map { _ in generator.mutated(input) }
    }
    for input in inputs {
      #expect(throws: Never.self, "\(input)") { try target.play(input) }
    }
  }
}
