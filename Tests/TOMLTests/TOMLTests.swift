// SPDX-License-Identifier: GPL-3.0-or-later
import Testing

@testable import TOML

@Suite("Reading TOML")
struct TOMLTests {
  private static func entries(_ text: String) throws -> [TOMLValue.Entry] {
    guard case .table(let entries) = try TOMLValue(parsing: Array(text.utf8)).content else {
      return []
    }
    return entries
  }

  @Test(
    "Each kind of value",
    arguments: [
      (#""Küche \u00e9""#, #"string("Küche é")"#), ("'C:\\x'", #"string("C:\\x")"#),
      ("0x1F", "integer(31)"),
      ("-9223372036854775808", "integer(-9223372036854775808)"), ("1_000", "integer(1000)"),
      ("2.5", "float(2.5)"), ("true", "boolean(true)"), ("1979-05-27", "time"),
      ("07:32:00", "time"), ("[]", "array([])"),
    ])
  func kinds(_ text: String, _ content: String) throws {
    let entry = try #require(try Self.entries("key = \(text)").first)
    #expect("\(entry.value.content)" == content)
  }

  @Test("Keys and values have their positions, and keep their order")
  func positions() throws {
    let entries = try Self.entries("b = 1\n  \"ä\" = 2\na.c = 3\n\n[[rule]]\nx = 'y'\n[[rule]]\n")
    #expect(entries.map(\.key) == ["b", "ä", "a", "rule"])
    #expect(entries.map(\.keyPosition.line) == [1, 2, 3, 5])
    #expect(try Self.entries("").isEmpty)
    #expect(entries[1].keyPosition.description == "2:3")
    #expect(entries[1].value.position.description == "2:9")
    guard case .array(let rules) = entries[3].value.content else { return #expect(Bool(false)) }
    #expect(rules.map(\.position.line) == [5, 7])
  }

  @Test(
    "What is not TOML is refused, with its place",
    arguments: [
      ("a = ", 1), ("a = 1\nb", 2), ("a = 1\na = 2", 2), ("a = \"x\ny\"", 1), ("a = 01", 1),
      ("[a]\n[a]", 2), ("a = 1\n\u{0}", 2), ("a = 99999999999999999999", 1), ("a = 1\n\n[=", 3),
    ])
  func malformed(_ text: String, _ line: Int) throws {
    let error = try #require(throws: TOMLValue.Fault.self) { try Self.entries(text) }
    #expect(error.position.line == line)
    #expect(!error.message.isEmpty)
  }

  @Test("An assertion of the library about a text is a fault of the text, every time")
  func assertions() throws {
    for _ in 0..<100 {
      for text in ["[=", "[[=", "a = 1\n[ =", "[a.]", "[a. =]", "a.= 1", "{", "a = {=", "a = [=", "'", "a = '"] {
        let error = try #require(throws: TOMLValue.Fault.self) { try Self.entries(text) }
        #expect(error.position.column >= 1)
        #expect(!error.message.isEmpty)
      }
      #expect(try Self.entries("a = 1").count == 1)
    }
  }

  @Test("Nested values are read to a depth that no settings file has, and no further")
  func depth() throws {
    for (before, after) in [("[", "]"), ("{a = ", "}")] {
      func nested(_ depth: Int) -> String {
        "a = \(String(repeating: before, count: depth))1\(String(repeating: after, count: depth))"
      }
      #expect(try Self.entries(nested(30)).count == 1)
      for depth in [40, 100_000] {
        #expect(throws: TOMLValue.Fault.self) { try Self.entries(nested(depth)) }
      }
    }
  }

  @Test(
    "Bytes that are not UTF-8 are refused",
    arguments: [[0x61, 0x3D, 0x22, 0xFF, 0x22], [0xEF, 0xBB]])
  func noUnicode(bytes: [UInt8]) {
    #expect(throws: TOMLValue.Fault.self) { try TOMLValue(parsing: bytes) }
  }
}
