// SPDX-License-Identifier: GPL-3.0-or-later

/// Cuts what a terminal sends into keys.
///
/// An editor that is handed half a key would wait for the rest, and the event loop with it. So what
/// begins a longer key (ESC, a UTF-8 character's first byte) stays here until the rest has come, and
/// escape sequences that no key of ours sends are swallowed whole instead of showing up as text.
struct KeyStream {
  /// The characters of one key, as the editor wants them: Unicode scalars.
  typealias Key = [UInt32]

  private var pending: [UInt8] = []

  private static let escape: UInt8 = 0x1B

  /// Whether a lone ESC, or another beginning, waits for more.
  var isIncomplete: Bool { !pending.isEmpty }

  /// Takes bytes as they were read.
  mutating func append(_ bytes: some Sequence<UInt8>) { pending += bytes }

  /// Gives up what waits for more: a person pressed ESC and nothing else.
  mutating func drop() { pending = [] }

  /// The next key that is there whole.
  mutating func next() -> Key? {
    while let first = pending.first {
      if first == Self.escape {
        guard let length = sequenceLength() else { return nil }
        let sequence = Array(pending.prefix(length))
        pending.removeFirst(length)
        if let key = Self.known(sequence) { return key }
      } else if first == 0x16 {  // ^V: the next byte as it is
        guard pending.count >= 2 else { return nil }
        pending.removeFirst(2)
      } else if first == 0x18 {  // ^X begins keys that do what nobody needs here
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

  /// How long the escape sequence in front is; nil while it is not at its end (ECMA-48, 5.4: CSI is
  /// ended by a byte from 0x40 on; SS3 is followed by one byte).
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

  /// How many bytes the UTF-8 character in front has; nil while they are not all there.
  private func characterLength(_ first: UInt8) -> Int? {
    let length =
      switch first {
      case 0xC2...0xDF: 2
      case 0xE0...0xEF: 3
      case 0xF0...0xF4: 4
      default: 1
      }
    // One that is broken by something else is not waited for.
    let tail = pending.dropFirst().prefix(length - 1)
    let good = tail.prefix { $0 & 0xC0 == 0x80 }
    if good.count < tail.count { return 1 + good.count }
    return pending.count >= length ? length : nil
  }

  /// What the editor calls the key: the sequences differ from terminal to terminal.
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
