// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// The calls into the kernel and the C library. No other file names them, and only this one repeats
/// interrupted calls.
package enum Syscall {
  /// Repeats a call that a signal has interrupted; turns -1 into an error of `call`.
  @discardableResult
  private static func retrying<Number: SignedInteger>(
    _ call: String, _ body: () -> Number
  ) throws(SystemError) -> Number {
    while true {
      let result = body()
      if result != -1 { return result }
      let number = errno
      if number != EINTR { throw SystemError(call, Errno(rawValue: number)) }
    }
  }

  /// For functions that return an error number instead of setting `errno`.
  private static func checked(_ call: String, _ number: Int32) throws(SystemError) {
    if number != 0 { throw SystemError(call, Errno(rawValue: number)) }
  }

  /// The C library's text for an error number.
  static func text(of number: Int32) -> String {
    strerror(number).map { String(cString: $0) } ?? "unknown error"
  }
}

// MARK: Descriptors

extension Syscall {
  /// Never repeated: Linux closes the descriptor even if the call is interrupted.
  package static func close(_ fd: Int32) { _ = Glibc.close(fd) }

  static func duplicate(_ fd: Int32) throws(SystemError) -> FileDescriptor {
    FileDescriptor(owning: try retrying("dup") { fcntl(fd, F_DUPFD_CLOEXEC, 3) })
  }

  package static func read(
    _ fd: Int32, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Int {
    try retrying("read") { Glibc.read(fd, buffer.baseAddress, buffer.count) }
  }

  package static func write(
    _ fd: Int32, _ bytes: UnsafeRawBufferPointer
  ) throws(SystemError) -> Int {
    try retrying("write") { Glibc.write(fd, bytes.baseAddress, bytes.count) }
  }

  /// Which of `events` (POLLIN, POLLOUT, POLLRDHUP), errors and POLLHUP hold now or within
  /// `milliseconds` (-1: without a limit).
  package static func poll(
    _ fd: Int32, for events: Int16, milliseconds: Int32 = 0
  ) throws(SystemError) -> Int16 {
    var entry = pollfd(fd: fd, events: events, revents: 0)
    try retrying("poll") { Glibc.poll(&entry, 1, milliseconds) }
    return entry.revents
  }

  /// Whether writing does not block; waits up to `milliseconds` for that.
  package static func isWritable(
    _ fd: Int32, within milliseconds: Int32 = 0
  ) throws(SystemError) -> Bool {
    try poll(fd, for: Int16(POLLOUT), milliseconds: milliseconds) != 0
  }

  /// Whether the other end of a connection has stopped sending, or the connection has failed.
  package static func hasEnded(_ fd: Int32) throws(SystemError) -> Bool {
    try poll(fd, for: 0x2000) != 0  // POLLRDHUP, under _GNU_SOURCE only
  }

  package static func isNonBlocking(_ fd: Int32) throws(SystemError) -> Bool {
    try retrying("fcntl") { fcntl(fd, F_GETFL) } & O_NONBLOCK != 0
  }

  package static func control<Argument>(
    _ fd: Int32, _ request: UInt, _ name: String, _ argument: inout Argument
  ) throws(SystemError) {
    try retrying(name) {
      withUnsafeMutablePointer(to: &argument) { ioctl(fd, request, UnsafeMutableRawPointer($0)) }
    }
  }

  /// The same, for an argument of variable length.
  package static func control(
    _ fd: Int32, _ request: UInt, _ name: String, bytes: inout [UInt8]
  ) throws(SystemError) {
    try retrying(name) {
      bytes.withUnsafeMutableBytes { $0.baseAddress.map { ioctl(fd, request, $0) } ?? 0 }
    }
  }
}

// MARK: Files

extension Syscall {
  static func open(
    _ path: String, _ flags: Int32, mode: UInt32 = 0
  ) throws(SystemError) -> FileDescriptor {
    let fd = try retrying("open") { Glibc.open(path, flags | O_CLOEXEC | O_NOCTTY, mode) }
    return FileDescriptor(owning: fd)
  }

  static func sync(_ fd: Int32) throws(SystemError) { try retrying("fsync") { fsync(fd) } }

  static func rename(_ old: String, to new: String) throws(SystemError) {
    try retrying("rename") { Glibc.rename(old, new) }
  }

  static func unlink(_ path: String) throws(SystemError) {
    try retrying("unlink") { Glibc.unlink(path) }
  }

  static func makeDirectory(_ path: String, mode: UInt32) throws(SystemError) {
    try retrying("mkdir") { mkdir(path, mode) }
  }

  static func access(_ path: String, _ mode: Int32) throws(SystemError) {
    try retrying("access") { Glibc.access(path, mode) }
  }

  static func changeMode(_ path: String, _ mode: UInt32) throws(SystemError) {
    try retrying("chmod") { chmod(path, mode) }
  }

