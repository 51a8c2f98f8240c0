// SPDX-License-Identifier: GPL-3.0-or-later
import System
import Wire

/// Writes lines to standard output or standard error, without delay and without blocking.
///
/// A reader that has stopped (a pager, Ctrl-S) must not stop the loop. The descriptor's flags are shared
/// with the shell and are not changed. Instead, at most 4,096 bytes are written when poll(2) says that
/// the descriptor is ready: that is PIPE_BUF, which a ready pipe accepts whole. The rest waits in a
/// bounded queue. Files never block.
public final class LineWriter {
  /// Called once when the reader is gone (EPIPE, a terminal that hung up) or a file could not be written
  /// (ENOSPC). After the former all lines are dropped.
  public var onError: ((Errno) -> Void)?

  /// How many lines were dropped because the queue was full or the reader was gone.
  public private(set) var droppedLines = 0

  private enum Kind { case file, blocking, nonBlocking }

  private let number: Int32
  private let loop: Loop
  private let kind: Kind
  private var watch: Watch?
  private var queue: SendQueue
  private var isClosed = false

  private static let pipeBuffer = 4096

  /// Writes to a descriptor that is owned elsewhere.
  ///
  /// - Parameter queueLimit: how many bytes may wait to be written.
  public init(_ number: Int32 = Standard.output, queueLimit: Int = 1 << 22, loop: Loop = .shared) {
    self.number = number
    self.loop = loop
    if FileDescriptor.isAlwaysReady(number) {
      kind = .file
    } else {
      kind = ((try? Syscall.isNonBlocking(number)) ?? false) ? .nonBlocking : .blocking
    }
    queue = SendQueue(limit: queueLimit)
  }

  /// How many bytes wait to be written.
  package var queuedBytes: Int { queue.bytes }

  /// Writes a line, and a line feed after it.
  public func write(_ line: String) { write(Array(line.utf8)) }

  /// Writes a line, and a line feed after it.
  public func write(_ line: [UInt8]) {
    let isIdle = queue.isEmpty
    guard !isClosed, queue.append(line + [UInt8(ascii: "\n")]) else {
      droppedLines += 1
      return
    }
    guard isIdle else { return }
    drain()
    waitForReader()
  }

  /// Writes what is in the queue, and blocks for at most this long; for use before exit.
  /// - Returns: whether everything is written.
  @discardableResult public func flush(within duration: Duration) -> Bool {
    let deadline = loop.now + duration
    while !queue.isEmpty, !isClosed {
      drain()
      let left = (deadline - loop.now).nanoseconds / 1_000_000
      guard !queue.isEmpty, left > 0 else { break }
      _ = try? Syscall.isWritable(number, within: Int32(min(left, 1_000_000)))
    }
    return queue.isEmpty
  }

  /// Writes as much as is possible without blocking.
  private func drain() {
    while !queue.isEmpty {
      do throws(SystemError) {
        if kind == .blocking, !(try Syscall.isWritable(number)) { return }
        let limit = kind == .blocking ? Self.pipeBuffer : .max
        queue.advance(try Syscall.write(number, queue.first, from: queue.sent, atMost: limit))
      } catch {
        if error.errno == .wouldBlock { return }
        return fail(error.errno)
      }
    }
  }

  private func waitForReader() {
    guard !queue.isEmpty, !isClosed else { return }
    do throws(SystemError) {
      watch = try loop.watch(number: number, for: .writable) { [unowned self] _ in
        drain()
        if queue.isEmpty || isClosed { watch = nil }
      }
    } catch {
      fail(error.errno)
    }
  }

  private func fail(_ errno: Errno) {
    droppedLines += queue.count
    queue.removeAll()
    isClosed = kind != .file  // a full disk may have room again
    let onError = onError
    self.onError = nil
    onError?(errno)
  }
}
