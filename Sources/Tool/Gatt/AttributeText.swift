// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Capture
import Arguments
import Control
import GAP
import GATT
import JSON
import Wire

/// An attribute with its value, for people and for programs.
struct AttributeText {
  var handle: Handle
  /// nil where it is not known.
  var type: UUID?
  /// nil where it is not about the value.
  var value: [UInt8]?

  /// Longer values are shown in rows.
  private static let bytesOnALine = 24
  private static let bytesInARow = 16

  private var details: [Detail] {
    guard let type, let value else { return [] }
    return ValueDecoder.details(of: value, type)
  }

  // MARK: For people

  /// `0x0012 Battery Level (2A19): 57  Battery: 87 %`; long values and values with several meanings
  /// have lines of their own below.
  var text: String {
    var text = hexadecimal(handle)
    if let type { text += " \(AssignedNumbers.title(of: type))" }
    guard let value else { return text }
    let details = details
    guard !value.isEmpty else { return text + ": empty" }
    if value.count > Self.bytesOnALine {
      text += ": \(value.count) bytes"
      // What is a text says it all.
      guard details.isEmpty || details.contains(where: { $0.value.words == nil }) else {
        return text + details.linesBelow(indent: 2)
      }
      text += rows(value)
      return text + details.linesBelow(indent: 2)
    }
    text += ": \(spaced(value))"
    if details.count == 1, let words = details[0].value.words {
      return text + "  “\(words.printable)”"
    }
    if details.count == 1, details[0].children.isEmpty {
      return text + "  " + "\(details[0].label): \(details[0].value)".printable
    }
    if details.isEmpty, let words = Self.words(value) { return text + "  “\(words)”" }
    return text + details.linesBelow(indent: 2)
  }

  private func spaced(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { [$0].hex }.joined(separator: " ")
  }

  /// As hexdump does: where in the value, the bytes, and those that are characters.
  private func rows(_ value: [UInt8]) -> String {
    stride(from: 0, to: value.count, by: Self.bytesInARow).map { start in
      let row = value[start..<min(start + Self.bytesInARow, value.count)]
      let offset = String(start, radix: 16)
      let characters = row.map { (0x20..<0x7F).contains($0) ? Character(Unicode.Scalar($0)) : "." }
      let gap = String(repeating: "   ", count: Self.bytesInARow - row.count)
      return "\n  " + String(repeating: "0", count: 3 - offset.count) + offset + "  "
        + spaced(row) + gap + "  " + String(characters)
    }.joined()
  }

  /// The text that a value of no known type is, if every byte of it is a printable character.
  private static func words(_ value: [UInt8]) -> String? {
    guard value.count >= 2, let text = String(validating: value, as: UTF8.self),
      text == text.printable, text.unicodeScalars.allSatisfy({ $0.value >= 0x20 })
    else { return nil }
    return text
  }

  // MARK: For programs

  /// `handle`, `uuid`, `name`, `value` and, where the type is known, `decoded`, as `trace` has it.
  var json: JSONObject {
    var object: JSONObject = ["handle": .number(handle)]
    object.add("uuid", type.map { .string($0.description) })
    object.add("name", type.flatMap(AssignedNumbers.name).map { .string($0) })
    object.add("value", value.map { .string($0.hex) })
    let details = details
    if !details.isEmpty { object.add("decoded", Detail.json(details)) }
    return object
  }
}

extension Detail.Value {
  /// The text that a value is, where it is one.
  fileprivate var words: String? { if case .text(let text) = self { text } else { nil } }
}
