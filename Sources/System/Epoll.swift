// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc
import Wire

/// What a descriptor is ready for (epoll_ctl(2)).
public struct Readiness: OptionSet, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// There is something to read, or the end was reached.
  public static let readable = Readiness(rawValue: 0x001)  // EPOLLIN
  /// Writing does not block.
  public static let writable = Readiness(rawValue: 0x004)  // EPOLLOUT
  /// An error is pending. Always reported.
  public static let failed = Readiness(rawValue: 0x008)  // EPOLLERR
  /// Both directions are closed. Always reported.
  public static let hungUp = Readiness(rawValue: 0x010)  // EPOLLHUP
}

/// The kernel's interest list of descriptors, level-triggered.
package struct Epoll: ~Copyable {
  private let descriptor: FileDescriptor
  private let events: UnsafeMutablePointer<epoll_event>
  /// The maximum number of ready descriptors per `wait`.
  private static let capacity: Int32 = 64

  package init() throws(SystemError) {
    descriptor = try Syscall.opening("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
    events = .allocate(capacity: Int(Self.capacity))
    events.initialize(repeating: epoll_event(), count: Int(Self.capacity))
  }

  deinit { events.deallocate() }

  /// Adds a descriptor; each report has its `token`. Throws EPERM for descriptors that are always
  /// ready, such as files.
  package func add(_ fd: Int32, _ wanted: Readiness, token: UInt64) throws(SystemError) {
    try control(EPOLL_CTL_ADD, fd, wanted, token: token)
  }

  /// Changes what a descriptor is watched for.
  package func modify(_ fd: Int32, _ wanted: Readiness, token: UInt64) throws(SystemError) {
    try control(EPOLL_CTL_MOD, fd, wanted, token: token)
  }

  /// Removes a descriptor.
  package func remove(_ fd: Int32) throws(SystemError) { try control(EPOLL_CTL_DEL, fd) }

  private func control(
    _ operation: Int32, _ fd: Int32, _ wanted: Readiness = [], token: UInt64 = 0
  ) throws(SystemError) {
    var event = epoll_event(events: wanted.rawValue, data: epoll_data_t(u64: token))
    try Syscall.retrying("epoll_ctl") { epoll_ctl(descriptor.raw, operation, fd, &event) }
  }

  /// The number of ready descriptors; if `waiting`, blocks until there is one.
  package func wait(_ waiting: Bool) throws(SystemError) -> Int {
    Int(try Syscall.retrying("epoll_wait") { epoll_wait(descriptor.raw, events, Self.capacity, waiting ? -1 : 0) })
  }

  /// A ready descriptor of the last `wait`.
  package subscript(index: Int) -> (token: UInt64, ready: Readiness) {
    (events[index].data.u64, Readiness(rawValue: events[index].events))
  }
}

/// A descriptor that becomes readable at a point in time (timerfd_create(2)).
package struct TimerDescriptor: ~Copyable {
  package let descriptor: FileDescriptor

  package init() throws(SystemError) {
    let flags = Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK)
    descriptor = try Syscall.opening("timerfd_create") { timerfd_create(CLOCK_MONOTONIC, flags) }
  }

  /// Makes it readable from `deadline` on; nil: never.
  package func arm(_ deadline: Instant?) throws(SystemError) {
    // Zero would mean never; the first nanosecond of the clock is long past.
    let time = deadline.map { max(1, $0.nanoseconds) } ?? 0
    var when = itimerspec()
    let (seconds, nanoseconds) = time.quotientAndRemainder(dividingBy: 1_000_000_000)
    when.it_value = timespec(tv_sec: time_t(clamping: seconds), tv_nsec: Int(nanoseconds))
    try Syscall.retrying("timerfd_settime") {
      timerfd_settime(descriptor.raw, Int32(TFD_TIMER_ABSTIME), &when, nil)
    }
  }
}

/// A descriptor that any thread can make readable (eventfd(2)).
package struct EventDescriptor: ~Copyable, Sendable {
  package let descriptor: FileDescriptor

  package init() throws(SystemError) {
    descriptor = try Syscall.opening("eventfd") {
      eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    }
  }

  /// Makes it readable. The counter never overflows, since each wake-up resets it.
  package func signal() { _ = eventfd_write(descriptor.raw, 1) }

  /// Makes it unreadable again.
  package func clear() {
    var count: eventfd_t = 0
    _ = eventfd_read(descriptor.raw, &count)
  }
}

/// A descriptor that signals are read from (signalfd(2)).
package struct SignalDescriptor: ~Copyable {
  package let descriptor: FileDescriptor

  /// Blocks these signals for the calling thread, so that they can be read.
  package init(_ signals: [Signal]) throws(SystemError) {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal.rawValue) }
    let failure = pthread_sigmask(SIG_BLOCK, &set, nil)
    if failure != 0 { throw SystemError("pthread_sigmask", Errno(rawValue: failure)) }
    let flags = Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK)
    descriptor = try Syscall.opening("signalfd") { signalfd(-1, &set, flags) }
  }

  /// The next pending signal, if any.
  package func next() -> Signal? {
    var info = signalfd_siginfo()
    let count = withUnsafeMutableBytes(of: &info) { try? Syscall.read(descriptor.raw, into: $0) }
    return count == MemoryLayout<signalfd_siginfo>.size ? Signal(rawValue: Int32(info.ssi_signo)) : nil
  }
}
