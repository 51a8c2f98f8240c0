// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// Room for the packets that wait in a socket, which are received by one call (recvmmsg(2)).
///
/// What has no use is never touched: the memory that it takes is that of the packets that came.
package struct PacketBatch: ~Copyable {
  /// At most so many packets at a time.
  package static let capacity = 8
  /// The longest packet, in bytes.
  package static let longest = 1 << 16

  private let bytes: UnsafeMutableRawBufferPointer
  private let parts: UnsafeMutableBufferPointer<iovec>
  private let messages: UnsafeMutableBufferPointer<mmsghdr>

  package init() {
    bytes = .allocate(byteCount: Self.capacity * Self.longest, alignment: 16)
    parts = .allocate(capacity: Self.capacity)
    messages = .allocate(capacity: Self.capacity)
    for index in 0..<Self.capacity {
      let place = UnsafeMutableRawBufferPointer(
        rebasing: bytes[(index * Self.longest)...].prefix(Self.longest))
      parts.initializeElement(
        at: index, to: iovec(iov_base: place.baseAddress, iov_len: place.count))
      var message = mmsghdr()
      message.msg_hdr.msg_iov = UnsafeMutableBufferPointer(rebasing: parts[index...]).baseAddress
      message.msg_hdr.msg_iovlen = 1
      messages.initializeElement(at: index, to: message)
    }
  }

  deinit {
    messages.deallocate()
    parts.deallocate()
    bytes.deallocate()
  }

  /// Receives what waits, without waiting itself; the packets of the last time are gone.
  ///
  /// - Returns: how many packets came; fewer than `capacity` are all that there were. At the end of a
  ///   connection all of them are empty.
  package func receive(from fd: Int32) throws(SystemError) -> Int {
    try Syscall.receive(fd, messages)
  }

  /// One of the packets that came last; nil for one that is longer than any may be.
  package subscript(index: Int) -> [UInt8]? {
    let count = Int(messages[index].msg_len)
    guard count <= Self.longest else { return nil }
    return Array(UnsafeRawBufferPointer(start: parts[index].iov_base, count: count))
  }
}
