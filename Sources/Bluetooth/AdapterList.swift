// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import System
import Wire

/// An adapter as the HCI layer knows it, without the mgmt channel.
public struct HCIAdapter: Hashable, Sendable {
  /// Its number: 0 for hci0.
  public let index: UInt16
  /// Its public address; all zero while it has none.
  public let address: Address
  /// Whether it has power.
  public let isUp: Bool

  /// The adapters there are, by their number.
  public static func all() throws(BluetoothError) -> [HCIAdapter] {
    try bluetooth { () throws(SystemError) in
      let socket = try HCISocket.unbound()
      // struct hci_dev_list_req: a count, padding, then an identifier and flags each.
      let room = 16
      var list = [UInt8](repeating: 0, count: 4 + 8 * room)
      list.replaceSubrange(0..<2, with: hostOrder(UInt16(room)))
      try Syscall.control(
        socket.raw, UInt(Request.deviceList), "ioctl(HCIGETDEVLIST)", bytes: &list)
      let count = min(room, Int(number(in: list, at: 0)))
      var adapters: [HCIAdapter] = []
      for entry in 0..<count {
        var info = hci_dev_info()
        info.dev_id = number(in: list, at: 4 + 8 * entry)
        // One that was unplugged meanwhile is left out.
        do throws(SystemError) {
          try Syscall.control(
            socket.raw, UInt(Request.deviceInfo), "ioctl(HCIGETDEVINFO)", &info)
        } catch { continue }
        let address = withUnsafeBytes(of: info.bdaddr) { bytes in
          var reader = ByteReader(Array(bytes))
          return (try? reader.address()) ?? L2CAPAddress.any
        }
        adapters.append(
          HCIAdapter(index: info.dev_id, address: address, isUp: info.flags & 1 != 0))  // HCI_UP
      }
      return adapters.sorted { $0.index < $1.index }
    }
  }

  /// `_IOR('H', n, int)`, which Swift cannot import; as numbered on x86, ARM and RISC-V.
  private enum Request {
    static let deviceList: UInt32 = 0x8004_48D2
    static let deviceInfo: UInt32 = 0x8004_48D3
  }

  private static func number(in bytes: [UInt8], at offset: Int) -> UInt16 {
    bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt16.self) }
  }
}
