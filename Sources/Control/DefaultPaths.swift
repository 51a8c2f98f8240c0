// SPDX-License-Identifier: GPL-3.0-or-later

/// The default paths.
public enum DefaultPaths {
  /// The bonds and caches of the system's daemon.
  public static let systemState = systemState(of: "ancsd")

  private static func systemState(of program: String) -> String { "/var/lib/\(program)" }

  /// Where a daemon keeps bonds and caches: in the system's directory for root and for the user who
  /// owns it; for other users in their own directories (XDG Base Directory Specification).
  ///
  /// - Parameters:
  ///   - program: the directory is named after it.
  ///   - ownsSystem: whether the system's directory belongs to the user.
  ///   - stateHome: the user's XDG_STATE_HOME, if set.
  ///   - home: the user's HOME, if set.
  public static func stateDirectory(
    of program: String = "ancsd", userID: UInt32, ownsSystem: Bool, stateHome: String?,
    home: String?
  ) -> String {
    let system = systemState(of: program)
    if userID == 0 || ownsSystem { return system }
    if let stateHome, stateHome.hasPrefix("/") { return "\(stateHome)/\(program)" }
    guard let home, home.hasPrefix("/") else { return system }
    return "\(home)/.local/state/\(program)"
  }

  /// The group whose members may use the control socket.
  public static let group = "ancsd"

  /// Where to look for the control socket, in order: a user's own daemon before the system's.
  ///
  /// - Parameters:
  ///   - runtimeDirectory: the user's XDG_RUNTIME_DIR, if set.
  ///   - stateDirectory: that of the user's daemon, which has the socket otherwise.
  public static func sockets(
    userID: UInt32, runtimeDirectory: String?, stateDirectory: String
  ) -> [String] {
    let system = "/run/ancsd/control.sock"
    if userID == 0 || stateDirectory == systemState { return [system] }
    let runtime = runtimeDirectory.flatMap { $0.hasPrefix("/") ? $0 : nil }
    return ["\(runtime ?? stateDirectory)/ancsd.sock", system]
  }
}
