// SPDX-License-Identifier: GPL-3.0-or-later
import CEdit
import EventLoop
import System
import Wire

/// A line that a person edits on the terminal, with a history and completion, beside whatever else the
/// event loop does.
///
/// libedit draws and edits; what is typed is read by the loop and handed to it key by key, so that it
/// never waits. While the line is shown the terminal is raw, but for the signals of Ctrl-C and Ctrl-Z.
public final class LineEditor {
  /// Takes each line that was ended; the prompt is not there again before `show`.
  public var onLine: (String) -> Void = { _ in }
  /// Told of Ctrl-D on an empty line, and of a terminal that is gone.
  public var onEnd: () -> Void = {}
  /// Asked for what the text before the cursor may become.
  public var complete: (String) -> Completion = { _ in Completion(typed: 0, words: []) }
  /// What stands before the line.
  public var prompt = "> " { didSet { edit_set_prompt(edit, prompt) } }
  /// Whether the line is shown now, and can be edited.
  public private(set) var isShown = false

  private let edit: UnsafeMutablePointer<edit>
  private let loop: Loop
  private var watch: Watch?
  private var keys = KeyStream()
  private var escapeTimer: TimerID?

  /// So many lines are remembered.
  private static let history: Int32 = 500
  /// The rest of a key comes within this time (a person's next key does not).
  private static let keyTime: Duration = .milliseconds(100)

  /// An editor on standard input and output, which must be a terminal; nil where that knows no editing.
  public init?(loop: Loop = .shared) {
    guard Terminal.isTerminal(Standard.input), Terminal.isTerminal(Standard.output),
      let edit = edit_open(Self.history)
    else { return nil }
    self.edit = edit
    self.loop = loop
    Signal.terminalInput.ignore()
  }

  deinit {
    watch?.cancel()
    if isShown { edit_set_active(edit, 0) }
    edit_close(edit)
  }

  /// Shows the prompt with an empty line, and takes what is typed.
  public func show() {
    guard !isShown else { return }
    isShown = true
    edit_set_prompt(edit, prompt)
    edit_set_active(edit, 1)
    do throws(SystemError) {
      watch = try loop.watch(number: Standard.input, for: .readable) { [unowned self] _ in read() }
    } catch {
      loop.later { [weak self] in self?.onEnd() }
    }
    // What was typed ahead.
    takeKeys()
  }

  /// Takes nothing any more; the terminal is as it was before.
  public func hide() {
    guard isShown else { return }
    isShown = false
    watch?.cancel()
    watch = nil
    edit_set_active(edit, 0)
  }

  /// Prints lines: above the prompt where that is shown.
  public func print(_ text: String) {
    guard isShown else { return write(text + "\n") }
    write(clearing + text + "\n")
    edit_refresh(edit)
  }

  /// Drops what was typed, as Ctrl-C does, and begins a new line.
  public func cancelLine() {
    guard isShown else { return }
    write("^C\n")
    keys.drop()
    restart()
  }

  /// Draws everything again: after the window changed its size, or the program was continued.
  public func redraw() {
    guard isShown else { return }
    let line = text(edit_start(edit), edit_end(edit))
    write(clearing)
    el_resize(edit.pointee.line)
    restart()
    if !line.isEmpty {
      _ = edit_insert(edit, line)
      edit_refresh(edit)
    }
  }

  private func restart() {
    edit_set_active(edit, 0)
    edit_set_active(edit, 1)
  }

  // MARK: Keys

  private func read() {
    let count: Int
    do throws(SystemError) {
      count = try Syscall.read(Standard.input, into: loop.readBuffer)
    } catch {
      return error.errno == .wouldBlock ? () : end()
    }
    guard count > 0 else { return end() }
    keys.append(loop.readBuffer[..<count])
    takeKeys()
  }

  private func takeKeys() {
    if let escapeTimer { loop.cancel(escapeTimer) }
    escapeTimer = nil
    while isShown, let key = keys.next() { take(key) }
    guard isShown, keys.isIncomplete else { return }
    escapeTimer = loop.schedule(after: Self.keyTime) { [weak self] in self?.keys.drop() }
  }

  private func take(_ key: KeyStream.Key) {
    switch key {
    case [0x09]: completeWord()
    case [0x04] where edit_start(edit) == edit_end(edit):
      write("\n")
      end()
    default:
      let ended = key.withUnsafeBufferPointer { keys in
        edit_take(edit, keys.baseAddress, Int32(keys.count)).map { String(cString: $0) }
      }
      guard var line = ended else { return }
      line.removeLast()
      hide()
      if line.contains(where: { $0 != " " }) { edit_remember(edit, line) }
      onLine(line)
    }
  }

  private func completeWord() {
    let completion = complete(text(edit_start(edit), edit_cursor(edit)))
    let insertion = completion.insertion
    if !insertion.isEmpty {
      let clearing = clearing
      _ = edit_insert(edit, insertion)
      write(clearing)
      edit_refresh(edit)
    } else if completion.words.count > 1 {
      print(completion.listing(width: columns))
    } else {
      el_beep(edit.pointee.line)
    }
  }

  private func end() {
    hide()
    onEnd()
  }

  // MARK: The terminal

  private var columns: Int { Terminal.size()?.columns ?? 80 }

  /// Takes prompt and line off the screen, however many rows they have.
  private var clearing: String {
    let before = prompt.count + text(edit_start(edit), edit_cursor(edit)).count
    let rows = before / max(1, columns)
    return "\r" + (rows > 0 ? "\u{1B}[\(rows)A" : "") + "\u{1B}[J"
  }

  private func text(_ start: UnsafePointer<CChar>, _ end: UnsafePointer<CChar>) -> String {
    let bytes = UnsafeRawBufferPointer(start: start, count: max(0, end - start))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A terminal that is stopped (Ctrl-S) stops the program too; it is the person's own wish.
  private func write(_ text: String) {
    try? FileDescriptor.writeAll(text.utf8, to: Standard.output)
  }
}
