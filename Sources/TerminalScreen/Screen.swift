// SPDX-License-Identifier: GPL-3.0-or-later
import CCurses
public import Control
public import EventLoop
import System

/// The whole terminal, drawn by ncursesw, which runs on the event loop.
///
/// Each picture is drawn completely; ncurses sends only the differences from the previous one. Keys are read when the
/// terminal is readable, so nothing blocks, except for up to 50 ms while the rest of a key's sequence may follow an
/// ESC.
@LoopActor public final class Screen {
  /// Called with each key.
  public var onKey: (Key) -> Void = { _ in }
  /// Called when the terminal is gone.
  public var onEnd: () -> Void = {}

  private let screen: OpaquePointer
  private var watch: Watch?
  private var isOpen = true
  /// What the terminal shows; nil: unknown.
  private var drawn: (rows: [StyledRow], hasCursor: Bool)?

  /// The terminal type used instead of an unknown one; nil if the type is known.
  public let substitute: String?
  /// The size of the window.
  public private(set) var size: Size

  /// A number of rows and columns.
  public struct Size: Hashable, Sendable {
    public var rows: Int
    public var columns: Int

    public init(rows: Int, columns: Int) {
      self.rows = rows
      self.columns = columns
    }
  }

  /// Takes over the terminal of standard input and output, until `close`.
  ///
  /// - Parameters:
  ///   - colour: whether to use colours, if the terminal has any.
  ///   - mouse: whether to read the wheel and clicks. The terminal then selects text only while Shift is held.
  public init(colour: Bool, mouse: Bool, loop: Loop = .shared) throws(Failure) {
    guard Terminal.isTerminal(Standard.input), Terminal.isTerminal(Standard.output) else {
      throw Failure(usage: "a screen needs a terminal", remedy: "“ancsd watch” prints lines")
    }
    Terminal.useUTF8()
    let type = Host.variable("TERM") ?? ""
    // “dumb” is taken literally.
    let names = ["", "dumb"].contains(type) ? [nil] : [nil] + Self.substitutes
    var opened: (OpaquePointer, String?)?
    for name in names where opened == nil {
      opened = curses_open(name, mouse ? 1 : 0).map { ($0, name) }
    }
    guard let opened else {
      throw Failure(
        usage: "the terminal type “\(type)” is unknown, or can't move the cursor",
        remedy: "set it in TERM, as in TERM=xterm; ncurses-base and ncurses-term describe the known types")
    }
    (screen, substitute) = opened
    size = Self.currentSize
    if colour { curses_use_colours() }
    do throws(SystemError) {
      watch = try loop.watch(number: Standard.input, for: .readable) { [weak self] in self?.read($0)
      }
    } catch {
      close()
      throw Failure(.software, "reading keys", error.errno.text)
    }
  }

  /// The types tried for a terminal of unknown type. Nearly all terminals understand these.
  private static let substitutes = ["xterm-256color", "xterm", "vt100"]

  /// Rings the terminal's bell, or flashes if it has none.
  public func ring() { curses_ring() }

  /// Restores the terminal.
  public func close() {
    guard isOpen else { return }
    isOpen = false
    watch = nil
    curses_close(screen)
  }

  private static var currentSize: Size {
    let size = Terminal.size()
    return Size(rows: size?.rows ?? 24, columns: size?.columns ?? 80)
  }

  /// Reads the window's new size (SIGWINCH).
  public func resize() {
    size = Self.currentSize
    curses_resize(Int32(size.rows), Int32(size.columns))
    drawn = nil
  }

  /// Draws rows from the top, and omits whatever does not fit. What was drawn before costs nothing.
  ///
  /// - Parameter hasCursor: whether a cursor is shown behind the last row's text. Otherwise it is on the selected row,
  ///   where screen readers follow it.
  package func draw(_ rows: [StyledRow], hasCursor: Bool = false) {
    guard isOpen, drawn?.rows != rows || drawn?.hasCursor != hasCursor else { return }
    drawn = (rows, hasCursor)
    curses_begin()
    for (number, row) in rows.prefix(size.rows).enumerated() {
      curses_begin_row(Int32(number))
      for run in row {
        let text = run.text.flatMap(\.unjoined).map { wchar_t(truncatingIfNeeded: $0.value) }
        curses_add(text, Int32(text.count), Int32(run.paint.rawValue) ?? 0)
      }
    }
    let selected = hasCursor ? nil : rows.firstIndex { $0.contains { $0.paint == .selected } }
    if let selected { curses_begin_row(Int32(selected)) }
    curses_show(hasCursor ? 1 : 0)
  }

  private func read(_ ready: Readiness) {
    var value: UInt32 = 0
    while isOpen {
      let key: Key?
      switch curses_next_key(&value) {
      case OK: key = Key(character: value)
      case KEY_CODE_YES: key = Key(curses: value)
      case KEY_MOUSE: key = .click(row: Int(value))
      default:
        // A terminal that is gone stays readable without data.
        if !ready.isDisjoint(with: [.hungUp, .failed]) {
          watch = nil
          onEnd()
        }
        return
      }
      if let key { onKey(key) }
    }
  }
}
