// SPDX-License-Identifier: GPL-3.0-or-later

/// The default paths.
public enum DefaultPaths {
  /// Bonds and caches of the system's daemon.
  public static let systemState = "/var/lib/ancsd"

  /// Where a daemon keeps bonds and caches: root's, and a user's to whom the system's directory belongs, there;
  /// another user's among that user's own files (XDG Base Directory Specification).
  ///
  /// - Parameters:
  ///   - ownsSystem: whether the system's directory belongs to the user.
  ///   - stateHome: the user's XDG_STATE_HOME, if set.
  ///   - home: the user's HOME, if set.
  public static func stateDirectory(
    userID: UInt32, ownsSystem: Bool, stateHome: String?, home: String?
  ) -> String {
    if userID == 0 || ownsSystem { return systemState }
    if let stateHome, stateHome.hasPrefix("/") { return "\(stateHome)/ancsd" }
    guard let home, home.hasPrefix("/") else { return systemState }
    return "\(home)/.local/state/ancsd"
  }

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
