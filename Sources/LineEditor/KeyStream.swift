// SPDX-License-Identifier: GPL-3.0-or-later

/// Splits what a terminal sends into keys.
///
/// An editor that gets half a key would block until the rest arrives, and block the event loop. So
/// the beginning of a longer key (ESC, the first byte of a UTF-8 character) is kept until the rest
/// has arrived. Unknown escape sequences are dropped whole, so they do not appear as text.
struct KeyStream {
  /// The characters of one key, as Unicode scalars.
  typealias Key = [UInt32]

  private var pending: [UInt8] = []

  private static let escape: UInt8 = 0x1B

  /// Whether the beginning of a key, such as ESC, waits for the rest.
  var isIncomplete: Bool { !pending.isEmpty }

  /// Adds bytes that were read.
  mutating func append(_ bytes: some Sequence<UInt8>) { pending += bytes }

  /// Discards the beginning of a key: the user pressed only ESC.
  mutating func drop() { pending = [] }

  /// The next complete key.
  mutating func next() -> Key? {
    while let first = pending.first {
      if first == Self.escape {
        guard let length = sequenceLength() else { return nil }
        let sequence = Array(pending.prefix(length))
        pending.removeFirst(length)
        if let key = Self.known(sequence) { return key }
      } else if [0x16, 0x18].contains(first) {
        // ^V would quote the next byte, ^X would begin a sequence that is not needed: both are
        // dropped.
        guard pending.count >= 2 else { return nil }
        pending.removeFirst(2)
      } else {
        guard let length = characterLength(first) else { return nil }
        let character = String(decoding: pending.prefix(length), as: UTF8.self)
        pending.removeFirst(length)
        return character.unicodeScalars.map(\.value)
      }
    }
    return nil
  }

  /// The length of the escape sequence at the front; nil while it is incomplete (ECMA-48, 5.4: CSI
  /// ends with a byte from 0x40 on; SS3 is followed by one byte).
  private func sequenceLength() -> Int? {
    guard pending.count >= 2 else { return nil }
    switch pending[1] {
    case UInt8(ascii: "["):
      guard let end = pending.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
        return pending.count > 32 ? pending.count : nil
      }
      return end + 1
    case UInt8(ascii: "O"): return pending.count >= 3 ? 3 : nil
    default: return 2
    }
  }

  /// The length of the UTF-8 character at the front; nil while it is incomplete.
  private func characterLength(_ first: UInt8) -> Int? {
    let length =
      switch first {
      case 0xC2...0xDF: 2
      case 0xE0...0xEF: 3
      case 0xF0...0xF4: 4
      default: 1
      }
    // If an invalid byte ends the character, no more bytes will follow.
    let tail = pending.dropFirst().prefix(length - 1)
    let good = tail.prefix { $0 & 0xC0 == 0x80 }
    if good.count < tail.count { return 1 + good.count }
    return pending.count >= length ? length : nil
  }

  /// The editor's key for an escape sequence, which depends on the terminal.
  private static func known(_ sequence: [UInt8]) -> Key? {
    let control: (Character) -> Key = { [UInt32($0.asciiValue ?? 0) & 0x1F] }
    switch String(decoding: sequence.dropFirst(), as: UTF8.self) {
    case "[A", "OA": return control("P")
    case "[B", "OB": return control("N")
    case "[C", "OC": return control("F")
    case "[D", "OD": return control("B")
    case "[H", "OH", "[1~", "[7~": return control("A")
    case "[F", "OF", "[4~", "[8~": return control("E")
    case "[3~": return control("D")
    case "[1;5C", "[1;3C", "f": return [0x1B, 0x66]
    case "[1;5D", "[1;3D", "b": return [0x1B, 0x62]
    case "d": return [0x1B, 0x64]
    case "\u{7F}", "\u{8}": return control("W")
    default: return nil
    }
  }
}
