// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import System
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

  static let isSafeHere = isSafe(kernelRelease: Host.kernelRelease, build: Host.kernelBuild)

  /// The releases of September 2025 with “Bluetooth: hci_event: Detect if HCI_EV_NUM_COMP_PKTS is unbalanced”.
  private static let fixes = [
    [5, 4, 298], [5, 10, 242], [5, 15, 191], [6, 1, 150], [6, 6, 104], [6, 12, 45], [6, 16, 5],
  ]

  /// Whether a kernel is known to survive that. Otherwise it may send nothing more on the link. Debian's release does not
  /// always name the kernel's patch level, but its build does.
  public static func isSafe(kernelRelease: String, build: String) -> Bool {
    let words = build.split(separator: " ")
    let debian = words.firstIndex(of: "Debian").map { words.index(after: $0) }
    let name = debian.flatMap { $0 < words.endIndex ? words[$0] : nil } ?? kernelRelease[...]
    let version = name.split { !$0.isNumber }.prefix(3).map { Int($0) ?? 0 }
    guard version.count == 3 else { return false }
    if let fix = fixes.first(where: { $0.prefix(2) == version.prefix(2) }) {
      return version[2] >= fix[2]
    }
    return version[0] > 6 || version[0] == 6 && version[1] > 16
  }
}
