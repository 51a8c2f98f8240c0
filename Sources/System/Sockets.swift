// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// The two types of connected UNIX sockets.
public enum SocketType: Hashable, Sendable {
  /// A byte stream.
  case stream
  /// Packets, whose boundaries are kept.
  case packets

  var rawValue: Int32 { Int32((self == .stream ? SOCK_STREAM : SOCK_SEQPACKET).rawValue) }
}

/// The address of a UNIX socket: a path, or `@name` in the abstract namespace (unix(7)).
public struct UnixAddress: Hashable, Sendable, CustomStringConvertible {
  /// The path or `@name`.
  public let description: String
  let bytes: [UInt8]

  /// Throws ENAMETOOLONG above 107 bytes, and EINVAL for an empty path or one with a zero byte.
  public init(_ path: String) throws(SystemError) {
    var name = Array(path.utf8)
    guard !name.isEmpty, !name.contains(0) else {
      throw SystemError("socket address", .invalidArgument, on: path)
    }
    guard name.count < 108 else { throw SystemError("socket address", .nameTooLong, on: path) }
    description = path
    if name[0] == UInt8(ascii: "@") { name[0] = 0 } else { name.append(0) }
    bytes = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + name
  }

  /// Whether the address is a file, and not an abstract name.
  public var isFile: Bool { !description.hasPrefix("@") }
}

/// The process that was at the other end of a UNIX socket when the connection was made.
public struct PeerCredentials: Hashable, Sendable {
  public let userID: UInt32
  public let groupID: UInt32
  /// The supplementary groups.
  public let groups: [UInt32]

  /// Whether the process is in the group, by its primary or a supplementary group.
  public func isMember(of group: UInt32) -> Bool { groupID == group || groups.contains(group) }
}

/// Operations on UNIX sockets.
package enum UnixSocket {
  /// Passes the two ends of a new connection to `body`.
  package static func pair<Value>(
    _ type: SocketType, _ body: (consuming FileDescriptor, consuming FileDescriptor) -> Value
  ) throws(SystemError) -> Value {
    var pair: [Int32] = [-1, -1]
    try Syscall.retrying("socketpair") {
      socketpair(AF_UNIX, type.rawValue | Syscall.socketFlags, 0, &pair)
    }
    return body(FileDescriptor(owning: pair[0]), FileDescriptor(owning: pair[1]))
  }

  /// Connects. UNIX sockets never wait; EAGAIN means that the listener's queue is full.
  package static func connect(to path: String, _ type: SocketType) throws(SystemError) -> FileDescriptor {
    let address = try UnixAddress(path)
    let descriptor = try Syscall.socket(AF_UNIX, type.rawValue, 0)
    try about(path) { () throws(SystemError) in
      try Syscall.connect(descriptor.raw, to: address.bytes)
    }
    return descriptor
  }

  /// Listens. A socket file that nobody listens on is replaced. If somebody does, or the file is no
  /// socket, EADDRINUSE is thrown.
  ///
  /// Nobody can connect before `listen`, so the file's permissions are set in time.
  package static func listen(
    at address: UnixAddress, _ type: SocketType, mode: UInt32, group: UInt32?
  ) throws(SystemError) -> FileDescriptor {
    let descriptor = try Syscall.socket(AF_UNIX, type.rawValue, 0)
    try about(address.description) { () throws(SystemError) in
      do throws(SystemError) {
        try Syscall.bind(descriptor.raw, to: address.bytes)
      } catch {
        guard error.errno == .addressInUse, try isStale(address, type) else { throw error }
        try Files.remove(address.description)
        try Syscall.bind(descriptor.raw, to: address.bytes)
      }
      if address.isFile {
        // A service's sandbox may forbid chown(2), and its own group is the right one already.
        if let group, try Files.status(ofLink: address.description).st_gid != group {
          try Syscall.retrying("chown") { chown(address.description, uid_t.max, group) }
        }
        try Syscall.retrying("chmod") { chmod(address.description, mode) }
      }
      try Syscall.listen(descriptor.raw, backlog: 64)
    }
    return descriptor
  }

  /// Whether nobody listens on the socket file: only then is a connection refused.
  private static func isStale(_ address: UnixAddress, _ type: SocketType) throws(SystemError) -> Bool {
    guard address.isFile, try Files.kind(of: address.description) == .socket else { return false }
    do throws(SystemError) {
      _ = try connect(to: address.description, type)
      return false
    } catch { return error.errno == .connectionRefused }
  }

  package static func peerCredentials(_ fd: Int32) throws(SystemError) -> PeerCredentials {
    // struct ucred: process, user and group, 32 bits each.
    let peer = words(try Syscall.option(fd, SOL_SOCKET, SO_PEERCRED, size: 12))
    guard peer.count == 3 else { throw SystemError("getsockopt", .invalidArgument) }
    // Kernels before 4.13 do not report supplementary groups. Where there are more, the kernel says how many.
    let groups = (try? Syscall.option(fd, SOL_SOCKET, 59, size: 4 * 32)) ?? []  // SO_PEERGROUPS
    return PeerCredentials(userID: peer[1], groupID: peer[2], groups: words(groups))
  }

  private static func words(_ bytes: [UInt8]) -> [UInt32] {
    bytes.withUnsafeBytes { raw in
      (0..<raw.count / 4).map { raw.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) }
    }
  }

  /// Device and inode of a socket file, which change if another file replaces it.
  package static func identity(of address: UnixAddress) -> [UInt64]? {
    guard address.isFile else { return nil }
    let status = try? Files.status(ofLink: address.description)
    return status.map { [UInt64($0.st_dev), UInt64($0.st_ino)] }
  }
}

