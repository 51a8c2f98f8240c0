// SPDX-License-Identifier: GPL-3.0-or-later

// Own and small, because the library's encoder knows no order of keys but the alphabet's.

extension JSONValue {
  /// The value as JSON text on one line, without blanks.
  public var text: String { String(decoding: utf8, as: UTF8.self) }

  /// The bytes of `text`.
  public var utf8: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256)
    write(to: &bytes)
    return bytes
  }

  /// Appends the value as JSON text on one line, without blanks, in UTF-8.
  public func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .bool(true): bytes.append(contentsOf: "true".utf8)
    case .bool(false): bytes.append(contentsOf: "false".utf8)
    case .int(let value): bytes.append(contentsOf: String(value).utf8)
    case .double(let value) where !value.isFinite: bytes.append(contentsOf: "null".utf8)
    case .double(let value): bytes.append(contentsOf: value.description.utf8)
    case .string(let value): value.writeJSON(to: &bytes)
    case .array(let values):
      bytes.append(UInt8(ascii: "["))
      for (place, value) in values.enumerated() {
        if place > 0 { bytes.append(UInt8(ascii: ",")) }
        value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let object):
      bytes.append(UInt8(ascii: "{"))
      for (place, member) in object.members.enumerated() {
        if place > 0 { bytes.append(UInt8(ascii: ",")) }
        member.name.writeJSON(to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }
}

extension JSONValue: CustomStringConvertible {
  public var description: String { text }
}

extension String {
  /// Appends the text as a JSON string.
  ///
  /// Escaped are the quotation mark, the backslash and C0 as RFC 8259 section 7 wants it, and
  /// besides, DEL and C1, so that a JSON line that somebody reads on a terminal does not drive it.
  fileprivate func writeJSON(to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    var text = self
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
