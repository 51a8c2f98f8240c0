// SPDX-License-Identifier: GPL-3.0-or-later
import CCurses

/// A key that was pressed; a character is written as it is typed, as in `"k"`.
public enum Key: Hashable, Sendable, ExpressibleByExtendedGraphemeClusterLiteral {
  case character(Character)
  /// A letter while Ctrl is held.
  case control(Character)
  /// The mouse's wheel.
  case wheelUp, wheelDown
  /// The mouse's left button was pressed in this row, counted from the top.
  case click(row: Int)
  case up, down, pageUp, pageDown, home, end
  case enter, escape, backspace, delete

  public init(extendedGraphemeClusterLiteral character: Character) { self = .character(character) }

  /// The key for a character from the terminal; nil for control characters that are not Ctrl with a
  /// letter.
  init?(character value: UInt32) {
    switch value {
    case 0x0A, 0x0D: self = .enter
    case 0x1B: self = .escape
    case 0x08, 0x7F: self = .backspace
    case 1...26:
      // ECMA-48, 5.2: the letters' columns are moved by 6.
      guard let letter = Unicode.Scalar(value + 0x60) else { return nil }
      self = .control(Character(letter))
    case 0..<0x20: return nil
    default:
      guard let scalar = Unicode.Scalar(value) else { return nil }
      self = .character(Character(scalar))
    }
  }

  /// The key for a curses key code; nil for unused ones.
  init?(curses number: UInt32) {
    guard let key = Self.numbered[Int32(bitPattern: number)] else { return nil }
    self = key
  }

  private static let numbered: [Int32: Key] = [
    KEY_UP: .up, KEY_DOWN: .down, KEY_SR: .wheelUp, KEY_SF: .wheelDown, KEY_PPAGE: .pageUp, KEY_NPAGE: .pageDown,
    KEY_HOME: .home, KEY_END: .end, KEY_ENTER: .enter, KEY_BACKSPACE: .backspace, KEY_DC: .delete,
  ]
}
