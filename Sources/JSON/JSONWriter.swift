// SPDX-License-Identifier: GPL-3.0-or-later

/// Writes JSON on one line, without blanks, in UTF-8. Keys stay in the order in which they are written,
/// which the library's encoder does not promise.
public struct JSONWriter {
  public private(set) var bytes: [UInt8] = []
  /// Whether the next member or element is the first of its object or array.
  private var isFirst = true

  public init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

  /// Appends what is JSON already, and needs no escape.
  public mutating func text(_ text: String) { bytes.append(contentsOf: text.utf8) }

  /// Appends bytes that are JSON already.
  public mutating func raw(_ json: some Sequence<UInt8>) { bytes.append(contentsOf: json) }

  /// Appends an object of the members that `write` writes.
  public mutating func object(_ write: (inout JSONWriter) -> Void) {
    bytes.append(UInt8(ascii: "{"))
    isFirst = true
    write(&self)
    isFirst = false
    bytes.append(UInt8(ascii: "}"))
  }

  /// Appends a member's name; its value is to follow. The name must need no escape.
  public mutating func name(_ name: String) {
    bytes.append(UInt8(ascii: isFirst ? "\"" : ","))
    if !isFirst { bytes.append(UInt8(ascii: "\"")) }
    isFirst = false
    bytes.append(contentsOf: name.utf8)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  /// Appends an array.
  public mutating func array(_ elements: some Sequence<some JSONCodable>) {
    bytes.append(UInt8(ascii: "["))
    var isFirst = true
    for element in elements {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      element.write(to: &self)
    }
    bytes.append(UInt8(ascii: "]"))
    self.isFirst = false
  }

  /// Appends a string.
  ///
  /// Escaped are the quotation mark, the backslash and C0, as RFC 8259 section 7 wants, and besides
  /// DEL and C1, so that a line of JSON on a terminal does not drive it.
  public mutating func string(_ string: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = string
    text.withUTF8 { utf8 in
      var clean = 0
      var place = 0
      while place < utf8.count {
        let byte = utf8[place]
        // C1 is U+0080 to U+009F, in UTF-8 C2 80 to C2 9F; a String's UTF-8 is never cut short.
        let isC1 = byte == 0xC2 && place + 1 < utf8.count && utf8[place + 1] < 0xA0
        guard byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F || isC1 else {
          place += 1
          continue
        }
        bytes.append(contentsOf: utf8[clean..<place])
        place += isC1 ? 2 : 1
        clean = place
        appendEscape(of: isC1 ? utf8[place - 1] : byte, to: &bytes)
      }
      bytes.append(contentsOf: utf8[clean...])
    }
    bytes.append(UInt8(ascii: "\""))
  }
}

extension JSONWriter: JSONMembers {
  public typealias Failure = Never
  public static var isReading: Bool { false }

  public mutating func required<Value: JSONCodable>(_ name: String, _ value: inout Value) {
    self.name(name)
    value.write(to: &self)
  }

  public mutating func optional<Value: JSONCodable>(_ name: String, _ value: inout Value?) {
    guard let value else { return }
    self.name(name)
    value.write(to: &self)
  }

  public mutating func nullable<Value: JSONCodable>(_ name: String, _ value: inout Value?) {
    self.name(name)
    if let value { value.write(to: &self) } else { text("null") }
  }

  public mutating func nullable(_ name: String, _ value: inout Double?, places: Int) {
    self.name(name)
    guard let value else { return text("null") }
    let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
    let rounded = (value * scale).rounded() / scale
    if let whole = Int64(exactly: rounded) { text("\(whole)") } else { rounded.write(to: &self) }
  }

  public mutating func flag(_ name: String, _ value: inout Bool) {
    if value { required(name, &value) }
  }

  public mutating func list<Element: JSONCodable>(_ name: String, _ elements: inout [Element]) {
    self.name(name)
    array(elements)
  }
}

extension JSONValue: CustomStringConvertible {
  /// The value as JSON text on one line, without blanks.
  public var text: String { String(decoding: json, as: UTF8.self) }

  public var description: String { text }

  public func write(to json: inout JSONWriter) {
    switch self {
    case .null: json.text("null")
    case .bool(let value): value.write(to: &json)
    case .int(let value): value.write(to: &json)
    case .double(let value): value.write(to: &json)
    case .string(let value): json.string(value)
    case .array(let values): json.array(values)
    case .object(let object):
      json.object { json in
        for (name, value) in object.members {
          // Names that come from outside may need escapes.
          json.member(name, value)
        }
      }
    }
  }
}

extension JSONWriter {
  fileprivate mutating func member(_ name: String, _ value: JSONValue) {
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    isFirst = false
    string(name)
    bytes.append(UInt8(ascii: ":"))
    value.write(to: &self)
  }
}

/// Appends the escape of a character below U+0100: its short form where JSON has one.
private func appendEscape(of character: UInt8, to bytes: inout [UInt8]) {
  bytes.append(UInt8(ascii: "\\"))
  switch character {
  case 0x22, 0x5C: bytes.append(character)
  case 0x08: bytes.append(UInt8(ascii: "b"))
  case 0x09: bytes.append(UInt8(ascii: "t"))
  case 0x0A: bytes.append(UInt8(ascii: "n"))
  case 0x0C: bytes.append(UInt8(ascii: "f"))
  case 0x0D: bytes.append(UInt8(ascii: "r"))
  default:
    bytes.append(contentsOf: "u00".utf8)
    for digit in [character >> 4, character & 15] {
      bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
    }
  }
}
