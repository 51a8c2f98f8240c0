// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Writes JSON on one line, without blanks, in UTF-8. Keys keep the order in which they are
/// written, which the standard library's encoder does not guarantee.
public struct JSONWriter: JSONMembers {
  public private(set) var bytes: [UInt8] = []
  /// Whether the next member or element is the first of its object or array.
  private var isFirst = true
  /// The name of the member whose value follows; both are appended in one step.
  private var pending: StaticString?

  public init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

  /// Appends text that is already JSON.
  public mutating func text(_ text: String) { append(text.utf8Span.span) }

  /// Appends bytes that are already JSON.
  public mutating func raw(_ json: [UInt8]) { append(json.span) }

  /// Appends the output of `write`, after the pending name if there is one.
  @inline(__always) private mutating func append(
    upTo count: Int, _ write: (inout OutputSpan<UInt8>) -> Void
  ) {
    guard let name = pending else { return bytes.append(upTo: count, write) }
    name.withUTF8Buffer { name in
      bytes.append(upTo: name.count + 4 + count) { out in
        if !isFirst { out.append(UInt8(ascii: ",")) }
        out.append(quoted: name.span)
        out.append(UInt8(ascii: ":"))
        write(&out)
      }
    }
    (pending, isFirst) = (nil, false)
  }

  /// Appends an object of the members that `write` writes.
  public mutating func object(_ write: (inout JSONWriter) -> Void) {
    enclose(UInt8(ascii: "{"), UInt8(ascii: "}"), write)
  }

  private mutating func enclose(_ opening: UInt8, _ closing: UInt8, _ write: (inout JSONWriter) -> Void) {
    append(upTo: 1) { $0.append(opening) }
    isFirst = true
    write(&self)
    isFirst = false
    bytes.append(closing)
  }

  /// Appends a member's name; its value must follow. The name must not need escapes.
  public mutating func name(_ name: StaticString) { pending = name }

  /// Appends one of the program's own names as a string, which needs no escapes.
  public mutating func word(_ word: String) {
    let word = word.utf8Span.span
    append(upTo: word.count + 2) { $0.append(quoted: word) }
  }

  /// Appends an integer.
  @inlinable public mutating func integer(_ value: some FixedWidthInteger) {
    integer(UInt64(truncatingIfNeeded: value.magnitude), isNegative: value < 0)
  }

  /// Appends an integer by its magnitude.
  public mutating func integer(_ magnitude: UInt64, isNegative: Bool) {
    var unit: UInt64 = 1
    let tenth = magnitude / 10
    while tenth >= unit { unit *= 10 }
    append(upTo: 21) { out in
      if isNegative { out.append(UInt8(ascii: "-")) }
      var rest = magnitude
      while true {
        let (digit, left) = rest.quotientAndRemainder(dividingBy: unit)
        out.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
        if unit == 1 { return }
        rest = left
        unit /= 10
      }
    }
  }

  /// Appends a string that `write` produces, and that needs no escapes.
  public mutating func plainString(_ write: (inout [UInt8]) -> Void) {
    append(upTo: 1) { $0.append(UInt8(ascii: "\"")) }
    write(&bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  /// Appends an array of the elements that `write` writes, each after a call of `element`.
  public mutating func array(_ write: (inout JSONWriter) -> Void) {
    enclose(UInt8(ascii: "["), UInt8(ascii: "]"), write)
  }

  /// Starts an element of an array, or a member whose name is written as a string.
  public mutating func element() {
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    isFirst = false
  }

  /// Appends an array.
  @inlinable public mutating func array(_ elements: some Sequence<some JSONCodable>) {
    array { json in
      for element in elements {
        json.element()
        element.write(to: &json)
      }
    }
  }

  /// Appends a string.
  ///
  /// It escapes the quotation mark, the backslash and C0, as RFC 8259 section 7 requires, and also
  /// DEL and C1, which would control a terminal.
  public mutating func string(_ string: String) { quote(string.utf8Span.span) }

  private mutating func quote(_ text: Span<UInt8>) {
    if PlainText.holds(text.bytes) {
      append(upTo: text.count + 2) { $0.append(quoted: text) }
    } else {
      append(upTo: 1) { $0.append(UInt8(ascii: "\"")) }
      append(escaping: text)
      bytes.append(UInt8(ascii: "\""))
    }
  }

  private mutating func append(escaping text: Span<UInt8>) {
    var clean = 0
    var place = 0
    while place < text.count {
      let byte = text[place]
      // C1 is U+0080 to U+009F, in UTF-8 C2 80 to C2 9F; valid UTF-8 is never cut short.
      let isC1 = byte == 0xC2 && place + 1 < text.count && text[place + 1] < 0xA0
      guard isC1 || PlainText.isEscaped(byte) else {
        place += 1
        continue
      }
      append(text.extracting(clean..<place))
      appendEscape(of: isC1 ? text[place + 1] : byte, to: &bytes)
      place += isC1 ? 2 : 1
      clean = place
    }
    append(text.extracting(clean...))
  }

  private mutating func append(_ text: Span<UInt8>) {
    append(upTo: text.count) { $0.append(copying: text) }
  }

  public typealias Failure = Never
  @inlinable public static var isReading: Bool { false }

  @inlinable public mutating func required<Value: JSONCodable>(
    _ name: StaticString, _ value: inout Value
  ) {
    self.name(name)
    value.write(to: &self)
  }

  @inlinable public mutating func optional<Value: JSONCodable>(
    _ name: StaticString, _ value: inout Value?
  ) {
    guard let value else { return }
    self.name(name)
    value.write(to: &self)
  }

  public mutating func optional(_ name: StaticString, utf8: ArraySlice<UInt8>?, set: (String?) -> Void) {
    guard let text = utf8?.span else { return }
    self.name(name)
    quote(text)
  }

  @inlinable public mutating func nullable<Value: JSONCodable>(
    _ name: StaticString, _ value: inout Value?
  ) {
    self.name(name)
    if let value { value.write(to: &self) } else { text("null") }
  }

  @inlinable public mutating func nullable(
    _ name: StaticString, _ value: inout Double?, places: Int
  ) {
    self.name(name)
    guard let value else { return text("null") }
    let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
    let rounded = (value * scale).rounded() / scale
    if let whole = Int64(exactly: rounded) { text("\(whole)") } else { rounded.write(to: &self) }
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
          json.element()
          // Names from outside may need escapes.
          json.string(name)
          json.text(":")
          value.write(to: &json)
        }
      }
    }
  }
}

extension OutputSpan<UInt8> {
  @_lifetime(self: copy self)
  fileprivate mutating func append(quoted text: Span<UInt8>) {
    append(UInt8(ascii: "\""))
    append(copying: text)
    append(UInt8(ascii: "\""))
  }

  /// Appends all of a text at once.
  @_lifetime(self: copy self)
  fileprivate mutating func append(copying text: Span<UInt8>) {
    withUnsafeMutableBufferPointer { buffer, count in
      text.withUnsafeBufferPointer { _ = buffer[count...].initialize(fromContentsOf: $0) }
      count += text.count
    }
  }
}

/// Appends the escape of a character below U+0100, in its short form if JSON has one.
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
