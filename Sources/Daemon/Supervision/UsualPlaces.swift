// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// Where things are kept when nobody says otherwise.
public enum UsualPlaces {
  /// Bonds and caches.
  public static let stateDirectory = "/var/lib/ancsd"

  /// The control socket: the system's for root, else the user's own.
  public static var socket: String { sockets[0] }

  /// Where a client looks for the control socket, in order: a user's own daemon comes before the
  /// system's.
  public static var sockets: [String] {
    let system = "/run/ancsd/control.sock"
    guard Host.userID != 0, let runtime = Host.variable("XDG_RUNTIME_DIR"), !runtime.isEmpty else {
      return [system]
    }
    return ["\(runtime)/ancsd.sock", system]
  }

  /// The group whose members may use the control socket.
  public static let group = "ancsd"
}
