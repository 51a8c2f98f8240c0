// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// System calls on descriptors and sockets. Modules above this one make none themselves.
package enum Syscall {
  /// Repeats a call that a signal has interrupted; turns -1 into an error of `call`.
  @discardableResult static func retrying<Number: SignedInteger>(
    _ call: String, on subject: String? = nil, _ body: () -> Number
  ) throws(SystemError) -> Number {
    while true {
      let result = body()
      if result != -1 { return result }
      let number = errno
      if number != EINTR { throw SystemError(call, Errno(rawValue: number), on: subject) }
    }
  }

  /// The descriptor that a call returns.
  static func opening(
    _ call: String, on subject: String? = nil, _ body: () -> Int32
  ) throws(SystemError) -> FileDescriptor {
    FileDescriptor(owning: try retrying(call, on: subject, body))
  }

  // MARK: Descriptors

  package static func read(_ fd: Int32, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
    try retrying("read") { Glibc.read(fd, buffer.baseAddress, buffer.count) }
  }

  /// Writes the bytes from `start` on, at most `limit`; returns how many the kernel took.
  package static func write(
    _ fd: Int32, _ bytes: [UInt8], from start: Int = 0, atMost limit: Int = .max
  ) throws(SystemError) -> Int {
    try retrying("write") {
      bytes[start...].withUnsafeBytes { Glibc.write(fd, $0.baseAddress, min($0.count, limit)) }
    }
  }

  /// Writes bytes followed by one more; returns how many the kernel took.
  package static func write(_ fd: Int32, _ bytes: ArraySlice<UInt8>, and last: UInt8) throws(SystemError) -> Int {
    try retrying("writev") { withParts(bytes, last) { Glibc.writev(fd, $0, 2) } }
  }

  /// Calls `use` with an I/O vector of two parts: the bytes, and the one that follows them.
  private static func withParts<Value>(
    _ bytes: ArraySlice<UInt8>, _ last: UInt8, _ use: (UnsafeMutablePointer<iovec>?) -> Value
  ) -> Value {
    bytes.withUnsafeBytes { bytes in
      withUnsafeBytes(of: last) { last in
        // The kernel only reads what the parts point to.
        var parts = (
          iovec(iov_base: .init(mutating: bytes.baseAddress), iov_len: bytes.count),
          iovec(iov_base: .init(mutating: last.baseAddress), iov_len: 1)
        )
        return withUnsafeMutableBytes(of: &parts) {
          use($0.baseAddress?.assumingMemoryBound(to: iovec.self))
        }
      }
    }
  }

  /// Whether one of `events` (POLLOUT, POLLRDHUP), an error or POLLHUP holds now or within
  /// `milliseconds` (-1: without a limit).
  private static func poll(_ fd: Int32, for events: Int16, within milliseconds: Int32 = 0) throws(SystemError) -> Bool {
    var entry = pollfd(fd: fd, events: events, revents: 0)
    try retrying("poll") { Glibc.poll(&entry, 1, milliseconds) }
    return entry.revents != 0
  }

  /// Waits until writing does not block, with all signals unblocked meanwhile.
  package static func waitInterruptibly(toWrite fd: Int32) throws(SystemError) {
    var entry = pollfd(fd: fd, events: Int16(POLLOUT), revents: 0)
    var none = sigset_t()
    sigemptyset(&none)
    try retrying("ppoll") { ppoll(&entry, 1, nil, &none) }
  }

  /// Whether writing does not block; waits up to `milliseconds` for that (-1: without a limit).
  @discardableResult
  package static func isWritable(
    _ fd: Int32, within milliseconds: Int32 = 0
  ) throws(SystemError) -> Bool {
    try poll(fd, for: Int16(POLLOUT), within: milliseconds)
  }

  /// Whether there is something to read, or the end; waits up to `milliseconds` for that.
  package static func isReadable(_ fd: Int32, within milliseconds: Int32 = 0) throws(SystemError) -> Bool {
    try poll(fd, for: Int16(POLLIN), within: milliseconds)
  }

  /// Identifies the calling thread.
  package static func currentThread() -> UInt { UInt(pthread_self()) }

  /// Whether the other end of a connection has stopped sending, or the connection has failed.
  package static func hasEnded(_ fd: Int32) throws(SystemError) -> Bool {
    try poll(fd, for: 0x2000)  // POLLRDHUP, under _GNU_SOURCE only
  }

  package static func isNonBlocking(_ fd: Int32) throws(SystemError) -> Bool {
    try retrying("fcntl") { fcntl(fd, F_GETFL) } & O_NONBLOCK != 0
  }

  /// Runs an ioctl whose argument is `bytes`.
  package static func control(
    _ fd: Int32, _ request: UInt, _ name: String, bytes: inout [UInt8]
  ) throws(SystemError) {
    try retrying(name) {
      bytes.withUnsafeMutableBytes { $0.baseAddress.map { ioctl(fd, request, $0) } ?? 0 }
    }
  }

  // MARK: Sockets

  /// All sockets are non-blocking, and closed on exec.
  static let socketFlags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)

  package static func socket(_ family: Int32, _ type: Int32, _ proto: Int32) throws(SystemError) -> FileDescriptor {
    try opening("socket") { Glibc.socket(family, type | socketFlags, proto) }
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
    try opening("accept") { accept4(fd, nil, nil, socketFlags) }
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
  static func receive(_ fd: Int32, _ messages: UnsafeMutableBufferPointer<mmsghdr>) throws(SystemError) -> Int {
    let flags = Int32(MSG_DONTWAIT | MSG_TRUNC)
    let count = UInt32(messages.count)
    return Int(try retrying("recvmmsg") { linux_recvmmsg(fd, messages.baseAddress, count, flags) })
  }

  /// Receives a packet without blocking, with the data of its control message (cmsg(3)), which is a header with a length
  /// that includes it, and the data; empty if that is not of this level and type.
  package static func receive(
    _ fd: Int32, into buffer: UnsafeMutableRawBufferPointer, control level: Int32, _ type: Int32
  ) throws(SystemError) -> (count: Int, control: [UInt8]) {
    var controls = [UInt8](repeating: 0, count: 256)
    var part = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
    var header = cmsghdr()
    let count = try retrying("recvmsg") {
      controls.withUnsafeMutableBytes { space in
        withUnsafeMutablePointer(to: &part) { parts in
          var message = msghdr()
          message.msg_iov = parts
          message.msg_iovlen = 1
          message.msg_control = space.baseAddress
          message.msg_controllen = space.count
          defer { header = space.loadUnaligned(as: cmsghdr.self) }
          return recvmsg(fd, &message, Int32(MSG_DONTWAIT | MSG_TRUNC))
        }
      }
    }
    guard header.cmsg_level == level, header.cmsg_type == type else { return (count, []) }
    return (count, Array(controls.prefix(Int(header.cmsg_len)).dropFirst(MemoryLayout<cmsghdr>.size)))
  }

  /// Sends the bytes from `start` on, without blocking and without SIGPIPE; returns how many the
  /// kernel took.
  package static func send(_ fd: Int32, _ bytes: [UInt8], from start: Int = 0) throws(SystemError) -> Int {
    let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
    return try retrying("send") {
      bytes[start...].withUnsafeBytes { Glibc.send(fd, $0.baseAddress, $0.count, flags) }
    }
  }

  /// Sends bytes followed by one more, without blocking and without SIGPIPE; returns how many the kernel took.
  package static func send(_ fd: Int32, _ bytes: ArraySlice<UInt8>, and last: UInt8) throws(SystemError) -> Int {
    let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
    return try retrying("sendmsg") {
      withParts(bytes, last) {
        var message = msghdr()
        message.msg_iov = $0
        message.msg_iovlen = 2
        return sendmsg(fd, &message, flags)
      }
    }
  }

  /// Sends a datagram to an address, whole, without blocking and without SIGPIPE.
  static func send(_ fd: Int32, _ bytes: [UInt8], to address: [UInt8]) throws(SystemError) {
    let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
    try retrying("sendto") {
      withAddress(address) { place, length in
        Int32(truncatingIfNeeded: sendto(fd, bytes, bytes.count, flags, place, length))
      }
    }
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

  /// A socket option whose value has the layout of `value`.
  package static func option<Value: BitwiseCopyable>(
    _ fd: Int32, _ level: Int32, _ option: Int32, _ value: Value
  ) throws(SystemError) -> Value {
    var value = value
    var length = socklen_t(MemoryLayout<Value>.size)
    try retrying("getsockopt") { getsockopt(fd, level, option, &value, &length) }
    return value
  }

  /// The bytes of a socket option. If there are more than the expected `size`, the kernel says how many, and
  /// is asked again.
  package static func option(_ fd: Int32, _ level: Int32, _ option: Int32, size: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    var length = socklen_t(size)
    do throws(SystemError) {
      try retrying("getsockopt") { getsockopt(fd, level, option, &bytes, &length) }
    } catch {
      guard error.errno == .outOfRange, length > size else { throw error }
      return try Self.option(fd, level, option, size: Int(length))
    }
    return Array(bytes.prefix(Int(length)))
  }

  private static func address(
    _ call: String, _ body: (UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>) -> Int32
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

// MARK: Memory

extension [UInt8] {
  /// The index of the first such byte from `start` on, by memchr(3).
  package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
    withUnsafeBytes { bytes in
      let rest = bytes.dropFirst(start)
      guard let base = bytes.baseAddress, !rest.isEmpty,
        let found = memchr(base + rest.startIndex, Int32(byte), rest.count)
      else { return nil }
      return UnsafeRawPointer(found) - base
    }
  }
}
