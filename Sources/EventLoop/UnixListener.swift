// SPDX-License-Identifier: GPL-3.0-or-later
import System
import Wire

/// A UNIX socket that others connect to.
///
/// A socket file that nobody answers on is replaced, and the file is removed again in the end if it
/// is still this one.
public final class UnixListener {
  /// Called with each connection and who is behind it: make a `LineSocket` or a `PacketSocket` of
  /// it. Letting go of it refuses it.
  public var onConnection: ((consuming FileDescriptor, PeerCredentials) -> Void)?
  /// Called when a connection could not be accepted; the listener goes on.
  public var onError: ((SystemError) -> Void)?

  /// Where it listens.
  public let address: UnixAddress

  private let loop: Loop
  private var descriptor: FileDescriptor?
  private var watch: Watch?
  private var identity: [UInt64]?

  /// Listens at `path` (`@name` for one without a file).
  ///
  /// - Parameters:
  ///   - mode: the socket file's permissions.
  ///   - group: its group; nil leaves the process's own.
  /// - Throws: EADDRINUSE where somebody answers there, or where the file is no socket.
  public init(
    at path: String, _ type: SocketType, mode: UInt32 = 0o660, group: UInt32? = nil,
    loop: Loop = .shared
  ) throws(SystemError) {
    address = try UnixAddress(path)
    self.loop = loop
    let listening = try UnixSocket.listen(at: address, type, mode: mode, group: group)
    identity = UnixSocket.identity(of: address)
    let number = listening.raw
    descriptor = consume listening
    watch = try loop.watch(number: number, for: .readable) { [unowned self] _ in accept(number) }
  }

  deinit { close() }

  /// Listens no more. Connections that were accepted are not touched.
  public func close() {
    watch?.cancel()
    watch = nil
    guard descriptor.take() != nil else { return }
    if let identity, UnixSocket.identity(of: address) == identity {
      try? Files.remove(address.description)
    }
  }

  private func accept(_ number: Int32) {
    do throws(SystemError) {
      let connection = try Syscall.accept(number)
      let peer = try UnixSocket.peerCredentials(connection.raw)
      onConnection?(connection, peer)
    } catch {
      switch error.errno {
      case .wouldBlock, .connectionAborted: break
      default:
        onError?(error)
        pause()
      }
    }
  }

  /// The one who knocks is still there when there are no descriptors left: once a second will do.
  private func pause() {
    watch?.modify(for: [])
    _ = loop.schedule(after: .seconds(1)) { [weak self] in self?.watch?.modify(for: .readable) }
  }
}
