// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// Where things are kept when nobody says otherwise.
public enum UsualPlaces {
  /// Bonds and caches.
  public static let stateDirectory = "/var/lib/ancsd"

  /// The control socket: the system's for root, else the user's own.
  public static var socket: String {
    if Host.userID != 0, let runtime = Host.variable("XDG_RUNTIME_DIR"), !runtime.isEmpty {
      return "\(runtime)/ancsd.sock"
    }
    return "/run/ancsd/control.sock"
  }

  /// The group whose members may use the control socket.
  public static let group = "ancsd"
}