  static func changeMode(_ fd: Int32, _ mode: UInt32) throws(SystemError) {
    try retrying("fchmod") { fchmod(fd, mode) }
  }

  static func changeGroup(_ path: String, _ group: UInt32) throws(SystemError) {
    try retrying("chown") { chown(path, uid_t.max, group) }
  }

  static func status(_ fd: Int32) throws(SystemError) -> stat {
    var status = stat()
    try retrying("fstat") { fstat(fd, &status) }
    return status
  }

  static func status(ofLink path: String) throws(SystemError) -> stat {
    var status = stat()
    try retrying("lstat") { lstat(path, &status) }
    return status
  }

  static func lock(_ fd: Int32, _ operation: Int32) throws(SystemError) {
    try retrying("flock") { flock(fd, operation) }
  }

  /// The names in a directory, without `.` and `..`, in the kernel's order.
  static func names(in path: String) throws(SystemError) -> [String] {
    guard let directory = opendir(path) else {
      throw SystemError("opendir", Errno(rawValue: errno), on: path)
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }
}

// MARK: Sockets

extension Syscall {
  package static func socket(
    _ family: Int32, _ type: Int32, _ proto: Int32
  ) throws(SystemError) -> FileDescriptor {
    let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    return FileDescriptor(
      owning: try retrying("socket") { Glibc.socket(family, type | flags, proto) })
  }

  static func socketPair(_ type: Int32) throws(SystemError) -> (Int32, Int32) {
    let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    var pair: [Int32] = [-1, -1]
    try retrying("socketpair") { socketpair(AF_UNIX, type | flags, 0, &pair) }
    return (pair[0], pair[1])
  }

  package static func bind(_ fd: Int32, to address: [UInt8]) throws(SystemError) {
    try retrying("bind") { withAddress(address) { Glibc.bind(fd, $0, $1) } }
  }

  package static func connect(_ fd: Int32, to address: [UInt8]) throws(SystemError) {
    try retrying("connect") { withAddress(address) { Glibc.connect(fd, $0, $1) } }
  }

  package static func listen(_ fd: Int32, backlog: Int32) throws(SystemError) {
    try retrying("listen") { Glibc.listen(fd, backlog) }
  }

  /// Accepts the next connection: non-blocking, closed on exec.
  package static func accept(_ fd: Int32) throws(SystemError) -> FileDescriptor {
    let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    return FileDescriptor(owning: try retrying("accept") { accept4(fd, nil, nil, flags) })
  }

  /// The address of this end.
  package static func localAddress(_ fd: Int32) throws(SystemError) -> [UInt8] {
    try address("getsockname") { getsockname(fd, $0, $1) }
  }

  /// The address of the other end.
  package static func peerAddress(_ fd: Int32) throws(SystemError) -> [UInt8] {
    try address("getpeername") { getpeername(fd, $0, $1) }
  }

  /// The length of the next packet, which is not removed; 0 at the end of the connection.
  package static func peekLength(_ fd: Int32) throws(SystemError) -> Int {
    let flags = Int32(MSG_DONTWAIT | MSG_TRUNC | MSG_PEEK)
    return try retrying("recv") { recv(fd, nil, 0, flags) }
  }

  /// Receives packets without blocking. The length of a truncated one is its full length.
  static func receive(
    _ fd: Int32, _ messages: UnsafeMutableBufferPointer<mmsghdr>
  ) throws(SystemError) -> Int {
    let flags = Int32(MSG_DONTWAIT | MSG_TRUNC)
    let count = UInt32(messages.count)
    return Int(try retrying("recvmmsg") { recvmmsg(fd, messages.baseAddress, count, flags, nil) })
  }

  /// Receives a packet without blocking, with the data of its first control message of this type.
  package static func receive(
    _ fd: Int32, into buffer: UnsafeMutableRawBufferPointer, control level: Int32, _ type: Int32
  ) throws(SystemError) -> (count: Int, control: [UInt8]) {
    var controls = [UInt8](repeating: 0, count: 256)
    var part = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
    var used = 0
    let count = try retrying("recvmsg") {
      controls.withUnsafeMutableBytes { space in
        withUnsafeMutablePointer(to: &part) { parts in
          var message = msghdr()
          message.msg_iov = parts
          message.msg_iovlen = 1
          message.msg_control = space.baseAddress
          message.msg_controllen = space.count
          defer { used = Int(message.msg_controllen) }
          return recvmsg(fd, &message, Int32(MSG_DONTWAIT | MSG_TRUNC))
        }
      }
    }
    return (count, ControlMessages(controls.prefix(used)).first(level, type))
  }

  /// Sends without blocking and without SIGPIPE.
  package static func send(
    _ fd: Int32, _ bytes: UnsafeRawBufferPointer
  ) throws(SystemError) -> Int {
    let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
    return try retrying("send") { Glibc.send(fd, bytes.baseAddress, bytes.count, flags) }
  }

