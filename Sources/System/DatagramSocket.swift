// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// A UNIX datagram socket that only sends, to one address: a service manager's, or the journal's.
///
/// The address is looked up with each datagram, so that a receiver that was started again gets the next one.
public struct DatagramSocket: ~Copyable {
  private let descriptor: FileDescriptor
  private let address: UnixAddress

  /// Opens a socket for datagrams to `path` (`@name` in the abstract namespace). Nobody has to receive there
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
