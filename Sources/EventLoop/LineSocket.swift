// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// A stream socket whose messages are lines, such as JSON Lines.
///
/// It reads nothing before `onLine` is set, and nothing while a complete line waits to be delivered. Lines are
/// delivered one a turn of the loop, so a peer that sends without a pause delays nobody. It never waits for a peer that
/// does not read: the connection is closed when the queue exceeds its limit. It is closed when the object goes away.
public final class LineSocket {
  /// Why a connection ended.
  public enum End: Hashable, Sendable {
    /// The peer closed it.
    case ended
    /// The kernel reported an error.
    case failed(Errno)
    /// The peer did not read, and the queue exceeded its limit.
    case queueFull
  }

  /// Called with each line, without its line feed. Setting it starts reading, nil pauses it; data already read is
  /// kept.
  public var onLine: (([UInt8]) -> Void)? {
    didSet {
      updateWatch()
      if onLine != nil, oldValue == nil { deliverLater() }
    }
  }
  /// Called when a line exceeds the limit. The line is dropped.
  public var onOverlong: (() -> Void)?
  /// Called when the peer has stopped sending but may still read. The owner closes then, perhaps with
  /// `closeAfterSending`. If this is not set, the connection is closed.
  public var onEnd: (() -> Void)?
  /// Called once when the connection has ended, but not after `close`.
  public var onClose: ((End) -> Void)?
  /// Called when everything in the queue has been sent.
  public var onDrained: (() -> Void)?

  /// Whether lines can be sent.
  public private(set) var isOpen = true

  private let number: Int32
  private let loop: Loop
  private var descriptor: FileDescriptor?
  private var watch: Watch?
  private var queue: SendQueue
  private var lines: LineSplitter
  /// Whether the next line's turn is queued.
  private var isDelivering = false
  /// Why no more is read: the peer has finished sending, or is gone. It is reported once, after what was read.
  private var readEnd: End?
  private var isEndTold = false
  private var isClosing = false

  /// Takes over a connected stream socket that does not block.
  ///
  /// - Parameters:
  ///   - lineLimit: the longest line to read, in bytes.
  ///   - queueLimit: how many bytes may wait to be sent.
  public init(
    owning descriptor: consuming FileDescriptor, lineLimit: Int = 1 << 20,
    queueLimit: Int = 1 << 22, loop: Loop = .shared
  ) {
    number = descriptor.raw
    self.descriptor = consume descriptor
    self.loop = loop
    queue = SendQueue(limit: queueLimit)
    lines = LineSplitter(limit: lineLimit)
  }

  /// Connects to the UNIX socket at `path` (`@name` in the abstract namespace).
  public static func connect(
    unix path: String, lineLimit: Int = 1 << 20, loop: Loop = .shared
  ) throws(SystemError) -> LineSocket {
    LineSocket(
      owning: try UnixSocket.connect(to: path, .stream), lineLimit: lineLimit, loop: loop)
  }

  /// How many bytes wait to be sent.
  package var queuedBytes: Int { queue.bytes }

  /// Sends a line, and a line feed after it.
  public func send(_ line: [UInt8]) {
    guard isOpen, !isClosing, readEnd == nil || readEnd == .ended else { return }
    let end = UInt8(ascii: "\n")
    var sent = 0
    if queue.isEmpty {
      do throws(SystemError) {
        sent = try Syscall.send(number, line[...], and: end)
      } catch { if error.errno != .wouldBlock { return sendingFailed(error.errno) } }
    }
    guard sent <= line.count else { return }
    guard queue.append(line + [end], skipping: sent) else { return failLater(.queueFull) }
    updateWatch()
  }

  /// Closes the connection. Unsent data is dropped, and `onClose` is not called.
  public func close() {
    onClose = nil
    end()
  }

  /// Closes the connection once everything in the queue is sent, and calls `onClose` then or when
  /// sending fails. Nothing more is read, or accepted for sending.
  public func closeAfterSending() {
    isClosing = true
    if queue.isEmpty { failLater(.ended) } else { updateWatch() }
  }

  // MARK: Turns of the loop

  private func updateWatch() {
    guard isOpen else { return }
    var wanted: Readiness = []
    if onLine != nil, readEnd == nil, !isClosing { wanted.insert(.readable) }
    if !queue.isEmpty { wanted.insert(.writable) }
    if let watch { return watch.modify(for: wanted) }
    guard !wanted.isEmpty else { return }
    do throws(SystemError) {
      watch = try loop.watch(number: number, for: wanted) { [weak self] in self?.turn($0) }
    } catch { failLater(.failed(error.errno)) }
  }

  private func turn(_ ready: Readiness) {
    if ready.contains(.writable) { flush() }
    guard watch != nil else { return }
    if onLine != nil, readEnd == nil, !isClosing {
      if !lines.mayHaveLine, !ready.isDisjoint(with: [.readable, .hungUp, .failed]) { read() }
    } else if !ready.isDisjoint(with: [.hungUp, .failed]) {
      fail(.ended)  // nobody will read the queue
    }
  }

  private func read() {
    let count: Int
    do throws(SystemError) {
      count = try Syscall.read(number, into: loop.readBuffer)
    } catch {
      if error.errno != .wouldBlock { fail(.failed(error.errno)) }
      return
    }
    if count > 0 {
      lines.append(loop.readBuffer[..<count])
    } else {
      readEnd = .ended
      updateWatch()
    }
    deliver()
  }

  private func deliverLater() {
    guard !isDelivering else { return }
    isDelivering = true
    loop.later { [weak self] in
      self?.isDelivering = false
      self?.deliver()
    }
  }

  /// Delivers the next line, unless reading is paused; after the last one, the end.
  private func deliver() {
    guard onLine != nil, isOpen, !isClosing else { return }
    if let item = lines.next() {
      item.deliver(onLine, onOverlong)
      if lines.mayHaveLine || readEnd != nil { deliverLater() }
      return
    }
    guard let readEnd, !isEndTold else { return }
    isEndTold = true
    lines.last()?.deliver(onLine, onOverlong)
    guard isOpen, !isClosing else { return }
    if readEnd == .ended, let onEnd { onEnd() } else { fail(readEnd) }
  }

  private func flush() {
    while !queue.isEmpty {
      do throws(SystemError) {
        queue.advance(try Syscall.send(number, queue.first, from: queue.sent))
      } catch { return error.errno == .wouldBlock ? () : sendingFailed(error.errno) }
    }
    if isClosing { return fail(.ended) }
    updateWatch()
    onDrained?()
  }

  /// The peer is gone. What it said before may explain why.
  private func sendingFailed(_ errno: Errno) {
    guard onLine != nil, !isEndTold, !isClosing else { return failLater(.failed(errno)) }
    queue.removeAll()
    if readEnd == nil, let count = try? Syscall.read(number, into: loop.readBuffer) {
      lines.append(loop.readBuffer[..<count])
    }
    readEnd = .failed(errno)
    watch = nil
    deliverLater()
  }

  private func failLater(_ end: End) { loop.later { [weak self] in self?.fail(end) } }

  private func fail(_ reason: End) {
    guard isOpen else { return }
    let onClose = onClose
    end()
    onClose?(reason)
  }

  private func end() {
    guard isOpen else { return }
    isOpen = false
    watch = nil
    queue.removeAll()
    (onLine, onOverlong, onEnd, onClose, onDrained) = (nil, nil, nil, nil, nil)
    descriptor = nil
  }
}
