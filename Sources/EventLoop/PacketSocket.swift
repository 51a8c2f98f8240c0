// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// A packet socket (SOCK_SEQPACKET): an L2CAP channel or a UNIX socket.
///
/// It reads nothing before `onPacket` is set, so no packet is lost. After `onClose` neither is called
/// again. It is closed when the object goes away.
public final class PacketSocket {
  /// Called with each packet, a slice of a batch. Setting it starts reading, nil pauses it.
  public var onPacket: ((ArraySlice<UInt8>) -> Void)? {
    didSet {
      handlerNumber += 1
      updateWatch()
      guard oldValue == nil, onPacket != nil, !arrived.isEmpty || hasEnded else { return }
      loop.later { [weak self] in if let self, isOpen, onPacket != nil { read() } }
    }
  }

  /// Called once when the peer or an error has ended the connection (nil: an orderly end), but not after
  /// `close`.
  public var onClose: ((Errno?) -> Void)?

  /// Asked before the descriptor is closed, with whether the connection has ended and how many packets
  /// were received. If true, the descriptor stays open until the process ends. (Some kernels do not
  /// survive closing certain sockets: `SilentLink` in Bluetooth.)
  public var leavesOpen: ((_ isGone: Bool, _ packetsReceived: UInt64) -> Bool)?

  /// Whether the descriptor was left open.
  public private(set) var isLeftOpen = false

  /// Whether the connection ends when the kernel refuses a packet. On a channel of commands a refusal
  /// concerns only that command.
  public var refusalsEndIt = true
  /// Why the last refused packet was refused.
  public private(set) var refusal: Errno?

  /// Whether its packets contain keys: received bytes then do not stay in the buffers.
  public var carriesKeys = false

  /// Whether packets can be sent.
  public private(set) var isOpen = true
  /// How many packets were received.
  public private(set) var packetsReceived: UInt64 = 0

  /// The descriptor's number, for socket options.
  package let number: Int32

  private let loop: Loop
  private var descriptor: FileDescriptor?
  private var watch: Watch?
  private var queue: SendQueue
  private var failure: Errno?
  /// The number of the present `onPacket`.
  private var handlerNumber = 0
  /// What `onPacket` has not had yet. It may be paused between two packets.
  private var arrived = ReceivedPackets()
  /// Whether the end follows them.
  private var hasEnded = false

  /// How often packets are received in one turn of the loop, so that other descriptors get theirs.
  private static let batchesPerTurn = 2

  /// Takes over a connected socket that does not block.
  ///
  /// - Parameter queueLimit: how many bytes may wait to be sent.
  public init(owning descriptor: consuming FileDescriptor, queueLimit: Int = 1 << 20, loop: Loop = .shared) {
    number = descriptor.raw
    self.descriptor = consume descriptor
    self.loop = loop
    queue = SendQueue(limit: queueLimit)
  }

  deinit { end(isGone: false) }

  /// The two ends of a connection.
  package static func pair(
    loop: Loop = .shared
  ) throws(SystemError) -> (PacketSocket, PacketSocket) {
    try UnixSocket.pair(.packets) {
      (PacketSocket(owning: $0, loop: loop), PacketSocket(owning: $1, loop: loop))
    }
  }

  /// Connects to the UNIX socket at `path` (`@name` in the abstract namespace).
  public static func connect(unix path: String, loop: Loop = .shared) throws(SystemError) -> PacketSocket {
    PacketSocket(owning: try UnixSocket.connect(to: path, .packets), loop: loop)
  }

  /// How many packets wait to be sent, because the kernel's buffer is full or an L2CAP channel is being
  /// encrypted.
  package var queuedPackets: Int { queue.count }

  /// Sends a packet, or queues it until the kernel accepts it.
  ///
  /// - Returns: false if the connection is closed, the queue is full, or the packet is too long for the
  ///   channel. A broken connection is reported to `onClose`.
  @discardableResult public func send(_ packet: [UInt8]) -> Bool {
    guard isOpen else { return false }
    if queue.isEmpty {
      do throws(SystemError) {
        _ = try Syscall.send(number, packet)
        return true
      } catch { guard mustWait(error.errno) else { return false } }
    }
    guard queue.append(packet) else { return false }
    updateWatch()
    return true
  }

  /// Closes the connection. Unsent packets are dropped, and `onClose` is not called.
  public func close() {
    onClose = nil
    end(isGone: false)
    onPacket = nil
  }

  // MARK: Turns of the loop

  private func updateWatch() {
    guard isOpen else { return }
    var wanted: Readiness = []
    if onPacket != nil { wanted.insert(.readable) }
    if !queue.isEmpty { wanted.insert(.writable) }
    if let watch { return watch.modify(for: wanted) }
    guard !wanted.isEmpty else { return }
    do throws(SystemError) {
      watch = try loop.watch(number: number, for: wanted) { [weak self] in self?.turn($0) }
    } catch { failLater(error.errno) }
  }

