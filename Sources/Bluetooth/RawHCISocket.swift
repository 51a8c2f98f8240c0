// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import EventLoop
import System
import Wire

/// The way past the kernel's host to the controller of one adapter, for what mgmt and L2CAP have no
/// words for: the connection parameters of a live link. It takes CAP_NET_RAW.
public final class RawHCISocket {
  /// Called with each event of the kinds that `HCIEvent` names, those that answer the kernel's own
  /// commands among them.
  public var onEvent: ((HCIEvent) -> Void)?
  /// Called once when the adapter is gone.
  public var onClose: ((Errno?) -> Void)? {
    get { packets.onClose }
    set { packets.onClose = newValue }
  }

  private let packets: PacketSocket

  /// Opens the adapter with that number: 0 for hci0.
  public init(_ adapter: UInt16, loop: Loop = .shared) throws(BluetoothError) {
    let descriptor = try HCISocket.open(channel: Int32(HCI_CHANNEL_RAW), device: adapter)
    try bluetooth("hci\(adapter)") { () throws(SystemError) in
      // Without a filter, nothing comes. Events only, and of these the two that HCIEvent reads.
      var filter = hci_filter()
      filter.type_mask = 1 << UInt32(HCI_EVENT_PKT)
      filter.event_mask = (1 << 0x0F, 1 << (0x3E - 32))
      try Syscall.setOption(descriptor.raw, SOL_HCI, HCI_FILTER, filter)
    }
    packets = PacketSocket(owning: descriptor, loop: loop)
    packets.onPacket = { [unowned self] in received($0) }
  }

  deinit { close() }

  /// Sends a command; false where the kernel did not take it.
  @discardableResult
  public func send(_ command: HCICommand) -> Bool { packets.send(command.bytes) }

  public func close() { packets.close() }

  private func received(_ packet: [UInt8]) {
    if let event = try? HCIEvent(decoding: packet) { onEvent?(event) }
  }
}
