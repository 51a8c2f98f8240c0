// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import EventLoop
import System

/// The kernel's HCI monitor: every packet of every adapter as it goes by, with its time. btmon reads
/// the same. Opening it takes CAP_NET_RAW.
public final class MonitorSocket {
  /// Called with each packet and when it went by: opcode, adapter and length, 16 bits each and little
  /// endian, then the data (the kernel's hci_mon.h). Setting it begins reading.
  public var onPacket: ((WallTime, [UInt8]) -> Void)? { didSet { updateWatch() } }
  /// Called once should the kernel ever close the channel.
  public var onClose: ((Errno?) -> Void)?

  private let loop: Loop
  private var descriptor: FileDescriptor?
  private let number: Int32
  private var watch: Watch?

  private static let packetsPerTurn = 64

  public init(loop: Loop = .shared) throws(BluetoothError) {
    self.loop = loop
    let socket = try HCISocket.open(channel: Int32(HCI_CHANNEL_MONITOR))
    number = socket.raw
    descriptor = consume socket
    let number = number
    try bluetooth { () throws(SystemError) in
      try Syscall.setOption(number, SOL_SOCKET, SO_TIMESTAMP, Int32(1))
    }
    // A burst of packets that this process is too slow for is lost; more room where that is allowed.
    try? Syscall.setOption(number, SOL_SOCKET, SO_RCVBUFFORCE, Int32(1 << 21))
  }

  deinit { watch?.cancel() }

  /// Closes the channel.
  public func close() {
    watch?.cancel()
    watch = nil
    descriptor = nil
    onClose = nil
  }

  /// Reads what waits: all packets that went by until now, so that a trace that ends is not behind.
  public func drain() {
    let end = WallTime.now
    while descriptor != nil, let (time, packet) = next() {
      onPacket?(time, packet)
      // What comes while this reads is not for it, else it might never end.
      if time > end { return }
    }
  }

  private func updateWatch() {
    guard descriptor != nil else { return }
    if let watch { return watch.modify(for: onPacket == nil ? [] : .readable) }
    guard onPacket != nil else { return }
    do throws(SystemError) {
      watch = try loop.watch(number: number, for: .readable) { [unowned self] _ in read() }
    } catch {
      fail(error.errno)
    }
  }

  private func read() {
    for _ in 0..<Self.packetsPerTurn where onPacket != nil && descriptor != nil {
      guard let (time, packet) = next() else { return }
      onPacket?(time, packet)
    }
  }

  /// The next packet that waits; nil where none does, or the channel is broken.
  private func next() -> (WallTime, [UInt8])? {
    do throws(SystemError) {
      let buffer = loop.readBuffer
      let (count, stamp) = try Syscall.receive(
        number, into: buffer, control: SOL_SOCKET, SO_TIMESTAMP)
      // Longer than the buffer is longer than any HCI packet: what fits still tells what it was.
      return (time(stamp), Array(buffer[..<min(count, buffer.count)]))
    } catch {
      if error.errno != .wouldBlock { fail(error.errno) }
      return nil
    }
  }

  /// `struct timeval`: seconds and microseconds, in the width of this machine.
  private func time(_ stamp: [UInt8]) -> WallTime {
    guard stamp.count >= MemoryLayout<timeval>.size else { return .now }
    let value = stamp.withUnsafeBytes { $0.loadUnaligned(as: timeval.self) }
    return WallTime(seconds: Int64(value.tv_sec), nanoseconds: Int32(value.tv_usec) * 1000)
  }

  private func fail(_ errno: Errno) {
    let told = onClose
    close()
    told?(errno)
  }
}
