// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// The two kinds of connected UNIX sockets.
public enum SocketType: Hashable, Sendable {
  /// A stream of bytes, here always of lines.
  case stream
  /// A sequence of packets, each received as it was sent.
  case packets

  var rawValue: Int32 {
    switch self {
    case .stream: Int32(SOCK_STREAM.rawValue)
    case .packets: Int32(SOCK_SEQPACKET.rawValue)
    }
  }
}

/// Where a UNIX socket is: a path, or `@name` for one without a file (unix(7), abstract).
public struct UnixAddress: Hashable, Sendable, CustomStringConvertible {
  /// The path or `@name`.
  public let description: String
  let bytes: [UInt8]

  /// ENAMETOOLONG above 107 bytes, EINVAL for an empty one or one with a zero byte.
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

  /// Whether it is a file in a directory, and not an abstract name.
  public var isFile: Bool { !description.hasPrefix("@") }
}

/// Who is at the other end of a UNIX socket, as the kernel noted it when the connection was made.
public struct PeerCredentials: Hashable, Sendable {
  public let processID: Int32
  public let userID: UInt32
  public let groupID: UInt32
  /// The supplementary groups.
  public let groups: [UInt32]

  /// Whether the peer's process is in the group, by its own or as a supplementary one.
  public func isMember(of group: UInt32) -> Bool { groupID == group || groups.contains(group) }
}

/// What is done with UNIX sockets.
package enum UnixSocket {
  /// Two ends of a connection, given to `body`.
  package static func pair<Value>(
    _ type: SocketType, _ body: (consuming FileDescriptor, consuming FileDescriptor) -> Value
  ) throws(SystemError) -> Value {
    let (one, other) = try Syscall.socketPair(type.rawValue)
    return body(FileDescriptor(owning: one), FileDescriptor(owning: other))
  }

  /// Connects without waiting: UNIX sockets do at once or fail. EAGAIN: the listener's queue is full.
  package static func connect(
    to address: UnixAddress, _ type: SocketType
  ) throws(SystemError) -> FileDescriptor {
    let descriptor = try Syscall.socket(AF_UNIX, type.rawValue, 0)
    try about(address.description) { () throws(SystemError) in
      try Syscall.connect(descriptor.raw, to: address.bytes)
    }
    return descriptor
  }

  /// Listens. A socket file on which nobody answers is replaced; one on which somebody does is
  /// EADDRINUSE, and so is anything that is not a socket.
  ///
  /// Nobody can connect before `listen`, so the file has its permissions before it is of use.
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
        if let group { try Syscall.changeGroup(address.description, group) }
        try Syscall.changeMode(address.description, mode)
      }
      try Syscall.listen(descriptor.raw, backlog: 64)
    }
    return descriptor
  }

  /// Whether the socket file is there with nobody behind it: only then is a connection refused.
  private static func isStale(
    _ address: UnixAddress, _ type: SocketType
  ) throws(SystemError) -> Bool {
    guard address.isFile, try Files.kind(of: address.description) == .socket else { return false }
    do throws(SystemError) {
      _ = try connect(to: address, type)
      return false
    } catch {
      return error.errno == .connectionRefused
    }
  }

  package static func peerCredentials(_ fd: Int32) throws(SystemError) -> PeerCredentials {
    // struct ucred: process, user and group, 32 bits each.
    let peer = words(try Syscall.option(fd, SOL_SOCKET, SO_PEERCRED, size: 12))
    guard peer.count == 3 else { throw SystemError("getsockopt", .invalidArgument) }
    // Kernels before 4.13 cannot tell the supplementary groups; then there are none.
    let groups = (try? Syscall.option(fd, SOL_SOCKET, 59, size: 4 * 65536)) ?? []  // SO_PEERGROUPS
    return PeerCredentials(
      processID: Int32(bitPattern: peer[0]), userID: peer[1], groupID: peer[2],
      groups: words(groups))
  }

  private static func words(_ bytes: [UInt8]) -> [UInt32] {
    bytes.withUnsafeBytes { raw in
      (0..<raw.count / 4).map { raw.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) }
    }
  }

  /// What names a socket file for good, however often its path is taken over: device and inode.
  package static func identity(of address: UnixAddress) -> [UInt64]? {
    guard address.isFile, let status = try? Syscall.status(ofLink: address.description) else {
      return nil
    }
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
  }
}
