// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// A socket that gets datagrams at a path of its own, or at an abstract name, as a service manager does.
public final class DatagramReceiver {
  /// Where it listens, as `NOTIFY_SOCKET` writes it.
  public let path: String
  private let number: Int32

  /// - Parameter isAbstract: whether the address is an abstract name (unix(7)).
  public init(isAbstract: Bool = false) {
    let name = "/tmp/ancsd-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    path = isAbstract ? "@" + name : name
    number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = isAbstract ? [0] + Array(name.utf8) : Array(name.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(2 + bytes.count)
    _ = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
    }
  }

  deinit {
    close(number)
    unlink(path)
  }

  /// The datagrams that have come since the last call.
  public func datagrams() -> [String] {
    var found: [String] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(number, &buffer, buffer.count, 0)
      guard count >= 0 else { return found }
      found.append(String(decoding: buffer.prefix(count), as: UTF8.self))
    }
  }
}
