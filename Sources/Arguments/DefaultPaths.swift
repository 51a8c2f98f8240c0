// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// The default paths.
public enum DefaultPaths {
  /// The bonds and caches of the system's daemon.
  public static let systemState = "/var/lib/ancsd"

  /// The group whose members may use the control socket.
  public static let group = "ancsd"

  /// The first argument of the daemon's own helper that writes the history.
  public static let historyHelper = "history-helper"

  /// The directory for bonds and caches of this user's daemon: the system's for root and for the user who owns it.
  public static var stateDirectory: String {
    Files.owner(of: systemState) == Host.userID ? systemState : stateDirectory(of: "ancsd")
  }

  /// Where a program keeps its state: in the system's directory for root, for other users in their own directories (XDG
  /// Base Directory Specification).
  public static func stateDirectory(of program: String) -> String {
    let system = "/var/lib/\(program)"
    if Host.userID == 0 { return system }
    if let home = directory("XDG_STATE_HOME") { return "\(home)/\(program)" }
    return directory("HOME").map { "\($0)/.local/state/\(program)" } ?? system
  }

  /// The path of the history, next to bonds and caches.
  public static func history(in stateDirectory: String) -> String { "\(stateDirectory)/log.db" }

  /// The possible paths of this user's control socket, in order: a user's own daemon before the system's, but only
  /// `ANCSD_SOCKET` if that is set.
  public static var sockets: [String] {
    if let named = Host.variable("ANCSD_SOCKET"), !named.isEmpty { return [socket(named)] }
    let (system, state) = ("/run/ancsd/control.sock", stateDirectory)
    if Host.userID == 0 || state == systemState { return [system] }
    return ["\(directory("XDG_RUNTIME_DIR") ?? state)/ancsd.sock", system]
  }

  /// The sockets that the daemon may listen on.
  ///
  /// - Parameter named: the socket given on the command line.
  public static func sockets(_ named: String?) -> [String] { named.map { [$0] } ?? sockets }

  /// The address of a socket that a user has named: an absolute path, since hooks run elsewhere, or `@name`.
  public static func socket(_ named: String) -> String {
    named.hasPrefix("@") ? named : Files.absolute(named)
  }

  /// The absolute path in an environment variable.
  private static func directory(_ variable: String) -> String? {
    Host.variable(variable).flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}
