// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import JSON
import Testing
import Wire

@testable import Picture

/// A page, taken apart as the browser does.
struct ReadPage {
  var text: String
  var source: JSONValue
  var rows: [[JSONValue]] = []
  var trees: [[JSONValue]] = []
  var texts: [String] = []
  var warnings: [String] = []

  init(_ bytes: [UInt8]) throws {
    text = String(decoding: bytes, as: UTF8.self)
    source = .null
    for piece in text.components(between: "<script type=\"application/json\" class=\"", "</script>") {
      let (name, json) = try #require(piece.split(at: "\">"))
      let value = try JSONValue(parsing: json)
      switch name {
      case "source": source = value
      case "warnings": warnings = value.array?.compactMap(\.string) ?? []
      case "trees": trees += value.array?.compactMap(\.array) ?? []
      default:
        let block = try #require(value.array)
        texts += block[0].array?.compactMap(\.string) ?? []
        rows += block[1].array?.compactMap(\.array) ?? []
      }
    }
  }

  /// A text, which a row may name by its number.
  func text(_ cell: JSONValue) -> String {
    if case .int(let number) = cell { return texts[Int(number)] }
    return cell.string ?? ""
  }
}

extension String {
  fileprivate func components(between start: String, _ end: String) -> [String] {
    split(separator: start, omittingEmptySubsequences: false).dropFirst().compactMap { piece in
      piece.firstRange(of: end).map { String(piece[..<$0.lowerBound]) }
    }
  }

  fileprivate func split(at mark: String) -> (String, String)? {
    firstRange(of: mark).map { (String(self[..<$0.lowerBound]), String(self[$0.upperBound...])) }
  }
}

@Suite("The page of a session")
struct PictureTests {
  private static let time = WallTime(seconds: 1_795_241_100)

  private static func page(
    _ records: [CaptureRecord], name: String = "day", warnings: [String] = []
  ) throws -> ReadPage {
    var picture = SessionPicture(.init(name: name, program: "ancsd"))
    var decoder = CaptureDecoder()
    var bytes: [UInt8] = []
    for record in records {
      picture.add(decoder.decode(record))
      bytes += picture.take()
    }
    picture.finish(warnings: warnings)
    return try ReadPage(bytes + picture.take())
  }

  @Test(
    "No text ends its element or begins another",
    arguments: ["</script><script>alert(1)</script>", "<!--<script>", "\u{2028}\u{0}\"\\", "<"])
  func hostile(text: String) throws {
    let value = Array(text.utf8)
    let note = CaptureRecord(MonitorOpcode(rawValue: 12), value, time: Self.time)
    let page = try Self.page([note], name: text, warnings: [text])
    // Those of the data, of which there are four, and the page's own.
    let data = page.text.components(between: "<script type=\"application/json\"", "</script>")
    #expect(data.count == 4)
    #expect(data.allSatisfy { !$0.contains("<") })
    #expect(page.source["name"]?.string == text)
    #expect(page.warnings == [text])
    #expect(page.text(page.trees[0][0]).contains(text.prefix { $0 != "\0" }))
  }

  @Test("Bytes that decode does not show are not in the page: they may be of a key")
  func keys() throws {
    let key = [UInt8](repeating: 0x5E, count: 16)
    let page = try Self.page([
      CaptureRecord(.command, [0x1A, 0x20, 18, 0x40, 0x00] + key, time: Self.time),
      CaptureRecord(.command, [0x27, 0x20, 39, 0, 1, 2, 3, 4, 5, 6] + key + key, time: Self.time),
      CaptureRecord(
        .aclReceived, [0x40, 0x20, 21, 0, 17, 0, 6, 0, 0x06] + key, time: Self.time),
      CaptureRecord(MonitorOpcode(rawValue: 16), [1, 0, 0, 0, 0x13, 0] + key, time: Self.time),
    ])
    #expect(page.rows.count == 4)
    let trees = page.text.components(between: "class=\"trees\">", "</script>").joined()
    #expect(!trees.contains("5e5e"))
    #expect(page.trees[0][1].string == "1a20124000" + String(repeating: "..", count: 16))
    #expect(page.trees[2][1].string == "06" + String(repeating: "..", count: 16))
  }

  @Test("A fragment is a row of its own, and the PDU has the bytes of both")
  func fragments() throws {
    let page = try Self.page([
      CaptureRecord(.aclReceived, [0x40, 0x20, 5, 0, 3, 0, 4, 0, 0x03], time: Self.time),
      CaptureRecord(.aclReceived, [0x40, 0x10, 2, 0, 0xB9, 0x00], time: Self.time),
    ])
    #expect(page.rows.map { page.text($0[2]) } == ["fragment", "att"])
    #expect(page.rows.map { $0[4].int } == [0x41, 0x41])
    #expect(page.trees[1][1].string == "03b900")
  }

  @Test("Recurring texts are in a table of limited size")
  func table() {
    var table = TextTable()
    table.begin()
    #expect(table.number(of: "a") == 0)
    #expect(table.number(of: "b") == 1)
    #expect(table.number(of: "a") == 0)
    #expect(table.added == ["a", "b"])
    table.begin()
    #expect(table.added.isEmpty)
    #expect(table.number(of: String(repeating: "x", count: 101)) == nil)
    for number in 0..<20_000 { _ = table.number(of: "text \(number)") }
    #expect(table.number(of: "another") == nil)
    #expect(table.number(of: "a") == 0)
  }
}
