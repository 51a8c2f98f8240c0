// SPDX-License-Identifier: GPL-3.0-or-later
import CCurses
import Testing

@testable import TerminalScreen

@Suite("Keys of a screen") struct KeyTests {
  @Test(
    "A character is a key; control characters are letters with Ctrl, or keys of their own",
    arguments: [
      (0x61, Key.character("a")), (0x20, .character(" ")), (0xE9, .character("é")),
      (0x1F37A, .character("🍺")), (0x0D, .enter), (0x0A, .enter), (0x1B, .escape),
      (0x7F, .backspace), (0x08, .backspace), (0x06, .control("f")), (0x1A, .control("z")),
      (0x00, nil), (0x1C, nil), (0xD800, nil),
      (0x11_0000, nil),
    ] as [(UInt32, Key?)])
  func character(value: UInt32, key: Key?) { #expect(Key(character: value) == key) }

  @Test(
    "Movement keys have curses numbers; other curses numbers mean nothing",
    arguments: [
      (KEY_UP, Key.up), (KEY_NPAGE, .pageDown), (KEY_HOME, .home), (KEY_ENTER, .enter),
      (KEY_SR, .wheelUp), (KEY_SF, .wheelDown),
      (KEY_F0, nil), (KEY_RESIZE, nil),
    ] as [(Int32, Key?)])
  func number(number: Int32, key: Key?) {
    #expect(Key(curses: UInt32(bitPattern: number)) == key)
  }
}
