// SPDX-License-Identifier: GPL-3.0-or-later
import CPage
public import Capture
import JSON

/// Writes a session as one self-contained HTML page, packet by packet. It keeps nothing of a packet except texts that
/// are likely to recur.
///
///     page up to the data          style sheet, elements, Content-Security-Policy
///     block, block, …              each of some hundred rows as JSON, and behind it their trees and bytes
///     page behind the data         the script, which reads the rows at once and a tree when it is asked for
///
/// The data are in `<script type="application/json">`. No text in them can end such an element, because every `<` is
/// written as a JSON escape.
public struct SessionPicture {
  /// The origin of the data, as shown on the page.
  public struct Source: Sendable {
    /// The capture's name, or a substitute.
    public var name: String
    /// The program that wrote the page.
    public var program: String
    /// Whether the rows come from the daemon's timeline, which has neither bytes nor texts.
    public var isTimeline = false
    /// The filter, and what it hid; empty without one.
    public var filter = ""

    public init(name: String, program: String) {
      self.name = name
      self.program = program
    }
  }

  private var bytes: [UInt8]
  private var rows: [PictureRow] = []
  private var texts = TextTable()
  private var last: PictureRow?

  /// The number of rows per block.
  private static let blockSize = 512

  /// The first bytes of every page: its doctype, and the name of this program.
  public static let beginning = Array(
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta name="generator" content="ancsd">

    """.utf8)

  public init(_ source: Source) {
    bytes = Self.bytes(ancsd_page_head())
    let object: JSONObject = [
      "name": .string(source.name), "program": .string(source.program),
      "timeline": .bool(source.isTimeline), "filter": .string(source.filter),
    ]
    append(JSONValue.object(object).json, as: "source")
  }

  /// Adds a decoded packet.
  public mutating func add(_ frame: DecodedFrame) {
    for row in PictureRow.rows(of: frame) { add(row) }
  }

  mutating func add(_ row: PictureRow) {
    rows.append(row)
    if rows.count == Self.blockSize { writeBlock() }
  }

  /// Takes the text written so far; none of it if it is shorter.
  ///
  /// - Parameter least: a length in bytes.
  public mutating func take(atLeast least: Int = 0) -> [UInt8] {
    guard bytes.count >= least else { return [] }
    defer { bytes = [] }
    return bytes
  }

  /// Ends the page.
  ///
  /// - Parameter warnings: warnings about the capture.
  public mutating func finish(warnings: [String] = []) {
    writeBlock()
    append(JSONValue.strings(warnings).json, as: "warnings")
    bytes += Self.bytes(ancsd_page_tail())
  }

  /// A part of the page, whose Content-Security-Policy has the hashes of its style sheet and its script (scripts/page).
  private static func bytes(_ part: ancsd_part) -> [UInt8] {
    Array(UnsafeBufferPointer(start: part.bytes, count: Int(part.length)))
  }

  // MARK: Blocks

  private mutating func writeBlock() {
    guard !rows.isEmpty else { return }
    texts.begin()
    var cells = JSONWriter(capacity: rows.count * 64)
    cells.array { json in
      for row in rows {
        json.element()
        write(row, to: &json)
        last = row
      }
    }
    var trees = JSONWriter(capacity: rows.count * 256)
    trees.array { json in
      for row in rows {
        json.element()
        write(row.tree, to: &json)
      }
    }
    var block = JSONWriter(capacity: cells.bytes.count + 1024)
    block.array { json in
      json.element()
      json.array { json in for text in texts.added { json.add(text) } }
      json.element()
      json.raw(cells.bytes)
    }
    append(block.bytes, as: "rows")
    append(trees.bytes, as: "trees")
    rows.removeAll(keepingCapacity: true)
  }

  private mutating func append(_ json: [UInt8], as name: String) {
    bytes += Array("<script type=\"application/json\" class=\"\(name)\">".utf8)
    bytes.reserveCapacity(bytes.count + json.count + 16)
    for byte in json {
      if byte == UInt8(ascii: "<") { bytes += Array("\\u003c".utf8) } else { bytes.append(byte) }
    }
    bytes += Array("</script>\n".utf8)
  }

  /// Times and numbers are differences from the previous row.
  private mutating func write(_ row: PictureRow, to json: inout JSONWriter) {
    json.array { json in
      let (difference, overflow) = row.time.subtractingReportingOverflow(last?.time ?? 0)
      json.add(overflow ? 0 : difference)
      json.add(row.number - (last?.number ?? 0))
      add(row.layer, to: &json)
      json.add(row.direction)
      json.add(row.link)
      add(row.name, to: &json)
      json.add(row.code)
      json.add(row.length)
      add(row.label, to: &json)
      json.add(row.role)
      guard !row.facts.isEmpty else { return }
      json.element()
      json.object { json in
        for fact in row.facts {
          json.name(fact.key)
          write(fact.value, to: &json)
        }
      }
    }
  }

  private mutating func write(_ value: Detail.Value, to json: inout JSONWriter) {
    switch value {
    case .number(let number): json.integer(number)
    case .named(nil, let number, _): json.integer(number)
    case .flag(let flag): json.integer(flag ? 1 : 0)
    case .measure(let number, _):
      if let whole = Int64(exactly: number) {
        json.integer(whole)
      } else {
        json.text(number.isFinite ? "\(number)" : "null")
      }
    case .named(let name?, _, _): writeFact(name, to: &json)
    case .flags(let names, _, _): writeFact(names.joined(separator: ", "), to: &json)
    default: writeFact("\(value)", to: &json)
    }
  }

  /// Longer texts of facts are truncated; the tree has them in full.
  private static let mostCharacters = 80

  /// A text where numbers are expected: its index is wrapped in an array.
  private mutating func writeFact(_ whole: String, to json: inout JSONWriter) {
    let most = Self.mostCharacters
    let text = whole.utf8.count <= most ? whole : String(whole.prefix(most - 1)) + "…"
    guard let number = texts.number(of: text) else { return json.string(text) }
    json.array { $0.add(number) }
  }

  private mutating func write(_ tree: PictureRow.Tree, to json: inout JSONWriter) {
    json.array { json in
      add(tree.title, to: &json)
      json.add(tree.bytes)
      json.element()
      write(tree.nodes, to: &json)
      let remarks = [tree.problem ?? ""] + tree.notes
      guard remarks != [""] else { return }
      for remark in remarks { json.add(remark) }
    }
  }

  private mutating func write(_ nodes: [Detail], to json: inout JSONWriter) {
    json.array { json in
      for node in nodes {
        json.element()
        json.array { json in
          add(node.label, to: &json)
          if case .bytes(let bytes) = node.value, node.place != nil {
            add(PictureRow.count(bytes.count), to: &json)
          } else {
            add("\(node.value)", to: &json)
          }
          guard node.place != nil || !node.children.isEmpty else { return }
          json.add(node.place?.lowerBound ?? 0)
          json.add(node.place?.count ?? 0)
          guard !node.children.isEmpty else { return }
          json.element()
          write(node.children, to: &json)
        }
      }
    }
  }

  /// Adds a text, or its index in the table.
  private mutating func add(_ text: String, to json: inout JSONWriter) {
    if let number = texts.number(of: text) { json.add(number) } else { json.add(text) }
  }
}

extension JSONWriter {
  fileprivate mutating func add(_ text: String) {
    element()
    string(text)
  }

  fileprivate mutating func add(_ number: some FixedWidthInteger) {
    element()
    integer(number)
  }
}

/// The texts that rows refer to by index. The number of texts and their lengths are bounded.
struct TextTable {
  private var numbers: [String: Int] = [:]
  /// The texts added since `begin`.
  private(set) var added: [String] = []

  private static let most = 1 << 14
  private static let longest = 100

  /// Begins a block.
  mutating func begin() { added = [] }

  /// The index of a text; nil if it must be written in full.
  mutating func number(of text: String) -> Int? {
    if let number = numbers[text] { return number }
    guard text.utf8.count <= Self.longest, numbers.count < Self.most else { return nil }
    let number = numbers.count
    numbers[text] = number
    added.append(text)
    return number
  }
}
