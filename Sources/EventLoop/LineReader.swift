// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// Reads lines from standard input or another descriptor: a terminal, a pipe or a file.
///
/// It reads nothing before `onLine` is set. It does not change the descriptor's flags, since a terminal shares them
/// with the shell; it reads only when the descriptor is readable. Files are always readable and cannot be watched
/// (EPERM). They are read in pieces, one per turn.
public final class LineReader {
  /// Called with each line, without its line feed. Setting it begins reading.
  public var onLine: (([UInt8]) -> Void)? { didSet { if oldValue == nil { begin() } } }
  /// Called when a line exceeds the limit. The line is dropped.
  public var onOverlong: (() -> Void)?
  /// Called once at the end of the input, or when reading failed.
  public var onEnd: ((Errno?) -> Void)?

  private let number: Int32
  private var watch: Watch?
  private var lines: LineSplitter
  private var hasEnded = false

  /// Reads a descriptor that is owned elsewhere.
  public init(_ number: Int32 = Standard.input, lineLimit: Int = 1 << 20) {
    self.number = number
    lines = LineSplitter(limit: lineLimit)
    // So that reading from the terminal in the background fails instead of stopping the process.
    if Terminal.isTerminal(number) { Signal.terminalInput.ignore() }
  }

  /// Stops reading.
  public func close() {
    hasEnded = true
    watch = nil
    (onLine, onOverlong, onEnd) = (nil, nil, nil)
  }

  private func begin() {
    guard !hasEnded else { return }
    do throws(SystemError) {
      watch = try Loop.shared.watch(number: number, for: .readable) { [weak self] _ in
        self?.read()
      }
    } catch {
      guard error.errno != .notPermitted else { return readLater() }
      let errno = error.errno
      Loop.shared.later { [weak self] in self?.end(errno) }
    }
  }

  private func readLater() {
    Loop.shared.later { [weak self] in
      guard let self, !hasEnded else { return }
      read()
      readLater()
    }
  }

  private func read() {
    let count: Int
    do throws(SystemError) {
      count = try Syscall.read(number, into: Loop.shared.readBuffer)
    } catch { return error.errno == .wouldBlock ? () : end(error.errno) }
    lines.append(Loop.shared.readBuffer[..<count])
    while !hasEnded, let item = lines.next() { item.deliver(onLine, onOverlong) }
    guard count == 0, !hasEnded else { return }
    lines.last()?.deliver(onLine, onOverlong)
    end(nil)
  }

  private func end(_ errno: Errno?) {
    guard !hasEnded else { return }
    let onEnd = onEnd
    close()
    onEnd?(errno)
  }
}

/// Splits a byte stream into lines. A line that exceeds the limit is reported once and dropped up to its
/// end.
struct LineSplitter {
  enum Item: Hashable {
    /// A line without its line feed.
    case line([UInt8])
    /// A line that was too long and has been dropped.
    case overlong

    func deliver(_ onLine: (([UInt8]) -> Void)?, _ onOverlong: (() -> Void)?) {
      switch self {
      case .line(let line): onLine?(line)
      case .overlong: onOverlong?()
      }
    }
  }

  private let limit: Int
  private var bytes: [UInt8] = []
  private var start = 0
  private var searched = 0
  private var isDropping = false

  /// - Parameter limit: the longest line, in bytes.
  init(limit: Int) { self.limit = limit }

  mutating func append(_ more: some Collection<UInt8>) {
    if start > 0 {
      bytes.removeFirst(start)
      searched -= start
      start = 0
    }
    bytes.append(contentsOf: more)
  }

  /// Whether `next` may return something: it has not yet searched everything.
  var mayHaveLine: Bool { searched < bytes.count }

  /// The next complete line, if any.
  mutating func next() -> Item? {
    while true {
      guard let end = bytes.firstIndex(of: UInt8(ascii: "\n"), from: searched) else {
        searched = bytes.count
        if isDropping || bytes.count - start > limit {
          defer { isDropping = true }
          forget()
          return isDropping ? nil : .overlong
        }
        return nil
      }
      let line = bytes[start..<end]
      start = end + 1
      searched = start
      if isDropping {
        isDropping = false
      } else {
        return line.count > limit ? .overlong : .line(Array(line))
      }
    }
  }

  /// At the end of the input: the text after the last line feed, if any.
  mutating func last() -> Item? {
    defer {
      forget()
      isDropping = false
    }
    return isDropping || start == bytes.count ? nil : .line(Array(bytes[start...]))
  }

  private mutating func forget() {
    bytes.removeAll(keepingCapacity: true)
    start = 0
    searched = 0
  }
}
