// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
import EventLoop
import System

/// The whole program.
public enum Program {
  /// Does what the command line says; an error becomes its line on standard error and its status.
  ///
  /// The first of `commands` is the one that is meant where none is named.
  public static func main(_ arguments: [String], commands: [Command]) -> Never {
    Signal.pipe.ignore()
    let console = Console()
    do throws(Failure) {
      let invocation = try Invocation(
        Array(arguments.dropFirst()), commands: commands, width: console.style.width ?? 80)
      let status = try invocation.perform { text throws(Failure) in
        try console.print(Array(text.utf8))
      }
      Host.exit(status.rawValue)
    } catch {
      console.report(error)
      Host.exit(error.status.rawValue)
    }
  }
}

extension Console {
  /// Runs `body` on the event loop until it returns, and reports its failure.
  public func onLoop(
    _ body: @escaping @LoopActor () async throws(Failure) -> ExitStatus
  ) -> ExitStatus {
    let console = self
    Loop.start {
      let status: ExitStatus
      do throws(Failure) {
        status = try await body()
      } catch {
        console.report(error)
        status = error.status
      }
      Loop.shared.stop(status.rawValue)
    }
    return ExitStatus(rawValue: Loop.shared.run()) ?? .software
  }
}

extension DefaultPaths {
  /// Where this user's control socket may be, in order.
  public static var sockets: [String] {
    sockets(userID: Host.userID, runtimeDirectory: Host.variable("XDG_RUNTIME_DIR"))
  }
}
