// SPDX-License-Identifier: GPL-3.0-or-later
import CLinux
import Glibc

/// This process's capabilities, and its protection from other processes.
public enum Privileges {
  /// Capabilities (capabilities(7)), by their bits.
  public struct Capabilities: OptionSet, Hashable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// CAP_NET_ADMIN: a management socket that may change settings.
    public static let networkAdministration = Capabilities(rawValue: 1 << 12)
    /// CAP_NET_RAW: commands over raw HCI.
    public static let rawNetwork = Capabilities(rawValue: 1 << 13)
  }

  /// The highest number that a capability may have.
  private static let last: UInt = 63

  /// Drops every other capability permanently, including those that a program with file capabilities or a set-user-ID
  /// bit would gain. It never adds a capability.
  public static func keepOnly(_ wanted: Capabilities) throws(SystemError) {
    // Only root may reduce the bounding set; other users could gain nothing from it.
    for number in 0...last where !wanted.contains(Capabilities(rawValue: 1 << number)) {
      _ = linux_prctl(PR_CAPBSET_DROP, number)
    }
    var header = __user_cap_header_struct(version: UInt32(_LINUX_CAPABILITY_VERSION_3), pid: 0)
    var sets = (__user_cap_data_struct(), __user_cap_data_struct())
    try change("capget", &header, &sets, linux_capget)
    sets.0 = sets.0.restricted(to: UInt32(truncatingIfNeeded: wanted.rawValue))
    sets.1 = sets.1.restricted(to: UInt32(truncatingIfNeeded: wanted.rawValue >> 32))
    try change("capset", &header, &sets, linux_capset)
    try Syscall.retrying("prctl") { linux_prctl(PR_SET_NO_NEW_PRIVS, 1) }
  }

  private static func change(
    _ name: String, _ header: inout __user_cap_header_struct,
    _ sets: inout (__user_cap_data_struct, __user_cap_data_struct),
    _ call: (cap_user_header_t, cap_user_data_t) -> Int32
  ) throws(SystemError) {
    try Syscall.retrying(name) {
      withUnsafeMutablePointer(to: &sets) { pair in
        pair.withMemoryRebound(to: __user_cap_data_struct.self, capacity: 2) { call(&header, $0) }
      }
    }
  }

  /// Keeps the memory, which has keys and messages, from other processes of the same user, from core dumps, and from
  /// the backtraces that Swift's library prints where the environment says so.
  public static func hideMemory() throws(SystemError) {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    try Syscall.retrying("setrlimit") {
      setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }
    try Syscall.retrying("prctl") { linux_prctl(PR_SET_DUMPABLE, 0) }
    for crash in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] {
      Signal(rawValue: crash).restore()
    }
  }
}

extension __user_cap_data_struct {
  fileprivate func restricted(to wanted: UInt32) -> __user_cap_data_struct {
    __user_cap_data_struct(effective: permitted & wanted, permitted: permitted & wanted, inheritable: 0)
  }
}
