// SPDX-License-Identifier: GPL-3.0-or-later
import System
import Wire

/// A UNIX socket that listens for connections.
///
/// A socket file without a listener is replaced. The file is removed at the end, unless another listener has replaced
/// it.
public final class UnixListener {
  /// Called with each connection and the peer's process. Pass it to a `LineSocket` or a `PacketSocket`; otherwise it
  /// is closed.
  public var onConnection: ((consuming FileDescriptor, PeerCredentials) -> Void)?
  /// Called when a connection could not be accepted. The listener goes on.
  public var onError: ((SystemError) -> Void)? { didSet { acceptor.onError = onError } }

  /// Where it listens.
  public let address: UnixAddress

  private let acceptor: Acceptor
  private let identity: [UInt64]?

  /// Listens at `path` (`@name` in the abstract namespace).
  ///
  /// - Parameters:
  ///   - mode: the socket file's permissions.
  ///   - group: the file's group; nil leaves the process's own.
  /// - Throws: EADDRINUSE if somebody listens there, or the file is no socket.
  public init(
    at path: String, _ type: SocketType, mode: UInt32 = 0o660, group: UInt32? = nil,
    loop: Loop = .shared
  ) throws(SystemError) {
    address = try UnixAddress(path)
    acceptor = try Acceptor(owning: try UnixSocket.listen(at: address, type, mode: mode, group: group), loop: loop)
    identity = UnixSocket.identity(of: address)
    acceptor.onConnection = { [weak self] descriptor throws(SystemError) in
      let peer = try UnixSocket.peerCredentials(descriptor.raw)
      self?.onConnection?(descriptor, peer)
    }
  }

  deinit { close() }

  /// Stops listening. Accepted connections stay open.
  public func close() {
    guard acceptor.isOpen else { return }
    acceptor.close()
    if let identity, UnixSocket.identity(of: address) == identity {
      try? Files.remove(address.description)
    }
  }
}

/// Accepts connections on a listening socket.
///
/// If the process has run out of descriptors, the connection stays in the kernel's queue and the socket
/// stays readable. So after an error it pauses for a second instead of trying again at once.
package final class Acceptor {
  /// Called with each connection. An error that it throws counts as one of accepting.
  package var onConnection: ((consuming FileDescriptor) throws(SystemError) -> Void)?
  /// Called when a connection could not be accepted.
  package var onError: ((SystemError) -> Void)?

  private let loop: Loop
  private var descriptor: FileDescriptor?
  private var watch: Watch?

  /// Takes over a listening socket that does not block.
  package init(owning descriptor: consuming FileDescriptor, loop: Loop) throws(SystemError) {
    self.loop = loop
    let number = descriptor.raw
    self.descriptor = consume descriptor
    watch = try loop.watch(number: number, for: .readable) { [weak self] _ in self?.accept(number) }
  }

  /// Whether it still listens.
  package var isOpen: Bool { watch != nil }

  /// Stops listening.
  package func close() {
    watch = nil
    descriptor = nil
  }

  private func accept(_ number: Int32) {
    do throws(SystemError) {
      let connection = try Syscall.accept(number)
      try onConnection?(connection)
    } catch {
      switch error.errno {
      case .wouldBlock, .connectionAborted, .notConnected: break  // gone before it was accepted
      default:
        onError?(error)
        watch?.modify(for: [])
        _ = loop.schedule(after: .seconds(1)) { [weak self] in self?.watch?.modify(for: .readable) }
      }
    }
  }
}
