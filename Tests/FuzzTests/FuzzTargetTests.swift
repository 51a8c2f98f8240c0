// SPDX-License-Identifier: GPL-3.0-or-later
import System
import TestLoop
import Testing
import Wire

@testable import FuzzTargets

extension FuzzTarget: CustomTestStringConvertible { public var testDescription: String { name } }

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
      "0110341210", "020502", "0501010000280200032a", "07010004000500ffff", "080100ffff0328", "09030500aa0600bb",
      "0e01000200", "110610f018f00018ffffffff0a18", "1204000100", "1604001200ff", "1801", "1d040001",
      "210000" + "0100aa" + "0500bbcc", "2304000100aa" + "05000000", "d20400ff" + "000000000102030405060708",
    ], "notification-source": ["0018040141000000"],
    "control-point": [
      "0004030201" + "00" + "010800" + "05", "01" + "636f6d2e6170706c65" + "00" + "00", "020700000001",
    ],
    // The command, and its response in one fragment, and that for an app's name in two.
    "data-source": [
      "03" + "0080" + "0108" + "0580" + "22" + "0001020304" + "000300636f6d" + "0102004869" + "050f00"
        + "323032363131323154303730303030", "09" + "00" + "05" + "01636f6d2e" + "06" + "610000010058",
    ], "media-values": ["000100312c312e302c37312e313437", "020102", "0202"],
    "companion": ["ea070b15071e0f068001", "0404", "1800280004005802"],
    "advertising-data": ["020106" + "0609626f617264" + "03190102", "05030d180f18"],
    "mgmt-event": ["0b0000000d00" + "665544332211" + "02" + "00000000" + "0000"],
  ]

  /// Packets for the targets that read several; those that a target marks begin with `+`.
  private static let packets: [String: [String]] = [
    "att-server": [
      "020502", "0401000a00", "060100ffff00280018", "060100ffff0028" + "0f18", "080100ffff0328", "080100ffff002a",
      "0a0300", "0a4200", "0a1700", "0c42000200", "0e03004200", "100100ffff0028", "100100ffff0128", "1242000102",
      "124500" + String(repeating: "07", count: 253), "1213000200", "12150001", "12150007", "16420000000102",
      "16450000000102", "1801", "1800", "2003004200", "52420001", "d242000102" + "000000000102030405060708", "1b030001",
      "1d030001", "1e", "0b01", "0112420005", "bf00", "7f00", "", "+0a0300", "+1e",
    ], "att-client": responses, "discovery": responses,
    "mgmt-client": [
      "0b0000000d00" + "665544332211" + "02" + "00000000" + "0000", "0500" + "0000" + "0000",
      "+01" + "0100" + "0000", "+05" + "0100" + "66554433221102", "+00" + "0100" + "0000" + "0300",
      "+07" + "66554433221102" + "c4" + "7f" + "7f",
    ],
    "notifications": [
      "01" + "0018040107000000", "01" + "0204040107000000", "02" + "0007000000" + "0103004d756d", "02" + "00070000",
      "00" + "01", "+00" + "13", "+00" + "0112120003", "+05" + "13", "+64" + "0112120003",
    ],
    "media": [
      "01" + "000100" + "312c312e302c3731", "01" + "020201" + "536f2057", "00" + "0001020304",
      "+00" + "13", "+00" + "0b" + "536f2057686174", "+05" + "0d", "+14" + "01121500a1",
    ],
    "capture-packets": [
      "02030c00", "033e130100400001" + "01" + "998877665544" + "180000" + "00f40100",
      "054020" + "0b00" + "07000400" + "1b150000040107", "044000" + "0700" + "03000400" + "0a0300",
      "054020" + "0600" + "2b000400" + "1b15", "054010" + "0400" + "01020304",
      "044010" + "0300" + "010203", "+054020" + "0800" + "04000400" + "1b150001",
    ],
  ]

  /// What answers a client's requests, mostly marked, so that the target puts the opcode of the response in front.
  private static let responses = [
    "+01290002" + "2929000229", "+2900" + "2b00", "+072900" + "3a00" + "00", "+0629002f00" + "0f18",
    "+0102030405060708", "+02001003002a19", "+", "01" + "0a" + "0100" + "0a", "01" + "10" + "0100" + "05",
    "01" + "08" + "0100" + "0a", "1b030001", "1d030001", "0a0300", "13", "+0100000100",
  ]

  /// Packets behind their lengths, half of them changed.
  private static func conversation(_ packets: [String], _ generator: inout SeededGenerator) -> [UInt8] {
    (0..<64).flatMap { _ in
      let text = packets.randomElement(using: &generator) ?? ""
      let isMarked = text.hasPrefix("+")
      var packet = [UInt8](hex: isMarked ? String(text.dropFirst()) : text) ?? []
      if Bool.random(using: &generator) { packet = generator.mutated(packet) }
      // Longer ones have whole multiples of 32 bytes.
      if packet.count >= 112 { packet.removeLast(packet.count % 32) }
      let length = packet.count < 112 ? packet.count : 111 + packet.count / 32
      return [UInt8(length) | (isMarked ? 0x80 : 0)] + packet
    }
  }

  @Test("Any bytes are no trouble, nor is what is nearly well formed", arguments: FuzzTarget.all)
  func random(target: FuzzTarget) {
    var generator = SeededGenerator(seed: 2026)
    var inputs = (0..<500).map { _ in generator.bytes(upTo: target.longest) }
    let wellFormed = Self.wellFormed[target.name]?.compactMap { [UInt8](hex: $0) } ?? []
    for input in target.name == "capture" ? Sample.files.map(\.bytes) : wellFormed {
      inputs += [input] + (0..<1_000).map { _ in generator.mutated(input) }
    }
    if let packets = Self.packets[target.name] {
      let hasChoice = ["att-server", "att-client", "discovery"].contains(target.name)
      for choice in UInt8.min...UInt8.max {
        inputs.append((hasChoice ? [choice] : []) + Self.conversation(packets, &generator))
      }
    }
    for input in inputs { #expect(throws: Never.self, "\(input)") { try target.play(input) } }
  }
}
