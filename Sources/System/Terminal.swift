// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// What a descriptor that is a terminal can say and be told.
public enum Terminal {
  /// Whether the descriptor with this number is a terminal.
  public static func isTerminal(_ number: Int32) -> Bool { Syscall.isTerminal(number) }

  /// Columns and rows; nil where the descriptor is no terminal, or one that does not know.
  public static func size(_ number: Int32 = Standard.output) -> (columns: Int, rows: Int)? {
    guard let size = try? Syscall.terminalSize(number), size.ws_col > 0, size.ws_row > 0 else {
      return nil
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// The mode that a terminal had, to be put back.
  public struct Mode: @unchecked Sendable {
    fileprivate let value: termios
  }

  /// The terminal's mode.
  public static func mode(_ number: Int32 = Standard.input) throws(SystemError) -> Mode {
    Mode(value: try Syscall.terminalMode(number))
  }

  /// Puts a mode back.
  public static func setMode(
    _ mode: Mode, of number: Int32 = Standard.input
  ) throws(SystemError) {
    try Syscall.setTerminalMode(number, mode.value)
  }

  /// Whether what is typed is shown; answers with the mode before.
  @discardableResult
  public static func setEcho(
    _ shown: Bool, of number: Int32 = Standard.input
  ) throws(SystemError) -> Mode {
    try change(number) { mode in
      if shown { mode.c_lflag |= tcflag_t(ECHO) } else { mode.c_lflag &= ~tcflag_t(ECHO) }
    }
  }

  /// Every key at once and unshown, for programs that fill the screen; signals by Ctrl-C and
  /// Ctrl-Z stay. Answers with the mode before.
  @discardableResult
  public static func setRaw(_ number: Int32 = Standard.input) throws(SystemError) -> Mode {
    try change(number) { mode in
      mode.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN)
      mode.c_iflag &= ~tcflag_t(IXON | ICRNL)
    }
  }

  private static func change(
    _ number: Int32, _ edit: (inout termios) -> Void
  ) throws(SystemError) -> Mode {
    let before = try Syscall.terminalMode(number)
    var mode = before
    edit(&mode)
    try Syscall.setTerminalMode(number, mode)
    return Mode(value: before)
  }
}
