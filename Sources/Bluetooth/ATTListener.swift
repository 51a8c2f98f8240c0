// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import EventLoop
import System
import Wire

/// Takes the ATT channels of devices that connect to this board: L2CAP's fixed channel 4.
///
/// It may listen before the adapter has power, and outlives power off, rfkill and unplugging. The
/// kernel never refuses a second listener: the one that listened last gets every connection, so when
/// another program (bluetoothd) has begun to listen, listen anew.
public final class ATTListener {
  /// Called with each connection. Letting go of it closes it, and the kernel ends the link a few
  /// seconds later.
  public var onConnection: ((ATTSocket) -> Void)?
  /// Called when a connection could not be accepted; the listener goes on.
  public var onError: ((BluetoothError) -> Void)?

  private let loop: Loop
  private var descriptor: FileDescriptor?
  private var watch: Watch?

  /// Listens on an adapter.
  ///
  /// - Parameters:
  ///   - adapter: its address; nil: on every adapter.
  ///   - security: above low, the kernel sends a Security Request on every new link by itself, to
  ///     bonded devices as well. Left alone, it is for the owner of each link to ask.
  public init(
    on adapter: Address? = nil, security: SecurityLevel = .low, loop: Loop = .shared
  ) throws(BluetoothError) {
    self.loop = loop
    let own = L2CAPAddress(DeviceAddress(adapter ?? L2CAPAddress.any, .public))
    let listening = try bluetooth { () throws(SystemError) in
      let listening = try Syscall.socket(
        AF_BLUETOOTH, Int32(SOCK_SEQPACKET.rawValue), BTPROTO_L2CAP)
      try Syscall.bind(listening.raw, to: own.bytes)
      if security > .low { try Syscall.setSecurity(listening.raw, security) }
      try Syscall.listen(listening.raw, backlog: 8)
      return listening
    }
    let number = listening.raw
    descriptor = consume listening
    watch = try bluetooth { () throws(SystemError) in
      try loop.watch(number: number, for: .readable) { [unowned self] _ in accept(number) }
    }
  }

  deinit { close() }

  /// Listens no more. Connections that were accepted are not touched.
  public func close() {
    watch?.cancel()
    watch = nil
    descriptor = nil
  }

  private func accept(_ number: Int32) {
    do throws(SystemError) {
      let connection = try Syscall.accept(number)
      let peer = L2CAPAddress(try Syscall.peerAddress(connection.raw))
      let local = L2CAPAddress(try Syscall.localAddress(connection.raw))
      guard let peer, let local else { throw SystemError("accept", .invalidArgument) }
      onConnection?(ATTSocket(connection, peer: peer.device, local: local.device, loop))
    } catch {
      switch error.errno {
      case .wouldBlock, .connectionAborted, .notConnected: break  // gone before it was accepted
      default:
        onError?(BluetoothError(error))
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
