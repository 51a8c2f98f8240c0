// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
public import Control
import EventLoop

extension Clients {
  /// Asks the daemon which settings are in force, and passes them on.
  ///
  /// - Parameter socket: the control socket; nil: the default ones.
  @Sendable public static func settings(
    _ socket: String?, _ print: @escaping @Sendable (SettingsReport) -> Void
  ) -> ExitStatus {
    let console = Console()
    return console.onLoop { () async throws(Failure) in
      let socket = try LineSocket.connect(toFirstOf: DefaultPaths.sockets(socket))
      defer { socket.close() }
      let client = ControlClient(console, over: socket)
      print(try await client.call(ControlMethods.settings, "asking for the settings"))
      return .done
    }
  }
}
