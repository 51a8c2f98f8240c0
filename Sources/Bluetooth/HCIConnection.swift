// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import System
public import Wire

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
