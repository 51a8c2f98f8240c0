// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Wire

/// `struct sockaddr_l2` (bluetooth/l2cap.h), for the fixed channel of ATT.
///
///     0 family | 2 psm | 4 bdaddr, 6 bytes | 10 cid | 12 bdaddr_type | 13 padding
///
/// The family is in the host's order, everything else little endian.
struct L2CAPAddress {
  let device: DeviceAddress

  /// The fixed channel of the Attribute Protocol (Core Specification Vol 3 Part A, 2.1).
  static let attributeChannel: UInt16 = 4

  /// All zero: any adapter.
  static let any = Address(0)

  init(_ device: DeviceAddress) { self.device = device }

  /// Reads what the kernel tells; nil for another family's address or a cut one.
  init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes.dropFirst(4))
    guard bytes.count >= 13, family(of: bytes) == UInt16(AF_BLUETOOTH),
      let address = try? reader.address(), let type = AddressType(rawValue: bytes[12])
    else { return nil }
    device = DeviceAddress(address, type)
  }

  var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 14)
    writer.bytes(hostOrder(UInt16(AF_BLUETOOTH)))
    writer.u16(0)
    writer.address(device.address)
    writer.u16(Self.attributeChannel)
    writer.u8(device.type.rawValue)
    writer.u8(0)
    return writer.bytes
  }
}

/// `struct sockaddr_hci` (bluetooth/hci.h): family, device and channel, all in the host's order.
struct HCIAddress {
  var device = UInt16(HCI_DEV_NONE)
  let channel: Int32

  var bytes: [UInt8] {
    hostOrder(UInt16(AF_BLUETOOTH)) + hostOrder(device) + hostOrder(UInt16(channel))
  }
}

/// A number as it stands in the memory of this machine.
func hostOrder(_ number: UInt16) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

private func family(of bytes: [UInt8]) -> UInt16 {
  bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt16.self) }
}
