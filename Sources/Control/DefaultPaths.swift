// SPDX-License-Identifier: GPL-3.0-or-later

/// The default paths.
public enum DefaultPaths {
  /// Bonds and caches.
  public static let stateDirectory = "/var/lib/ancsd"

  /// The group whose members may use the control socket.
  public static let group = "ancsd"

  /// Where to look for the control socket, in order: a user's own daemon before the system's.
  ///
  /// - Parameter runtimeDirectory: the user's XDG_RUNTIME_DIR, if set.
  public static func sockets(userID: UInt32, runtimeDirectory: String?) -> [String] {
    let system = "/run/ancsd/control.sock"
    guard userID != 0, let runtimeDirectory, !runtimeDirectory.isEmpty else { return [system] }
    return ["\(runtimeDirectory)/ancsd.sock", system]
  }
}
