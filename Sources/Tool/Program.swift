// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon
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
