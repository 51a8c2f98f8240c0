// SPDX-License-Identifier: GPL-3.0-or-later
import Synchronization
public import System

/// A kernel bug with links on which the peer never sent anything (docs/kernel.md, “Kernel bug: silent
/// links”).
///
/// When such a link is gone, closing its ATT socket kills the process. So the descriptor is left open, and
/// once there are too many of them no device may be accepted any more (`mayAcceptMore`).
/// Seen on 6.1.192, but not on 6.1.170 and 6.12.117. Debian numbers its kernels differently: 6.1.0-56 is
/// 6.1.192, and 6.1.0-47 is 6.1.170.
public enum SilentLink {
  /// How many descriptors may be left open before no more devices are to be accepted.
  public static let limit = 64

  /// Whether there is room for another device that may never say anything.
  public static var mayAcceptMore: Bool { leftOpen.load(ordering: .relaxed) < limit }

  private static let leftOpen = Atomic<Int>(0)
  private static let isDangerousHere = isDangerous(Host.kernelVersion)

  /// Whether a kernel has the bug, or may have it; nil: its version is unknown.
  public static func isDangerous(_ kernel: KernelVersion?) -> Bool {
    guard let kernel, kernel.isOfSeries(KernelVersion(6, 1, 0)) else { return false }
    // Where only the release tells, and that is one of Debian's.
    return kernel.patch == 0 ? kernel.revision > 47 : kernel.patch > 170
  }

  /// Whether there are descriptors that this process must not close, so that it had better not end.
  public static var isHeld: Bool { leftOpen.load(ordering: .relaxed) > 0 }

  /// Whether to leave a descriptor open instead of closing it. It counts as left open then.
  static func mustStayOpen(isGone: Bool, packetsReceived: UInt64) -> Bool {
    guard isDangerousHere, isGone, packetsReceived == 0 else { return false }
    leftOpen.wrappingAdd(1, ordering: .relaxed)
    return true
  }

  /// Gets rid of a connection of which nothing was read, whether its link is still up or not.
  static func abandon(_ connection: consuming FileDescriptor) {
    if mustStayOpen(isGone: true, packetsReceived: 0) { _ = connection.release() }
  }
}
