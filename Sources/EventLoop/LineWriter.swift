// SPDX-License-Identifier: GPL-3.0-or-later
import System
import Wire

/// Writes lines to standard output or standard error, without delay and without blocking.
///
/// A reader that has stopped (a pager, Ctrl-S, a hanging journal) must not stop the loop, so unread lines wait in a
/// bounded queue (`SharedOutput` does the writing). When that is full, lines are lost until half of it is free again;
/// then a notice is written.
public final class LineWriter {
  /// Lines that could not be written.
  public struct Loss: Hashable, Sendable {
    /// How many.
    public var count = 0
    /// The number of the first.
    public var first: UInt64
    /// The number of the last.
    public var last: UInt64
  }

  /// Called once when the reader is gone (EPIPE, a terminal that hung up) or a file could not be written (ENOSPC). If
  /// the reader is gone, all further lines are dropped.
  public var onError: ((Errno) -> Void)?
  /// Makes the notice that replaces the lost lines; nil: no notice.
  public var lossNotice: ((Loss) -> [UInt8])?

  /// How many lines were dropped because the queue was full or the reader was gone.
  public private(set) var droppedLines = 0
  /// Whether the reader is gone.
  public private(set) var isClosed = false

  private let output: SharedOutput
  private var watch: Watch?
  private var queue: SendQueue
  /// The loss without a notice so far.
  private var loss: Loss?
  /// Whether a file ends with an incomplete line.
  private var isTorn = false

  private static let lineFeed = UInt8(ascii: "\n")

  /// Writes to a descriptor that is owned elsewhere.
  ///
  /// - Parameter queueLimit: how many bytes may wait to be written.
  public init(_ number: Int32 = Standard.output, queueLimit: Int = 1 << 22) {
    output = SharedOutput(number)
    queue = SendQueue(limit: queueLimit)
  }

  /// How many lines wait to be written.
  public var queuedLines: Int { queue.count }
  /// How many bytes wait to be written.
  package var queuedBytes: Int { queue.bytes }

  /// Writes a line, and a line feed after it.
  ///
  /// - Parameter number: identifies the line in the notice if it is lost.
  public func write(_ line: String, number: UInt64 = 0) {
    write(Array(line.utf8)[...], number: number)
  }

  /// Writes a line, and a line feed after it.
  ///
  /// - Parameter number: identifies the line in the notice if it is lost.
  public func write(_ line: ArraySlice<UInt8>, number: UInt64 = 0) {
    if !isClosed, tellLoss(), append(line) { return }
    droppedLines += 1
    var loss = loss ?? Loss(first: number, last: number)
    loss.count += 1
    loss.last = number
    self.loss = loss
  }

  /// Writes the queue, and blocks for at most this long; for use before exit.
  ///
  /// - Returns: whether everything is written.
  @discardableResult public func flush(within duration: Duration) -> Bool {
    let deadline = MonotonicClock.now + duration
    while !queue.isEmpty, !isClosed {
      drain()
      _ = tellLoss()
      let left = (deadline - MonotonicClock.now).nanoseconds / 1_000_000
      guard !queue.isEmpty, left > 0 else { break }
      _ = try? Syscall.isWritable(output.number, within: Int32(min(left, 1_000_000)))
    }
    return queue.isEmpty
  }

  /// Writes a line if none is queued, and queues what could not be written at once; false if the queue is full.
  private func append(_ line: ArraySlice<UInt8>) -> Bool {
    let isIdle = queue.isEmpty
    var written = 0
    if isIdle, !isTorn {
      written = (try? output.write(line, and: Self.lineFeed)) ?? 0
      if written > line.count { return true }
    }
    var whole: [UInt8] = []
    whole.reserveCapacity(line.count + 2)
    if isTorn { whole.append(Self.lineFeed) }
    whole.append(contentsOf: line)
    whole.append(Self.lineFeed)
    guard queue.append(whole, skipping: written) else { return false }
    guard isIdle else { return true }
    let isGood = drain()
    if output.isFile {
      if isGood { isTorn = false }
      return isGood
    }
    waitForReader()
    return true
  }

  /// Writes the notice of a loss, if any, once the reader has caught up; false if it has not.
  private func tellLoss() -> Bool {
    guard let told = loss else { return true }
    guard !isClosed, queue.bytes <= queue.limit / 2 else { return false }
    loss = nil
    guard let lossNotice else { return true }
    if append(lossNotice(told)[...]) { return true }
    loss = told
    return false
  }

  /// Writes as much as is possible without blocking; false if that has failed.
  @discardableResult private func drain() -> Bool {
    while !queue.isEmpty {
      do throws(SystemError) {
        queue.advance(try output.write(queue.first, from: queue.sent))
      } catch {
        if error.errno == .wouldBlock { break }
        fail(error.errno)
        return false
      }
    }
    return true
  }

  private func waitForReader() {
    guard !queue.isEmpty, !isClosed, watch == nil else { return }
    do throws(SystemError) {
      watch = try Loop.shared.watch(number: output.number, for: .writable) { [weak self] _ in
        guard let self else { return }
        drain()
        _ = tellLoss()
        if queue.isEmpty || isClosed { watch = nil }
      }
    } catch { fail(error.errno) }
  }

  private func fail(_ errno: Errno) {
    if output.isFile {
      // A full disk may have room again. `write` counts the current line. If the line started with a line feed, only
      // that may have been written.
      if queue.sent > 0 { isTorn = !(isTorn && queue.sent == 1) }
    } else {
      droppedLines += queue.count
      isClosed = true
    }
    queue.removeAll()
    let onError = onError
    self.onError = nil
    onError?(errno)
  }
}
