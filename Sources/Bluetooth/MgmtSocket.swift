// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import EventLoop
import System

/// The kernel's management channel: a packet is a command to it, or an event from it (mgmt-api.txt;
/// room Mgmt has the packets). It opens without any adapter, and stays through their coming and going.
public final class MgmtSocket {
  private let packets: PacketSocket

  /// Called with each event. Setting it begins reading.
  public var onPacket: (([UInt8]) -> Void)? {
    get { packets.onPacket }
    set { packets.onPacket = newValue }
  }

  /// Called once should the kernel ever close the channel.
  public var onClose: ((Errno?) -> Void)? {
    get { packets.onClose }
    set { packets.onClose = newValue }
  }

  /// Opens the channel. Most commands need CAP_NET_ADMIN; the kernel refuses them one by one.
  public init(loop: Loop = .shared) throws(BluetoothError) {
    packets = PacketSocket(
      owning: try HCISocket.open(channel: Int32(HCI_CHANNEL_CONTROL)), loop: loop)
    // Some commands to an adapter that is switched off are refused as they are written (ENETDOWN).
    packets.refusalsEndIt = false
  }

  /// Sends a command.
  ///
  /// - Returns: why the kernel did not take it; nil where it did.
  @discardableResult
  public func send(_ packet: [UInt8]) -> Errno? {
    packets.send(packet) ? nil : packets.isOpen ? packets.refusal ?? .noBufferSpace : .brokenPipe
  }

  /// Closes the channel.
  public func close() { packets.close() }
}

/// What the sockets of the HCI family have in common.
enum HCISocket {
  /// A socket bound to a channel of a device (hci0 is 0), or of none in particular.
  static func open(
    channel: Int32, device: UInt16 = UInt16(HCI_DEV_NONE)
  ) throws(BluetoothError) -> FileDescriptor {
    try bluetooth(device == UInt16(HCI_DEV_NONE) ? nil : "hci\(device)") {
      () throws(SystemError) in
      let descriptor = try unbound()
      try Syscall.bind(
        descriptor.raw, to: HCIAddress(device: device, channel: channel).bytes)
      return descriptor
    }
  }

  /// A socket that can only be asked about adapters.
  static func unbound() throws(SystemError) -> FileDescriptor {
    try Syscall.socket(AF_BLUETOOTH, Int32(SOCK_RAW.rawValue), BTPROTO_HCI)
  }
}
