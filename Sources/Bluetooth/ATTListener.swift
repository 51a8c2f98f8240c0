// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import EventLoop
import System
import Wire

/// Accepts ATT connections of devices that connect to this board: L2CAP's fixed channel 4.
///
/// It may listen before the adapter is powered on, and survives power off, rfkill and unplugging. The
/// listener that listened last gets every connection, also before another program's (docs/kernel.md,
/// “bluetoothd”). So listen again when bluetoothd has started.
public final class ATTListener {
  /// Called with each connection. If the socket is dropped, the kernel ends the link a few seconds later.
  public var onConnection: ((ATTSocket) -> Void)?
  /// Called when a connection could not be accepted. The listener goes on.
  public var onError: ((BluetoothError) -> Void)?

  private let acceptor: Acceptor

  /// Listens on an adapter.
  ///
  /// - Parameters:
  ///   - adapter: its address; nil: all adapters.
  ///   - security: above low, the kernel sends a Security Request on every new link, to bonded devices
  ///     too. At low, the owner of each link asks for security.
  public init(
    on adapter: Address? = nil, security: SecurityLevel = .low, loop: Loop = .shared
  ) throws(BluetoothError) {
    acceptor = try bluetooth { () throws(SystemError) in
      let socket = try ATTSocket.bound(to: adapter, security)
      try Syscall.listen(socket.raw, backlog: 8)
      return try Acceptor(owning: socket, loop: loop)
    }
    acceptor.onError = { [unowned self] in onError?(BluetoothError($0)) }
    acceptor.onConnection = { [unowned self] connection throws(SystemError) in
      let peer = L2CAPAddress(try Syscall.peerAddress(connection.raw))
      let local = L2CAPAddress(try Syscall.localAddress(connection.raw))
      guard let peer, let local else { throw SystemError("accept", .invalidArgument) }
      onConnection?(ATTSocket(connection, peer: peer.device, local: local.device, loop))
    }
  }

  /// Stops listening. Accepted connections stay open.
  public func close() { acceptor.close() }
}