  private func turn(_ ready: Readiness) {
    if ready.contains(.writable) { flush() }
    guard isOpen, !ready.isDisjoint(with: [.readable, .hungUp, .failed]) else { return }
    if onPacket != nil { return read() }
    // Paused: the kernel would report the end on every turn, so the watch is removed until `onPacket` is set.
    if !ready.isDisjoint(with: [.hungUp, .failed]) { watch = nil }
  }

  private func read() {
    for _ in 0..<Self.batchesPerTurn {
      let mayBeMore = !arrived.isEmpty || hasEnded || receive()
      while !arrived.isEmpty, let onPacket {
        // It is copied once for all packets before the next handler, since a copy counts references.
        let current = handlerNumber
        while current == handlerNumber, let packet = arrived.popFirst() { onPacket(packet) }
      }
      if onPacket == nil { return }
      // Freed memory is overwritten (CWipe).
      if carriesKeys { arrived = ReceivedPackets() }
      if hasEnded { return fail(failure) }
      if !mayBeMore { return }
    }
  }

  /// Receives what is available.
  ///
  /// - Returns: whether there may be more.
  private func receive() -> Bool {
    let count: Int
    do throws(SystemError) {
      count = try loop.packets.receive(from: number)
    } catch {
      // Bluetooth sockets report the error before packets that were received earlier.
      hasEnded = failure != nil
      if !hasEnded, error.errno == .wouldBlock { return false }
      failure = failure ?? error.errno
      return true
    }
    if !arrived.receive(count, from: loop.packets) {
      failure = .messageTooLong
      hasEnded = true
    }
    if carriesKeys { loop.packets.wipe(count) }
    if !hasEnded, arrived.isLastEmpty, isAtEnd() {
      hasEnded = true
      arrived.dropEmptyEnd()
    }
    packetsReceived += UInt64(arrived.count)
    return count == PacketBatch.capacity || failure != nil
  }

  /// Whether receiving nothing means the end and not an empty packet. (An empty packet right before the
  /// end cannot be told from it.)
  private func isAtEnd() -> Bool {
    guard let ended = try? Syscall.hasEnded(number), ended else { return false }
    let next = try? Syscall.peekLength(number)
    return (next ?? 0) == 0
  }

  private func flush() {
    while !queue.isEmpty {
      do throws(SystemError) {
        _ = try Syscall.send(number, queue.first)
      } catch {
        guard !mustWait(error.errno), error.errno == .messageTooLong || !refusalsEndIt else {
          return
        }
      }
      queue.advance(.max)
    }
    updateWatch()
  }

  /// Whether to send again when the socket is writable. ENOTCONN is the error while an L2CAP channel is
  /// being encrypted (docs/kernel.md, “BT_SECURITY”).
  private func mustWait(_ errno: Errno) -> Bool {
    switch errno {
    case .wouldBlock, .notConnected, .noBufferSpace: return true
    case .messageTooLong: return false
    default:
      refusal = errno
      if refusalsEndIt { failLater(errno) }
      return false
    }
  }

  /// Ends the connection after `send` has returned, and after the received packets were read.
  private func failLater(_ errno: Errno) {
    loop.later { [weak self] in
      guard let self, isOpen else { return }
      if errno != .brokenPipe { failure = failure ?? errno }
      if onPacket != nil { read() }
      if isOpen { fail(failure ?? errno) }
    }
  }

  private func fail(_ errno: Errno?) {
    guard isOpen else { return }
    let onClose = onClose
    self.onClose = nil
    end(isGone: true)
    onPacket = nil
    onClose?(errno)
  }

  private func end(isGone: Bool) {
    guard isOpen else { return }
    isOpen = false
    watch = nil
    queue.removeAll()
    arrived = ReceivedPackets()
    guard let descriptor = descriptor.take() else { return }
    let isGone = isGone || (try? Syscall.hasEnded(number)) ?? true
    if leavesOpen?(isGone, packetsReceived) ?? false {
      _ = descriptor.release()
      isLeftOpen = true
    }
    leavesOpen = nil
  }
}

/// A batch of received packets in one buffer, which is reused for the next batch unless a packet is still referenced.
private struct ReceivedPackets {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  /// The number of packets taken, and the offset of the next one.
  private var (taken, start) = (0, 0)

  /// The number of packets left.
  var count: Int { ends.count - taken }

  var isEmpty: Bool { count == 0 }

  /// Replaces the taken packets by the received ones; false if a packet was too long: it and those after it are
  /// dropped.
  mutating func receive(_ count: Int, from batch: borrowing PacketBatch) -> Bool {
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    (taken, start) = (0, 0)
    for index in 0..<count {
      guard batch.append(index, to: &bytes) else { return false }
      ends.append(bytes.count)
    }
    return true
  }

  mutating func popFirst() -> ArraySlice<UInt8>? {
    guard taken < ends.count else { return nil }
    let end = ends[taken]
    defer { (taken, start) = (taken + 1, end) }
    return bytes[start..<end]
  }

  /// Whether there is a last packet, and it is empty.
  var isLastEmpty: Bool { !isEmpty && (count == 1 ? start : ends[ends.count - 2]) == ends.last }

  /// Drops the empty packets at the end.
  mutating func dropEmptyEnd() { while isLastEmpty { ends.removeLast() } }
}