  package static func setOption<Value: BitwiseCopyable>(
    _ fd: Int32, _ level: Int32, _ option: Int32, _ value: Value
  ) throws(SystemError) {
    try retrying("setsockopt") {
      withUnsafeBytes(of: value) {
        setsockopt(fd, level, option, $0.baseAddress, socklen_t($0.count))
      }
    }
  }

  /// The bytes of a socket option, at most `size`.
  package static func option(
    _ fd: Int32, _ level: Int32, _ option: Int32, size: Int
  ) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    var length = socklen_t(size)
    try retrying("getsockopt") { getsockopt(fd, level, option, &bytes, &length) }
    return Array(bytes.prefix(Int(length)))
  }

  private static func address(
    _ call: String,
    _ body: (UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>) -> Int32
  ) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: MemoryLayout<sockaddr_storage>.size)
    var length = socklen_t(bytes.count)
    try retrying(call) {
      bytes.withUnsafeMutableBytes {
        body($0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
      }
    }
    return Array(bytes.prefix(Int(length)))
  }

  private static func withAddress(
    _ bytes: [UInt8], _ body: (UnsafePointer<sockaddr>?, socklen_t) -> Int32
  ) -> Int32 {
    bytes.withUnsafeBytes {
      body($0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
    }
  }
}

// MARK: Events

extension Syscall {
  static func createEpoll() throws(SystemError) -> FileDescriptor {
    let fd = try retrying("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
    return FileDescriptor(owning: fd)
  }

  static func controlEpoll(
    _ epoll: Int32, _ operation: Int32, _ fd: Int32, events: UInt32 = 0, token: UInt64 = 0
  ) throws(SystemError) {
    var event = epoll_event(events: events, data: epoll_data_t(u64: token))
    try retrying("epoll_ctl") { epoll_ctl(epoll, operation, fd, &event) }
  }

  static func waitEpoll(
    _ epoll: Int32, _ events: UnsafeMutableBufferPointer<epoll_event>, milliseconds: Int32
  ) throws(SystemError) -> Int {
    Int(
      try retrying("epoll_wait") {
        epoll_wait(epoll, events.baseAddress, Int32(events.count), milliseconds)
      })
  }

  static func createTimer() throws(SystemError) -> FileDescriptor {
    let flags = Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK)
    return FileDescriptor(
      owning: try retrying("timerfd_create") { timerfd_create(CLOCK_MONOTONIC, flags) })
  }

  /// Both zero disarms the timer.
  static func armTimer(_ fd: Int32, seconds: Int, nanoseconds: Int) throws(SystemError) {
    var when = itimerspec()
    when.it_value = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
    try retrying("timerfd_settime") { timerfd_settime(fd, Int32(TFD_TIMER_ABSTIME), &when, nil) }
  }

  static func createEvent() throws(SystemError) -> FileDescriptor {
    let flags = Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)
    return FileDescriptor(owning: try retrying("eventfd") { eventfd(0, flags) })
  }

  /// Blocks `signals` for the calling thread, and returns a descriptor to read them from.
  static func createSignals(_ signals: [Int32]) throws(SystemError) -> FileDescriptor {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    try checked("pthread_sigmask", pthread_sigmask(SIG_BLOCK, &set, nil))
    let flags = Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK)
    return FileDescriptor(owning: try retrying("signalfd") { signalfd(-1, &set, flags) })
  }

  static func ignoreSignal(_ number: Int32) { _ = signal(number, SIG_IGN) }

  /// Identifies the calling thread.
  package static func currentThread() -> UInt { UInt(pthread_self()) }
}

// MARK: Time, host, process

extension Syscall {
  static func clock(_ clock: clockid_t) -> timespec {
    var time = timespec()
    _ = clock_gettime(clock, &time)  // cannot fail for the clocks that every Linux has
    return time
  }

  /// The offset from UTC in seconds, east positive, in the local time zone.
  static func utcOffset(at seconds: Int) -> Int {
    var time = time_t(seconds)
    var local = tm()
    return localtime_r(&time, &local) == nil ? 0 : local.tm_gmtoff
  }

  static func systemName() throws(SystemError) -> (host: String, release: String) {
    var name = utsname()
    try retrying("uname") { uname(&name) }
    return (text(in: name.nodename), text(in: name.release))
  }

  private static func text<Field>(in field: Field) -> String {
    withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  static func userID() -> UInt32 { geteuid() }

  static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

  package static func isTerminal(_ fd: Int32) -> Bool { isatty(fd) == 1 }

  static func terminalSize(_ fd: Int32) throws(SystemError) -> winsize {
    var size = winsize()
    try control(fd, UInt(TIOCGWINSZ), "ioctl(TIOCGWINSZ)", &size)
    return size
  }
}
