// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import EventLoop
import System
import Wire

/// The kernel's HCI monitor: every packet of every adapter, with its time, as btmon reads it. It needs
/// CAP_NET_RAW.
public final class MonitorSocket {
  /// Called with each packet and its time. A packet is opcode, adapter and length, 16 bits each and
  /// little endian, and the data (the kernel's hci_mon.h). Setting this starts reading.
  public var onPacket: ((WallTime, [UInt8]) -> Void)? {
    didSet { watch?.modify(for: onPacket == nil ? [] : .readable) }
  }
  /// Called once if the kernel closes the channel.
  public var onClose: ((Errno?) -> Void)?

  private var descriptor: FileDescriptor?
  private let number: Int32
  private var watch: Watch?

  private static let packetsPerTurn = 64

  public init() throws(BluetoothError) {
    let socket = try HCISocket.open(channel: Int32(HCI_CHANNEL_MONITOR))
    number = socket.raw
    descriptor = consume socket
    let number = number
    watch = try bluetooth { () throws(SystemError) in
      try Syscall.setOption(number, SOL_SOCKET, linux_so_timestamp, Int32(1))
      return try Loop.shared.watch(number: number, for: []) { [weak self] _ in self?.read() }
    }
    // The kernel drops packets if this process is too slow: a larger buffer helps, where it is allowed.
    try? Syscall.setOption(number, SOL_SOCKET, SO_RCVBUFFORCE, Int32(1 << 21))
  }

  /// Closes the channel.
  public func close() {
    watch = nil
    descriptor = nil
    onClose = nil
  }

  /// Reads all packets up to now, so that a trace is complete when it ends.
  public func drain() {
    let end = WallTime.now
    while descriptor != nil, let (time, packet) = next() {
      onPacket?(time, packet)
      // Packets keep arriving: it stops at the first that is newer than its start.
      if time > end { return }
    }
  }

  private func read() {
    for _ in 0..<Self.packetsPerTurn where onPacket != nil && descriptor != nil {
      guard let (time, packet) = next() else { return }
      onPacket?(time, packet)
    }
  }

  /// The next packet; nil if there is none, or the channel is broken.
  private func next() -> (WallTime, [UInt8])? {
    do throws(SystemError) {
      let buffer = Loop.shared.readBuffer
      let (count, stamp) = try Syscall.receive(number, into: buffer, control: SOL_SOCKET, linux_so_timestamp)
      // No HCI packet is longer than the buffer; a longer one would be truncated.
      return (time(stamp), Array(buffer[..<min(count, buffer.count)]))
    } catch {
      if error.errno != .wouldBlock { fail(error.errno) }
      return nil
    }
  }

  /// `struct timeval`: seconds and microseconds.
  private func time(_ stamp: [UInt8]) -> WallTime {
    guard stamp.count >= MemoryLayout<timeval>.size else { return .now }
    let value = stamp.withUnsafeBytes { $0.loadUnaligned(as: timeval.self) }
    return WallTime(seconds: Int64(value.tv_sec), nanoseconds: Int32(value.tv_usec) * 1000)
  }

  private func fail(_ errno: Errno) {
    let onClose = onClose
    close()
    onClose?(errno)
  }
}
