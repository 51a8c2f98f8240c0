// SPDX-License-Identifier: GPL-3.0-or-later
import Synchronization
import System

/// The kernel's bug with links on which the other side never sent a byte.
///
/// When such a link is gone, closing its ATT socket runs into a `kernel BUG` (hci_chan_del, a list
/// that is not one): the process dies and its sockets hang until the next boot. The way around is to
/// leave that descriptor open. Seen on 6.1.192; not on 6.1.170 and not on 6.12.117. Debian's
/// releases count on their own (6.1.0-56 is 6.1.192, 6.1.0-47 is 6.1.170).
public enum SilentLink {
  /// At most so many are left open: then the descriptors are worth more than the precaution.
  public static let limit = 64

  private static let leftOpen = Atomic<Int>(0)
  private static let isDangerousHere = isDangerous(kernelRelease: Host.kernelRelease)

  /// Whether the kernel of that release is one to be careful with.
  public static func isDangerous(kernelRelease: String) -> Bool {
    let parts = kernelRelease.split { !$0.isNumber }.prefix(4).map { Int($0) ?? 0 }
    guard parts.count >= 3, parts[0] == 6, parts[1] == 1 else { return false }
    return parts[2] == 0 && parts.count > 3 ? parts[3] > 47 : parts[2] > 170
  }

  /// Whether the descriptor of a connection that ends is to be left open here.
  static func mustStayOpen(isGone: Bool, packetsReceived: UInt64) -> Bool {
    guard isDangerousHere, isGone, packetsReceived == 0 else { return false }
    return leftOpen.wrappingAdd(1, ordering: .relaxed).newValue <= limit
  }
}
