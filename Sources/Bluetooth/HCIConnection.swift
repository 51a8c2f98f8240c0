// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import System
public import Wire

/// An LE link that is up, as the HCI layer knows it. Anybody may ask for these.
public struct HCIConnection: Hashable, Sendable {
  /// The adapter's number.
  public let adapter: UInt16
  /// The connection's handle on it.
  public let handle: UInt16
  /// The other side's address: its identity where the kernel knows that, else that on the air.
  public let peer: Address

  /// The LE links of all adapters.
  public static func all() throws(BluetoothError) -> [HCIConnection] {
    var connections: [HCIConnection] = []
    for adapter in try HCIAdapter.all() where adapter.isUp {
      connections += try of(adapter.index)
    }
    return connections
  }

  private static func of(_ adapter: UInt16) throws(BluetoothError) -> [HCIConnection] {
    try bluetooth("hci\(adapter)") { () throws(SystemError) in
      let socket = try HCISocket.unbound()
      // struct hci_conn_list_req: adapter and count, then for each link a handle, an address, its kind
      // and three fields that are not needed here: 16 bytes.
      let room: UInt16 = 64
      var list = [UInt8](repeating: 0, count: 4 + 16 * Int(room))
      list.replaceSubrange(0..<4, with: hostOrder(adapter) + hostOrder(room))
      try Syscall.control(socket.raw, UInt(request), "ioctl(HCIGETCONNLIST)", bytes: &list)
      let count = list.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self) }
      return (0..<Int(min(count, room))).compactMap { place in
        let entry = Array(list[(4 + 16 * place)..<(20 + 16 * place)])
        var reader = ByteReader(entry.dropFirst(2))
        guard let peer = try? reader.address(), (try? reader.u8()) == leLink else { return nil }
        let handle = entry.withUnsafeBytes { $0.loadUnaligned(as: UInt16.self) }
        return HCIConnection(adapter: adapter, handle: handle, peer: peer)
      }
    }
  }

  /// `_IOR('H', 212, int)`, which Swift cannot import.
  private static let request: UInt32 = 0x8004_48D4
  /// The kernel's LE_LINK.
  private static let leLink: UInt8 = 0x80
}