/// Buffers for the packets that one call receives from a socket (recvmmsg(2)).
///
/// Only the part that packets have filled uses memory: the kernel maps the rest on first use.
package struct PacketBatch: ~Copyable {
  /// The number of packets that one call receives: at the minimum MTU, most responses of a phone fit.
  package static let capacity = 32
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
      let place = UnsafeMutableRawBufferPointer(rebasing: bytes[(index * Self.longest)...].prefix(Self.longest))
      parts.initializeElement(at: index, to: iovec(iov_base: place.baseAddress, iov_len: place.count))
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

  /// Receives what is available; replaces the previous packets.
  ///
  /// - Returns: the number of packets. Fewer than `capacity` means that no more were available. At the
  ///   end of a connection all of them are empty.
  package func receive(from fd: Int32) throws(SystemError) -> Int {
    try Syscall.receive(fd, messages)
  }

  /// Appends a received packet to `bytes`; false if it was longer than `longest`.
  package func append(_ index: Int, to bytes: inout [UInt8]) -> Bool {
    let count = Int(messages[index].msg_len)
    guard count <= Self.longest else { return false }
    let packet = UnsafeRawBufferPointer(start: parts[index].iov_base, count: count)
    packet.withMemoryRebound(to: UInt8.self) { bytes.append(contentsOf: $0) }
    return true
  }

  /// Overwrites the first `count` packets.
  package func wipe(_ count: Int) {
    for index in 0..<count {
      let start = index * Self.longest
      let end = start + min(Int(messages[index].msg_len), Self.longest)
      UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end])
        .initializeMemory(as: UInt8.self, repeating: 0)
    }
  }
}

/// A UNIX datagram socket that only sends, to one address: a service manager's, or the journal's.
///
/// Each datagram resolves the address again, so a restarted receiver gets the next one.
public struct DatagramSocket: ~Copyable {
  private let descriptor: FileDescriptor
  private let address: UnixAddress

  /// Opens a socket for datagrams to `path` (`@name` in the abstract namespace). The receiver need not exist
  /// yet.
  public init(to path: String) throws(SystemError) {
    let address = try UnixAddress(path)
    descriptor = try Syscall.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    self.address = address
  }

  /// Sends a datagram without blocking: it arrives whole, or an error is thrown.
  public borrowing func send(_ bytes: [UInt8]) throws(SystemError) {
    try Syscall.send(descriptor.raw, bytes, to: address.bytes)
  }
}
