// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// Lines from standard input, or from anything else that is read: a terminal, a pipe, a file.
///
/// It reads nothing before `onLine` is set. The descriptor's flags are left alone, since a terminal
/// shares them with the shell: it is read only when there is something, and then does not block.
/// Files are always ready, cannot be watched (EPERM), and are read a piece a turn.
public final class LineReader {
  /// Called with each line, without its line feed. Setting it begins reading, nil pauses it.
  public var onLine: (([UInt8]) -> Void)? { didSet { updateWatch() } }
  /// Called for a line above the bound, which is dropped.
  public var onOverlong: (() -> Void)?
  /// Called once at the end of the input, or when reading failed.
  public var onEnd: ((Errno?) -> Void)?

  private let number: Int32
  private let loop: Loop
  private var descriptor: FileDescriptor?
  private var watch: Watch?
  private var lines: LineSplitter
  private var isAlwaysReady = false
  private var isReading = false
  private var hasEnded = false

  /// Reads the descriptor with this number, which stays its owner's.
  public init(
    _ number: Int32 = Standard.input, lineLimit: Int = 1 << 20, loop: Loop = .shared
  ) {
    self.number = number
    self.loop = loop
    lines = LineSplitter(limit: lineLimit)
    // In the background, reading from the terminal fails instead of stopping the process.
    if Terminal.isTerminal(number) { Signal.terminalInput.ignore() }
  }

  /// Reads a descriptor that it takes over.
  public init(
    owning descriptor: consuming FileDescriptor, lineLimit: Int = 1 << 20, loop: Loop = .shared
  ) {
    number = descriptor.raw
    self.descriptor = consume descriptor
    self.loop = loop
    lines = LineSplitter(limit: lineLimit)
  }

  deinit { watch?.cancel() }

  /// Reads no more.
  public func close() {
    hasEnded = true
    watch?.cancel()
    watch = nil
    (onLine, onOverlong, onEnd) = (nil, nil, nil)
    descriptor = nil
  }

  private func updateWatch() {
    guard !hasEnded else { return }
    if isAlwaysReady { return readLater() }
    guard onLine != nil else {
      // Not only paused: the end of a pipe is reported whether it is asked for or not.
      watch?.cancel()
      watch = nil
      return
    }
    guard watch == nil else { return }
    do throws(SystemError) {
      watch = try loop.watch(number: number, for: .readable) { [unowned self] _ in read() }
    } catch {
      if error.errno == .notPermitted {
        isAlwaysReady = true
        readLater()
      } else {
        let errno = error.errno
        loop.later { [weak self] in self?.end(errno) }
      }
    }
  }

  private func readLater() {
    guard onLine != nil, !isReading else { return }
    isReading = true
    loop.later { [weak self] in
      guard let self else { return }
      isReading = false
      guard onLine != nil, !hasEnded else { return }
      read()
      if !hasEnded { readLater() }
    }
  }

  private func read() {
    let count: Int
    do throws(SystemError) {
      count = try Syscall.read(number, into: loop.readBuffer)
    } catch {
      return error.errno == .wouldBlock ? () : end(error.errno)
    }
    lines.append(loop.readBuffer[..<count])
    while !hasEnded, let item = lines.next() { deliver(item) }
    guard count == 0, !hasEnded else { return }
    if let last = lines.last() { deliver(last) }
    end(nil)
  }

  private func deliver(_ item: LineSplitter.Item) {
    switch item {
    case .line(let line): onLine?(line)
    case .overlong: onOverlong?()
    }
  }

  private func end(_ errno: Errno?) {
    guard !hasEnded else { return }
    let told = onEnd
    close()
    told?(errno)
  }
}
