// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Wire

/// What a descriptor may be ready for, and what has become of it (epoll_ctl(2)).
public struct Readiness: OptionSet, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// There is something to read, the end included.
  public static let readable = Readiness(rawValue: 0x001)  // EPOLLIN
  /// Something can be written.
  public static let writable = Readiness(rawValue: 0x004)  // EPOLLOUT
  /// An error waits; reported without being asked for.
  public static let failed = Readiness(rawValue: 0x008)  // EPOLLERR
  /// Both halves are closed; reported without being asked for.
  public static let hungUp = Readiness(rawValue: 0x010)  // EPOLLHUP
  /// The other end writes no more.
  public static let readEnded = Readiness(rawValue: 0x2000)  // EPOLLRDHUP
}

/// The kernel's list of watched descriptors, level triggered.
package struct Epoll: ~Copyable {
  private let descriptor: FileDescriptor
  private let events: UnsafeMutableBufferPointer<epoll_event>

  /// An empty list that reports at most `capacity` descriptors at once.
  package init(capacity: Int = 64) throws(SystemError) {
    descriptor = try Syscall.createEpoll()
    events = .allocate(capacity: capacity)
    events.initialize(repeating: epoll_event())
  }

  deinit { events.deallocate() }

  /// Watches a descriptor; `token` comes back with each report. EPERM: one that is always ready,
  /// as files are, and cannot be watched.
  package func add(_ fd: Int32, _ wanted: Readiness, token: UInt64) throws(SystemError) {
    try Syscall.controlEpoll(
      descriptor.raw, EPOLL_CTL_ADD, fd, events: wanted.rawValue, token: token)
  }

  /// Watches it for something else.
  package func modify(_ fd: Int32, _ wanted: Readiness, token: UInt64) throws(SystemError) {
    try Syscall.controlEpoll(
      descriptor.raw, EPOLL_CTL_MOD, fd, events: wanted.rawValue, token: token)
  }

  /// Watches it no more.
  package func remove(_ fd: Int32) throws(SystemError) {
    try Syscall.controlEpoll(descriptor.raw, EPOLL_CTL_DEL, fd)
  }

  /// How many descriptors are ready: now, or, `waiting`, once there is one.
  package func wait(_ waiting: Bool) throws(SystemError) -> Int {
    try Syscall.waitEpoll(descriptor.raw, events, milliseconds: waiting ? -1 : 0)
  }

  /// One of those that the last `wait` found.
  package subscript(index: Int) -> (token: UInt64, ready: Readiness) {
    (events[index].data.u64, Readiness(rawValue: events[index].events))
  }
}

/// The descriptor that becomes readable at a point in time (timerfd_create(2)).
package struct TimerDescriptor: ~Copyable {
  package let descriptor: FileDescriptor

  package init() throws(SystemError) { descriptor = try Syscall.createTimer() }

  /// Readable from `deadline` on; nil: never.
  package func arm(_ deadline: Instant?) throws(SystemError) {
    // Zero would mean never; the first nanosecond of the clock is long past.
    let time = deadline.map { max(1, $0.nanoseconds) } ?? 0
    try Syscall.armTimer(
      descriptor.raw, seconds: Int(time / 1_000_000_000), nanoseconds: Int(time % 1_000_000_000))
  }
}

/// The descriptor that another thread makes readable (eventfd(2)).
package struct EventDescriptor: ~Copyable, Sendable {
  package let descriptor: FileDescriptor

  package init() throws(SystemError) { descriptor = try Syscall.createEvent() }

  /// Makes it readable. It cannot fail: the counter is far from full, since it is read each time.
  package func signal() {
    withUnsafeBytes(of: UInt64(1)) { _ = try? Syscall.write(descriptor.raw, $0) }
  }

  /// Makes it unreadable again.
  package func clear() {
    var count: UInt64 = 0
    withUnsafeMutableBytes(of: &count) { _ = try? Syscall.read(descriptor.raw, into: $0) }
  }
}

/// The descriptor on which signals are read (signalfd(2)).
package struct SignalDescriptor: ~Copyable {
  package let descriptor: FileDescriptor

  /// Blocks these signals for the calling thread and takes them.
  package init(_ signals: [Signal]) throws(SystemError) {
    descriptor = try Syscall.createSignals(signals.map(\.rawValue))
  }

  /// The next signal that came, if one did.
  package func next() -> Signal? {
    var info = signalfd_siginfo()
    let count = withUnsafeMutableBytes(of: &info) { try? Syscall.read(descriptor.raw, into: $0) }
    return count == MemoryLayout<signalfd_siginfo>.size
      ? Signal(rawValue: Int32(info.ssi_signo)) : nil
  }
}
