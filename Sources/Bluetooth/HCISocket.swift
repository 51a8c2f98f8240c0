// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import EventLoop
import System
public import Wire

/// A raw HCI socket: sends commands to the controller of one adapter, past the kernel's host. mgmt and
/// L2CAP cannot change the connection parameters of a live link (docs/kernel.md, “Connection
/// parameters”). It needs CAP_NET_RAW.
public final class RawHCISocket {
  /// Called with each event of the kinds in `HCIEvent`, including the answers to the kernel's own
  /// commands.
  public var onEvent: ((HCIEvent) -> Void)?

  private let packets: PacketSocket

  /// Opens the adapter with this number: 0 for hci0.
  public init(_ adapter: UInt16, loop: Loop = .shared) throws(BluetoothError) {
    let descriptor = try HCISocket.open(channel: Int32(HCI_CHANNEL_RAW), device: adapter)
    try bluetooth("hci\(adapter)") { () throws(SystemError) in
      // Only events, and of these Command Status and LE Meta. Without a filter nothing is received.
      var filter = hci_filter()
      filter.type_mask = 1 << UInt32(HCI_EVENT_PKT)
      filter.event_mask = (1 << 0x0F, 1 << (0x3E - 32))
      try Syscall.setOption(descriptor.raw, SOL_HCI, HCI_FILTER, filter)
    }
    packets = PacketSocket(owning: descriptor, loop: loop)
    packets.onPacket = { [unowned self] packet in
      if let event = try? HCIEvent(decoding: packet) { onEvent?(event) }
    }
  }

  deinit { close() }

  /// Sends a command; false if the kernel did not accept it.
  @discardableResult public func send(_ command: HCICommand) -> Bool { packets.send(command.bytes) }

  public func close() { packets.close() }
}

/// Opens sockets of the HCI family.
enum HCISocket {
  /// A socket bound to a channel of a device (0 for hci0), or of none.
  static func open(
    channel: Int32, device: UInt16 = UInt16(HCI_DEV_NONE)
  ) throws(BluetoothError) -> FileDescriptor {
    try bluetooth(device == UInt16(HCI_DEV_NONE) ? nil : "hci\(device)") {
      () throws(SystemError) in
      let descriptor = try unbound()
      try Syscall.bind(descriptor.raw, to: HCIAddress(device: device, channel: channel).bytes)
      return descriptor
    }
  }

  /// A socket for ioctl(2) only.
  static func unbound() throws(SystemError) -> FileDescriptor {
    try Syscall.socket(AF_BLUETOOTH, Int32(SOCK_RAW.rawValue), BTPROTO_HCI)
  }
}

/// `struct sockaddr_hci` (bluetooth/hci.h): family, device and channel, all in host byte order.
struct HCIAddress {
  var device = UInt16(HCI_DEV_NONE)
  let channel: Int32

  var bytes: [UInt8] {
    hostOrder(UInt16(AF_BLUETOOTH)) + hostOrder(device) + hostOrder(UInt16(channel))
  }
}

/// A number's bytes in host byte order.
func hostOrder(_ number: UInt16) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

/// A number in host byte order.
func hostNumber(_ bytes: [UInt8], at offset: Int) -> UInt16 {
  bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt16.self) }
}

/// An LE link that is up, as the HCI layer reports it. Listing them needs no privileges.
public struct HCIConnection: Hashable, Sendable {
  /// The adapter's number: 0 for hci0.
  public let adapter: UInt16
  /// The connection handle.
  public let handle: UInt16
  /// The peer's address: its identity if the kernel knows it, otherwise the address on the air.
  public let peer: Address

  /// The LE links of all adapters.
  public static func all() throws(BluetoothError) -> [HCIConnection] {
    try bluetooth { () throws(SystemError) in
      let socket = try HCISocket.unbound()
      var connections: [HCIConnection] = []
      for adapter in try adapters(socket.raw) {
        do throws(SystemError) {
          connections += try list(adapter, socket.raw)
        } catch { continue }  // unplugged meanwhile
      }
      return connections
    }
  }

  /// The numbers of the adapters. `struct hci_dev_list_req`: a count and padding; for each adapter its
  /// number, padding and flags, 8 bytes.
  private static func adapters(_ socket: Int32) throws(SystemError) -> [UInt16] {
    let capacity: UInt16 = 16
    var list = hostOrder(capacity) + [UInt8](repeating: 0, count: 2 + 8 * Int(capacity))
    try Syscall.control(socket, UInt(Request.deviceList), "ioctl(HCIGETDEVLIST)", bytes: &list)
    let count = min(capacity, hostNumber(list, at: 0))
    return (0..<Int(count)).map { hostNumber(list, at: 4 + 8 * $0) }
  }

  /// The LE links of an adapter. `struct hci_conn_list_req`: adapter and count; for each link its handle,
  /// address and type, and three fields that are not needed, 16 bytes.
  private static func list(
    _ adapter: UInt16, _ socket: Int32
  ) throws(SystemError) -> [HCIConnection] {
    let capacity: UInt16 = 64
    var list = hostOrder(adapter) + hostOrder(capacity)
    list += [UInt8](repeating: 0, count: 16 * Int(capacity))
    try Syscall.control(socket, UInt(Request.connectionList), "ioctl(HCIGETCONNLIST)", bytes: &list)
    return (0..<Int(min(capacity, hostNumber(list, at: 2)))).compactMap { number in
      let start = 4 + 16 * number
      var reader = ByteReader(list[(start + 2)...])
      guard let peer = try? reader.address(), (try? reader.u8()) == leLink else { return nil }
      return HCIConnection(adapter: adapter, handle: hostNumber(list, at: start), peer: peer)
    }
  }

  /// `_IOR('H', n, int)`, which Swift cannot import; the values are those of x86, ARM and RISC-V.
  private enum Request {
    static let deviceList: UInt32 = 0x8004_48D2
    static let connectionList: UInt32 = 0x8004_48D4
  }

  /// The kernel's LE_LINK.
  private static let leLink: UInt8 = 0x80
}
