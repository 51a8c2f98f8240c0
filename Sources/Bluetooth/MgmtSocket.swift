// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import EventLoop
import Mgmt
import System

/// The kernel's management channel, which carries commands to the kernel and events from it (BlueZ
/// doc/mgmt-protocol; the module Mgmt has the packets). It can be opened without an adapter, and stays
/// open while adapters come and go.
public final class MgmtSocket {
  private let packets: PacketSocket

  /// Opens the channel. Most commands need CAP_NET_ADMIN; the kernel refuses them one by one.
  public init(loop: Loop = .shared) throws(BluetoothError) {
    packets = PacketSocket(
      owning: try HCISocket.open(channel: Int32(HCI_CHANNEL_CONTROL)), loop: loop)
    // Some commands to an adapter that is powered off are refused when they are written (ENETDOWN).
    packets.refusalsEndIt = false
  }

  /// Connects `client` to the channel: its commands go to the kernel, and it receives every packet.
  /// Should the kernel close the channel, the client is closed, and `onClose` is called.
  public func attach(_ client: MgmtClient, onClose: @escaping () -> Void = {}) {
    client.send = { [weak self] in self?.send($0)?.description }
    packets.onClose = { [weak client] errno in
      client?.close(.closed(errno?.description ?? "the kernel closed it"))
      onClose()
    }
    packets.onPacket = { [weak client] in client?.receive($0) }
  }

  /// Sends a packet; returns why the kernel did not accept it, or nil.
  private func send(_ packet: [UInt8]) -> Errno? {
    packets.send(packet) ? nil : packets.isOpen ? packets.refusal ?? .noBufferSpace : .brokenPipe
  }

  /// Closes the channel.
  public func close() { packets.close() }
}
