// SPDX-License-Identifier: GPL-3.0-or-later
import CEdit
import EventLoop
import System
import Wire

/// A line editor on the terminal, with history and completion, that runs on the event loop.
///
/// libedit draws and edits. The loop reads what is typed and passes it to libedit one key at a
/// time, so libedit never blocks. While the line is shown the terminal is raw, except that Ctrl-C
/// and Ctrl-Z still send signals.
public final class LineEditor {
  /// Called with each finished line. The prompt is hidden then, until `show`.
  public var onLine: (String) -> Void = { _ in }
  /// Called on Ctrl-D on an empty line, and when the terminal is gone.
  public var onEnd: () -> Void = {}
  /// Returns the completions of the text before the cursor.
  public var complete: (String) -> Completion = { _ in Completion(typed: 0, words: []) }
  /// The text before the line.
  public var prompt = "> " { didSet { edit_set_prompt(edit, prompt) } }
  /// Whether the line is shown and can be edited.
  public private(set) var isShown = false

  private let edit: UnsafeMutablePointer<edit>
  private let loop: Loop
  private var watch: Watch?
  private var keys = KeyStream()
  private var escapeTimer: TimerID?
  /// The file with the history.
  private let path: String?

  /// How many lines the history keeps.
  private static let history: Int32 = 500
  /// The rest of a multi-byte key arrives within this time; a person's next key does not.
  private static let keyTime: Duration = .milliseconds(100)

  /// An editor on standard input and output; nil unless they are a terminal on which lines can be
  /// edited.
  ///
  /// - Parameter path: the file that stores the history; nil: it is not stored.
  public init?(history path: String? = nil, loop: Loop = .shared) {
    guard Terminal.isTerminal(Standard.input), Terminal.isTerminal(Standard.output) else {
      return nil
    }
    Terminal.useUTF8()
    guard let edit = edit_open(Self.history) else { return nil }
    self.edit = edit
    self.loop = loop
    self.path = path
    if let path { edit_load(edit, path) }
    Signal.terminalInput.ignore()
  }

  deinit {
    if isShown { edit_set_active(edit, 0) }
    edit_close(edit)
  }

  /// Shows the prompt and an empty line, and reads keys.
  public func show() {
    guard !isShown else { return }
    isShown = true
    edit_set_prompt(edit, prompt)
    edit_set_active(edit, 1)
    do throws(SystemError) {
      watch = try loop.watch(number: Standard.input, for: .readable) { [weak self] _ in self?.read()
      }
    } catch { loop.later { [weak self] in self?.onEnd() } }
    // Keys that were typed ahead.
    handleKeys()
  }

  /// Hides the prompt, stops reading and restores the terminal.
  public func hide() {
    guard isShown else { return }
    isShown = false
    watch = nil
    edit_set_active(edit, 0)
  }

  /// Prints text, above the prompt if that is shown.
  public func print(_ text: String) {
    guard isShown else { return write(text + "\n") }
    write(clearing + text + "\n")
    edit_refresh(edit)
  }

  /// Discards what was typed and starts a new line, as Ctrl-C does.
  public func cancelLine() {
    guard isShown else { return }
    write("^C\n")
    keys.drop()
    restart()
  }

  /// Draws the prompt and the line again, after the window's size has changed or the program was
  /// continued.
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
    } catch { return error.errno == .wouldBlock ? () : end() }
    guard count > 0 else { return end() }
    keys.append(loop.readBuffer[..<count])
    handleKeys()
  }

  private func handleKeys() {
    if let escapeTimer { loop.cancel(escapeTimer) }
    escapeTimer = nil
    while isShown, let key = keys.next() { handle(key) }
    guard isShown, keys.isIncomplete else { return }
    escapeTimer = loop.schedule(after: Self.keyTime) { [weak self] in self?.keys.drop() }
  }

  private func handle(_ key: KeyStream.Key) {
    switch key {
    case [0x09]: completeWord()
    case [0x04] where edit_start(edit) == edit_end(edit):
      write("\n")
      end()
    default:
      let ended = key.withUnsafeBufferPointer { keys in
        edit_handle_key(edit, keys.baseAddress, Int32(keys.count)).map { String(cString: $0) }
      }
      guard var line = ended else { return }
      line.removeLast()
      hide()
      if line.contains(where: { $0 != " " }) {
        edit_remember(edit, line)
        if let path { edit_save(edit, path) }
      }
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

  /// The escape sequence that clears the prompt and the line, however many rows they have.
  private var clearing: String {
    let before = prompt.count + text(edit_start(edit), edit_cursor(edit)).count
    let rows = before / max(1, columns)
    return "\r" + (rows > 0 ? "\u{1B}[\(rows)A" : "") + "\u{1B}[J"
  }

  private func text(_ start: UnsafePointer<CChar>, _ end: UnsafePointer<CChar>) -> String {
    let bytes = UnsafeRawBufferPointer(start: start, count: max(0, end - start))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Blocks if the user has stopped the terminal (Ctrl-S).
  private func write(_ text: String) {
    try? FileDescriptor.writeAll(text.utf8, to: Standard.output)
  }
}

/// The completions at the cursor.
public struct Completion: Hashable, Sendable {
  /// How many characters of the word are before the cursor.
  public var typed: Int
  /// The words that it can become.
  public var words: [String]
  /// Titles that are listed next to some of the words.
  public var titles: [String: String]

  public init(typed: Int, words: [String], titles: [String: String] = [:]) {
    self.typed = typed
    self.words = words
    self.titles = titles
  }

  /// The text to insert at once: the common beginning of all words after the cursor, and a space if
  /// there is only one word, unless a value follows it (`title=`).
  var insertion: String {
    guard var common = words.first else { return "" }
    for word in words.dropFirst() {
      common = String(zip(common, word).prefix { $0.0 == $0.1 }.map(\.0))
    }
    guard common.count >= typed else { return "" }
    return common.dropFirst(typed) + (words.count == 1 && common.last != "=" ? " " : "")
  }

  /// The words in columns, for a terminal of this width.
  func listing(width: Int) -> String {
    let entries = words.map { word in titles[word].map { "\(word) \($0)" } ?? word }
    let column = (entries.map(\.count).max() ?? 0) + 2
    let perLine = max(1, width / column)
    let lines = stride(from: 0, to: entries.count, by: perLine).map { start in
      let row = entries[start..<min(start + perLine, entries.count)]
      let cells = row.dropLast().map { $0 + String(repeating: " ", count: column - $0.count) }
      return cells.joined() + (row.last ?? "")
    }
    return lines.joined(separator: "\n")
  }
}
