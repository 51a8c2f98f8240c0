// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
public import System
import Wire

/// A packet that is sent to the controller past the kernel, which counts the controller's acknowledgement among its own
/// (docs/kernel.md, “Connection parameters”).
public enum ForeignPacket {
  /// L2CAP's Connection Parameter Update Request (Vol 3 Part A, 4.20) in an ACL packet, preceded by the indicator that the
  /// socket requires. The kernel ignores the response.
  public static func parameterUpdateRequest(
    _ handle: UInt16, _ wanted: ConnectionParameters
  ) -> [UInt8] {
    let parameters = wanted.encoded
    var writer = ByteWriter()
    writer.u8(0x02)
    writer.u16(handle)
    writer.u16(UInt16(parameters.count + 8))
    writer.u16(UInt16(parameters.count + 4))
    writer.u16(0x0005)  // the LE signalling channel
    writer.u8(0x12)
    writer.u8(200)  // the kernel's own identifiers end at 128
    writer.u16(UInt16(parameters.count))
    writer.bytes(parameters)
    return writer.bytes
  }

  static let isSafeHere = isSafe(on: Host.kernelVersion)

  /// The versions of September 2025 with “Bluetooth: hci_event: Detect if HCI_EV_NUM_COMP_PKTS is unbalanced”.
  private static let fixes = [
    KernelVersion(5, 4, 298), .init(5, 10, 242), .init(5, 15, 191), .init(6, 1, 150),
    .init(6, 6, 104),
    .init(6, 12, 45), .init(6, 16, 5),
  ]

  /// Whether a kernel is known to survive that; nil: its version is unknown. Otherwise it may send nothing more on the link.
  public static func isSafe(on kernel: KernelVersion?) -> Bool {
    guard let kernel else { return false }
    return kernel >= fixes.first { kernel.isOfSeries($0) } ?? KernelVersion(6, 17, 0)
  }
}
